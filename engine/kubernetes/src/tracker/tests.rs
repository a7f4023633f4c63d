//! Which pods are found for which resource, whatever order things become known in.

use std::fmt::Write as _;

use super::*;
use crate::ObjectKey;

/// Runs a script, one step in a line, and tells what is reported and what is to be read.
///
/// - `follow R uid…`, `select R label`, `only R label uid…`, `forget R`
/// - `pod NAME [of UID] [label L] [phase P]`, `gone NAME`, `list NAME…`
/// - `owner UID [of UID]`: it was read; `event N object UID [of kind KIND]`, `service UID IP`
fn run(script: &str) -> String {
    let mut model = Model::new(Time::default(), None);
    let mut interests = Interests::new();
    let mut text = String::new();
    for line in script.lines().map(str::trim).filter(|it| !it.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        step(&mut model, &mut interests, &words);
        let mut wanted: Vec<String> = model.wanted().into_iter().map(|it| it.uid).collect();
        wanted.sort();
        let mut told: Vec<String> = model.changes().iter().map(tell).collect();
        if !wanted.is_empty() {
            told.push(format!("read {}", wanted.join(" ")));
        }
        let _ = writeln!(text, "{line}: {}", told.join("; "));
    }
    text
}

fn step(model: &mut Model, interests: &mut Interests, words: &[&str]) {
    match *words {
        ["follow", resource, ..] => {
            let interest = Interest { deployed: keys(&words[2..]), ..Interest::default() };
            interests.insert(resource.to_owned(), Arc::new(interest));
            model.set_interests(interests.clone());
        }
        [kind @ ("select" | "only"), resource, label, ..] => {
            let interest = Interest {
                deployed: keys(&words[3..]),
                extra_selectors: vec![BTreeMap::from([("l".to_owned(), label.to_owned())])],
                selectors_only: kind == "only",
                ..Interest::default()
            };
            interests.insert(resource.to_owned(), Arc::new(interest));
            model.set_interests(interests.clone());
        }
        ["forget", resource] => {
            interests.remove(resource);
            model.set_interests(interests.clone());
        }
        ["pod", name, ref rest @ ..] => model.put_pod(found(name, rest)),
        ["gone", name] => model.remove_pod(name),
        ["list", ref names @ ..] => {
            let listed = names.iter().map(|it| (*it).to_owned()).collect();
            model.keep_pods("ns", &listed);
        }
        ["owner", uid, ref rest @ ..] => {
            let owners = rest.iter().skip(1).map(|it| reference(it)).collect();
            model.learn(uid.to_owned(), Owner { owners, ..Owner::default() });
        }
        ["event", count, kind, uid] => model.put_event(Happening {
            uid: format!("event of {uid}"),
            created: Time::default(),
            count: count.parse().unwrap(),
            object: ObjectKey { kind: kind.to_owned(), ..reference(uid).key },
            object_uid: uid.to_owned(),
            message: format!("{count} times"),
            is_warning: true,
        }),
        ["service", uid, ip] => {
            let service = serde_json::json!({
                "metadata": {"name": uid, "uid": uid}, "spec": {"ports": [{"port": 80}]},
                "status": {"loadBalancer": {"ingress": [{"ip": ip}]}},
            });
            model.put_service(Service::of(serde_json::from_value(service).unwrap()).unwrap());
        }
        ["unserve", uid] => model.remove_service(uid),
        _ => panic!("{words:?}"),
    }
}

fn keys(uids: &[&str]) -> Vec<(ObjectKey, String)> {
    uids.iter().map(|it| (reference(it).key, (*it).to_owned())).collect()
}

fn reference(uid: &str) -> Reference {
    let [api_version, kind, namespace, name] = ["v1", "Thing", "ns", uid].map(str::to_owned);
    Reference { uid: uid.to_owned(), key: ObjectKey { api_version, kind, namespace, name } }
}

fn found(name: &str, rest: &[&str]) -> Found {
    let mut pod = Pod {
        uid: name.to_owned(),
        name: name.to_owned(),
        namespace: "ns".to_owned(),
        phase: "Running".to_owned(),
        ..Pod::default()
    };
    let mut owners = Vec::new();
    for pair in rest.chunks(2) {
        match pair {
            ["of", uid] => owners.push(reference(uid)),
            ["label", label] => drop(pod.labels.insert("l".to_owned(), (*label).to_owned())),
            ["phase", phase] => (*phase).clone_into(&mut pod.phase),
            _ => panic!("{pair:?}"),
        }
    }
    Found { pod: Arc::new(pod), owners }
}

fn tell(seen: &Seen) -> String {
    match seen {
        Seen::Pods { resource, pods } => {
            let named = |pod: &Pod| match &pod.ancestor_uid {
                Some(uid) => format!("{}<{uid}", pod.name),
                None => pod.name.clone(),
            };
            let pods: Vec<String> = pods.iter().map(named).collect();
            format!("{resource} has [{}]", pods.join(" "))
        }
        Seen::Event { resource, message, .. } => format!("{resource}: {message}"),
        Seen::Services { resource, links } => format!("{resource} is at [{}]", links.join(" ")),
        Seen::Warning(text) => text.clone(),
    }
}

/// Compares without the indentation of the script.
#[track_caller]
fn check(script_and_answers: &str) {
    let expected: Vec<&str> =
        script_and_answers.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    let script: Vec<&str> =
        expected.iter().map(|it| it.split_once(':').map_or(*it, |(step, _)| step)).collect();
    let told = run(&script.join("\n"));
    let told: Vec<&str> = told.lines().map(str::trim_end).collect();
    assert_eq!(told.join("\n"), expected.join("\n"));
}

