//! `engine up` as people run it: the real program on real projects, started, used, stopped and killed.

mod checkouts;
mod commands;
mod flood;
mod instance;
mod leaks;
mod loops;
mod reload;
mod typed;
