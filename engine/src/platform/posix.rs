//! The portable form: the process table as `ps` prints it.
//!
//! Without a way to adopt orphans, a process that has left its group and whose parents have all
//! ended cannot be told from one of somebody else.

use std::{
    io,
    process::{Command, Stdio},
};

use nix::unistd::Pid;

/// One line of the process table.
#[derive(Clone, Copy, Debug)]
struct Row {
    pid: Pid,
    parent: Pid,
    group: Pid,
}

/// Everything below a process, in a process group, or below one of some known processes.
pub(super) fn descendants(of: Pid, group: Pid, known: &[Pid]) -> io::Result<Vec<Pid>> {
    // A command's own `PATH`, which its guard has too, need not lead to it.
    let path = std::env::var("PATH").unwrap_or_default();
    let ps = Command::new("ps")
        .env("PATH", format!("{path}:/usr/bin:/bin"))
        .args(["-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat="])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let asked = Pid::from_raw(i32::try_from(ps.id()).unwrap_or(i32::MAX));
    let table = ps.wait_with_output()?.stdout;
    let rows = parse(&String::from_utf8_lossy(&table), asked);
    Ok(below(&rows, of, group, known))
}

/// The rows of the table, without dead processes and the one that printed it.
fn parse(table: &str, printed_by: Pid) -> Vec<Row> {
    let row = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let mut number = || words.next()?.parse().ok().map(Pid::from_raw);
        let row = Row { pid: number()?, parent: number()?, group: number()? };
        let is_dead = words.next().is_some_and(|it| it.starts_with('Z'));
        (row.pid != printed_by && !is_dead).then_some(row)
    };
    table.lines().filter_map(row).collect()
}

fn below(rows: &[Row], root: Pid, group: Pid, known: &[Pid]) -> Vec<Pid> {
    let is_meant = |it: &&Row| it.group == group || known.contains(&it.pid);
    let mut found: Vec<Pid> =
        rows.iter().filter(is_meant).map(|it| it.pid).filter(|it| *it != root).collect();
    let mut parents = vec![root];
    parents.extend(&found);
    while let Some(parent) = parents.pop() {
        for row in rows.iter().filter(|it| it.parent == parent) {
            if !found.contains(&row.pid) {
                found.push(row.pid);
                parents.push(row.pid);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
        1 0 1 S
        10 1 10 S
        11 10 11 S
        12 11 11 S+
        13 12 13 Z
        14 1 11 S
        15 14 15 S
        16 10 16 R
        20 1 20 S
        21 20 20 S
        junk";

    fn check(known: &[i32], expected: &[i32]) {
        let pid = Pid::from_raw;
        let known: Vec<Pid> = known.iter().copied().map(pid).collect();
        let mut found = below(&parse(TABLE, pid(16)), pid(10), pid(11), &known);
        found.sort();
        assert_eq!(found, expected.iter().copied().map(pid).collect::<Vec<_>>());
    }

    #[test]
    fn descendants_are_found_by_parent_and_by_group() {
        // 13 is dead and 16 is `ps`; 14 lost its parent, but not its group, and 15 is below it.
        check(&[], &[11, 12, 14, 15]);
    }

    #[test]
    fn those_that_were_found_once_are_found_again_while_they_live() {
        check(&[12, 13, 20], &[11, 12, 14, 15, 20, 21]);
    }
}
