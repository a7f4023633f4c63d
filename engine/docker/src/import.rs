//! Puts images into the containerd of cluster nodes that run as containers, as those of kind and k3d do.
//!
//! The image is taken out of the engine once. Each node is sent only the layers that it does not have, all nodes at
//! the same time, on the input of the `ctr` that is in the node.

mod archive;

use std::{collections::HashSet, io};

use bytes::Bytes;
use engine_formats::docker::reference::Reference;
use futures_util::{
    StreamExt,
    future::{join_all, try_join_all},
    stream,
};
use tokio::{
    io::AsyncWriteExt,
    sync::mpsc::{self, Receiver},
    task::spawn_blocking,
};

use crate::{
    client::Docker,
    containers::{Attached, Exec, Listed},
    error::DockerError,
};
use archive::{Node, Source};

pub(crate) use archive::LayerMemory;

/// Pieces of an archive that wait for one node, or for being sorted.
const BACKLOG: usize = 4;
/// The namespace in which the kubelet looks for images.
const NAMESPACE: [&str; 3] = ["ctr", "-n", "k8s.io"];
/// How much of what a command prints is of interest.
const WORDS_MAX: usize = 16 * 1024;

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// How many layers the image has.
    pub n_layers: usize,
    /// How many of them some node did not have.
    pub n_sent: usize,
    /// How many bytes all nodes were sent.
    pub n_bytes: u64,
}

/// Why an image could not be put into a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("importing {image} into node {node}: {message}")]
pub struct ImportError {
    /// The image's name.
    pub image: String,
    /// The node's name.
    pub node: String,
    /// What was said.
    pub message: String,
}

impl Docker {
    /// Puts an image into the containerd of nodes, which are containers of this engine. If the image's tag says its
    /// content, nodes that have the tag are left alone.
    pub async fn import(
        &self,
        image: &Reference,
        nodes: &[Listed],
        is_content_tag: bool,
    ) -> Result<Imported, DockerError> {
        let known = try_join_all(nodes.iter().map(|node| self.look_into(image, node))).await?;
        let is_wanted = |it: &(&Listed, Inside)| !(is_content_tag && it.1.has_image);
        let wanted: Vec<_> = nodes.iter().zip(known).filter(is_wanted).collect();
        if wanted.is_empty() {
            return Ok(Imported::default());
        }
        let is_partial = wanted.iter().any(|(_, inside)| !inside.blobs.is_empty());
        let names: Vec<&Listed> = wanted.iter().map(|(node, _)| *node).collect();
        let blobs = wanted.into_iter().map(|(_, inside)| inside.blobs).collect();
        match self.import_into(image, &names, blobs).await {
            // A layer may have been collected as garbage in the meantime.
            Err(DockerError::Import(_)) if is_partial => {
                let nothing = vec![HashSet::new(); names.len()];
                self.import_into(image, &names, nothing).await
            }
            done => done,
        }
    }

    async fn look_into(&self, image: &Reference, node: &Listed) -> Result<Inside, DockerError> {
        let by_name = format!("name=={image}");
        let names = self.ctr(image, node, &["images", "ls", "-q", &by_name]).await?;
        let blobs = self.ctr(image, node, &["content", "ls", "-q"]).await?;
        Ok(Inside {
            has_image: names.lines().any(|it| it.trim() == image.to_string()),
            blobs: blobs.lines().map(|it| it.trim().to_owned()).collect(),
        })
    }

    async fn import_into(
        &self,
        image: &Reference,
        nodes: &[&Listed],
        blobs: Vec<HashSet<String>>,
    ) -> Result<Imported, DockerError> {
        let mut targets = Vec::new();
        let mut imports = Vec::new();
        for (node, blobs) in nodes.iter().zip(blobs) {
            let (sender, receiver) = mpsc::channel(BACKLOG);
            targets.push(Node::new(blobs, sender));
            imports.push(self.import_archive(image, node, receiver));
        }
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let (name, memory) = (image.clone(), self.layer_memory().clone());
        let sorting =
            spawn_blocking(move || archive::sort(Source::new(receiver), &name, targets, &memory));
        let reading = async {
            let mut pieces = self.export(image).await?;
            while let Some(piece) = pieces.next().await {
                // Whoever sorts has stopped because of something that it tells.
                if sender.send(piece?).await.is_err() {
                    break;
                }
            }
            drop(sender);
            Ok::<(), DockerError>(())
        };
        let (read, sorted, imported) =
            futures_util::future::join3(reading, sorting, join_all(imports)).await;
        read?;
        let sorted = sorted.map_err(|error| DockerError::Protocol(error.to_string()))?;
        let sorted =
            sorted.map_err(|error| DockerError::Protocol(format!("exporting {image}: {error}")))?;
        for done in imported {
            done?;
        }
        Ok(sorted)
    }

