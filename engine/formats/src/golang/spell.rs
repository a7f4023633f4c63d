//! Decides which known name a misspelled one was meant to be.

/// The candidate nearest to `name`, if at most half of its letters differ, as starlark-go decides it.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearer_than(fold(name).len().div_ceil(2), name, candidates)
}

/// The candidate nearest to `name`, if few of its letters differ: among many names, half of the letters are too many.
pub fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match fold(name).len() {
        0..=2 => 0,
        3 => 1,
        4..=8 => 2,
        _ => 3,
    };
    nearer_than(allowed + 1, name, candidates)
}

/// Ties go to the first.
fn nearer_than<'a>(
    mut best_distance: usize,
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = fold(name);
    let mut best = None;
    for candidate in candidates {
        let folded = fold(candidate);
        if name.len().abs_diff(folded.len()) >= best_distance {
            continue;
        }
        let distance = distance(&name, &folded);
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

/// How many letters must be added, removed or replaced.
pub fn distance(x: &[u8], y: &[u8]) -> usize {
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

    #[test]
    fn among_many_names_only_few_letters_may_differ() {
        let names = ["load", "os", "local", "local_resource", "docker_build", "True", "fail"];
        for (name, expected) in [
            ("local_resorce", Some("local_resource")),
            ("localResource", Some("local_resource")),
            ("docker_biuld", Some("docker_build")),
            ("laod", Some("load")),
            ("true", Some("True")),
            ("lod", Some("load")),
            ("OS", Some("os")),
            ("so", None),
            ("x", None),
            ("", None),
            ("local_server", None),
            ("docker_compose", None),
        ] {
            assert_eq!(similar(name, names), expected, "{name}");
        }
    }
}
