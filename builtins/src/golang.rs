//! The pieces of Go's library whose behavior shows through in Tiltfiles: paths, quoting, URLs,
//! durations, numbers, JSON, regular expressions, flags and their error words. Nothing here knows Tilt's model.

pub mod duration;
pub mod float;
pub mod json;
pub mod pflag;
pub mod semver;
pub mod spell;
pub mod time;
pub mod url;

pub use engine_formats::golang::{boolean, fnv, hex, label, os_error, path, quote, regexp};
