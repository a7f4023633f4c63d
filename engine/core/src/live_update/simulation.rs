//! Random histories: whatever is saved, deleted, replaced, built and broken in whatever order, in the end
//! every container has what the directory has.
//!
//! An [`Op`] is something that the outside does. A [`Outside`] plays the directory, its watcher, the builder
//! and the containers, all of them naively: it reads a file when it is sent, not when it changed.
//!
//! `PROPTEST_RNG_SEED` makes other histories, `PROPTEST_CASES` more; what fails is shrunk.

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed, TestRunner},
};

mod outside;

use outside::Outside;

/// Something that the outside does. Small numbers choose among what is there.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// A file gets a content, maybe the one it has.
    Save {
        file: u8,
        content: u8,
    },
    Delete {
        file: u8,
    },
    /// All files of the folder go at once.
    DeleteFolder,
    /// A file changes that only a full build takes.
    SaveStopFile,
    /// All files are put back as the image has them, and the one for a build is saved again.
    PutBack,
    /// The watcher tells what it has seen, by one or both watches.
    Notify {
        twice: bool,
    },
    /// A container starts again from its image.
    Replace {
        container: u8,
    },
    /// There is one more container.
    Add,
    /// A container does not run, or runs again.
    Toggle {
        container: u8,
    },
    /// One more path of an update arrives.
    Arrive {
        flight: u8,
    },
    /// An update of a container ends.
    End {
        flight: u8,
        how: End,
    },
    /// A build begins, reads the directory, or ends; whichever is next.
    Build,
    /// The list of all files is made.
    List,
    /// Somebody asks for an update.
    Trigger,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Well,
    WithExecError,
    Failed,
    Abandoned,
}

fn op() -> impl Strategy<Value = Op> {
    let end = prop_oneof![
        6 => Just(End::Well),
        1 => Just(End::WithExecError),
        1 => Just(End::Failed),
        1 => Just(End::Abandoned),
    ];
    prop_oneof![
        8 => (0..5_u8, 0..3_u8).prop_map(|(file, content)| Op::Save { file, content }),
        3 => (0..5_u8).prop_map(|file| Op::Delete { file }),
        1 => Just(Op::DeleteFolder),
        1 => Just(Op::SaveStopFile),
        1 => Just(Op::PutBack),
        8 => any::<bool>().prop_map(|twice| Op::Notify { twice }),
        2 => (0..3_u8).prop_map(|container| Op::Replace { container }),
        1 => Just(Op::Add),
        1 => (0..3_u8).prop_map(|container| Op::Toggle { container }),
        8 => (0..3_u8).prop_map(|flight| Op::Arrive { flight }),
        6 => (0..3_u8, end).prop_map(|(flight, how)| Op::End { flight, how }),
        2 => Just(Op::Build),
        2 => Just(Op::List),
        1 => Just(Op::Trigger),
    ]
}

#[test]
fn in_the_end_every_container_has_what_the_directory_has() {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(4);
    }
    config.cases = config.cases.max(1_500);
    let history = (any::<bool>(), any::<bool>(), prop::collection::vec(op(), 0..60));
    let result = TestRunner::new(config).run(&history, |(has_initial_sync, is_manual, ops)| {
        let mut world = Outside::new(has_initial_sync, is_manual);
        for op in ops {
            world.play(op);
        }
        world.settle();
        for it in &world.containers {
            prop_assert_eq!(&it.files, &world.local, "in {}", it.observed.container.id);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
