//! The pieces of Go's library that names, patterns and Dockerfiles need: paths, regular expressions,
//! quoting, label values, truth values, digits and the words of system errors.

pub mod boolean;
pub mod fnv;
pub mod hex;
pub mod label;
pub mod os_error;
pub mod path;
pub mod quote;
pub mod regexp;
