//! Random histories: whatever happens in whatever order, the world does what it should.
//!
//! An [`Op`] is something that the outside does. A [`Outside`] turns it into events, executes the actions and
//! answers later, in any order. A [`Model`] says after every step what must hold. In some histories an
//! [`oracle`] chooses as well, from the words of the rules, and must choose the same.
//!
//! `PROPTEST_RNG_SEED` makes another million steps, `PROPTEST_CASES` more or fewer; what fails is shrunk and
//! printed.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a check names the few variants that it is about"
)]

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
};

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed, TestRunner},
};

mod causes;
mod model;
mod oracle;
mod outside;

use outside::{Outside, Spec};

/// So many resources are there to play with.
const N_NAMES: usize = 8;

/// Something that the outside does. Small numbers choose among what is there.
#[derive(Clone, Debug)]
enum Op {
    /// Milliseconds pass; negative ones set the clock back.
    Clock(i16),
    /// A file changed some milliseconds ago.
    Change {
        resource: u8,
        file: u8,
        age: u8,
    },
    /// Somebody types in the Tiltfile, which nobody has noticed yet.
    Rewrite {
        tiltfile: u8,
        resource: u8,
        spec: Option<Spec>,
    },
    /// A file of a Tiltfile changed some milliseconds ago.
    Edit {
        tiltfile: u8,
        age: u8,
    },
    Args {
        tiltfile: u8,
        arg: u8,
    },
    AddTiltfile,
    RemoveTiltfile,
    EndLoad {
        which: u8,
        ok: bool,
        max_parallel: Option<u8>,
        switches: u8,
    },
    Trigger {
        name: u8,
        reason: u8,
        with_deps: bool,
    },
    Mode {
        resource: u8,
        mode: u8,
    },
    Switch {
        resource: u8,
        state: u8,
    },
    Stop {
        name: u8,
        age: u8,
    },
    EndUpdate {
        which: u8,
        ok: bool,
    },
    Server {
        which: u8,
        what: ServerOp,
    },
    /// A command changes its own input for some rounds.
    Loop {
        resource: u8,
        rounds: u8,
    },
    /// A pod or a container was looked at.
    Observe {
        resource: u8,
        is_ready: bool,
    },
    /// Containers of a resource were looked at: two bits for each say how it does.
    Containers {
        resource: u8,
        states: u8,
        generation: u8,
    },
    /// Something that containers take has arrived, or not.
    EndSync {
        which: u8,
        how: u8,
    },
    /// Something else that matters for containers.
    Live {
        resource: u8,
        what: u8,
    },
    /// An answer to something that was never asked, or was answered before.
    Noise {
        id: u8,
        what: u8,
    },
}

#[derive(Clone, Copy, Debug)]
enum ServerOp {
    Run,
    Ready,
    Unready,
    End,
}

/// How often each kind of operation comes, compared to the others.
const WEIGHTS: [(u64, fn([u8; 8]) -> Op); 20] = [
    (6, |it| Op::Clock(if it[1] > 230 { -8 } else { 1 } * i16::from(it[2]))),
    (14, |it| Op::Change { resource: it[1], file: it[2] % 3, age: age(it[3]) }),
    (8, |it| Op::Rewrite {
        tiltfile: it[1],
        resource: it[2],
        spec: (it[3] < 215).then(|| Spec::of([it[4], it[5], it[6], it[7]])),
    }),
    (4, |it| Op::Edit { tiltfile: it[1], age: age(it[2]) }),
    (1, |it| Op::Args { tiltfile: it[1], arg: it[2] % 2 }),
    (1, |_| Op::AddTiltfile),
    (1, |_| Op::RemoveTiltfile),
    (8, |it| Op::EndLoad {
        which: it[1],
        ok: it[2] < 200,
        max_parallel: (it[3] < 50).then_some(it[4] % 5),
        switches: it[5],
    }),
    (6, |it| Op::Trigger { name: it[1], reason: it[2], with_deps: it[3] < 80 }),
    (1, |it| Op::Mode { resource: it[1], mode: it[2] % 4 }),
    (6, |it| Op::Switch { resource: it[1], state: it[2] % 9 }),
    (2, |it| Op::Stop { name: it[1], age: age(it[2]) }),
    (26, |it| Op::EndUpdate { which: it[1], ok: it[2] < 190 }),
    (12, |it| Op::Server { which: it[1], what: server_op(it[2]) }),
    (1, |it| Op::Loop { resource: it[1], rounds: it[2] % 16 }),
    (3, |it| Op::Observe { resource: it[1], is_ready: it[2] < 128 }),
    (3, |it| Op::Containers { resource: it[1], states: it[2], generation: it[3] % 4 }),
    (6, |it| Op::EndSync { which: it[1], how: it[2] % 8 }),
    (3, |it| Op::Live { resource: it[1], what: it[2] % 8 }),
    (2, |it| Op::Noise { id: it[1], what: it[2] % 5 }),
];

