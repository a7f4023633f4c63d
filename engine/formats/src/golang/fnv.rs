//! The FNV-1a hash that shortens names which are too long.

/// The 32-bit FNV-1a hash.
pub fn fnv32a(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The 32-bit FNV-1a hash of a text as eight hexadecimal digits.
pub fn fnv32a_hex(text: &str) -> String {
    format!("{:08x}", fnv32a(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_agrees_with_the_published_vectors() {
        for (text, expected) in [("", "811c9dc5"), ("a", "e40c292c"), ("foobar", "bf9cf968")] {
            assert_eq!(fnv32a_hex(text), expected);
        }
    }
}
