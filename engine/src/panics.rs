//! Panics, which are mistakes of this program: where they were, and who is told.
//!
//! A hook notes each of them. It prints nothing: the terminal may be in the hands of the prompt, and a lock of the log
//! in those of whoever panicked. The engine logs what a part of it can do without, and ends when one that it needs is
//! gone: its loop, the watcher of files, or a server. A task that panics fails with its words.

use std::{
    any::Any,
    panic,
    sync::{Mutex, Once, PoisonError},
};

use tokio::sync::mpsc;

/// What is said of panics that do not say it themselves.
const NOWHERE: &str = "an unknown place";
const WITHOUT_MESSAGE: &str = "without a message";

/// The last panic of any thread, so that whoever catches one knows where it was.
static LAST: Mutex<Option<Panic>> = Mutex::new(None);

/// Where panics are noted while an engine runs in this process.
static LISTENER: Mutex<Option<mpsc::UnboundedSender<Panic>>> = Mutex::new(None);

/// A panic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("panicked at {place}: {message}")]
pub struct Panic {
    /// Where: file, line and column.
    pub place: String,
    /// What it said.
    pub message: String,
}

impl Panic {
    /// The one that was caught with this payload.
    pub fn of_payload(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or(WITHOUT_MESSAGE);
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.filter(|it| it.message == message)
            .unwrap_or_else(|| Self { place: NOWHERE.to_owned(), message: message.to_owned() })
    }

    /// The same without what nobody may read.
    #[must_use]
    pub fn scrubbed(self, scrub: impl Fn(&str) -> String) -> Self {
        Self { message: scrub(&self.message), ..self }
    }
}

/// The panics of all threads from now on; dropping it lets others be printed again.
#[derive(Debug)]
pub struct Panics {
    panics: mpsc::UnboundedReceiver<Panic>,
    last: Option<Panic>,
}

impl Panics {
    /// Notes panics instead of printing them.
    pub fn listen() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let print = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !note(info) {
                    print(info);
                }
            }));
        });
        // Unbounded, since who panics cannot wait; there are few.
        let (listener, panics) = mpsc::unbounded_channel();
        *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
        Self { panics, last: None }
    }

    /// The next one.
    pub async fn next(&mut self) -> Panic {
        match self.panics.recv().await {
            Some(panic) => {
                self.last = Some(panic.clone());
                panic
            }
            // Another listener has taken its place.
            None => std::future::pending().await,
        }
    }

    /// The last one so far.
    pub fn last(&mut self) -> Option<Panic> {
        while let Ok(panic) = self.panics.try_recv() {
            self.last = Some(panic);
        }
        self.last.clone()
    }
}

/// Tells the listener; whether there is one.
fn note(info: &panic::PanicHookInfo<'_>) -> bool {
    let place = info.location().map_or_else(|| NOWHERE.to_owned(), ToString::to_string);
    let message = info.payload_as_str().unwrap_or(WITHOUT_MESSAGE).to_owned();
    let panic = Panic { place, message };
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.clone());
    let listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    listener.is_some_and(|it| it.send(panic).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_any_thread_is_noted_with_its_place_and_printed_when_nobody_listens() {
        let mut panics = Panics::listen();
        let line = line!() + 1;
        let thread = std::thread::spawn(|| panic!("number {}", 7));
        assert!(thread.join().is_err());
        // Other tests may panic at the same time.
        let all = std::iter::from_fn(|| panics.panics.try_recv().ok());
        let noted = { all }.find(|it| it.message == "number 7").expect("it was noted");
        let place = format!("engine/src/panics.rs:{line}:");
        assert!(noted.place.starts_with(&place), "{noted}");
        let nowhere = Panic { place: NOWHERE.to_owned(), message: "never heard of".to_owned() };
        assert_eq!(Panic::of_payload(&"never heard of"), nowhere);
        drop(panics);
        assert!(std::thread::spawn(|| panic!("not noted")).join().is_err());
        assert!(Panics::listen().last().is_none_or(|it| it.message != "not noted"));
    }
}
