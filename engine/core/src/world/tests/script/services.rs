//! What scripts say about Docker, Compose services and images.
//!
//! ```text
//! brought-up a c         Compose has brought `a` up as container `c`        not-brought-up a   it has not
//! settled a              its update has ended
//! container a c WORDS    container `c` of `a` is seen; it runs, unless WORDS such as `exited=3` say otherwise
//! listed-containers a=c  these are all containers
//! container-gone c       a container is gone
//! docker-lost WORDS, docker-up, follow  Docker
//! building a, image-built a, image-failed a
//! prune-every 3          the Tiltfile says after how many updates Docker is pruned    pruned    it was
//! service a, builds a    show what is known
//! ```

use std::fmt::Write as _;

use engine_model::{
    Container, DockerPruneSettings, Port, ResourceName, Time,
    container::{ONE_OFF_LABEL, PROJECT_LABEL, SERVICE_LABEL},
};

use super::Script;
use crate::{
    image::BuildError,
    resource::ApplyError,
    world::{
        DockerAction, DockerEvent, Event, ImageEvent, Removal, ServiceEvent, fixture::image_names,
    },
};

impl Script {
    /// What Docker and Compose say.
    pub(super) fn service_event(&mut self, command: &str, words: &[&str]) -> Event {
        let resource: ResourceName = words.first().copied().unwrap_or_default().into();
        let started = self.now;
        Event::Docker(match command {
            "brought-up" => {
                let container = words.get(1).map(|id| Box::new(container(&resource, id, &[])));
                let result = Ok(container);
                return Event::Service(ServiceEvent::Applied { resource, started, result });
            }
            "not-brought-up" => {
                let result = Err(ApplyError {
                    text: "no such network".to_owned(),
                    last_line: String::new(),
                });
                return Event::Service(ServiceEvent::Applied { resource, started, result });
            }
            "settled" => return Event::Service(ServiceEvent::Settled { resource }),
            "container" => {
                let container = Box::new(container(&resource, words[1], &words[2..]));
                DockerEvent::ContainerSeen { container }
            }
            "listed-containers" => {
                let pairs = words.iter().map(|it| it.split_once('=').expect("resource=container"));
                let containers = pairs.map(|(resource, id)| container(resource, id, &[])).collect();
                DockerEvent::Listed { containers }
            }
            "container-gone" => DockerEvent::ContainerGone { id: words[0].to_owned() },
            "docker-lost" => DockerEvent::Lost { error: words.join(" ") },
            "docker-up" => {
                DockerEvent::Connected { arch: "amd64".to_owned(), version: "29".to_owned() }
            }
            "prune-every" => {
                let num_builds = words[0].parse().expect("a number");
                let settings = DockerPruneSettings { num_builds, ..Default::default() };
                DockerEvent::PruneConfigured { settings }
            }
            "pruned" => DockerEvent::Pruned,
            _ => return Event::Image(self.image_event(command, resource)),
        })
    }

    fn image_event(&self, command: &str, resource: ResourceName) -> ImageEvent {
        let (image, started, stages) = ("shared".into(), self.now, Vec::new());
        match command {
            "building" => ImageEvent::Building { resource, image, started },
            "image-built" => {
                let result = Ok(image_names(started));
                ImageEvent::Ended { resource, image, started, result, stages }
            }
            "image-failed" => {
                let result = Err(BuildError("no space left".to_owned()));
                ImageEvent::Ended { resource, image, started, result, stages }
            }
            _ => panic!("no such command: {command}"),
        }
    }

    pub(super) fn show_service(&mut self, name: &str) {
        let resource = self.world.resource(name).expect("it was loaded");
        let Some(service) = &resource.service else {
            return writeln!(self.out, "  nothing is known").expect("a string takes all");
        };
        let container = service.container.as_ref().map_or("none", |it| &it.id);
        let (status, error) = (resource.observed, &resource.runtime_error);
        let (ports, health) = (resource.service_ports(), resource.service_health());
        writeln!(
            self.out,
            "  container {container}, {status:?}, error {error:?}, ports {ports:?}, health {health:?}, log {}",
            service.has_log
        )
        .expect("a string takes all");
    }

    pub(super) fn show_builds(&mut self, name: &str) {
        let resource = self.world.resource(name).expect("it was loaded");
        for (image, build) in &resource.builds {
            let end = build.end.as_ref().map(|it| (it.at.0, it.result.clone().map_err(|it| it.0)));
            writeln!(self.out, "  {image} since {}: {end:?}", build.started.0)
                .expect("a string takes all");
        }
        let names = self.world.image("shared").map(|it| it.deployed.as_str());
        writeln!(self.out, "  deployed as {names:?}").expect("a string takes all");
    }
}

/// A container of a service, which runs unless words say otherwise.
fn container(resource: &str, id: &str, words: &[&str]) -> Container {
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut container = Container {
        id: id.to_owned(),
        name: format!("p-{resource}-1"),
        status: "running".to_owned(),
        is_running: true,
        created: Some(Time(1)),
        started: Some(Time(1)),
        labels: [label(PROJECT_LABEL, ""), label(SERVICE_LABEL, resource)].into(),
        ..Container::default()
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<i64>().expect("a number");
        match key {
            "created" => container.created = Some(Time(number())),
            "started" => container.started = Some(Time(number())),
            "exited" => {
                (container.status, container.is_running) = ("exited".to_owned(), false);
                container.exit_code = number();
            }
            "new" => {
                (container.status, container.is_running) = ("created".to_owned(), false);
                container.started = None;
            }
            "healthy" => container.health = Some(key.to_owned()),
            "unhealthy" => {
                container.health = Some(key.to_owned());
                container.health_output = Some(format!("{value}\n"));
            }
            "port" => {
                let host_port = value.parse().expect("a port");
                let (port, host_ip) = ("80/tcp".to_owned(), "0.0.0.0".to_owned());
                container.ports.push(Port { container: port, host_ip, host_port });
            }
            "one-off" => drop(container.labels.insert(ONE_OFF_LABEL.into(), "True".into())),
            _ => panic!("no such word: {word}"),
        }
    }
    container
}

pub(super) fn docker_words(action: &DockerAction) -> String {
    match action {
        DockerAction::Find => "find Docker".to_owned(),
        DockerAction::Follow => "follow Docker".to_owned(),
        DockerAction::ReadLog { resource, container } => {
            format!("read log of {resource} in {}", container.id)
        }
        DockerAction::StopLog { resource } => format!("stop reading the log of {resource}"),
        DockerAction::RemoveServices { removals } => {
            let removal = |it: &Removal| {
                let gone = if it.is_gone { " (gone)" } else { "" };
                format!("{}{gone}", it.spec.service)
            };
            let removals: Vec<String> = removals.iter().map(removal).collect();
            format!("remove {}", removals.join(" "))
        }
        DockerAction::Prune { manifests, .. } => format!("prune images of {}", manifests.len()),
    }
}
