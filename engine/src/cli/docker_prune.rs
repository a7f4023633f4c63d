//! `docker-prune`: removes what earlier updates have left in Docker.

use std::{
    collections::{HashMap, HashSet},
    process::Command,
};

use builtins::{docker::reference::Reference, golang::duration};
use clap::Args;
use engine_model::{DockerPruneSettings, ImageTarget};
use jiff::Timestamp;
use serde_json::Value;

use super::{Global, Printer, evaluated::Evaluated, failure::Failure};

/// What everything has that updates make.
const LABEL: &str = "label=dev.tilt.gc=true";

/// Remove old images, containers and build caches of earlier updates.
///
/// How old they may get, and how many images of each name stay, is what `docker_prune_settings` in
/// the Tiltfile says.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    file: String,
    /// Arguments of the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

pub(super) fn run(flags: &Flags, global: &Global, printer: Printer) -> Result<(), Failure> {
    let evaluated = Evaluated::new(&flags.file, &flags.args, printer)?;
    let targets = evaluated.load.manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
    let selectors: Vec<Selector> = targets.filter_map(Selector::of).collect();
    let prune = Prune { settings: &evaluated.load.docker_prune_settings, selectors, printer };
    // As in Tilt, what Docker refuses is said, and is no failure of the command.
    if let Err(error) = prune.run(global.debug) {
        printer.out(&format!("[Docker Prune] error running docker prune: {error}\n"));
    }
    Ok(())
}

/// Which images belong to a build.
#[derive(Debug)]
struct Selector {
    reference: Reference,
    is_exact: bool,
}

impl Selector {
    fn of(target: &ImageTarget) -> Option<Self> {
        let reference = Reference::parse(&target.selector).ok()?;
        Some(Self { reference, is_exact: target.match_exact })
    }

    fn matches(&self, tags: &[Reference]) -> bool {
        tags.iter().any(|it| {
            it.name() == self.reference.name() && (!self.is_exact || it.tag == self.reference.tag)
        })
    }
}

struct Prune<'a> {
    settings: &'a DockerPruneSettings,
    selectors: Vec<Selector>,
    printer: Printer,
}