fn age(byte: u8) -> u8 {
    if byte < 192 { 0 } else { byte % 32 }
}

fn server_op(byte: u8) -> ServerOp {
    match byte % 8 {
        0..3 => ServerOp::Run,
        3..5 => ServerOp::Ready,
        5 => ServerOp::Unready,
        _ => ServerOp::End,
    }
}

/// One number per operation: that is quick to draw, and a history still shrinks by leaving out what does not
/// matter.
fn op() -> impl Strategy<Value = Op> {
    any::<u64>().prop_map(|number| {
        let total: u64 = WEIGHTS.iter().map(|it| it.0).sum();
        let mut rest = number % total;
        let mut weights = WEIGHTS.iter();
        let chosen = weights.find(|(weight, _)| {
            let is_chosen = rest < *weight;
            rest = rest.saturating_sub(*weight);
            is_chosen
        });
        // The low byte has just been used.
        let bytes = (number / total).rotate_left(8).to_le_bytes();
        chosen.map_or(Op::AddTiltfile, |it| it.1(bytes))
    })
}

/// Runs histories of up to so many operations; says how many steps that were, and what occurred in them.
fn run(config: Config, n_ops: usize, with_oracle: bool) -> (u64, BTreeSet<&'static str>) {
    let (n_steps, seen) = (Cell::new(0), RefCell::new(BTreeSet::new()));
    let result = TestRunner::new(config).run(&prop::collection::vec(op(), 0..n_ops), |ops| {
        let mut world = Outside::new(with_oracle);
        for op in &ops {
            world.run(op);
        }
        world.settle();
        n_steps.set(n_steps.get() + world.n_steps);
        seen.borrow_mut().append(&mut world.seen);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    (n_steps.into_inner(), seen.into_inner())
}

fn config(cases: u32) -> Config {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config.cases = config.cases.max(cases);
    config
}

#[test]
fn a_million_random_steps_keep_every_promise_and_settle() {
    let (n_steps, seen) = run(config(4_400), 1_000, false);
    assert!(n_steps >= 1_000_000, "only {n_steps} steps");
    // Promises about what never occurs would be worth nothing.
    let expected = [
        "building-component",
        "cancel load",
        "cancel syncs",
        "cancel update",
        "cause",
        "declared twice",
        "is-unparallelizable-local",
        "list files",
        "rebuild-loop",
        "removed",
        "send ahead",
        "start load",
        "start server",
        "start sync",
        "start update",
        "stop server",
        "tiltfile-reload",
        "waiting-for-dep",
        "waiting-for-deploy",
        "waiting-for-local",
        "waiting-for-uncategorized",
    ];
    assert!(seen.iter().eq(&expected), "{seen:?}");
}

#[test]
fn a_hundred_thousand_short_histories_keep_every_promise_and_name_true_causes() {
    let (_, seen) = run(config(100_000), 40, false);
    assert!(seen.contains("cause"), "{seen:?}");
}

#[test]
fn the_rules_read_word_by_word_choose_the_same() {
    run(config(1_000), 600, true);
}
