//! How tasks end.

use std::{future::pending, time::Duration};

use tokio::time::timeout;

use super::*;

#[derive(Debug, PartialEq)]
enum Told {
    Progress(usize),
    Done(Result<usize, String>),
    Ended(TaskId, Box<Self>),
}

fn done(result: Result<usize, Lost>) -> Told {
    Told::Done(result.map_err(|it| it.to_string()))
}

fn tasks() -> (Tasks<Told>, mpsc::UnboundedReceiver<Told>) {
    let (messages, inbox) = mpsc::unbounded_channel();
    (Tasks::new(messages, |id, end| Told::Ended(id, Box::new(end))), inbox)
}

/// The next message; if it is the end of a task, that is taken in.
async fn next(tasks: &mut Tasks<Told>, inbox: &mut mpsc::UnboundedReceiver<Told>) -> Told {
    let told = timeout(Duration::from_secs(20), inbox.recv()).await.expect("it comes in time");
    match told.expect("tasks can send") {
        Told::Ended(id, end) => {
            tasks.ended(id);
            *end
        }
        told => told,
    }
}

#[tokio::test]
async fn the_end_of_a_task_follows_everything_it_sent() {
    let (mut tasks, mut inbox) = tasks();
    let messages = tasks.messages.clone();
    let work = async move {
        for n in 0..100 {
            messages.send(Told::Progress(n)).expect("somebody listens");
            tokio::task::yield_now().await;
        }
        7
    };
    tasks.spawn(TaskKey::Plan, work, done);
    for n in 0..100 {
        assert_eq!(next(&mut tasks, &mut inbox).await, Told::Progress(n));
    }
    assert!(tasks.has(|it| *it == TaskKey::Plan), "it runs until its end is taken in");
    assert_eq!(next(&mut tasks, &mut inbox).await, Told::Done(Ok(7)));
    assert_eq!(tasks.running().count(), 0);
}

#[tokio::test]
async fn a_panic_ends_a_task_with_its_words_and_no_other_task() {
    let (mut tasks, mut inbox) = tasks();
    tasks.spawn(TaskKey::Prune, pending(), done);
    let messages = tasks.messages.clone();
    let work = async move {
        messages.send(Told::Progress(1)).expect("somebody listens");
        tokio::task::yield_now().await;
        panic!("number {}", 7)
    };
    tasks.spawn(TaskKey::Plan, work, done);
    assert_eq!(next(&mut tasks, &mut inbox).await, Told::Progress(1));
    let Told::Done(Err(words)) = next(&mut tasks, &mut inbox).await else { panic!("it failed") };
    assert!(words.starts_with("a defect of the engine: it panicked at "), "{words}");
    assert!(words.ends_with(": number 7"), "{words}");
    tasks.spawn_blocking(TaskKey::Plan, || panic!("of a thread"), done);
    let Told::Done(Err(words)) = next(&mut tasks, &mut inbox).await else { panic!("it failed") };
    assert!(words.ends_with(": of a thread"), "{words}");
    let left: Vec<_> = tasks.running().map(|it| &it.key).collect();
    assert_eq!(left, [&TaskKey::Prune]);
}

#[tokio::test]
async fn an_abort_ends_a_task_after_what_it_sent_whoever_asks_for_it() {
    struct Last(mpsc::UnboundedSender<Told>);
    impl Drop for Last {
        fn drop(&mut self) {
            let _ = self.0.send(Told::Progress(9));
        }
    }
    let (mut tasks, mut inbox) = tasks();
    let start = |tasks: &mut Tasks<Told>| {
        let last = Last(tasks.messages.clone());
        let work = async move {
            let _last = last;
            pending().await
        };
        tasks.spawn(TaskKey::Plan, work, done)
    };
    let canceled = || Told::Done(Err("build canceled".to_owned()));

    start(&mut tasks);
    tokio::task::yield_now().await;
    tasks.abort_all(|it| *it == TaskKey::Plan);
    assert_eq!(next(&mut tasks, &mut inbox).await, Told::Progress(9));
    assert_eq!(next(&mut tasks, &mut inbox).await, canceled());

    start(&mut tasks);
    // Before it has begun.
    tasks.abort_all(|it| *it == TaskKey::Plan);
    assert_eq!(next(&mut tasks, &mut inbox).await, Told::Progress(9));
    assert_eq!(next(&mut tasks, &mut inbox).await, canceled());

    let id = start(&mut tasks);
    drop(tasks.guard(id));
    assert_eq!(next(&mut tasks, &mut inbox).await, Told::Progress(9));
    assert_eq!(next(&mut tasks, &mut inbox).await, canceled());
    assert_eq!(tasks.running().count(), 0);
}
