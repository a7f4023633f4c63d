//! Docker prune: what of earlier updates may go, and how that is told.

use engine_docker::{Prune, PruneReport, Removed};
use engine_formats::docker::{registry::Registry, selector::RefSelector};
use engine_model::{DockerPruneSettings, ImageTarget};
use jiff::SignedDuration;

/// What stands before everything that is said about it.
pub const TITLE: &str = "[Docker Prune]";

/// What may go, by the settings and the images of a Tiltfile. In a registry images have other names.
pub fn request<'a>(
    settings: &DockerPruneSettings,
    images: impl Iterator<Item = &'a ImageTarget>,
    registry: Option<&Registry>,
) -> Prune {
    let selector = |it: &ImageTarget| {
        let named = RefSelector::of_image(&it.selector, it.match_exact).ok()?;
        match registry {
            Some(registry) => Some(RefSelector::new(registry.local_ref(&named).ok()?)),
            None => Some(named),
        }
    };
    Prune {
        max_age: SignedDuration::from_nanos(settings.max_age.0),
        keep_recent: usize::try_from(settings.keep_recent).unwrap_or_default(),
        selectors: images.filter_map(selector).collect(),
    }
}

/// Something to say about what was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its text.
    pub text: String,
    /// Whether it is of interest only to those who want to know everything.
    pub is_detail: bool,
}

/// What was removed, in words. Nothing is said about nothing, unless somebody wants to know.
pub fn lines(report: &PruneReport, with_nothing: bool) -> Vec<Line> {
    let kinds = [
        ("containers", &report.containers),
        ("images", &report.images),
        ("caches", &report.caches),
    ];
    let told = kinds.into_iter().filter(|(_, it)| with_nothing || !it.items.is_empty());
    told.flat_map(|(what, removed)| lines_of(what, removed)).collect()
}

fn lines_of(what: &str, removed: &Removed) -> Vec<Line> {
    let (count, size) = (removed.items.len(), human_size(removed.bytes));
    let text = format!("{TITLE} removed {count} {what}, reclaimed {size}");
    let mut lines = vec![Line { text, is_detail: false }];
    let details = removed.items.iter().map(|it| format!("\t- {it}"));
    lines.extend(details.map(|text| Line { text, is_detail: true }));
    lines
}

/// A number of bytes as Docker writes it: four digits and a decimal unit.
fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut whole = bytes;
    let mut unit = 0;
    let mut divisor: u64 = 1;
    while whole >= 1000 && unit + 1 < UNITS.len() {
        whole /= 1000;
        divisor *= 1000;
        unit += 1;
    }
    let digits = 4 - whole.to_string().len().min(3);
    let scale = 10_u64.pow(u32::try_from(digits).unwrap_or(0));
    let rest = u128::from(bytes % divisor) * u128::from(scale) / u128::from(divisor);
    let fraction = format!("{rest:0digits$}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{whole}{point}{fraction}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_docker_does() {
        for (bytes, want) in [
            (0, "0B"),
            (999, "999B"),
            (1000, "1kB"),
            (1_234_567, "1.234MB"),
            (12_345_678, "12.34MB"),
            (123_000_000, "123MB"),
            (1_500_000_000, "1.5GB"),
        ] {
            assert_eq!(human_size(bytes), want);
        }
    }

    #[test]
    fn nothing_is_said_about_nothing_unless_somebody_wants_to_know() {
        let images = Removed { items: vec!["deleted: sha256:1".into()], bytes: 2_000_000 };
        let report = PruneReport { images, ..PruneReport::default() };
        let texts = |with_nothing| -> Vec<String> {
            lines(&report, with_nothing).into_iter().map(|it| it.text).collect()
        };
        let removed = "[Docker Prune] removed 1 images, reclaimed 2MB";
        assert_eq!(texts(false), [removed, "\t- deleted: sha256:1"]);
        assert_eq!(
            texts(true),
            [
                "[Docker Prune] removed 0 containers, reclaimed 0B",
                removed,
                "\t- deleted: sha256:1",
                "[Docker Prune] removed 0 caches, reclaimed 0B",
            ]
        );
    }
}
