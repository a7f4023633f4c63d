//! The part of the script language that is about a Kubernetes cluster.
//!
//! ```text
//! cluster TEXT           a load finds a kubeconfig           no-cluster    it finds none
//! connect, unreachable, well, unwell, replaced    what becomes of the cluster
//! deploying a            an update of `a` begins to apply    applied a Kind/name@uid    it has
//! by-command a           a command has applied               not-applied a    it has not
//! ended a [silence | refused 403 | missing NAMESPACE]        it has ended, with an obstacle
//! tried a accepted | failed | 403 | no-trial                 whether that is gone
//! pods a p1 p2:Pending!CrashLoopBackOff …    its pods, running and ready unless they say otherwise:
//!        :PHASE, !REASON of a container that waits, ~ not ready, *2 restarts, ^uid of what it belongs to,
//!        &evicted, -deleting, =second of its creation
//! services a URL, noticed a TEXT, log-read a ID, log-lost a ID, forwarded a p1, not-forwarded a p1
//! pod a                  shows its newest pod and all it publishes
//! ```

use std::sync::Arc;

use engine_model::{
    Time,
    pod::{ContainerState, DeployedObject, ObjectKey, Pod, PodCondition, PodContainer},
};

use crate::{
    cluster::{ClusterEvent, Connection},
    resource::{
        Resource, UpdateId,
        workload::{Deletion, Deployed, ForwardStatus, KubernetesAction, WorkloadEvent},
    },
    retry::{Obstacle, Trial},
    world::Event,
};

/// What a line means, if it is about a cluster.
pub(super) fn event(command: &str, words: &[&str], update: Option<UpdateId>) -> Option<Event> {
    let first = words.first().copied().unwrap_or_default();
    let text = || first.to_owned();
    let cluster = match command {
        "cluster" => ClusterEvent::Found { context: "kind".to_owned(), kubeconfig: text() },
        "no-cluster" => ClusterEvent::NotFound { problem: "no kubeconfig".to_owned(), help: None },
        "connect" => ClusterEvent::Connected(Box::new(Connection {
            default_namespace: "ns".to_owned(),
            ..Connection::default()
        })),
        "unreachable" => ClusterEvent::Unreachable { error: "no route".to_owned() },
        "well" => ClusterEvent::Healthy,
        "unwell" => ClusterEvent::Unhealthy { error: "it is ill".to_owned(), is_replaced: false },
        "replaced" => ClusterEvent::Unhealthy { error: "another".to_owned(), is_replaced: true },
        "warned" => ClusterEvent::Warned(words.join(" ")),
        _ => {
            let (resource, event) = (first.into(), workload(command, words, update)?);
            return Some(Event::Workload { resource, event });
        }
    };
    Some(Event::Cluster(cluster))
}

fn workload(command: &str, words: &[&str], update: Option<UpdateId>) -> Option<WorkloadEvent> {
    let rest = words.get(1..).unwrap_or_default();
    let applied = |by_command: bool| {
        let objects = rest.iter().map(|it| object(it)).collect();
        let deployed = Deployed { objects, by_command, ..Deployed::default() };
        WorkloadEvent::Applied { started: Time(0), result: Ok(Box::new(deployed)) }
    };
    Some(match command {
        "deploying" => WorkloadEvent::UpdateStarted,
        "force-deleted" => WorkloadEvent::ForceDeleted,
        "applied" => applied(false),
        "by-command" => applied(true),
        "not-applied" => {
            WorkloadEvent::Applied { started: Time(0), result: Err("refused".to_owned()) }
        }
        "ended" => WorkloadEvent::UpdateEnded { id: update?, obstacle: obstacle(rest) },
        "tried" => WorkloadEvent::ObstacleTried { id: update?, trial: trial(rest[0]) },
        "pods" => WorkloadEvent::PodsObserved(rest.iter().map(|it| pod(it)).collect()),
        "services" => {
            WorkloadEvent::ServicesObserved(rest.iter().map(|it| (*it).to_owned()).collect())
        }
        "noticed" => WorkloadEvent::Noticed { text: rest.join(" "), is_warning: true },
        "log-read" => WorkloadEvent::LogRead { container_id: rest[0].to_owned(), error: None },
        "log-lost" => {
            let error = Some("no route".to_owned());
            WorkloadEvent::LogRead { container_id: rest[0].to_owned(), error }
        }
        "forwarded" => forward(words, None),
        "not-forwarded" => forward(words, Some("lost".to_owned())),
        _ => return None,
    })
}

