//! What is seen in a cluster: pods, events and logs; and ways into it: forwards and commands.

mod commands;
mod faults;
mod forwards;
mod logs;
mod place;
mod proxy;
mod tracking;
