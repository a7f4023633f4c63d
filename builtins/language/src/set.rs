//! Decides what sets are: insertion order, the first element popped first, no change while a
//! loop runs over them.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use allocative::Allocative;
use starlark::{
    any::ProvidesStaticType,
    collections::{Hashed, SmallSet},
    starlark_complex_values,
    values::{
        Freeze, FreezeResult, Freezer, FrozenValue, Heap, NoSerialize, StarlarkPagablePanic,
        StarlarkValue, Trace, Value, ValueLike, starlark_value,
    },
};

use super::{native::Outcome, value};

/// A set that can still change.
#[derive(
    Debug, Default, Trace, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative,
)]
pub(crate) struct Set<'v> {
    content: RefCell<SmallSet<Value<'v>>>,
    /// How many loops run over the set.
    #[trace(unsafe_ignore)]
    #[allocative(skip)]
    iterating: Cell<u32>,
}

/// A set of a file that has been executed.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct FrozenSet {
    content: SmallSet<FrozenValue>,
}

starlark_complex_values!(Set);

impl Freeze for Set<'_> {
    type Frozen = FrozenSet;

    fn freeze(self, freezer: &Freezer) -> FreezeResult<FrozenSet> {
        Ok(FrozenSet { content: self.content.into_inner().freeze(freezer)? })
    }
}

impl<'v> Set<'v> {
    pub(crate) fn new(content: SmallSet<Value<'v>>) -> Self {
        Self { content: RefCell::new(content), iterating: Cell::new(0) }
    }

    /// A set of the elements, or the message that says which of them is not hashable.
    pub(crate) fn collect(elements: impl IntoIterator<Item = Value<'v>>) -> Result<Self, String> {
        let mut content = SmallSet::new();
        for element in elements {
            content.insert_hashed(value::hashed(element)?);
        }
        Ok(Self::new(content))
    }
}

impl fmt::Display for Set<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_set(f, self.content.borrow().iter().copied())
    }
}

impl fmt::Display for FrozenSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_set(f, self.content.iter().map(|element| element.to_value()))
    }
}

fn write_set<'v>(
    f: &mut fmt::Formatter<'_>,
    elements: impl Iterator<Item = Value<'v>>,
) -> fmt::Result {
    let elements: Vec<String> = elements.map(value::repr).collect();
    write!(f, "set([{}])", elements.join(", "))
}

#[starlark_value(type = "set")]
impl<'v> StarlarkValue<'v> for Set<'v> {
    type Canonical = Self;

    fn to_bool(&self) -> bool {
        !self.content.borrow().is_empty()
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.content.borrow().len()).unwrap_or(i32::MAX))
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(SetRef::of(other).is_some_and(|other| SetRef::Mutable(self).same(other)))
    }

    unsafe fn iterate(&self, me: Value<'v>, _: Heap<'v>) -> Outcome<'v> {
        self.iterating.set(self.iterating.get() + 1);
        Ok(me)
    }

    unsafe fn iter_size_hint(&self, index: usize) -> (usize, Option<usize>) {
        let rest = self.content.borrow().len().saturating_sub(index);
        (rest, Some(rest))
    }

    unsafe fn iter_next(&self, index: usize, _: Heap<'v>) -> Option<Value<'v>> {
        self.content.borrow().get_index(index).copied()
    }

    unsafe fn iter_stop(&self) {
        self.iterating.set(self.iterating.get().saturating_sub(1));
    }
}

#[starlark_value(type = "set")]
impl<'v> StarlarkValue<'v> for FrozenSet {
    type Canonical = Set<'v>;

    fn to_bool(&self) -> bool {
        !self.content.is_empty()
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.content.len()).unwrap_or(i32::MAX))
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(SetRef::of(other).is_some_and(|other| other.same_frozen(self)))
    }

    unsafe fn iterate(&self, me: Value<'v>, _: Heap<'v>) -> Outcome<'v> {
        Ok(me)
    }

    unsafe fn iter_size_hint(&self, index: usize) -> (usize, Option<usize>) {
        let rest = self.content.len().saturating_sub(index);
        (rest, Some(rest))
    }

    unsafe fn iter_next(&self, index: usize, _: Heap<'v>) -> Option<Value<'v>> {
        self.content.get_index(index).map(|element| element.to_value())
    }

    unsafe fn iter_stop(&self) {}
}

/// A set seen through a value, frozen or not.
#[derive(Clone, Copy)]
pub(crate) enum SetRef<'a, 'v> {
    Mutable(&'a Set<'v>),
    Frozen(&'a FrozenSet),
}

impl<'v> SetRef<'v, 'v> {
    pub(crate) fn of(value: Value<'v>) -> Option<Self> {
        if let Some(set) = value.downcast_ref::<Set<'v>>() {
            return Some(SetRef::Mutable(set));
        }
        value.downcast_ref::<FrozenSet>().map(SetRef::Frozen)
    }
}

impl<'v> SetRef<'_, 'v> {
    pub(crate) fn len(self) -> usize {
        match self {
            SetRef::Mutable(set) => set.content.borrow().len(),
            SetRef::Frozen(set) => set.content.len(),
        }
    }

    /// The elements in insertion order.
    pub(crate) fn items(self) -> Vec<Value<'v>> {
        self.hashed_items().iter().map(|element| *element.key()).collect()
    }

    pub(crate) fn hashed_items(self) -> Vec<Hashed<Value<'v>>> {
        match self {
            SetRef::Mutable(set) => {
                set.content.borrow().iter_hashed().map(Hashed::copied).collect()
            }
            SetRef::Frozen(set) => set
                .content
                .iter_hashed()
                .map(|e| Hashed::new_unchecked(e.hash(), e.key().to_value()))
                .collect(),
        }
    }

    /// A changeable copy of the content.
    pub(crate) fn copy(self) -> SmallSet<Value<'v>> {
        let mut copy = SmallSet::with_capacity(self.len());
        for element in self.hashed_items() {
            copy.insert_hashed(element);
        }
        copy
    }

    pub(crate) fn contains(self, element: Hashed<Value<'v>>) -> bool {
        match self {
            SetRef::Mutable(set) => set.content.borrow().contains_hashed(element.as_ref()),
            SetRef::Frozen(set) => set.content.contains_hashed(element.as_ref()),
        }
    }

    /// Changes the set, unless it is frozen or a loop runs over it.
    pub(crate) fn change<T>(
        self,
        verb: &str,
        change: impl FnOnce(&mut SmallSet<Value<'v>>) -> T,
    ) -> Result<T, String> {
        match self {
            SetRef::Frozen(_) => Err(format!("cannot {verb} frozen hash table")),
            SetRef::Mutable(set) if set.iterating.get() > 0 => {
                Err(format!("cannot {verb} hash table during iteration"))
            }
            SetRef::Mutable(set) => Ok(change(&mut set.content.borrow_mut())),
        }
    }

    pub(crate) fn same(self, other: SetRef<'_, 'v>) -> bool {
        self.len() == other.len() && self.hashed_items().into_iter().all(|e| other.contains(e))
    }

    fn same_frozen(self, other: &FrozenSet) -> bool {
        self.same(SetRef::Frozen(other))
    }
}
