//! What earlier runs left, put right at the start of whatever evaluates a Tiltfile: temporary files and credentials of
//! programs that were killed are removed, and files that earlier versions left open to others are closed.

use builtins::host;
use engine_files::dev_dir;

use crate::{cli, cluster_pin};

/// Clears away. Nothing that another program holds is touched, and what resists is no reason not to start.
pub(crate) fn clear() {
    host::sweep();
    cluster_pin::sweep();
    cli::forget_old_releases();
    dev_dir::tighten();
}
