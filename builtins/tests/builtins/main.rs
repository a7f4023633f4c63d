//! The library from outside: with random input, and with the tools that it calls.

mod fuzz;
mod memoised;