fn forward(words: &[&str], error: Option<String>) -> WorkloadEvent {
    let (started, addresses) = (Some(Time(0)), vec!["127.0.0.1".to_owned()]);
    let status = ForwardStatus { local_port: 8000, addresses, started, error };
    WorkloadEvent::ForwardObserved { object: words.join("-"), index: 0, status }
}

fn obstacle(words: &[&str]) -> Option<Obstacle> {
    let (code, missing_namespace) = match *words {
        [] => return None,
        ["silence"] => return Some(Obstacle::Silence),
        ["refused", code] => (code.parse().ok(), None),
        ["missing", namespace] => (Some(404), Some(namespace.to_owned())),
        _ => panic!("no such obstacle: {words:?}"),
    };
    Some(Obstacle::Refusal { object: Arc::default(), code, missing_namespace })
}

fn trial(word: &str) -> Trial {
    match word {
        "accepted" => Trial::Accepted,
        "failed" => Trial::Failed,
        "no-trial" => Trial::Refused { code: 403, is_no_trial: true },
        code => Trial::Refused { code: code.parse().unwrap(), is_no_trial: false },
    }
}

/// `Kind/name@uid`, with a `+` at its end if it stays and a `!` if it is a job that had completed.
fn object(word: &str) -> DeployedObject {
    let (kind, rest) = word.split_once('/').unwrap();
    let (name, uid) = rest.split_once('@').unwrap_or((rest, ""));
    DeployedObject {
        key: ObjectKey { kind: kind.to_owned(), name: name.to_owned(), ..ObjectKey::default() },
        uid: uid.trim_end_matches(['+', '!']).to_owned(),
        is_kept: uid.ends_with('+'),
        is_complete_job: uid.ends_with('!'),
        ..DeployedObject::default()
    }
}

fn pod(word: &str) -> Pod {
    const MARKS: &[char] = &[':', '!', '~', '*', '^', '&', '-', '='];
    let end = word.find(MARKS).unwrap_or(word.len());
    let (name, mut marks) = word.split_at(end);
    let mut container = PodContainer {
        name: "c".to_owned(),
        id: format!("{name}-1"),
        is_ready: true,
        state: ContainerState::Running { started: None },
        ..PodContainer::default()
    };
    let mut pod = Pod {
        uid: name.to_owned(),
        name: name.to_owned(),
        namespace: "ns".to_owned(),
        phase: "Running".to_owned(),
        status: "Running".to_owned(),
        ..Pod::default()
    };
    while let Some(mark) = marks.chars().next() {
        let rest = &marks[1..];
        let (value, after) = rest.split_at(rest.find(MARKS).unwrap_or(rest.len()));
        match mark {
            ':' => {
                value.clone_into(&mut pod.phase);
                container.is_ready = value == "Running";
            }
            '!' => {
                container.state = ContainerState::Waiting { reason: value.to_owned() };
                container.is_ready = false;
                value.clone_into(&mut pod.status);
            }
            '~' => container.is_ready = false,
            '*' => {
                container.restarts = value.parse().unwrap();
                container.id = format!("{name}-{}", container.restarts + 1);
            }
            '^' => pod.ancestor_uid = Some(value.to_owned()),
            '&' => pod.conditions.push(condition("DisruptionTarget", "make room")),
            '-' => pod.is_deleting = true,
            '=' => pod.created = Time(value.parse::<i64>().unwrap() * 1_000_000),
            _ => panic!("no such mark: {mark}"),
        }
        marks = after;
    }
    if container.is_ready {
        let since = Some(Time(pod.created.0 + 2_000_000));
        pod.conditions.push(PodCondition { since, ..condition("Ready", "") });
    }
    pod.containers.push(container);
    pod
}

