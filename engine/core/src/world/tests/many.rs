//! Many files at once: what is done for each of them does not grow with their number.

use std::{collections::HashMap, sync::Arc};

use engine_model::{FilePath, TargetId};

use crate::{
    changed::work,
    live_update::{Found, Roots},
    resource::{EnableState, LISTED, UpdateId},
    tiltfile::{LoadError, LoadId, MAIN},
    time::Time,
    world::{
        Event, Loaded, World,
        fixture::{manifest, world},
    },
};

/// How many files come at once.
const BATCH: usize = 50;

/// One resource whose first update runs.
fn updating() -> World {
    let mut world = world();
    world.step(Time(0), Event::TiltfileAdded { name: MAIN.into(), args: Vec::new() });
    let loaded = Loaded {
        manifests: vec![Arc::new(manifest("a"))],
        enabled: HashMap::from([("a".into(), EnableState::Enabled)]),
        max_parallel: None,
    };
    world.step(Time(1), Event::LoadEnded { id: LoadId(1), result: Ok(loaded) });
    world
}

/// So many files change, in batches, at this time.
fn change(world: &mut World, n_files: usize, at: Time) {
    let files: Vec<FilePath> =
        (0..n_files).map(|it| FilePath::from_text(&format!("/w/{it:06}"))).collect();
    for files in files.chunks(BATCH) {
        let (resource, target, roots) = ("a".into(), TargetId::Local("a".into()), Roots::new());
        let files = files.iter().map(|it| (it.clone(), Found::PRESENT)).collect();
        world.step(at, Event::FilesChanged { resource, target, files, at, roots });
    }
}

fn end(world: &mut World, id: u64) {
    world.step(Time(9), Event::UpdateEnded { id: UpdateId(id), error: None });
}

/// How many changed files are looked at when so many change twice while the resource updates.
fn looks(n_files: usize) -> usize {
    let mut world = updating();
    work::take();
    change(&mut world, n_files, Time(2));
    change(&mut world, n_files, Time(3));
    end(&mut world, 1);
    let resource = world.resource("a").expect("it was loaded");
    let update = resource.current.as_ref().expect("something has changed");
    assert_eq!(update.changes.len(), n_files, "each of them once");
    work::take()
}

#[test]
fn ten_times_as_many_files_take_ten_times_as_many_looks() {
    let (few, many) = (looks(1_000), looks(10_000));
    assert!(many <= 11 * few, "{few} looks at 1,000 files, {many} at 10,000");
}

#[test]
fn an_update_that_has_ended_lists_the_first_files_and_counts_the_rest() {
    let mut world = updating();
    change(&mut world, LISTED + 30, Time(2));
    end(&mut world, 1);
    end(&mut world, 2);
    let last = &world.resource("a").expect("it was loaded").history[0];
    assert_eq!((last.changes.len(), last.n_unlisted), (LISTED, 30));
    assert_eq!(last.changes[0].path, "/w/000000".into());
}

#[test]
fn a_run_of_a_tiltfile_that_has_ended_lists_the_first_files_and_counts_the_rest() {
    let mut world = updating();
    let files = (0..LISTED + 30).map(|it| FilePath::from_text(&format!("/w/{it:06}"))).collect();
    let tiltfile = MAIN.into();
    world.step(Time(2), Event::ConfigFilesChanged { tiltfile, files, at: Time(2) });
    let result = Err(LoadError::NoResources);
    world.step(Time(3), Event::LoadEnded { id: LoadId(2), result });
    let last = world.tiltfile(MAIN).and_then(|it| it.last.as_ref()).expect("it ran");
    assert_eq!((last.files.len(), last.n_unlisted), (LISTED, 30));
}
