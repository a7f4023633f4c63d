//! `alpha updog`: runs an engine whose objects come from files instead of a Tiltfile.

use std::{
    fs,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use builtins::host::Scratch;
use clap::Args;
use engine_api::Kind;
use engine_cli::{
    Failure, Printer,
    client::{ApiClient, instances},
    connect::ListenFlags,
    instances::process_of,
    manifests::{FileFlags, Manifest},
};
use engine_formats::golang::os_error::PathError;
use nix::unistd::Pid;

use super::{
    Global,
    start::{self, StartFlags, Terminal},
};
use crate::runtime::Mode;

/// How often to poll whether the API server answers.
const POLL: Duration = Duration::from_millis(20);

/// Run only the API server, with objects from files, until Ctrl-C.
#[derive(Debug, Args)]
pub(super) struct UpdogFlags {
    /// File or folder to read; - reads standard input
    #[arg(short, long, value_delimiter = ',', value_name = "FILE")]
    filename: Vec<String>,
    #[command(flatten)]
    listen: ListenFlags,
}

pub(super) fn run(
    flags: &UpdogFlags,
    global: &Global,
    printer: Printer,
) -> Result<ExitCode, Failure> {
    if flags.filename.is_empty() {
        return Err(Failure::Command("Expected source files with -f".to_owned()));
    }
    let files =
        FileFlags { filename: flags.filename.clone(), kustomize: String::new(), recursive: false };
    for name in flags.filename.iter().filter(|it| *it != "-" && !it.contains("://")) {
        fs::metadata(name).map_err(|error| {
            let cause = PathError::new("open", name, &error);
            Failure::Command(format!("Decoding inputs: {cause}"))
        })?;
    }
    let manifests = files.read_complete().map_err(Failure::native)?;
    let manifests =
        manifests.into_iter().collect::<Result<Vec<_>, _>>().map_err(Failure::native)?;
    // A Tiltfile that says nothing is as good as none.
    let dir = Scratch::create().map_err(|it| Failure::Command(it.to_string()))?;
    let tiltfile = dir.path().join("Tiltfile");
    fs::write(&tiltfile, "").map_err(|it| Failure::Command(it.to_string()))?;
    let start = StartFlags::of_tiltfile(&tiltfile, &flags.listen);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| create(&manifests, &is_over, printer));
        let result = start::run(&start, Mode::Up, None, Terminal::Stream, global, printer);
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

/// Creates the objects as soon as the API server answers.
fn create(manifests: &[Manifest], is_over: &AtomicBool, printer: Printer) {
    while !is_over.load(Ordering::Relaxed) {
        if let Some(client) = own_client() {
            for manifest in manifests {
                match client.create(manifest.kind, &manifest.object, &[]) {
                    Ok(_) => {
                        let kind = manifest.kind.name().to_lowercase();
                        printer.out(&format!("loaded {kind}/{}\n", manifest.name));
                    }
                    Err(failure) => drop(failure.native().report(printer)),
                }
            }
            return;
        }
        thread::sleep(POLL);
    }
}

/// A client of this very process, which may listen on any port.
fn own_client() -> Option<ApiClient> {
    instances().into_iter().find_map(|name| {
        let client = ApiClient::named(&name).ok()?;
        let session = client.get(Kind::Session, "Tiltfile").ok()?;
        (process_of(&session)? == Pid::this()).then_some(client)
    })
}
