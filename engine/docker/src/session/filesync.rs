//! Sends files to the engine: first what there is, then the content of what it asks for.
//!
//! The engine compares what there is with what it has from earlier builds, so only changed files
//! travel. Walking and reading happen on threads of their own, which end when nobody listens.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read},
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use bollard_buildkit_proto::fsutil::types::packet::PacketType;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::{
    sync::mpsc,
    task::{JoinSet, spawn_blocking},
};
use tonic::{Request, Response, Status, Streaming};

use super::{
    memory::Lease,
    select::{Selection, Wish},
    status,
};
use crate::context::BuildContext;

mod list;
mod wire;

use list::Sender;
use wire::Packet;

pub(crate) use wire::FileSyncServer;

/// Batches that wait to be sent.
const BACKLOG: usize = 8;
const CHUNK: usize = 128 * 1024;

/// What was sent before, for all requests of a build, until it is over.
#[derive(Clone)]
pub(crate) struct SharedLease(Arc<Mutex<Option<Lease>>>);

impl SharedLease {
    pub(crate) fn new(lease: Lease) -> Self {
        Self(Arc::new(Mutex::new(Some(lease))))
    }

    /// Ends the build's use of it.
    pub(crate) fn give_back(&self) {
        let lease = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        lease.into_iter().for_each(Lease::give_back);
    }

    fn with<T: Default>(&self, act: impl FnOnce(&mut Lease) -> T) -> T {
        let mut lease = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lease.as_mut().map(act).unwrap_or_default()
    }
}

/// What one build may ask for.
pub(crate) struct Files {
    context: Arc<BuildContext>,
    lease: SharedLease,
    /// Small files that are nowhere on disk, by name.
    dockerfile: Arc<Vec<(&'static str, Bytes)>>,
}

impl Files {
    /// Offers a context, and a Dockerfile with an ignore file that ignores nothing: what is left
    /// out of the context was decided before.
    pub(crate) fn new(context: Arc<BuildContext>, dockerfile: &str, lease: SharedLease) -> Self {
        let dockerfile = vec![
            ("Dockerfile", Bytes::copy_from_slice(dockerfile.as_bytes())),
            ("Dockerfile.dockerignore", Bytes::new()),
        ];
        Self { context, lease, dockerfile: Arc::new(dockerfile) }
    }

