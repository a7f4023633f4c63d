//! Executors: what an update runs, and how all of it is ended.

use std::time::Duration;

mod attended;
pub mod command;
pub mod env;
mod launcher;
mod output;
pub mod own_name;
mod probe;
mod program;
mod supervision;
mod tail;
mod timeline;

pub use command::{CommandHandle, Ended, Event, Run, start};
pub use engine_formats::golang::quote::command_line as shell_text;
pub use env::child_env;
pub use launcher::Guarded;
pub(crate) use output::Text;
pub(crate) use tail::without_escapes;

pub use crate::guard::Lifetime;

/// Stops commands at once: asks all of them to end, kills what is left after `grace`, and returns
/// when nothing is left. Says whether all of them went by themselves.
pub async fn stop_all<'a>(
    handles: impl IntoIterator<Item = &'a CommandHandle>,
    grace: Duration,
) -> bool {
    let handles: Vec<&CommandHandle> = handles.into_iter().collect();
    for handle in &handles {
        handle.stop();
    }
    let all_gone = async {
        for handle in &handles {
            handle.gone().await;
        }
    };
    if tokio::time::timeout(grace, all_gone).await.is_ok() {
        return true;
    }
    for handle in &handles {
        handle.kill();
    }
    for handle in handles {
        handle.gone().await;
    }
    false
}
