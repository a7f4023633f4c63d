//! What only Linux has: subreapers and `/proc`.

use std::{ffi::CStr, fs};

use nix::{sys::prctl, unistd::Pid};

pub(super) fn adopt_orphans() {
    // Kernels have had this since 3.4; without it, guards are as good as the portable form.
    let _ = prctl::set_child_subreaper(true);
}

pub(super) fn set_process_name(name: &CStr) {
    // Only tools that look for names care.
    let _ = prctl::set_name(name);
}

/// The children of a process; those that end while they are read may hide others.
pub(super) fn children(of: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else { return found };
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(pids) => found.extend(parse_pids(&pids)),
            // The kernel was built without these files, or the thread has ended.
            Err(_) => found.extend(children_by_search(of)),
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Everything below a process.
pub(super) fn descendants(of: Pid) -> Vec<Pid> {
    let mut found = children(of);
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        for child in children(*pid) {
            if !found.contains(&child) {
                found.push(child);
            }
        }
        next += 1;
    }
    found
}

fn parse_pids(text: &str) -> impl Iterator<Item = Pid> {
    text.split_ascii_whitespace().filter_map(|it| it.parse().ok()).map(Pid::from_raw)
}

/// The children of a process, by asking every process for its parent.
fn children_by_search(of: Pid) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
    pids.map(Pid::from_raw).filter(|pid| parent(*pid) == Some(of)).collect()
}

fn parent(of: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{of}/stat")).ok()?;
    // The name in parentheses may contain anything; what follows it may not.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn both_ways_to_find_children_agree() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("it starts");
        let pid = Pid::from_raw(child.id().try_into().expect("a process id"));
        assert!(children(Pid::this()).contains(&pid));
        assert!(children_by_search(Pid::this()).contains(&pid));
        assert_eq!(parent(pid), Some(Pid::this()));
        child.kill().expect("it runs");
        child.wait().expect("it is our child");
        assert!(!descendants(Pid::this()).contains(&pid));
    }
}
