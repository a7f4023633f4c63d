//! Reads packed charts.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::{Uncacheable, impure};

/// How large a packed chart may become.
const MAX_UNPACKED: usize = 64 << 20;
const GZIP: &[u8] = &[0x1f, 0x8b, 8];

/// Objects to a file of a chart that may give another result the next time, packed or not.
pub(super) fn check(file: &[u8]) -> Result<(), Uncacheable> {
    if !file.starts_with(GZIP) {
        return impure::check(file);
    }
    // Texts lie in the archive as they are, one after the other, so there is no need to find their borders.
    let unpacked = unpack(file).ok_or(Uncacheable("an archive cannot be read"))?;
    if unpacked.windows(GZIP.len()).any(|it| it == GZIP) {
        return Err(Uncacheable("an archive contains another one"));
    }
    impure::check(&unpacked)
}

/// The content of a gzip file with a single member.
fn unpack(file: &[u8]) -> Option<Vec<u8>> {
    let flags = *file.get(3)?;
    let mut rest = file.get(10..)?;
    if flags & 4 != 0 {
        let (length, after) = rest.split_at_checked(2)?;
        rest = after.get(usize::from(u16::from_le_bytes([length[0], length[1]]))..)?;
    }
    // A name and a comment, each with a zero at its end.
    for flag in [8, 16] {
        if flags & flag != 0 {
            rest = &rest[rest.iter().position(|it| *it == 0)? + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    let unpacked = decompress_to_vec_with_limit(rest, MAX_UNPACKED).ok()?;
    // The size at the end tells whether there are more members.
    let size = file.last_chunk::<4>()?;
    (u32::from_le_bytes(*size) as usize == unpacked.len()).then_some(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gzip file with a name in its header.
    fn packed(content: &[u8]) -> Vec<u8> {
        let mut file = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
        file.extend(b"chart.tar\0");
        file.extend(miniz_oxide::deflate::compress_to_vec(content, 6));
        // The checksum is not looked at.
        file.extend([0; 4]);
        file.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        file
    }

    #[test]
    fn packed_templates_are_looked_at() {
        let pure = packed(b"a: {{ .Values.a }}");
        assert_eq!(check(&pure), Ok(()));
        assert!(check(&packed(b"a: {{ randAlphaNum 5 }}")).is_err());
        assert!(check(&packed(&pure)).is_err(), "archives in archives");
        assert!(check(&pure[..pure.len() - 9]).is_err(), "cut off");
        assert!(check(&[pure.clone(), packed(b"more")].concat()).is_err(), "several members");
        assert!(check(&pure[..12]).is_err());
        assert!(check(GZIP).is_err());
    }
}
