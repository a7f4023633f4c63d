//! The log as instances and clients exchange it, and as people read it: segments, filters, formats.

mod filter;
mod format;
mod lines;
pub mod query;
mod segment;
mod time;

pub use filter::{Filter, Source};
pub use format::{Formatter, JsonLines, Style};
pub use lines::{Line, Lines};
pub use segment::{BuildEvent, Fields, Level, Segment, Span, micros};
pub use time::{MicroTimes, micro_time, parse_micros};