impl Prune<'_> {
    fn run(&self, is_debug: bool) -> Result<(), String> {
        let until = format!("until={}", duration::Duration(self.settings.max_age.0));
        let filters = ["--force", "--filter", LABEL, "--filter", &until];
        let containers = docker(&[&["container", "prune"], filters.as_slice()].concat())?;
        self.report(&containers, "containers", is_debug);
        self.images(is_debug)?;
        let caches = docker(&[&["builder", "prune"], filters.as_slice()].concat())?;
        self.report(&caches, "caches", is_debug);
        Ok(())
    }

    /// Says what Docker has removed: the lines of its answer between a title and the sum.
    fn report(&self, answer: &str, what: &str, is_debug: bool) {
        let lines = answer.lines().map(str::trim).filter(|it| !it.is_empty());
        let (sums, removed): (Vec<_>, Vec<_>) = lines.partition(|it| it.starts_with("Total"));
        let removed: Vec<_> =
            removed.into_iter().filter(|it| !it.ends_with(':') && !it.starts_with("ID")).collect();
        let sum = sums.first().and_then(|it| it.split_once(':')).map_or("0B", |(_, it)| it.trim());
        let count = removed.len();
        self.printer.out(&format!("[Docker Prune] removed {count} {what}, reclaimed {sum}\n"));
        for line in removed.iter().filter(|_| is_debug) {
            self.printer.out(&format!("\t- {line}\n"));
        }
    }

    fn images(&self, is_debug: bool) -> Result<(), String> {
        let ids = docker(&["image", "ls", "--quiet", "--no-trunc", "--filter", LABEL])?;
        let ids: HashSet<&str> = ids.lines().filter(|it| !it.is_empty()).collect();
        let mut removed = Vec::new();
        let mut bytes = 0;
        if !ids.is_empty() {
            let mut words = vec!["image", "inspect"];
            words.extend(ids);
            let images: Vec<Value> =
                serde_json::from_str(&docker(&words)?).map_err(|it| it.to_string())?;
            for image in self.superfluous(&images, Timestamp::now()) {
                let id = image["Id"].as_str().unwrap_or_default();
                // An image that is in use stays, which is fine.
                if docker(&["image", "rm", id]).is_ok() {
                    removed.push(id.to_owned());
                    bytes += image["Size"].as_u64().unwrap_or(0);
                }
            }
        }
        let (count, sum) = (removed.len(), human_size(bytes));
        self.printer.out(&format!("[Docker Prune] removed {count} images, reclaimed {sum}\n"));
        for id in removed.iter().filter(|_| is_debug) {
            self.printer.out(&format!("\t- deleted: {id}\n"));
        }
        Ok(())
    }

    /// Images of these builds that are old, and not among the newest of their name.
    fn superfluous<'v>(&self, images: &'v [Value], now: Timestamp) -> Vec<&'v Value> {
        let max_age = jiff::SignedDuration::from_nanos(self.settings.max_age.0);
        let mut old: Vec<(Timestamp, usize, &Value)> = Vec::new();
        for image in images {
            let tags = image["RepoTags"].as_array().map(Vec::as_slice).unwrap_or_default();
            let tags: Result<Vec<_>, _> =
                tags.iter().filter_map(Value::as_str).map(Reference::parse).collect();
            // An image with several names cannot be removed without force.
            let Some(tags) = tags.ok().filter(|it| it.len() <= 1) else { continue };
            let Some(owner) = self.selectors.iter().position(|it| it.matches(&tags)) else {
                continue;
            };
            let built = image["Metadata"]["LastTagTime"].as_str().and_then(|it| it.parse().ok());
            let built = built.unwrap_or(Timestamp::UNIX_EPOCH);
            if now.duration_since(built) >= max_age {
                old.push((built, owner, image));
            }
        }
        old.sort_by_key(|(built, ..)| std::cmp::Reverse(*built));
        let mut kept: HashMap<usize, i64> = HashMap::new();
        old.retain(|(_, owner, _)| {
            let kept = kept.entry(*owner).or_default();
            *kept += 1;
            *kept > self.settings.keep_recent
        });
        old.into_iter().map(|(_, _, image)| image).collect()
    }
}

/// Runs docker; gives what it prints, or why it failed.
fn docker(words: &[&str]) -> Result<String, String> {
    let output = Command::new("docker")
        .args(words)
        .output()
        .map_err(|error| format!("exec: \"docker\": {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
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
    use engine_model::Nanoseconds;
    use serde_json::json;

    #[test]
    fn old_images_go_except_for_the_newest_of_each_name() {
        let settings = DockerPruneSettings {
            max_age: Nanoseconds(3_600_000_000_000),
            keep_recent: 1,
            ..DockerPruneSettings::default()
        };
        let selector =
            |name: &str| Selector { reference: Reference::parse(name).unwrap(), is_exact: false };
        let selectors = vec![selector("web"), selector("api")];
        let prune = Prune { settings: &settings, selectors, printer: Printer };
        let image = |tags: &[&str], hour: u8| {
            json!({"Id": tags[0], "RepoTags": tags,
                "Metadata": {"LastTagTime": format!("2020-01-01T{hour:02}:00:00Z")}})
        };
        let images = [
            image(&["web:tilt-1"], 1),
            image(&["web:tilt-2"], 2),
            image(&["web:tilt-3"], 3),
            image(&["web:tilt-4"], 10),
            image(&["api:tilt-1"], 1),
            image(&["api:tilt-2", "other:1"], 0),
            image(&["foreign:1"], 1),
        ];
        let now = "2020-01-01T10:30:00Z".parse().unwrap();
        let gone: Vec<_> = prune.superfluous(&images, now).iter().map(|it| &it["Id"]).collect();
        assert_eq!(gone, ["web:tilt-2", "web:tilt-1"]);
    }

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
}
