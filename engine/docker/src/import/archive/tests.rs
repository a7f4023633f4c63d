//! What an archive for a node holds, and what is left out of it.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::*;

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(&Sha256::digest(content)))
}

fn archive(files: &[(&str, &[u8])], links: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    for (name, target) in links {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, name, target).unwrap();
    }
    builder.into_inner().unwrap()
}

/// What each of the nodes was sent, by name.
fn sorted(
    exported: &[u8],
    nodes: &[&[String]],
    memory: &LayerMemory,
) -> (io::Result<Imported>, Vec<BTreeMap<String, Vec<u8>>>) {
    let image = Reference::parse("web:tilt-1").unwrap();
    let (mut targets, mut receivers) = (Vec::new(), Vec::new());
    for blobs in nodes {
        let (sender, receiver) = mpsc::channel(1_000);
        targets.push(Node::new(blobs.iter().cloned().collect(), sender));
        receivers.push(receiver);
    }
    let done = sort(exported, &image, targets, memory);
    let received = receivers.into_iter().map(|mut receiver| {
        let mut bytes = Vec::new();
        while let Some(piece) = receiver.blocking_recv() {
            bytes.extend_from_slice(&piece.unwrap());
        }
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.insert(name, content);
        }
        files
    });
    (done, received.collect())
}

fn layers_in(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
    let manifest = &files[&blob_name(index["manifests"][0]["digest"].as_str().unwrap())];
    assert_eq!(index["manifests"][0]["size"], manifest.len());
    assert_eq!(
        index["manifests"][0]["annotations"]["io.containerd.image.name"],
        "docker.io/library/web:tilt-1"
    );
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    assert!(files.contains_key(&blob_name(manifest["config"]["digest"].as_str().unwrap())));
    let layers = manifest["layers"].as_array().unwrap();
    layers.iter().map(|it| it["digest"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_node_is_sent_only_the_layers_that_it_lacks() {
    let (big, other, small) = (vec![1; 300_001], vec![2; 70_000], vec![3; 100]);
    let config = b"{\"os\": \"linux\"}";
    let (big_digest, other_digest, small_digest) = (digest(&big), digest(&other), digest(&small));
    let config_name = format!("{}.json", &digest(config)[7..]);
    let old_list = json!([{
        "Config": config_name,
        "Layers": ["a/layer.tar", "b/layer.tar", "c/layer.tar", "d/layer.tar"],
    }]);
    let old_list = old_list.to_string();
    let old = archive(
        &[
            ("a/layer.tar", &big),
            ("b/layer.tar", &small),
            ("c/layer.tar", &other),
            (&config_name, config),
            ("manifest.json", old_list.as_bytes()),
        ],
        &[("d/layer.tar", "../b/layer.tar")],
    );
    let blob = |digest: &str| blob_name(digest);
    let (a, b, c) = (blob(&big_digest), blob(&small_digest), blob(&other_digest));
    let config_blob = blob(&digest(config));
    let new_list = json!([{"Config": config_blob, "Layers": [a, b, c, b]}]).to_string();
    let new = archive(
        &[
            (&a, &big),
            (&b, &small),
            (&c, &other),
            (&config_blob, config),
            ("manifest.json", new_list.as_bytes()),
        ],
        &[],
    );
    let all = [&big_digest, &small_digest, &other_digest, &small_digest];
    for exported in [&old, &new] {
        let memory = LayerMemory::default();
        // The second time, it is known what the files are.
        for _ in 0..2 {
            let full = [big_digest.clone(), other_digest.clone(), small_digest.clone()];
            let nodes: [&[String]; 3] = [&[], &full[..1], &full];
            let (done, received) = sorted(exported, &nodes, &memory);
            let done = done.unwrap();
            assert_eq!((done.n_layers, done.n_sent), (4, 3));
            for files in &received {
                assert_eq!(layers_in(files).iter().collect::<Vec<_>>(), all);
                assert!(files.contains_key("oci-layout"));
            }
            assert_eq!(received[0].get(&a), Some(&big));
            assert_eq!(received[0].get(&b), Some(&small));
            assert_eq!(received[1].get(&a), None);
            assert_eq!(received[1].get(&c), Some(&other));
            assert!([&a, &b, &c].iter().all(|it| !received[2].contains_key(*it)));
        }
    }
}

#[test]
fn compressed_layers_are_called_so() {
    let layer = [vec![0x1f, 0x8b, 8, 0], vec![7; 80_000]].concat();
    let name = blob_name(&digest(&layer));
    let list = json!([{"Config": "c.json", "Layers": [name]}]).to_string();
    let exported =
        archive(&[(&name, &layer), ("c.json", b"{}"), ("manifest.json", list.as_bytes())], &[]);
    for has_it in [false, true] {
        let blobs = if has_it { vec![digest(&layer)] } else { Vec::new() };
        let (_, received) = sorted(&exported, &[&blobs], &LayerMemory::default());
        let text = received[0].values().map(|it| String::from_utf8_lossy(it)).collect::<String>();
        assert!(text.contains("application/vnd.oci.image.layer.v1.tar+gzip"), "{has_it}");
    }
}

#[test]
fn an_archive_that_is_cut_off_or_lacks_files_is_an_error() {
    let list = json!([{"Config": "c.json", "Layers": ["gone/layer.tar"]}]).to_string();
    let exported = archive(&[("c.json", b"{}"), ("manifest.json", list.as_bytes())], &[]);
    let memory = LayerMemory::default();
    let (done, _) = sorted(&exported, &[&[]], &memory);
    assert_eq!(done.unwrap_err().to_string(), "gone/layer.tar is missing");
    for exported in [&exported[..700], &[], &archive(&[("manifest.json", b"[]")], &[])] {
        assert!(sorted(exported, &[&[]], &memory).0.is_err());
    }
}