    /// Prepares to send what is asked for.
    fn sender(&self, wish: &Wish) -> Result<Sender, Status> {
        let bad = |error| status(&format!("{wish:?}: {error}"));
        match wish.dir.as_str() {
            "context" => {
                let selection = Selection::new(wish, self.context.root()).map_err(bad)?;
                let (context, lease) = (Arc::clone(&self.context), self.lease.clone());
                Ok(Sender::Context { context, selection, lease })
            }
            "dockerfile" => {
                let selection = Selection::new(wish, None).map_err(bad)?;
                Ok(Sender::Memory { files: Arc::clone(&self.dockerfile), selection })
            }
            dir => Err(Status::not_found(format!("no access allowed to dir {dir:?}"))),
        }
    }
}

type Batch = Result<Vec<Packet>, Status>;

/// What is sent to the engine.
type Packets = Pin<Box<dyn Stream<Item = Result<Packet, Status>> + Send>>;

impl Files {
    /// Sends what is asked for, as long as the engine asks.
    fn diff_copy(&self, request: Request<Streaming<Packet>>) -> Result<Response<Packets>, Status> {
        let sender = self.sender(&Wish::read(request.metadata()))?;
        let (batches, outgoing) = mpsc::channel::<Batch>(BACKLOG);
        // Nothing is asked for twice, so there are never more requests than files. They are taken
        // whether or not answers get through, or the connection would be full of them.
        let (asked, requests) = mpsc::unbounded_channel();
        let offered = Arc::new(Offered::default());
        let lease = sender.begin();
        let listing = {
            let (offered, batches) = (Arc::clone(&offered), batches.clone());
            spawn_blocking(move || sender.list(&offered, &batches))
        };
        spawn_blocking(move || answer(requests, &batches));
        let mut listener = JoinSet::new();
        listener.spawn(listen(request.into_inner(), offered, asked));
        let listening = async move {
            let ended = listener.join_next().await.and_then(Result::ok);
            let ended = ended.unwrap_or_else(|| Err(Status::aborted("nobody listens")));
            if ended.is_ok()
                && let (Some(lease), Ok(Some(count))) = (lease, listing.await)
            {
                lease.with(|it| it.end(count));
            }
            Some(ended.map(|()| packet(PacketType::PacketFin, 0, Vec::new())))
        };
        let outgoing = stream::unfold(outgoing, |mut outgoing| async {
            outgoing.recv().await.map(|batch| (batch, outgoing))
        });
        let outgoing = outgoing.flat_map(|batch| match batch {
            Ok(packets) => stream::iter(packets).map(Ok).left_stream(),
            Err(error) => stream::iter([Err(error)]).right_stream(),
        });
        let listening = stream::once(listening).filter_map(std::future::ready);
        Ok(Response::new(Box::pin(stream::select(outgoing, Box::pin(listening)))))
    }
}

/// Takes the engine's requests until it has all it wants.
async fn listen(
    mut incoming: Streaming<Packet>,
    offered: Arc<Offered>,
    asked: mpsc::UnboundedSender<(u32, Content)>,
) -> Result<(), Status> {
    while let Some(packet) = incoming.message().await? {
        match PacketType::try_from(packet.r#type) {
            Ok(PacketType::PacketReq) => {
                let content = offered.take(packet.id);
                let content =
                    content.ok_or_else(|| status(&format!("invalid file id {}", packet.id)))?;
                // If the reader has ended, the outgoing side tells why.
                let _ = asked.send((packet.id, content));
            }
            Ok(PacketType::PacketFin) => return Ok(()),
            Ok(PacketType::PacketErr) => {
                let words = String::from_utf8_lossy(&packet.data);
                return Err(status(&format!("error from receiver: {words}")));
            }
            _ => {}
        }
    }
    Err(Status::cancelled("the receiver has hung up"))
}

fn packet(kind: PacketType, id: u32, data: Vec<u8>) -> Packet {
    Packet { r#type: kind.into(), stat: None, id, data }
}

/// Files whose content may be asked for, by their number.
#[derive(Default)]
struct Offered(Mutex<HashMap<u32, Content>>);

enum Content {
    OnDisk(PathBuf),
    InMemory(Bytes),
}

impl Offered {
    fn add(&self, id: u32, content: Content) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, content);
    }

    fn take(&self, id: u32) -> Option<Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }
}

/// Answers requests until there are no more.
fn answer(mut requests: mpsc::UnboundedReceiver<(u32, Content)>, batches: &mpsc::Sender<Batch>) {
    while let Some((id, content)) = requests.blocking_recv() {
        let sent = match content {
            Content::InMemory(text) => send_content(id, &mut &*text, batches),
            // What cannot be opened any more is sent as empty, as the reference does.
            Content::OnDisk(path) => match open_regular(&path) {
                Ok(mut file) => send_content(id, &mut file, batches),
                Err(_) => send_content(id, &mut io::empty(), batches),
            },
        };
        if !sent {
            return;
        }
    }
}

/// Opens a file, but nothing whose opening could wait, such as a pipe that took its place.
fn open_regular(path: &PathBuf) -> io::Result<File> {
    if std::fs::symlink_metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// Sends a file and an empty packet after it; `false` if nobody listens.
fn send_content(id: u32, source: &mut dyn Read, batches: &mpsc::Sender<Batch>) -> bool {
    loop {
        let mut data = Vec::new();
        let read = source.take(CHUNK as u64).read_to_end(&mut data);
        let is_last = data.len() < CHUNK;
        let mut packets = Vec::with_capacity(2);
        if !data.is_empty() {
            packets.push(packet(PacketType::PacketData, id, data));
        }
        if is_last {
            packets.push(packet(PacketType::PacketData, id, Vec::new()));
        }
        let batch = read.map(|_| packets).map_err(|error| status(&error));
        if batches.blocking_send(batch).is_err() {
            return false;
        }
        if is_last {
            return true;
        }
    }
}
