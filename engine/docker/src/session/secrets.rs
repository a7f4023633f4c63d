//! Secrets of a build: which there are, and their content when a step asks for it.

use std::{collections::HashMap, fs, path::PathBuf};

use bollard_buildkit_proto::moby::buildkit::secrets::v1::{
    GetSecretRequest, GetSecretResponse, secrets_server::Secrets,
};
use tonic::{Request, Response, Status, async_trait};

use super::status;
use crate::{csv, environment::Environment};

/// The largest secret, in bytes.
const SECRET_MAX: u64 = 500 * 1024;

/// Where the secrets of a build come from.
#[derive(Debug)]
pub(crate) struct SecretStore {
    sources: HashMap<String, Source>,
    environment: Environment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    File(PathBuf),
    Variable(String),
}

impl SecretStore {
    /// Reads specifications such as `id=key,src=path`; files have to exist.
    pub(crate) fn parse(specs: &[String], environment: &Environment) -> Result<Self, String> {
        let mut sources = HashMap::new();
        for spec in specs {
            let parsed = parse(spec, environment);
            let (id, source) =
                parsed.map_err(|why| format!("could not parse secret: {specs:?}: {why}"))?;
            if let Source::File(path) = &source {
                check_file(&id, path)?;
            }
            sources.insert(id, source);
        }
        Ok(Self { sources, environment: environment.clone() })
    }
}

fn check_file(id: &str, path: &PathBuf) -> Result<(), String> {
    let shown = path.display();
    let size = fs::metadata(path).map_err(|why| format!("failed to stat {shown}: {why}"))?.len();
    if size > SECRET_MAX {
        return Err(format!("secret {id} too big. max size {SECRET_MAX}"));
    }
    Ok(())
}

fn parse(spec: &str, environment: &Environment) -> Result<(String, Source), String> {
    let (mut id, mut file, mut variable, mut is_env) =
        (String::new(), String::new(), String::new(), false);
    for field in csv::fields(spec).ok_or("failed to parse csv secret")? {
        let (key, value) = field
            .split_once('=')
            .ok_or_else(|| format!("invalid field '{field}' must be a key=value pair"))?;
        match key.to_lowercase().as_str() {
            "type" if value == "file" || value == "env" => is_env = value == "env",
            "type" => return Err(format!("unsupported secret type {value:?}")),
            "id" => value.clone_into(&mut id),
            "source" | "src" => value.clone_into(&mut file),
            "env" => value.clone_into(&mut variable),
            key => return Err(format!("unexpected key '{key}' in '{field}'")),
        }
    }
    if id.is_empty() {
        return Err("secret missing ID".to_owned());
    }
    if is_env && variable.is_empty() {
        variable = std::mem::take(&mut file);
    }
    let source = if !variable.is_empty() {
        Source::Variable(variable)
    } else if !file.is_empty() {
        Source::File(file.into())
    } else if environment.var(&id).is_some() {
        Source::Variable(id.clone())
    } else {
        Source::File(id.clone().into())
    };
    Ok((id, source))
}

#[async_trait]
impl Secrets for SecretStore {
    async fn get_secret(
        &self,
        request: Request<GetSecretRequest>,
    ) -> Result<Response<GetSecretResponse>, Status> {
        let id = &request.get_ref().id;
        let missing = || Status::not_found(format!("secret {id}: not found"));
        let data = match self.sources.get(id).ok_or_else(missing)? {
            Source::Variable(name) => {
                self.environment.var(name).unwrap_or_default().as_bytes().to_vec()
            }
            Source::File(path) => tokio::fs::read(path).await.map_err(|error| status(&error))?,
        };
        if data.len() as u64 > SECRET_MAX {
            return Err(status(&format!("invalid secret size {}", data.len())));
        }
        Ok(Response::new(GetSecretResponse { data }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_name_files_or_variables() {
        let vars = [("TOKEN".to_owned(), "t".to_owned())];
        let environment = Environment::new(vars);
        for (spec, want) in [
            ("id=a,src=/f", Ok(("a", Source::File("/f".into())))),
            ("type=file,id=a,source=/f", Ok(("a", Source::File("/f".into())))),
            ("id=a,env=V", Ok(("a", Source::Variable("V".into())))),
            ("type=env,id=a,src=V", Ok(("a", Source::Variable("V".into())))),
            ("id=TOKEN", Ok(("TOKEN", Source::Variable("TOKEN".into())))),
            ("id=file", Ok(("file", Source::File("file".into())))),
            ("\"id=a,b\",src=/f", Ok(("a,b", Source::File("/f".into())))),
            ("src=/f", Err("secret missing ID")),
            ("id", Err("invalid field 'id' must be a key=value pair")),
            ("id=a,type=x", Err("unsupported secret type \"x\"")),
            ("id=a,mode=1", Err("unexpected key 'mode' in 'mode=1'")),
        ] {
            let found = parse(spec, &environment);
            let want = want.map(|(id, source)| (id.to_owned(), source)).map_err(str::to_owned);
            assert_eq!(found, want, "{spec}");
        }
    }
}