fn condition(kind: &str, message: &str) -> PodCondition {
    PodCondition {
        kind: kind.to_owned(),
        status: "True".to_owned(),
        message: message.to_owned(),
        reason: "Because".to_owned(),
        since: None,
    }
}

/// An action in words.
pub(super) fn words(action: &KubernetesAction) -> String {
    match action {
        KubernetesAction::Connect { is_again } => {
            format!("connect{}", if *is_again { " again" } else { "" })
        }
        KubernetesAction::Follow { resource, interest } => {
            let uids: Vec<&str> = interest.deployed.iter().map(|it| it.1.as_str()).collect();
            format!("follow {resource}: {}", uids.join(" "))
        }
        KubernetesAction::Unfollow { resource, is_gone } => {
            format!("unfollow {resource}{}", if *is_gone { ", gone" } else { "" })
        }
        KubernetesAction::FindContainers { resource } => format!("find containers of {resource}"),
        KubernetesAction::ReadLog { resource, source, is_marked } => {
            let mark = if *is_marked { ", marked" } else { "" };
            format!("read log of {resource}: {}{mark}", source.container_id)
        }
        KubernetesAction::StopLog { resource, container_id } => {
            format!("stop log of {resource}: {container_id}")
        }
        KubernetesAction::Forward { resource, pod, forwards, .. } => {
            let ports =
                forwards.iter().map(|it| format!(" {}:{}", it.local_port, it.container_port));
            format!("forward {resource} to {pod}:{}", ports.collect::<String>())
        }
        KubernetesAction::StopForward { resource } => format!("stop forward of {resource}"),
        KubernetesAction::Delete { resource, deletion, reason } => {
            format!("delete {}, {reason} of {resource}", deletion_words(deletion))
        }
        KubernetesAction::TryObstacle { resource, after, .. } => {
            format!("try obstacle of {resource} after {} ms", after.as_millis())
        }
        KubernetesAction::StopTrying { resource } => format!("stop trying for {resource}"),
    }
}

fn deletion_words(deletion: &Deletion) -> String {
    match deletion {
        Deletion::Command(cmd) => format!("by {}", cmd.args.join(" ")),
        Deletion::Objects { objects, begun } => {
            let mut words: Vec<String> = objects.iter().map(|it| it.key.to_string()).collect();
            if let Some((yaml, owned)) = begun {
                let owned: Vec<String> = owned.iter().map(ToString::to_string).collect();
                words.push(format!("what of {yaml:?} is not in {owned:?}"));
            }
            words.join(", ")
        }
    }
}

/// What is known of pods and of what is done for them, in words.
pub(super) fn shown(resource: &Resource) -> String {
    let Some(workload) = &resource.workload else { return "nothing".to_owned() };
    let pod = workload.newest_pod().map_or("no pod", |it| it.name.as_str());
    let error = resource.runtime_error.as_deref().map(|it| format!(", {it}")).unwrap_or_default();
    let readers = workload.readers.iter().map(|(id, it)| match (it.has_ended, &*it.error) {
        (true, _) => format!(" {id} read"),
        (_, "") => format!(" {id}"),
        (_, error) => format!(" {id} ({error})"),
    });
    let forwarded = workload.forwarded.as_ref().map(|it| {
        let status = it.statuses[0]
            .as_ref()
            .map_or("unknown", |it| if it.error.is_some() { "broken" } else { "works" });
        format!(", forward to {} {status}", it.pod)
    });
    let logs: String = readers.collect();
    let (apply, forwarded) = (&workload.apply, forwarded.unwrap_or_default());
    format!("{pod}{error}; logs:{logs}{forwarded}; links {:?}; {apply:?}", workload.links)
}
