//! Decides what the escapes in a quoted string mean, as in Go's string literals.

/// The text between quotes with its escapes resolved, or `None` if one is not valid.
pub(crate) fn unquote(text: &str, quote: char) -> Option<String> {
    if !text.contains(['\\', quote]) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == quote {
            return None;
        }
        if letter == '\\' {
            escape(letters.next()?, quote, &mut letters, &mut bytes)?;
        } else {
            push(letter, &mut bytes);
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn escape(
    letter: char,
    quote: char,
    letters: &mut std::str::Chars<'_>,
    bytes: &mut Vec<u8>,
) -> Option<()> {
    match letter {
        'a' => bytes.push(0x07),
        'b' => bytes.push(0x08),
        'f' => bytes.push(0x0c),
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        'v' => bytes.push(0x0b),
        '\\' => bytes.push(b'\\'),
        'x' => bytes.push(u8::try_from(digits(letters, 2, 16)?).ok()?),
        'u' => push(char::from_u32(digits(letters, 4, 16)?)?, bytes),
        'U' => push(char::from_u32(digits(letters, 8, 16)?)?, bytes),
        '0'..='7' => {
            let first = letter.to_digit(8)?;
            bytes.push(u8::try_from(first * 64 + digits(letters, 2, 8)?).ok()?);
        }
        '\'' | '"' if letter == quote => bytes.push(u8::try_from(letter).ok()?),
        _ => return None,
    }
    Some(())
}

fn digits(letters: &mut std::str::Chars<'_>, count: usize, base: u32) -> Option<u32> {
    (0..count).try_fold(0u32, |value, _| {
        Some(value.wrapping_mul(base).wrapping_add(letters.next()?.to_digit(base)?))
    })
}

fn push(letter: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}
