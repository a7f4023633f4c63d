//! Decides which names have to be written differently, and how to read them again.

use std::borrow::Cow;

/// Whether the crate cannot read a name that starlark-go accepts.
pub(super) fn needs_mangling(name: &str) -> bool {
    name == "assert" || !name.is_ascii()
}

/// The name the crate gets to see instead.
pub fn mangle(name: &str) -> Cow<'_, str> {
    if !needs_mangling(name) {
        return Cow::Borrowed(name);
    }
    let mut mangled = String::from("__id_");
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            mangled.push(c);
        } else {
            mangled.extend([format!("_x{:x}_", u32::from(c))]);
        }
    }
    mangled.push_str("__");
    Cow::Owned(mangled)
}

/// The name the user wrote, given what the crate saw.
pub fn unmangle(name: &str) -> Cow<'_, str> {
    let builtin = name.strip_prefix("__builtin_").and_then(|rest| rest.strip_suffix("__"));
    if let Some(builtin) = builtin {
        return Cow::Borrowed(builtin);
    }
    let inner = name.strip_prefix("__id_").and_then(|rest| rest.strip_suffix("__"));
    match inner.and_then(decode) {
        Some(decoded) => Cow::Owned(decoded),
        None => Cow::Borrowed(name),
    }
}

fn decode(mut mangled: &str) -> Option<String> {
    let mut name = String::new();
    while let Some(at) = mangled.find("_x") {
        name.push_str(&mangled[..at]);
        let (code, rest) = mangled[at + 2..].split_once('_')?;
        name.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        mangled = rest;
    }
    name.push_str(mangled);
    needs_mangling(&name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_identifiers_and_can_be_read_again() {
        for name in ["assert", "é", "naïve_x", "世界", "a_x41_é"] {
            let mangled = mangle(name);
            assert!(mangled.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{mangled}");
            assert_eq!(unmangle(&mangled), name);
        }
        for name in ["x", "__id_x__", "__id_", "assertion", "__id__x41___"] {
            assert_eq!(mangle(name), name);
            assert_eq!(unmangle(name), name);
        }
        assert_eq!(unmangle("__builtin_len__"), "len");
    }
}
