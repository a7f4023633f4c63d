//! Decides how binary data is read: base64 as Go reads it, which skips line breaks, forgives stray bits in the last
//! letter, and names the offset of the first mistake.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Text that is not base64, in Go's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub(crate) struct BytesError(usize);

/// Reads base64.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, BytesError> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut letters = text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    loop {
        let mut group = 0u32;
        for place in 0..4 {
            match letters.next() {
                None if place == 0 => return Ok(bytes),
                // Go points at the start of the letters it read of this group.
                None => return Err(BytesError(text.len() - place)),
                Some((at, b'=')) => return finish(text, &mut letters, (at, place), (group, bytes)),
                Some((at, byte)) => {
                    group = group << 6 | u32::from(sextet(byte).ok_or(BytesError(at))?);
                }
            }
        }
        bytes.extend_from_slice(&group.to_be_bytes()[1..]);
    }
}

/// Writes base64.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads the padding, which only fits after two or three letters and ends the text.
fn finish(
    text: &str,
    letters: &mut dyn Iterator<Item = (usize, u8)>,
    (at, place): (usize, usize),
    (group, mut bytes): (u32, Vec<u8>),
) -> Result<Vec<u8>, BytesError> {
    match place {
        0 | 1 => return Err(BytesError(at)),
        2 => match letters.next() {
            None => return Err(BytesError(text.len())),
            Some((_, b'=')) => bytes.push((group >> 4).to_be_bytes()[3]),
            Some((at, _)) => return Err(BytesError(at - 1)),
        },
        _ => bytes.extend_from_slice(&(group >> 2).to_be_bytes()[2..]),
    }
    letters.next().map_or(Ok(bytes), |(at, _)| Err(BytesError(at)))
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, usize>) {
        let expected = expected.map(|text| text.as_bytes().to_vec()).map_err(BytesError);
        assert_eq!(decode(text), expected, "{text:?}");
    }

    #[test]
    fn base64_is_read_as_go_reads_it() {
        check("", Ok(""));
        check("aGVsbG8=", Ok("hello"));
        check("aGVs\nbG8=\n", Ok("hello"));
        check("aGk=", Ok("hi"));
        check("aA==", Ok("h"));
        check("aB==", Ok("h"));
        check("!!", Err(0));
        check("aGVsbG8", Err(4));
        check("aGVsbG8=x", Err(8));
        check("aGVs=", Err(4));
        check("a=", Err(1));
        check("aa=", Err(3));
        check("aa=a", Err(2));
        check("aa==aa==", Err(4));
        check("aaaaa\n\n", Err(6));
        check("hello world", Err(5));
    }
}
