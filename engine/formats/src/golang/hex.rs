//! Bytes as hexadecimal digits.

/// Two lower-case digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The bytes that digits stand for, unless it is something else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |it: &u8| char::from(*it).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|it| Some(digit(it.first()?)? << 4 | digit(it.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_become_digits_and_bytes_again() {
        assert_eq!(super::encode(&[0, 10, 255]), "000aff");
        assert_eq!(super::decode("000aff"), Some(vec![0, 10, 255]));
        assert_eq!(super::decode(""), Some(Vec::new()));
        for text in ["0", "0g", "é0", "000"] {
            assert_eq!(super::decode(text), None, "{text}");
        }
    }
}
