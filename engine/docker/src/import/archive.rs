//! Decides what of an exported image each node is sent, and writes it in the form that containerd takes in parts: an
//! OCI layout whose manifest may name layers that are not in it.
//!
//! Engines export in two forms. Newer ones name files by their digest. Older ones do not, so that a layer has to be
//! read before it is known whether anybody lacks it.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Read, Seek},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use engine_formats::{docker::reference::Reference, golang::hex};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{Receiver, Sender};

use super::Imported;

/// Files up to this size are kept in memory until it is known what they are.
const SMALL: u64 = 64 * 1024;
/// How much is read at once.
const PIECE: usize = 256 * 1024;
/// What files of an archive are padded to.
const BLOCK: usize = 512;

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar";

/// What files of earlier archives were, by their names there; a layer keeps its name from image to image.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerMemory(Arc<Mutex<HashMap<String, Blob>>>);

/// A file that is known by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Blob {
    digest: String,
    size: u64,
    /// How it is compressed, as the type of a layer says that.
    suffix: &'static str,
}

/// The stream of an archive as something to read.
pub(super) struct Source {
    pieces: Receiver<Bytes>,
    rest: Bytes,
}

impl Source {
    pub(super) fn new(pieces: Receiver<Bytes>) -> Self {
        Self { pieces, rest: Bytes::new() }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.rest = piece,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.rest.len());
        buffer[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}

/// A node that gets an archive.
pub(super) struct Node {
    /// Digests of what it has, or was sent.
    blobs: HashSet<String>,
    sender: Sender<io::Result<Bytes>>,
    n_bytes: u64,
}

impl Node {
    pub(super) fn new(blobs: HashSet<String>, sender: Sender<io::Result<Bytes>>) -> Self {
        Self { blobs, sender, n_bytes: 0 }
    }

    /// A node that does not listen any more tells why on its own.
    fn send(&mut self, bytes: Bytes) {
        self.n_bytes += bytes.len() as u64;
        let _ = self.sender.blocking_send(Ok(bytes));
    }
}

/// The part of an image's description that an export has.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Exported {
    config: String,
    layers: Vec<String>,
}

/// Reads an exported image, and sends each node what it lacks of it. It blocks.
pub(super) fn sort(
    source: impl Read,
    image: &Reference,
    nodes: Vec<Node>,
    memory: &LayerMemory,
) -> io::Result<Imported> {
    let mut sorter = Sorter {
        nodes,
        memory,
        small: HashMap::new(),
        blobs: HashMap::new(),
        links: HashMap::new(),
        sent: HashSet::new(),
    };
    let mut archive = tar::Archive::new(source);
    for entry in archive.entries()? {
        sorter.take(entry?)?;
    }
    sorter.finish(image)
}

struct Sorter<'a> {
    nodes: Vec<Node>,
    memory: &'a LayerMemory,
    /// Small files by their names.
    small: HashMap<String, Vec<u8>>,
    /// Large files by their names.
    blobs: HashMap<String, Blob>,
    /// Files that stand for others.
    links: HashMap<String, String>,
    /// Digests of what some node was sent.
    sent: HashSet<String>,
}