#[test]
fn pods_belong_to_what_deployed_their_owners() {
    check(
        "
        follow web deploy: web has []
        pod p1 of rs: read rs
        owner rs of deploy: web has [p1<deploy]; read deploy
        owner deploy:
        pod p2 of rs: web has [p1<deploy p2<deploy]
        pod other of job: read job
        owner job:
        pod p1 of rs phase Failed: web has [p1<deploy p2<deploy]
        pod p1 of rs phase Failed:
        ",
    );
}

#[test]
fn pods_seen_before_their_owner_was_deployed_are_found_later() {
    check(
        "
        pod p1 of rs: read rs
        owner rs of deploy: read deploy
        owner deploy:
        pod alone:
        follow web deploy: web has [p1<deploy]
        follow bare alone: bare has [alone<alone]
        follow web next: web has []
        forget web:
        ",
    );
}

#[test]
fn one_object_may_be_deployed_by_two_resources() {
    check(
        "
        follow a set: a has []
        follow b set: b has []
        pod p of set: a has [p<set]; b has [p<set]; read set
        owner set:
        ",
    );
}

#[test]
fn pods_are_also_found_by_their_labels() {
    check(
        "
        select web blue deploy: web has []
        pod p1 label blue: web has [p1]
        pod p2 label red:
        pod p3 of deploy label blue: web has [p1 p3<deploy]; read deploy
        owner deploy:
        only web blue deploy: web has [p1 p3]
        pod p1 label red: web has [p3]
        ",
    );
}

#[test]
fn completed_pods_that_are_gone_stay_until_there_is_another_one() {
    check(
        "
        follow job j: job has []
        owner j:
        pod p1 of j phase Succeeded: job has [p1<j]
        gone p1:
        pod p2 of j: job has [p2<j]
        gone p2: job has []
        ",
    );
}

#[test]
fn pods_that_a_new_list_does_not_name_are_gone() {
    check(
        "
        follow web d: web has []
        owner d:
        pod p1 of d: web has [p1<d]
        pod p2 of d: web has [p1<d p2<d]
        list p2 p3: web has [p2<d]
        ",
    );
}

#[test]
fn events_are_told_once_for_each_time_they_happen() {
    check(
        "
        follow web d: web has []
        owner rs of d: 
        owner d:
        pod p of rs: web has [p<d]
        event 1 Pod p: web: 1 times
        event 1 Pod p:
        event 3 Pod p: web: 3 times
        event 2 Pod p:
        event 3 Pod p:
        event 1 Deployment d: web: 1 times
        event 1 ReplicaSet rs: web: 1 times
        event 1 Node node:
        event 1 Job stranger: read stranger
        ",
    );
}

#[test]
fn events_wait_for_who_claims_them() {
    check(
        "
        event 1 ReplicaSet rs: read rs
        owner rs of d: read d
        owner d:
        follow web d: web has []; web: 1 times
        ",
    );
}

#[test]
fn services_tell_where_they_are() {
    check(
        "
        service s 1.2.3.4:
        follow web s other: web has []; web is at [http://1.2.3.4:80/]
        service s 1.2.3.4:
        service other 1.1.1.1: web is at [http://1.1.1.1:80/ http://1.2.3.4:80/]
        service s 5.6.7.8: web is at [http://1.1.1.1:80/ http://5.6.7.8:80/]
        unserve s: web is at [http://1.1.1.1:80/]
        ",
    );
}

#[test]
fn what_is_remembered_has_a_limit() {
    let mut model = Model::new(Time::default(), None);
    for n in 0..MANY_GONE + 50 {
        let name = format!("p{n}");
        model.put_pod(found(&name, &["phase", "Succeeded"]));
        model.remove_pod(&name);
    }
    assert_eq!(model.pods.len(), MANY_GONE);
    for n in 0..MANY_COUNTED + 50 {
        let uid = format!("o{n}");
        step(&mut model, &mut Interests::new(), &["event", "1", "Job", &uid]);
    }
    assert_eq!(model.counts.len(), MANY_COUNTED);
    assert_eq!(model.unclaimed.len(), MANY_UNCLAIMED);
}

/// What is kept up step by step is what one finds who sees everything at once, whatever the order was.
#[test]
fn the_order_in_which_things_are_seen_does_not_matter() {
    let mut model = Model::new(Time::default(), None);
    let mut interests = Interests::new();
    let (mut pods, mut owners) = (BTreeMap::new(), BTreeMap::new());
    let mut state = 1_u32;
    let mut chance = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % n
    };
    for _ in 0..500 {
        let (a, b) = (chance(8), chance(4));
        let [pod, set, deployment, resource] =
            [format!("p{a}"), format!("s{b}"), format!("d{}", a % 3), format!("r{b}")];
        let words: Vec<&str> = match chance(8) {
            0..=2 => vec!["pod", &pod, "of", &set, "label", &deployment],
            3 => vec!["gone", &pod],
            4 => vec!["owner", &set, "of", &deployment],
            5 => vec!["owner", &deployment],
            6 => vec!["follow", &resource, &deployment],
            _ => vec!["select", &resource, &deployment, &set],
        };
        step(&mut model, &mut interests, &words);
        match words[0] {
            "pod" => drop(pods.insert(pod.clone(), words.join(" "))),
            "gone" => drop(pods.remove(&pod)),
            "owner" => drop(owners.insert(words[1].to_owned(), words.join(" "))),
            _ => {}
        }
        model.wanted();
        model.changes();

        let mut fresh = Model::new(Time::default(), None);
        for seen in pods.values().chain(owners.values()) {
            let words: Vec<&str> = seen.split_whitespace().collect();
            step(&mut fresh, &mut Interests::new(), &words);
        }
        fresh.set_interests(interests.clone());
        fresh.changes();
        assert_eq!(model.shown, fresh.shown);
    }
}
