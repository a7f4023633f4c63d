//! The impure shell around evaluation: command line, processes, and what people see.

pub mod cli;
