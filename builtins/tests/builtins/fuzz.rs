//! Whatever is thrown at it, the library answers: no panic, no hang, no defect that calls itself internal.
//!
//! Each target runs for `FUZZ_SECONDS` (5 by default) on inputs that follow from a seed, which is printed;
//! `FUZZ_SEED` repeats a run.

#![allow(clippy::print_stderr, reason = "the seed and the failing input must be seen")]

mod host;
mod input;

use std::{
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use builtins::Request;
use engine_formats::{docker, golang, yaml};
use host::SealedHost;
use input::Inputs;

/// One input may take this long, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs `check` on one input after the other until time is up.
fn fuzz(target: &str, mut inputs: Inputs, mut check: impl FnMut(&str)) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|it| it.parse().ok()).unwrap_or(5);
    eprintln!("{target}: FUZZ_SEED={}", inputs.seed());
    let current = Arc::new(Mutex::new(String::new()));
    let (alive, watched) = mpsc::channel::<()>();
    let watchdog = {
        let current = Arc::clone(&current);
        std::thread::spawn(move || {
            // Silence means a hang; a closed channel means the end.
            while watched.recv_timeout(PATIENCE).is_ok_and(|()| true) {}
            if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let input = current.lock().map(|it| it.clone()).unwrap_or_default();
                eprintln!("this input does not come to an end:\n{input}");
                std::process::abort();
            }
        })
    };
    let started = Instant::now();
    let mut n_inputs = 0_u64;
    while started.elapsed() < Duration::from_secs(seconds) {
        let input = inputs.next_input();
        current.lock().expect("no panic happened").clone_from(&input);
        alive.send(()).expect("the watchdog listens");
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&input)));
        if let Err(panic) = outcome {
            eprintln!("this input fails, see above:\n---\n{input}\n---");
            std::panic::resume_unwind(panic);
        }
        n_inputs += 1;
    }
    drop(alive);
    watchdog.join().expect("the watchdog does not panic");
    eprintln!("{target}: {n_inputs} inputs");
}

/// Evaluates a Tiltfile in a world where nothing can break.
fn evaluate(dir: &Path) {
    let host = Arc::new(SealedHost::new(dir));
    let request = Request::new(&dir.join("Tiltfile").to_string_lossy(), "alpha tiltfile-result");
    let evaluation = builtins::evaluate(&request, host);
    if let Some(failure) = evaluation.failure {
        assert!(!failure.text.contains("internal error"), "{}", failure.text);
    }
}

#[test]
fn tiltfiles() {
    let dir = tempfile::tempdir().expect("a directory");
    host::furnish(dir.path());
    let tiltfile = dir.path().join("Tiltfile");
    fuzz("tiltfiles", Inputs::tiltfiles(), |text| {
        std::fs::write(&tiltfile, text).expect("it can be written");
        evaluate(dir.path());
    });
}

#[test]
fn compose_files() {
    let dir = tempfile::tempdir().expect("a directory");
    host::furnish(dir.path());
    std::fs::write(dir.path().join("Tiltfile"), "docker_compose('compose.yml')\n")
        .expect("it can be written");
    let file = dir.path().join("compose.yml");
    fuzz("compose files", Inputs::data(), |text| {
        std::fs::write(&file, text).expect("it can be written");
        evaluate(dir.path());
    });
}

#[test]
fn kubernetes_objects() {
    let dir = tempfile::tempdir().expect("a directory");
    host::furnish(dir.path());
    std::fs::write(
        dir.path().join("Tiltfile"),
        "k8s_yaml('all.yaml')\nread_yaml_stream('all.yaml')\n",
    )
    .expect("it can be written");
    let file = dir.path().join("all.yaml");
    fuzz("kubernetes objects", Inputs::data(), |text| {
        std::fs::write(&file, text).expect("it can be written");
        evaluate(dir.path());
    });
}

#[test]
fn yaml_and_json() {
    fuzz("yaml and json", Inputs::data(), |text| {
        // Tilt does not quote the text of a merge key, so it would come back as one.
        if let Ok(value) = yaml::decode_v2(text)
            && !text.contains("<<")
            && let Ok(emitted) = yaml::emit_v2(&value)
        {
            let again = yaml::decode_v2(&emitted);
            assert_eq!(again.ok().as_ref(), Some(&value), "{emitted}");
        }
        let _ = yaml::decode_stream(text);
        if let Ok(json) = golang::json::decode(text) {
            let _ = json.clone().into_tilt_value();
            let _ = json.into_kubernetes_value();
        }
    });
}

#[test]
fn docker_files_and_names() {
    fuzz("docker files and names", Inputs::docker(), |text| {
        if let Ok(dockerfile) = docker::dockerfile::Dockerfile::parse(text) {
            let _ = dockerfile.images(&["A=b", "TAG"]);
        }
        if let Ok(patterns) = docker::ignore::read_patterns(text)
            && let Ok(matcher) = docker::ignore::PathMatcher::new("/src", &patterns)
        {
            let _ = (matcher.matches("/src/a/b.go"), matcher.matches_entire_dir("/src/a"));
        }
        for line in text.lines() {
            if let Ok(reference) = docker::reference::Reference::parse(line) {
                let again = docker::reference::Reference::parse(&reference.familiar());
                assert_eq!(again.ok(), Some(reference), "{line}");
            }
            let _ = golang::regexp::compile(line);
            let _ = golang::duration::Duration::parse(line);
        }
    });
}
