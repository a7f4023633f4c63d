//! `serde_json` for this workspace, with a `json!` that cannot fail.
//!
//! The macro of `serde_json` takes any serializable value and panics if serialization fails, as it does for a
//! [`Path`](std::path::Path) that is not UTF-8. This [`json!`] has the same syntax, but takes only values that are
//! [`ToJson`], whose conversion cannot fail; a path does not compile. All packages import this crate as `serde_json`,
//! so nobody can use the other macro by mistake.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::BuildHasher,
    rc::Rc,
    sync::Arc,
};

pub use serde_json::*;

/// Something that always has a JSON form.
pub trait ToJson {
    /// Its JSON form.
    fn to_json(&self) -> Value;
}

/// Makes a [`Value`] from JSON with values of Rust in it, which have to be [`ToJson`].
#[macro_export]
macro_rules! json {
    (null) => { $crate::Value::Null };
    ([$($items:tt)*]) => {{
        #[allow(unused_mut, reason = "a list may be empty")]
        let mut items: ::std::vec::Vec<$crate::Value> = ::std::convert::From::from([]);
        $crate::json!(@items items, $($items)*);
        $crate::Value::Array(items)
    }};
    ({$($entries:tt)*}) => {{
        #[allow(unused_mut, reason = "an object may be empty")]
        let mut entries = $crate::Map::new();
        $crate::json!(@entries entries, $($entries)*);
        $crate::Value::Object(entries)
    }};
    (@items $to:ident,) => {};
    (@items $to:ident, null $(, $($rest:tt)*)?) => {
        $crate::json!(@item $to, (null) $($($rest)*)?)
    };
    (@items $to:ident, [$($value:tt)*] $(, $($rest:tt)*)?) => {
        $crate::json!(@item $to, ([$($value)*]) $($($rest)*)?)
    };
    (@items $to:ident, {$($value:tt)*} $(, $($rest:tt)*)?) => {
        $crate::json!(@item $to, ({$($value)*}) $($($rest)*)?)
    };
    (@items $to:ident, $value:expr $(, $($rest:tt)*)?) => {
        $crate::json!(@item $to, ($value) $($($rest)*)?)
    };
    (@item $to:ident, ($($value:tt)*) $($rest:tt)*) => {
        $to.push($crate::json!($($value)*));
        $crate::json!(@items $to, $($rest)*);
    };
    (@entries $to:ident,) => {};
    (@entries $to:ident, $key:tt : null $(, $($rest:tt)*)?) => {
        $crate::json!(@entry $to, $key (null) $($($rest)*)?)
    };
    (@entries $to:ident, $key:tt : [$($value:tt)*] $(, $($rest:tt)*)?) => {
        $crate::json!(@entry $to, $key ([$($value)*]) $($($rest)*)?)
    };
    (@entries $to:ident, $key:tt : {$($value:tt)*} $(, $($rest:tt)*)?) => {
        $crate::json!(@entry $to, $key ({$($value)*}) $($($rest)*)?)
    };
    (@entries $to:ident, $key:tt : $value:expr $(, $($rest:tt)*)?) => {
        $crate::json!(@entry $to, $key ($value) $($($rest)*)?)
    };
    // A key of several tokens, of which the colon is the end.
    (@entries $to:ident, $($rest:tt)+) => { $crate::json!(@key $to, () $($rest)+) };
    (@key $to:ident, ($($key:tt)+) : $($rest:tt)*) => {
        $crate::json!(@entries $to, ($($key)+) : $($rest)*)
    };
    (@key $to:ident, ($($key:tt)*) $next:tt $($rest:tt)*) => {
        $crate::json!(@key $to, ($($key)* $next) $($rest)*)
    };
    (@entry $to:ident, $key:tt ($($value:tt)*) $($rest:tt)*) => {
        #[allow(unused_parens, reason = "a computed key is written in parentheses")]
        $to.insert(($key).into(), $crate::json!($($value)*));
        $crate::json!(@entries $to, $($rest)*);
    };
    ($value:expr) => { $crate::ToJson::to_json(&$value) };
}