    /// The image as an archive.
    async fn export(
        &self,
        image: &Reference,
    ) -> Result<stream::BoxStream<'static, Result<Bytes, DockerError>>, DockerError> {
        let docker = self.clone();
        let pieces = self.client().await?.export_image(&image.to_string());
        Ok(pieces.map(move |it| it.map_err(|error| docker.explain(error))).boxed())
    }

    /// Feeds an archive to the containerd of a node.
    async fn import_archive(
        &self,
        image: &Reference,
        node: &Listed,
        mut pieces: Receiver<io::Result<Bytes>>,
    ) -> Result<(), DockerError> {
        // Whoever starts a container unpacks the image, with the snapshotter of the node.
        let import = ["images", "import", "--all-platforms", "--no-unpack", "-"];
        let Attached { id, mut output, mut input } =
            self.attach(&node.id, &ctr_command(&import)).await?;
        let writing = async move {
            while let Some(Ok(piece)) = pieces.recv().await {
                // A node that reads no more says why on its output.
                if input.write_all(&piece).await.is_err() {
                    break;
                }
            }
            let _ = input.shutdown().await;
        };
        let mut words = Vec::new();
        let reading = async {
            while let Some(piece) = output.next().await {
                let bytes = piece?.bytes;
                let room = WORDS_MAX.saturating_sub(words.len()).min(bytes.len());
                words.extend_from_slice(&bytes[..room]);
            }
            Ok::<(), DockerError>(())
        };
        futures_util::future::join(writing, reading).await.1?;
        match self.ended(&id).await? {
            0 => self.check(image, node).await,
            _ => Err(failed(image, node, &String::from_utf8_lossy(&words))),
        }
    }

    /// Containerd takes an image without all of its layers, and says so only when it is asked.
    async fn check(&self, image: &Reference, node: &Listed) -> Result<(), DockerError> {
        let by_name = format!("name=={image}");
        let found = self.ctr(image, node, &["images", "check", &by_name]).await?;
        if found.contains(" complete (") { Ok(()) } else { Err(failed(image, node, &found)) }
    }

    /// Asks the containerd of a node.
    async fn ctr(
        &self,
        image: &Reference,
        node: &Listed,
        args: &[&str],
    ) -> Result<String, DockerError> {
        let (mut out, mut words) = (Vec::new(), Vec::new());
        let mut take = |piece: crate::containers::Output| {
            let text = if piece.is_stderr { &mut words } else { &mut out };
            text.extend_from_slice(&piece.bytes);
        };
        match self.exec(&node.id, &ctr_command(args), None, &mut take).await? {
            0 => Ok(String::from_utf8_lossy(&out).into_owned()),
            _ => {
                // That there is no such program is told on the standard output.
                let words = if words.is_empty() { out } else { words };
                Err(failed(image, node, &String::from_utf8_lossy(&words)))
            }
        }
    }
}

/// What is in a node already.
struct Inside {
    /// Whether the image's name is known.
    has_image: bool,
    /// Digests of everything that it stores.
    blobs: HashSet<String>,
}

fn ctr_command(args: &[&str]) -> Exec {
    let argv = NAMESPACE.iter().chain(args).map(|&it| it.to_owned()).collect();
    Exec { argv, user: Some("0".to_owned()), ..Exec::default() }
}

fn failed(image: &Reference, node: &Listed, words: &str) -> DockerError {
    let node = node.names.first().unwrap_or(&node.id).clone();
    let message = words.trim().to_owned();
    ImportError { image: image.familiar(), node, message }.into()
}
