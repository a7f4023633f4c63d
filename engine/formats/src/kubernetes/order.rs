//! Decides in which order objects are applied.

use super::object::Object;

/// The kinds that others need first; all other kinds come after them.
const FIRST: &str = include_str!("order.txt");

/// The place of a kind in the order of applying.
pub fn kind_rank(kind: &str) -> usize {
    FIRST.lines().position(|first| first == kind).unwrap_or(usize::MAX)
}

/// Sorts objects for applying; objects of one kind keep their order.
pub fn sort_for_apply<T: std::borrow::Borrow<Object>>(objects: &mut [T]) {
    objects.sort_by_key(|object| kind_rank(object.borrow().kind()));
}
