//! Updates that build and deploy: runs those of services, and says what their reports mean.

use std::{fmt, sync::Arc, time::SystemTime};

use engine_core::{
    Event, Time,
    image::{BuildError, BuildStage, ImageNames},
    resource::{ApplyError, ResourceName},
    world::{DockerEvent, ImageEvent, ServiceEvent},
};
use engine_docker::Step;
use jiff::Timestamp;

use crate::{
    deploy::{self, ComposeTools, UpdateError, UpdateReport, UpdateRequest, images::Built},
    logs::Scrubber,
};

/// Updates a Compose service. If Docker cannot be reached any more, that is reported before the update ends.
pub(crate) async fn service(
    order: UpdateRequest,
    tools: ComposeTools,
    report: impl Fn(UpdateReport),
    send: impl Fn(Event),
) -> Result<(), Arc<UpdateError>> {
    let ended = deploy::service(order, &tools, report).await;
    if ended.is_err()
        && let Err(error) = tools.docker.ping().await
    {
        // Whoever hears of the end knows then what the reason was.
        send(Event::Docker(DockerEvent::Lost { error: error.to_string() }));
    }
    ended
}

/// What a report means for the world, in order; nothing for those about a cluster.
pub(crate) fn events_of(
    resource: ResourceName,
    report: UpdateReport,
    scrubber: &Scrubber,
) -> Vec<Event> {
    match report {
        UpdateReport::Building { image, started } => {
            let (image, started) = (image.into(), time(started));
            vec![Event::Image(ImageEvent::Building { resource, image, started })]
        }
        UpdateReport::Kept { image, built, looked } => {
            let (names, looked) = (names(built), time(looked));
            vec![Event::Image(ImageEvent::Kept { image: image.into(), names, looked })]
        }
        UpdateReport::Ended { image, result, stages, started } => {
            let result = result.map(names).map_err(|it| BuildError(scrubbed(scrubber, &it)));
            let (image, started) = (image.into(), time(started));
            let stages = stages.into_iter().map(stage).collect();
            vec![Event::Image(ImageEvent::Ended { resource, image, started, result, stages })]
        }
        UpdateReport::Applied { started, result } => {
            let result = result.map_err(|it| ApplyError {
                text: scrubbed(scrubber, &it),
                last_line: scrubber.scrub(it.last_line()).into_owned(),
            });
            // Live updates hear of the new container first.
            let deployed = Event::Deployed { resource: resource.clone(), began: None };
            let applied = ServiceEvent::Applied { resource, started: time(started), result };
            vec![Event::Service(applied), deployed]
        }
        UpdateReport::ForceDeleted | UpdateReport::Deployed { .. } => Vec::new(),
    }
}

fn names(built: Built) -> ImageNames {
    let Built { tagged, local, deployed, started, .. } = built;
    ImageNames { tagged, local, deployed, started: time(started) }
}

fn stage(step: Step) -> BuildStage {
    let time = |it: Timestamp| Time(it.as_microsecond());
    BuildStage {
        name: step.name,
        is_cached: step.is_cached,
        started: step.started.map(time),
        finished: step.finished.map(time),
        error: step.error,
    }
}

fn scrubbed(scrubber: &Scrubber, error: &impl fmt::Display) -> String {
    scrubber.scrub(&error.to_string()).into_owned()
}

fn time(time: SystemTime) -> Time {
    crate::clock::of_system(time)
}
