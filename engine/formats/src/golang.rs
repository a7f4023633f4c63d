//! The pieces of Go's library whose behavior shows through in Tiltfiles and formats: paths, quoting, URLs,
//! durations, numbers, JSON, regular expressions, label values, flags and the words of errors. Nothing here knows
//! Tilt's model.

pub mod boolean;
pub mod duration;
pub mod float;
pub mod fnv;
pub mod hex;
pub mod json;
pub mod label;
pub mod os_error;
pub mod path;
pub mod pflag;
pub mod quote;
pub mod regexp;
pub mod semver;
pub mod spell;
pub mod time;
pub mod url;
