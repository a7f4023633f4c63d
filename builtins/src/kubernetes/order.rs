//! Decides in which order objects are applied, and which wait for pods wins when kinds disagree.

use engine_formats::kubernetes::kind_rank;

use super::object::Object;

/// Sorts objects for applying; objects of one kind keep their order.
pub fn sort_for_apply<T: std::borrow::Borrow<Object>>(objects: &mut [T]) {
    objects.sort_by_key(|object| kind_rank(object.borrow().kind()));
}

/// How a resource waits for its pods, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodReadiness {
    /// Until they are ready.
    Wait,
    /// Not at all.
    Ignore,
    /// Until they have ended well.
    Succeeded,
}

impl PodReadiness {
    /// The mode that wins when several apply to one resource.
    pub fn strongest(modes: impl IntoIterator<Item = Self>) -> Option<Self> {
        modes.into_iter().min()
    }
}
