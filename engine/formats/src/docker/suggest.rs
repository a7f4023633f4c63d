//! Decides which consumed images an unused one was most likely meant to be, by the short pieces
//! of text that their names share.

use std::collections::HashSet;

const PIECE_SIZES: [usize; 3] = [2, 3, 4];
const SUGGESTIONS: usize = 3;

/// The names that share most pieces with `word`, best first, equally good ones in their order.
pub fn closest<'a, S: AsRef<str>>(names: &'a [S], word: &str, count: usize) -> Vec<&'a str> {
    let wanted = pieces(word.as_bytes());
    let mut ranked: Vec<(usize, &str)> = names
        .iter()
        .map(AsRef::as_ref)
        .map(|name| {
            let lowered = name.to_lowercase();
            (pieces(lowered.as_bytes()).intersection(&wanted).count(), name)
        })
        .filter(|(shared, _)| *shared > 0)
        .collect();
    ranked.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    ranked.into_iter().take(count).map(|(_, name)| name).collect()
}

/// The "Did you mean…" lines of the warning about an unused image; empty if nothing is close.
pub fn did_you_mean<S: AsRef<str>>(names: &[S], word: &str) -> String {
    let suggestions = closest(names, word, SUGGESTIONS);
    if suggestions.is_empty() {
        return String::new();
    }
    format!("Did you mean…\n    - {}\n", suggestions.join("\n    - "))
}

/// All pieces of a word, except those at its very end: the reference stops one short.
fn pieces(word: &[u8]) -> HashSet<&[u8]> {
    PIECE_SIZES
        .into_iter()
        .flat_map(|size| word.windows(size).take(word.len().saturating_sub(size)))
        .filter(|piece| !piece.iter().all(u8::is_ascii_whitespace))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ranked_by_shared_pieces() {
        let names = ["gcr.io/some-project/frontend", "busybox", "front", "gcr.io/other/backend"];
        for (word, expected) in [
            ("frontend", &["gcr.io/some-project/frontend", "front", "gcr.io/other/backend"][..]),
            (
                "gcr.io/some-project/front",
                &["gcr.io/some-project/frontend", "gcr.io/other/backend", "front"],
            ),
            ("zzz", &[]),
            ("", &[]),
            ("bu", &[]),
            ("bus", &["busybox"]),
        ] {
            assert_eq!(closest(&names, word, 3), expected, "{word}");
        }
        assert_eq!(did_you_mean(&names, "bus"), "Did you mean…\n    - busybox\n");
        assert_eq!(did_you_mean(&names, "zzz"), "");
    }
}
