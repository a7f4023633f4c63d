//! `engine up` as people run it: the real program on real projects, started, used, stopped and killed.

mod called;
mod checkouts;
mod commands;
mod credentials;
mod defects;
mod flood;
mod instances;
mod kept_files;
mod leaks;
mod loops;
mod names;
mod reload;
mod start_errors;
mod status;
mod tiltfile_errors;
mod typed;
