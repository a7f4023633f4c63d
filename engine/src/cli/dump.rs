//! `dump`: the state of a running instance as JSON, and what the program knows about itself.

use std::{fs, io, path::Path};

use axum::{body::Body, extract::Request};
use builtins::docker::reference::Reference;

use builtins::golang::{json, os_error::PathError};
use clap::{Args, Subcommand};
use engine_docker::{Docker, DockerError, Environment, content_tag};
use http_body_util::BodyExt;
use serde_json::{Value, json as value};
use tokio::sync::watch;

use super::{Printer, client::WebClient, connect::ConnectFlags, failure::Failure, usage};
use crate::{api::Store, server::rest::Rest};

mod api_docs;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write Python files that describe the functions of Tiltfiles, for editors
    ApiDocs(DocsFlags),
    /// Write a page about every command
    CliDocs(DocsFlags),
    /// Print the state of the engine, without logs
    Engine(Flags),
    /// Print the name and tag under which an image is deployed
    ImageDeployRef(ImageFlags),
    /// Print all logs
    Logstore(Flags),
    /// Print the Swagger description of the API server
    Openapi,
    /// Print what the web page shows
    Webview(Flags),
}

#[derive(Debug, Args)]
pub(super) struct Flags {
    #[command(flatten)]
    connect: ConnectFlags,
}

#[derive(Debug, Args)]
pub(super) struct DocsFlags {
    /// Folder of the pages
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: String,
}

/// Print the name and tag under which an image is deployed.
///
/// For the scripts of `custom_build`: after an image was built as `$EXPECTED_REF`, this prints the
/// reference whose tag stands for the content of the image.
#[derive(Debug, Args)]
pub(super) struct ImageFlags {
    /// The image
    #[arg(required = true, value_name = "REF")]
    image: String,
}

pub(super) fn run(
    command: &Command,
    root: &clap::Command,
    printer: Printer,
) -> Result<(), Failure> {
    match command {
        Command::CliDocs(flags) => write_pages(root, Path::new(&flags.dir), "tilt")
            .map_err(|it| Failure::Plain(format!("Error generating CLI docs: {it}"))),
        Command::Webview(flags) => {
            let view = read(flags, "view", "dump webview")?;
            print(&view, printer);
            Ok(())
        }
        Command::Engine(flags) => {
            let mut state = read(flags, "dump/engine", "dump engine")?;
            if let Some(fields) = state.as_object_mut() {
                fields.remove("LogStore");
            }
            print(&state, printer);
            Ok(())
        }
        Command::Logstore(flags) => {
            // The state of the engine has no logs; the view has them as they are stored.
            let view = read(flags, "view", "dump LogStore")?;
            let part = |key: &str| view["logList"].get(key).cloned().unwrap_or(Value::Null);
            print(&value!({"Spans": part("spans"), "Segments": part("segments")}), printer);
            Ok(())
        }
        Command::ApiDocs(flags) => api_docs::write(&flags.dir, printer),
        Command::ImageDeployRef(flags) => {
            let text = deploy_ref(&flags.image, &docker_id)
                .map_err(|it| Failure::Plain(format!("DumpImageDeployRef: {it}")))?;
            printer.out(&text);
            Ok(())
        }
        Command::Openapi => {
            print(&openapi().map_err(|it| Failure::Plain(it.to_string()))?, printer);
            Ok(())
        }
    }
}

/// The description that the API server gives, from one that nobody else sees.
fn openapi() -> Result<Value, Box<dyn std::error::Error>> {
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
    id_of: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let reference = Reference::parse(image).map_err(|it| it.to_string())?;
    let id = id_of(image)?;
    let Some(tag) = content_tag(&id) else {
        let digits = id.split_once(':').map_or(id.as_str(), |(_, digits)| digits);
        return Err(format!("digest too short: {digits}"));
    };
    Ok(format!("{}:{tag}", reference.familiar_name()))
}

/// The digest of an image, as Docker knows it.
fn docker_id(image: &str) -> Result<String, String> {
    let asked = || -> Result<String, Box<dyn std::error::Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let docker = Docker::new(Environment::of_process())?;
        match runtime.block_on(docker.inspect(image)) {
            Ok(image) => Ok(image.id),
            Err(DockerError::NotFound(words)) => {
                Err(format!("Error response from daemon: {words}").into())
            }
            Err(error) => Err(error.into()),
        }
    };
    asked().map_err(|error| error.to_string())
}

fn read(flags: &Flags, path: &str, what: &str) -> Result<Value, Failure> {
    let body = WebClient::new(&flags.connect)?.get(path)?;
    serde_json::from_slice(&body)
        .map_err(|it| Failure::Plain(format!("{what}: Could not decode: {it}")))
}

fn print(value: &Value, printer: Printer) {
    let encoder = json::Encoder { indent: Some("  "), escape_html: true };
    printer.out(&format!("{}\n", encoder.encode(value)));
}

fn write_pages(command: &clap::Command, dir: &Path, path: &str) -> io::Result<()> {
    let file = dir.join(format!("{}.md", path.replace(' ', "_")));
    let page = format!("# {path}\n\n```\n{}```\n", usage::help(command, path));
    fs::write(&file, page).map_err(|error| {
        io::Error::other(PathError::new("open", &file.to_string_lossy(), &error).to_string())
    })?;
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_pages(inner, dir, &format!("{path} {}", inner.get_name()))?;
    }
    Ok(())
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
            let got = deploy_ref(image, &|_| Ok(id.to_owned()));
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
