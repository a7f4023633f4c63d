//! What is kept of what a container prints: the end of it, as much as anybody reads.

/// So much is kept, however much is printed.
pub(super) const KEPT_MAX: usize = 64 * 1024;

/// The end of something that is printed.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    /// Something more was printed.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(KEPT_MAX)..];
        let n_too_many = (self.0.len() + bytes.len()).saturating_sub(KEPT_MAX);
        self.0.drain(..n_too_many);
        self.0.extend_from_slice(bytes);
    }

    /// What is kept of it, without white space around.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_however_much_there_is() {
        for size in [1, 1_000, KEPT_MAX, 3 * KEPT_MAX] {
            let mut tail = Tail::default();
            for _ in 0..5 {
                tail.push(&vec![b'x'; size]);
                assert!(tail.0.len() <= KEPT_MAX && tail.0.capacity() <= 2 * KEPT_MAX, "{size}");
            }
            tail.push(b" the error\n");
            assert!(tail.text().ends_with("x the error"), "{size}");
        }
    }
}
