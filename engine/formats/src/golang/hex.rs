//! Bytes as hexadecimal digits.

/// Two lower-case digits for each byte.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_become_digits() {
        assert_eq!(super::encode(&[0, 10, 255]), "000aff");
    }
}