/// Types whose values `serde_json` converts without fail.
macro_rules! convertible {
    ($($type:ty),* $(,)?) => {
        $(impl ToJson for $type {
            fn to_json(&self) -> Value {
                Value::from(self.clone())
            }
        })*
    };
}

convertible!(bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f64, String, Value);
convertible!(Cow<'_, str>, Map<String, Value>);

/// Types that derive `serde::Serialize` from nothing but what is [`ToJson`] itself. A test of the repository makes sure
/// that no such type has a path in it.
#[macro_export]
macro_rules! derived_to_json {
    ($($type:ty),* $(,)?) => {
        $(impl $crate::ToJson for $type {
            fn to_json(&self) -> $crate::Value {
                $crate::to_value(self).expect("texts, numbers, lists and structs are always JSON")
            }
        })*
    };
}

impl ToJson for str {
    fn to_json(&self) -> Value {
        Value::from(self)
    }
}

/// What stands for something else is what that is.
macro_rules! transparent {
    ($($pointer:ty),*) => {
        $(impl<T: ToJson + ?Sized> ToJson for $pointer {
            fn to_json(&self) -> Value {
                (**self).to_json()
            }
        })*
    };
}

transparent!(&T, &mut T, Box<T>, Arc<T>, Rc<T>);

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

impl<T: ToJson> ToJson for [T] {
    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }
}

impl<T: ToJson, const N: usize> ToJson for [T; N] {
    fn to_json(&self) -> Value {
        self.as_slice().to_json()
    }
}

/// Lists of all kinds.
macro_rules! lists {
    ($($list:ident),*) => {
        $(impl<T: ToJson> ToJson for $list<T> {
            fn to_json(&self) -> Value {
                self.iter().map(T::to_json).collect()
            }
        })*
    };
}

lists!(Vec, VecDeque, BTreeSet);

impl<K: AsRef<str>, T: ToJson> ToJson for BTreeMap<K, T> {
    fn to_json(&self) -> Value {
        self.iter().map(|(key, value)| (key.as_ref().to_owned(), value.to_json())).collect()
    }
}

impl<K: AsRef<str>, T: ToJson, S: BuildHasher> ToJson for HashMap<K, T, S> {
    fn to_json(&self) -> Value {
        self.iter().map(|(key, value)| (key.as_ref().to_owned(), value.to_json())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_the_macro_of_serde_json_reads() {
        let (name, list, none) = ("web", vec![1, 2], None::<bool>);
        let made = crate::json!({
            "null": null, "name": name, (format!("{name}-2")): list.len(), "list": list,
            "none": none, "nested": {"empty": {}, "items": [null, {"a": [1, -2.5]}, [], true, [1, 2].len()]},
            "text": format!("{name}!"), name: Some("x"), &name[..1]: {"y": null}, str::trim(" z "): [],
        });
        let expected = r#"{"null":null,"name":"web","web-2":2,"list":[1,2],"none":null,"nested":{"empty":{},
            "items":[null,{"a":[1,-2.5]},[],true,2]},"text":"web!","web":"x","w":{"y":null},"z":[]}"#;
        assert_eq!(made, serde_json::from_str::<Value>(expected).unwrap());
        assert_eq!(crate::json!(null), Value::Null);
        assert_eq!(crate::json!(name), "web");
        assert_eq!(crate::json!([]), Value::Array(Vec::new()));
    }

    #[test]
    fn maps_and_sets_are_objects_and_lists() {
        let map = BTreeMap::from([("a", Arc::<str>::from("b"))]);
        let set = BTreeSet::from([2, 1]);
        let made = crate::json!({"map": map, "set": set});
        assert_eq!(made.to_string(), r#"{"map":{"a":"b"},"set":[1,2]}"#);
    }
}
