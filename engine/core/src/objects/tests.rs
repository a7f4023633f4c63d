//! Scripts of changed objects, and what the world does about them.

mod buttons;
mod cmds;
mod extensions;
mod file_watches;
mod script;
mod switches;
mod tiltfiles;

use script::check;
