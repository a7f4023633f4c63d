//! Runs many cases at a time and hands on the answers in the order of the cases.

use std::{
    collections::BTreeMap,
    num::NonZero,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use crate::case::Case;

/// As many runs at a time as there are processors.
pub fn default_jobs() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Calls `work` for every case on `jobs` threads, and `done` on this one, in the order of the cases.
pub fn for_each_case<T: Send>(
    cases: &[Case],
    jobs: usize,
    work: impl Fn(&Case) -> T + Sync,
    mut done: impl FnMut(&Case, T),
) {
    let next = AtomicUsize::new(0);
    let (sender, answers) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((i, case)) = take(next, cases) {
                    if sender.send((i, work(case))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (i, answer) in answers {
            early.insert(i, answer);
            while let Some(answer) = early.remove(&expected) {
                done(&cases[expected], answer);
                expected += 1;
            }
        }
    });
}

fn take<'a>(next: &AtomicUsize, cases: &'a [Case]) -> Option<(usize, &'a Case)> {
    let i = next.fetch_add(1, Ordering::Relaxed);
    cases.get(i).map(|case| (i, case))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_arrive_in_the_order_of_the_cases() {
        let case = |i: usize| Case { label: format!("a/{i:03}"), dir: i.to_string().into() };
        let cases: Vec<Case> = (0..200).map(case).collect();
        let mut seen = Vec::new();
        for_each_case(
            &cases,
            8,
            |case| case.label.clone(),
            |case, label| {
                assert_eq!(case.label, label);
                seen.push(label);
            },
        );
        assert_eq!(seen.len(), 200);
        assert!(seen.is_sorted());
    }
}
