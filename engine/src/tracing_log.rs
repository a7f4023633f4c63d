//! What the engine says about itself, for people who look for a problem in it. It is silent unless `ENGINE_LOG` has a
//! filter, such as `debug` or `engine=debug`, and never mixed with what resources print.

use std::{
    env,
    fmt::{self, Write as _},
    fs::OpenOptions,
    io::{self, ErrorKind},
    sync::Mutex,
};

use engine_model::path::to_text;
use tracing_subscriber::{
    EnvFilter,
    fmt::{format::FmtSpan, writer::BoxMakeWriter},
};

/// What is written.
const FILTER: &str = "ENGINE_LOG";

/// Where to; standard error if there is none.
const FILE: &str = "ENGINE_LOG_FILE";

/// Begins to write if the environment asks for it. Nothing is installed otherwise, and spans cost next to nothing.
///
/// # Errors
/// If the filter makes no sense, or the file cannot be written.
pub(crate) fn start() -> io::Result<()> {
    let Some(filter) = env::var_os(FILTER).filter(|it| !it.is_empty()) else { return Ok(()) };
    let invalid =
        |it: &dyn fmt::Display| io::Error::new(ErrorKind::InvalidInput, format!("{FILTER}: {it}"));
    let filter = EnvFilter::try_new(to_text(&filter)).map_err(|it| invalid(&it))?;
    let writer = match env::var_os(FILE).filter(|it| !it.is_empty()) {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(&path);
            BoxMakeWriter::new(Mutex::new(file.map_err(|error| {
                io::Error::new(error.kind(), format!("{FILE}: {}: {error}", to_text(&path)))
            })?))
        }
        None => BoxMakeWriter::new(io::stderr),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // Another engine of the same process may have begun to write already.
    let _ = log.with_ansi(false).with_span_events(FmtSpan::CLOSE).try_init();
    Ok(())
}

/// The name of an enum's variant, from how it is shown for debugging; no more of that is written than needed.
pub(crate) fn variant(value: &impl fmt::Debug) -> String {
    struct Name(String);
    impl fmt::Write for Name {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let name = text.split(|it: char| !it.is_alphanumeric()).next().unwrap_or_default();
            self.0.push_str(name);
            if name.len() == text.len() { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut name = Name(String::new());
    // The end of the name is an error.
    let _ = write!(name, "{value:?}");
    name.0
}

#[cfg(test)]
mod tests {
    use engine_core::{Event, resource::UpdateId};

    use super::*;

    #[test]
    fn events_are_named_without_what_they_hold() {
        assert_eq!(variant(&Event::TimePassed), "TimePassed");
        let event = Event::RetryDue { resource: "web".into(), id: UpdateId(7) };
        assert_eq!(variant(&event), "RetryDue");
    }
}
