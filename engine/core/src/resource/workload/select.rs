//! Which pods count: those of the last update, the newest one, the one that ports are forwarded to.

use std::collections::{BTreeMap, BTreeSet};

use engine_model::pod::{Pod, PodOwner};

/// The pods that belong to what was applied last: not those of an older `ReplicaSet`, of another update, or of objects
/// that are no longer part of the resource.
///
/// `hashes` are the pod templates of the last apply and `uids` its objects.
pub(crate) fn filtered<'a>(
    pods: &'a [Pod],
    hashes: &[String],
    uids: &BTreeSet<String>,
) -> Vec<&'a Pod> {
    let mut newest: BTreeMap<&str, &PodOwner> = BTreeMap::new();
    for pod in pods {
        let (Some(ancestor), Some(owner)) = (&pod.ancestor_uid, valid_owner(pod)) else {
            continue;
        };
        let known = newest.entry(ancestor).or_insert(owner);
        // Two sets can be of one second.
        if (owner.created, owner.revision) > (known.created, known.revision) {
            *known = owner;
        }
    }
    let counts = |pod: &&Pod| {
        let newest = pod.ancestor_uid.as_deref().and_then(|it| newest.get(it));
        let is_of_old_set = valid_owner(pod)
            .zip(newest)
            .is_some_and(|(owner, newest)| owner.kind == "ReplicaSet" && owner.name != newest.name);
        // A pod without a hash is let through: what made it may have no pod template.
        let is_of_update = pod.template_hash.as_ref().is_none_or(|it| hashes.contains(it));
        let is_of_apply = pod.ancestor_uid.as_ref().is_none_or(|it| uids.contains(it));
        !is_of_old_set && is_of_update && is_of_apply
    };
    pods.iter().filter(counts).collect()
}

fn valid_owner(pod: &Pod) -> Option<&PodOwner> {
    pod.owner.as_ref().filter(|it| !it.name.is_empty() && it.created.is_some())
}

/// The pod that was created last; of those of one second the one with the greater name.
pub(crate) fn most_recent<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Option<&'a Pod> {
    pods.into_iter().max_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)))
}

/// The pod that ports are forwarded to: one that stays beats one that goes, then a newer one beats an older one. A pod that
/// does not run, as one that goes before it ever came up, takes no connection.
pub(crate) fn to_forward(pods: &[Pod]) -> Option<&Pod> {
    let runs = |pod: &&Pod| !pod.name.is_empty() && pod.phase == "Running";
    pods.iter().filter(runs).max_by(|a, b| {
        (!a.is_deleting, a.created, &a.name).cmp(&(!b.is_deleting, b.created, &b.name))
    })
}

/// The port in the pod for a forward that names only the local one: the same if the pod declares it, else the first
/// that it declares, else the same.
pub(crate) fn container_port(local_port: u16, pod: &Pod) -> u16 {
    let ports = pod.containers.iter().flat_map(|it| &it.ports);
    let declared: Vec<u16> = ports.filter_map(|it| u16::try_from(*it).ok()).collect();
    if declared.contains(&local_port) {
        return local_port;
    }
    declared.first().copied().unwrap_or(local_port)
}

#[cfg(test)]
mod tests {
    use engine_model::{Time, pod::PodContainer};

    use super::*;

    /// A pod in words: its name, then `at` its age, `of` its owner and when that was made, its `revision`, `under` its ancestor, `hash`.
    fn worded(text: &str) -> Pod {
        let mut words = text.split_whitespace();
        let mut pod = Pod { name: words.next().unwrap().to_owned(), ..Pod::default() };
        let moment = |text: &str| Time(text.parse().unwrap());
        while let Some(word) = words.next() {
            let mut next = || words.next().unwrap().to_owned();
            match word {
                "at" => pod.created = moment(&next()),
                "of" => {
                    let (kind, name, created) = (next(), next(), Some(moment(&next())));
                    pod.owner = Some(PodOwner { name, kind, created, ..PodOwner::default() });
                }
                "revision" => pod.owner.as_mut().unwrap().revision = next().parse().unwrap(),
                "under" => pod.ancestor_uid = Some(next()),
                "hash" => pod.template_hash = Some(next()),
                "running" => pod.phase = "Running".to_owned(),
                "deleting" => pod.is_deleting = true,
                word => panic!("{word}"),
            }
        }
        pod
    }

    fn names<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> String {
        pods.into_iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pods_of_earlier_updates_do_not_count() {
        let uids = BTreeSet::from(["web".to_owned(), "jobs".to_owned()]);
        for (pods, expected) in [
            // Only the newer set of one deployment counts.
            (&["a under web of ReplicaSet old 1", "b under web of ReplicaSet new 2"][..], "b"),
            // Sets of the same second are told apart by their revisions.
            (
                &[
                    "a under web of ReplicaSet new 1 revision 2",
                    "b under web of ReplicaSet old 1 revision 1",
                ],
                "a",
            ),
            // The jobs of one set all count.
            (&["a under jobs of Job one 1", "b under jobs of Job two 2"], "a b"),
            // An owner that could not be read is no older one.
            (&["a under web", "b under web of ReplicaSet new 2"], "a b"),
            (&["a hash now", "b hash old", "c"], "a c"),
            (&["a under web", "b under gone", "c"], "a c"),
            // One that is about to go counts while it is there.
            (&["a under web deleting"], "a"),
        ] {
            let given: Vec<Pod> = pods.iter().map(|it| worded(it)).collect();
            assert_eq!(names(filtered(&given, &["now".to_owned()], &uids)), expected, "{pods:?}");
        }
    }

    #[test]
    fn the_newest_pod_counts_and_then_the_greater_name() {
        let pods: Vec<Pod> = ["a at 2", "c at 1", "b at 2"].map(worded).into();
        assert_eq!(most_recent(&pods).unwrap().name, "b");
        assert_eq!(most_recent(&[]), None);
    }

    #[test]
    fn ports_are_forwarded_to_a_pod_that_stays() {
        for (pods, expected) in [
            (&["a at 1 running", "b at 2"][..], Some("a")),
            (&["a at 1 running", "b at 2 running deleting"], Some("a")),
            (&["a at 1 running deleting", "b at 2 running deleting"], Some("b")),
            (&["a at 1 deleting"], None),
            (&["a at 1 running", "b at 1 running"], Some("b")),
            (&["a at 1"], None),
        ] {
            let given: Vec<Pod> = pods.iter().map(|it| worded(it)).collect();
            assert_eq!(to_forward(&given).map(|it| it.name.as_str()), expected, "{pods:?}");
        }
    }

    #[test]
    fn a_forward_without_a_container_port_takes_one_that_the_pod_declares() {
        let with_ports = |ports: &[i32]| Pod {
            containers: vec![PodContainer { ports: ports.to_vec(), ..PodContainer::default() }],
            ..Pod::default()
        };
        for (ports, expected) in
            [(&[80, 8000][..], 8000), (&[80, 81], 80), (&[], 8000), (&[-1], 8000)]
        {
            assert_eq!(container_port(8000, &with_ports(ports)), expected, "{ports:?}");
        }
    }
}