impl Sorter<'_> {
    fn take(&mut self, mut entry: tar::Entry<'_, impl Read>) -> io::Result<()> {
        let name = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
        if let Some(target) = entry.link_name()? {
            self.links.insert(name.clone(), beside(&name, &target.to_string_lossy()));
            return Ok(());
        }
        let size = entry.size();
        if !entry.header().entry_type().is_file() {
            return Ok(());
        }
        if size <= SMALL {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            self.small.insert(name, content);
            return Ok(());
        }
        let known = self.memory.get(&name);
        let blob = match (digest_in(&name), known) {
            (Some(digest), _) => self.pass_on(digest, size, &mut entry)?,
            (None, Some(known)) if self.all_have(&known.digest) => known,
            (None, _) => self.look_at(size, &mut entry)?,
        };
        if digest_in(&name).is_none() {
            self.memory.insert(&name, &blob);
        }
        self.blobs.insert(name, blob);
        Ok(())
    }

    fn all_have(&self, digest: &str) -> bool {
        self.nodes.iter().all(|node| node.blobs.contains(digest))
    }

    /// Sends a file to the nodes that lack it while it is read.
    fn pass_on(&mut self, digest: String, size: u64, content: &mut impl Read) -> io::Result<Blob> {
        let lacking = self.lacking(&digest);
        let mut first = [0; 4];
        if lacking.is_empty() {
            content.read_exact(&mut first)?;
        } else {
            self.send(&lacking, &digest, size, content, &mut first)?;
        }
        Ok(Blob { digest, size, suffix: suffix(first) })
    }

    /// Reads a file to find out what it is, then sends it to the nodes that lack it.
    fn look_at(&mut self, size: u64, content: &mut impl Read) -> io::Result<Blob> {
        let mut copy = tempfile::tempfile()?;
        let digest = copy_and_digest(content, &mut copy)?;
        copy.rewind()?;
        self.pass_on(digest, size, &mut copy)
    }

    /// The nodes that are sent a file now.
    fn lacking(&mut self, digest: &str) -> Vec<usize> {
        let nodes = self.nodes.iter_mut().enumerate();
        let lacking: Vec<usize> = nodes
            .filter_map(|(at, node)| node.blobs.insert(digest.to_owned()).then_some(at))
            .collect();
        if !lacking.is_empty() {
            self.sent.insert(digest.to_owned());
        }
        lacking
    }

    fn send(
        &mut self,
        to: &[usize],
        digest: &str,
        size: u64,
        content: &mut impl Read,
        first: &mut [u8; 4],
    ) -> io::Result<()> {
        self.send_all(to, &Bytes::from(header(&blob_name(digest), size)?));
        let mut left = size;
        let mut is_first = true;
        while left > 0 {
            let length = left.min(PIECE as u64);
            let mut piece = vec![0; usize::try_from(length).unwrap_or(PIECE)];
            content.read_exact(&mut piece)?;
            if std::mem::take(&mut is_first) {
                let length = piece.len().min(first.len());
                first[..length].copy_from_slice(&piece[..length]);
            }
            left -= length;
            self.send_all(to, &Bytes::from(piece));
        }
        self.send_all(to, &Bytes::from(padding(size)));
        Ok(())
    }

    fn send_all(&mut self, to: &[usize], bytes: &Bytes) {
        if !bytes.is_empty() {
            for &at in to {
                self.nodes[at].send(bytes.clone());
            }
        }
    }

    /// The file of this name, which nodes that lack it are sent if it waited until now.
    fn blob(&mut self, name: &str) -> io::Result<Blob> {
        let name = self.links.get(name).map_or(name, String::as_str).to_owned();
        if let Some(blob) = self.blobs.get(&name) {
            return Ok(blob.clone());
        }
        let missing = || io::Error::other(format!("{name} is missing"));
        let content = self.small.get(&name).ok_or_else(missing)?.clone();
        let digest = format!("sha256:{}", hex::encode(&Sha256::digest(&content)));
        let lacking = self.lacking(&digest);
        let mut first = [0; 4];
        let size = content.len() as u64;
        self.send(&lacking, &digest, size, &mut content.as_slice(), &mut first)?;
        let blob = Blob { digest, size, suffix: suffix(first) };
        self.blobs.insert(name, blob.clone());
        Ok(blob)
    }

    /// Sends what makes an image of the files.
    fn finish(mut self, image: &Reference) -> io::Result<Imported> {
        let list = self.small.get("manifest.json").map(Vec::as_slice).unwrap_or_default();
        let list: Vec<Exported> = serde_json::from_slice(list)?;
        let exported = list.into_iter().next().ok_or_else(|| io::Error::other("nothing in it"))?;
        let config = self.blob(&exported.config)?;
        let mut layers = Vec::new();
        for name in &exported.layers {
            layers.push(self.blob(name)?);
        }
        let in_image: HashSet<&str> = layers.iter().map(|it| it.digest.as_str()).collect();
        let n_sent = self.sent.iter().filter(|it| in_image.contains(it.as_str())).count();
        let manifest = manifest(&config, &layers).to_string().into_bytes();
        let digest = format!("sha256:{}", hex::encode(&Sha256::digest(&manifest)));
        let index = index(image, &digest, manifest.len()).to_string().into_bytes();
        let layout = json!({"imageLayoutVersion": "1.0.0"}).to_string().into_bytes();
        let all: Vec<usize> = (0..self.nodes.len()).collect();
        for (name, content) in [
            (blob_name(&digest), manifest),
            ("index.json".into(), index),
            ("oci-layout".into(), layout),
        ] {
            let size = content.len() as u64;
            let file = [header(&name, size)?, content, padding(size)].concat();
            self.send_all(&all, &Bytes::from(file));
        }
        self.send_all(&all, &Bytes::from(vec![0; 2 * BLOCK]));
        let n_bytes = self.nodes.iter().map(|node| node.n_bytes).sum();
        Ok(Imported { n_layers: layers.len(), n_sent, n_bytes })
    }
}

impl LayerMemory {
    fn get(&self, name: &str) -> Option<Blob> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn insert(&self, name: &str, blob: &Blob) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), blob.clone());
    }
}

fn manifest(config: &Blob, layers: &[Blob]) -> Value {
    let layer = |it: &Blob| {
        json!({
            "mediaType": format!("{LAYER_TYPE}{}", it.suffix),
            "digest": it.digest,
            "size": it.size,
        })
    };
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {"mediaType": CONFIG_TYPE, "digest": config.digest, "size": config.size},
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
    })
}

fn index(image: &Reference, digest: &str, size: usize) -> Value {
    json!({
        "schemaVersion": 2,
        "manifests": [{
            "mediaType": MANIFEST_TYPE,
            "digest": digest,
            "size": size,
            "annotations": {
                "io.containerd.image.name": image.to_string(),
                "org.opencontainers.image.ref.name": image.tag,
            },
        }],
    })
}

/// How a layer is compressed, by its first bytes.
fn suffix(first: [u8; 4]) -> &'static str {
    match first {
        [0x1f, 0x8b, ..] => "+gzip",
        [0x28, 0xb5, 0x2f, 0xfd] => "+zstd",
        _ => "",
    }
}

/// The digest that a file is named by.
fn digest_in(name: &str) -> Option<String> {
    let digits = name.strip_prefix("blobs/sha256/")?;
    (digits.len() == 64).then(|| format!("sha256:{digits}"))
}

fn blob_name(digest: &str) -> String {
    format!("blobs/{}", digest.replacen(':', "/", 1))
}

/// Where a link leads to, which is relative to where it is.
fn beside(name: &str, target: &str) -> String {
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn header(name: &str, size: u64) -> io::Result<Vec<u8>> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    Ok(header.as_bytes().to_vec())
}

fn padding(size: u64) -> Vec<u8> {
    let used = usize::try_from(size % BLOCK as u64).unwrap_or_default();
    vec![0; (BLOCK - used) % BLOCK]
}

fn copy_and_digest(content: &mut impl Read, copy: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        let length = content.read(&mut piece)?;
        if length == 0 {
            return Ok(format!("sha256:{}", hex::encode(&hasher.finalize())));
        }
        hasher.update(&piece[..length]);
        io::Write::write_all(copy, &piece[..length])?;
    }
}

#[cfg(test)]
mod tests;
