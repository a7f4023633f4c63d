//! Decides what `range(...)` values are, and what a `while` loop runs over.

#![allow(clippy::similar_names, reason = "start, stop and step are what they are called")]

use std::fmt;

use allocative::Allocative;
use starlark::{
    any::ProvidesStaticType,
    starlark_simple_value,
    values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value},
};

use super::native::Outcome;

/// An immutable sequence of integers.
#[derive(Debug, Clone, Copy, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct Range {
    start: i64,
    stop: i64,
    step: i64,
}

starlark_simple_value!(Range);

impl Range {
    /// The step is not zero.
    pub(crate) fn new(start: i64, stop: i64, step: i64) -> Self {
        Self { start, stop, step }
    }

    pub(crate) fn len(&self) -> i64 {
        let (start, stop, step) =
            (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let len = match step {
            1.. if stop > start => (stop - 1 - start) / step + 1,
            ..=-1 if start > stop => (start - 1 - stop) / -step + 1,
            _ => 0,
        };
        i64::try_from(len).unwrap_or(i64::MAX)
    }

    pub(crate) fn get(&self, i: i64) -> i64 {
        self.start.wrapping_add(i.wrapping_mul(self.step))
    }

    pub(crate) fn slice(&self, start: i64, end: i64, step: i64) -> Range {
        Range::new(self.get(start), self.get(end), self.step.wrapping_mul(step))
    }

    pub(crate) fn contains(&self, x: i64) -> bool {
        let delta = i128::from(x) - i128::from(self.start);
        let (quotient, rest) = (delta / i128::from(self.step), delta % i128::from(self.step));
        rest == 0 && 0 <= quotient && quotient < i128::from(self.len())
    }

    pub(crate) fn same(&self, other: &Range) -> bool {
        let len = self.len();
        len == other.len()
            && (len == 0 || self.start == other.start && (len == 1 || self.step == other.step))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, stop, step } = self;
        match (start, step) {
            (0, 1) => write!(f, "range({stop})"),
            (_, 1) => write!(f, "range({start}, {stop})"),
            _ => write!(f, "range({start}, {stop}, {step})"),
        }
    }
}

#[starlark_value(type = "range")]
impl<'v> StarlarkValue<'v> for Range {
    fn to_bool(&self) -> bool {
        self.len() > 0
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.len()).unwrap_or(i32::MAX))
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(Range::from_value(other).is_some_and(|other| self.same(other)))
    }

    unsafe fn iterate(&self, me: Value<'v>, _: Heap<'v>) -> Outcome<'v> {
        Ok(me)
    }

    unsafe fn iter_size_hint(&self, index: usize) -> (usize, Option<usize>) {
        let rest = usize::try_from(self.len()).unwrap_or(usize::MAX).saturating_sub(index);
        // A hint is an allocation somewhere; a huge range is seldom iterated to its end.
        (rest.min(1 << 16), Some(rest))
    }

    unsafe fn iter_next(&self, index: usize, heap: Heap<'v>) -> Option<Value<'v>> {
        let index = i64::try_from(index).ok()?;
        (index < self.len()).then(|| heap.alloc(self.get(index)))
    }

    unsafe fn iter_stop(&self) {}
}

/// What a rewritten `while` iterates over.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct Forever;

starlark_simple_value!(Forever);

impl fmt::Display for Forever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("__forever__")
    }
}

#[starlark_value(type = "forever")]
impl<'v> StarlarkValue<'v> for Forever {
    unsafe fn iterate(&self, me: Value<'v>, _: Heap<'v>) -> Outcome<'v> {
        Ok(me)
    }

    unsafe fn iter_size_hint(&self, _: usize) -> (usize, Option<usize>) {
        (0, None)
    }

    unsafe fn iter_next(&self, _: usize, _: Heap<'v>) -> Option<Value<'v>> {
        Some(Value::new_none())
    }

    unsafe fn iter_stop(&self) {}
}
