//! `dump`: prints the state of a running instance as JSON, and documentation of the program.

use std::error::Error;

use axum::{body::Body, extract::Request};
use clap::{Args, Subcommand};
use engine_api::Store;
use engine_docker::{Docker, DockerError, Environment, content_tag};
use engine_formats::docker::reference::Reference;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::watch;

use crate::server::rest::Rest;
use engine_cli::{
    Failure, Printer,
    dump::{self, DocsFlags, DumpFlags, TasksFlags},
};

mod api_docs;

#[derive(Debug, Subcommand)]
pub(super) enum DumpCommand {
    /// Write Python stubs of the Tiltfile functions, for editors
    ApiDocs(DocsFlags),
    /// Write a Markdown page for each command
    CliDocs(DocsFlags),
    /// Print the internal state, without logs
    Engine(DumpFlags),
    /// Print the name and tag that an image is deployed with
    ImageDeployRef(ImageFlags),
    /// Print all logs
    Logstore(DumpFlags),
    /// Print the Swagger description of the API server
    Openapi,
    /// List running tasks and commands, with resource and start time
    Tasks(TasksFlags),
    /// Print the data of the web page
    Webview(DumpFlags),
}

/// Print the name and tag that an image is deployed with.
///
/// For `custom_build` scripts: after you have built an image as `$EXPECTED_REF`, this prints its
/// reference with a tag made from the content of the image.
#[derive(Debug, Args)]
pub(super) struct ImageFlags {
    /// The image
    #[arg(required = true, value_name = "REF")]
    image: String,
}

pub(super) fn run(
    command: &DumpCommand,
    root: &clap::Command,
    printer: Printer,
) -> Result<(), Failure> {
    match command {
        DumpCommand::CliDocs(flags) => dump::cli_docs(flags, root),
        DumpCommand::Webview(flags) => dump::webview(flags, printer),
        DumpCommand::Engine(flags) => dump::engine(flags, printer),
        DumpCommand::Tasks(flags) => dump::tasks(flags, printer),
        DumpCommand::Logstore(flags) => dump::logstore(flags, printer),
        DumpCommand::ApiDocs(flags) => api_docs::write(&flags.dir, printer),
        DumpCommand::ImageDeployRef(flags) => {
            let text = deploy_ref(&flags.image, &docker_id)
                .map_err(|it| Failure::Plain(format!("DumpImageDeployRef: {it}")))?;
            printer.out(&text);
            Ok(())
        }
        DumpCommand::Openapi => {
            dump::print(&openapi().map_err(|it| Failure::Plain(it.to_string()))?, printer);
            Ok(())
        }
    }
}

/// The description that the API server gives, from one that nobody else sees.
fn openapi() -> Result<Value, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (_close, closing) = watch::channel(false);
    let request = Request::get("/openapi/v2").body(Body::empty())?;
    let body = runtime.block_on(async {
        let response = Rest::new(Store::new(), closing).handle(request).await;
        response.into_body().collect().await
    })?;
    Ok(serde_json::from_slice(&body.to_bytes())?)
}

/// The reference whose tag stands for the content of an image.
fn deploy_ref(
    image: &str,
    id_of: &dyn Fn(&str) -> Result<String, Box<dyn Error>>,
) -> Result<String, Box<dyn Error>> {
    let reference = Reference::parse(image)?;
    let id = id_of(image)?;
    let Some(tag) = content_tag(&id) else {
        let digits = id.split_once(':').map_or(id.as_str(), |(_, digits)| digits);
        return Err(format!("digest too short: {digits}").into());
    };
    Ok(format!("{}:{tag}", reference.familiar_name()))
}

/// The digest of an image, as Docker knows it.
fn docker_id(image: &str) -> Result<String, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let docker = Docker::new(Environment::of_process())?;
    match runtime.block_on(docker.inspect(image)) {
        Ok(image) => Ok(image.id),
        Err(DockerError::NotFound(words)) => {
            Err(format!("Error response from daemon: {words}").into())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_a_deployed_image_stands_for_its_content() {
        let full = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let cases = [
            ("web", full, Ok("web:tilt-0123456789abcdef")),
            ("docker.io/library/web:old", full, Ok("web:tilt-0123456789abcdef")),
            ("localhost:5000/a/web:1", full, Ok("localhost:5000/a/web:tilt-0123456789abcdef")),
            ("web", "sha256:0123", Err("digest too short: 0123")),
            (
                "Web",
                full,
                Err("invalid reference format: repository name (library/Web) must be lowercase"),
            ),
        ];
        for (image, id, want) in cases {
            let got = deploy_ref(image, &|_| Ok(id.to_owned())).map_err(|it| it.to_string());
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{image}");
        }
    }

    #[test]
    fn the_api_is_described_without_an_instance() {
        let document = openapi().unwrap();
        assert_eq!(document["swagger"], "2.0");
        assert!(
            document["paths"].as_object().unwrap().keys().any(|it| it.ends_with("/uiresources"))
        );
    }
}
