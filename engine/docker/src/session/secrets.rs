//! Secrets of a build: which there are, and their content when a step asks for it.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use bollard_buildkit_proto::moby::buildkit::secrets::v1::{
    GetSecretRequest, GetSecretResponse, secrets_server::Secrets,
};
use engine_model::path::to_path;
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

/// Why a build does not get its secrets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    #[error("could not parse secret: {specs:?}: {why}")]
    Parse { specs: Vec<String>, why: SpecError },
    #[error("failed to stat {}: {source}", path.display())]
    Stat { path: PathBuf, source: io::Error },
    #[error("secret {0} too big. max size {SECRET_MAX}")]
    TooBig(String),
}

/// What is wrong with the specification of a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpecError {
    #[error("failed to parse csv secret")]
    Csv,
    #[error("invalid field '{0}' must be a key=value pair")]
    NoPair(String),
    #[error("unsupported secret type {0:?}")]
    Type(String),
    #[error("unexpected key '{key}' in '{field}'")]
    Key { key: String, field: String },
    #[error("secret missing ID")]
    NoId,
}

impl SecretStore {
    /// Reads specifications such as `id=key,src=path`; files have to exist.
    pub(crate) fn parse(specs: &[String], environment: &Environment) -> Result<Self, SecretError> {
        let mut sources = HashMap::new();
        for spec in specs {
            let unreadable = |why| SecretError::Parse { specs: specs.to_vec(), why };
            let (id, source) = parse(spec, environment).map_err(unreadable)?;
            if let Source::File(path) = &source {
                check_file(&id, path)?;
            }
            sources.insert(id, source);
        }
        Ok(Self { sources, environment: environment.clone() })
    }
}

fn check_file(id: &str, path: &Path) -> Result<(), SecretError> {
    let unreadable = |source| SecretError::Stat { path: path.to_owned(), source };
    if fs::metadata(path).map_err(unreadable)?.len() > SECRET_MAX {
        return Err(SecretError::TooBig(id.to_owned()));
    }
    Ok(())
}

fn parse(spec: &str, environment: &Environment) -> Result<(String, Source), SpecError> {
    let (mut id, mut file, mut variable, mut is_env) =
        (String::new(), String::new(), String::new(), false);
    for field in csv::fields(spec).ok_or(SpecError::Csv)? {
        let (key, value) = field.split_once('=').ok_or_else(|| SpecError::NoPair(field.clone()))?;
        match key.to_lowercase().as_str() {
            "type" if value == "file" || value == "env" => is_env = value == "env",
            "type" => return Err(SpecError::Type(value.to_owned())),
            "id" => value.clone_into(&mut id),
            "source" | "src" => value.clone_into(&mut file),
            "env" => value.clone_into(&mut variable),
            key => return Err(SpecError::Key { key: key.to_owned(), field: field.clone() }),
        }
    }
    if id.is_empty() {
        return Err(SpecError::NoId);
    }
    if is_env && variable.is_empty() {
        variable = std::mem::take(&mut file);
    }
    let source = if !variable.is_empty() {
        Source::Variable(variable)
    } else if !file.is_empty() {
        Source::File(to_path(&file).into_owned())
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
            let found = parse(spec, &environment).map_err(|it| it.to_string());
            let want = want.map(|(id, source)| (id.to_owned(), source)).map_err(str::to_owned);
            assert_eq!(found, want, "{spec}");
        }
    }
}
