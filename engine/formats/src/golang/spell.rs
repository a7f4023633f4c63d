//! Decides which known name a misspelled one was meant to be, as starlark-go does.

/// The candidate nearest to `name`, if at most half of its letters differ; ties go to the first.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = fold(name);
    let mut best = None;
    let mut best_distance = name.len().div_ceil(2);
    for candidate in candidates {
        let folded = fold(candidate);
        if name.len().abs_diff(folded.len()) >= best_distance {
            continue;
        }
        let distance = levenshtein(&name, &folded);
        if distance < best_distance {
            best_distance = distance;
            best = Some(candidate);
        }
    }
    best
}

/// Case and underscores do not count as differences.
fn fold(name: &str) -> Vec<u8> {
    let lower = |c: char| {
        let mut mapped = c.to_lowercase();
        if mapped.len() == 1 { mapped.next().unwrap_or(c) } else { c }
    };
    name.chars().filter(|&c| c != '_').map(lower).collect::<String>().into_bytes()
}

fn levenshtein(x: &[u8], y: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=y.len()).collect();
    for (i, a) in x.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in y.iter().enumerate() {
            let cost = (diagonal + usize::from(a != b)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[y.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_wins_unless_all_are_far() {
        let names = ["alpha", "beta", "my_list", "x"];
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(nearest(name, names), expected, "{name}");
        };
        check("alpah", Some("alpha"));
        check("mylst", Some("my_list"));
        check("BETA", Some("beta"));
        check("gamma", None);
        check("y", None);
        check("_", None);
    }
}
