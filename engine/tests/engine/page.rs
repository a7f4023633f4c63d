//! The page as people see it: a real engine, shown by a real browser.

mod access;
mod actions;
pub(crate) mod browser;
mod connection;
mod logs;
mod resources;
mod safety;
mod snapshots;
