//! Annotations with which API objects name what they belong to.

/// The resource whose log an object writes to.
pub const RESOURCE: &str = "tilt.dev/resource";
/// The span within that log.
pub const SPAN: &str = "tilt.dev/log-span-id";
/// Who starts the command of an object, if it does not do so itself.
pub const MANAGED_BY: &str = "tilt.dev/managed-by";
/// The target whose files an object watches.
pub const TARGET: &str = "tilt.dev/target-id";
/// What kind of owner a command of the engine has.
pub const OWNER_KIND: &str = "tilt.dev/owner-kind";
/// The name of that owner.
pub const OWNER_NAME: &str = "tilt.dev/owner-name";
/// What a button is for.
pub const BUTTON_TYPE: &str = "tilt.dev/uibutton-type";
/// How many files the events of a file watch do not list, if there are too many.
pub const UNLISTED: &str = "tilt.dev/unlisted-files";
