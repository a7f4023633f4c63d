//! File sync on the wire, with paths as bytes.
//!
//! The messages are those of `fsutil`, where paths are strings: protocol buffers write strings as bytes, and the engine
//! takes whatever bytes there are for a name. The generated types would insist on UTF-8.

use std::{convert::Infallible, sync::Arc};

use bollard_buildkit_proto::fsutil::types::packet::PacketType;
use tonic::{
    Request, Response, Status, Streaming,
    body::Body,
    codegen::{BoxFuture, Context, Poll, Service, http},
    server::{Grpc, NamedService, StreamingService},
};
use tonic_prost::ProstCodec;

use super::{Files, Packets};

/// What is known of an entry.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Stat {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) path: Vec<u8>,
    #[prost(uint32, tag = "2")]
    pub(super) mode: u32,
    #[prost(int64, tag = "5")]
    pub(super) size: i64,
    #[prost(int64, tag = "6")]
    pub(super) mod_time: i64,
    #[prost(bytes = "vec", tag = "7")]
    pub(super) linkname: Vec<u8>,
    #[prost(int64, tag = "8")]
    pub(super) devmajor: i64,
    #[prost(int64, tag = "9")]
    pub(super) devminor: i64,
}

/// One message, in either direction.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Packet {
    #[prost(enumeration = "PacketType", tag = "1")]
    pub(super) r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) stat: Option<Stat>,
    #[prost(uint32, tag = "3")]
    pub(super) id: u32,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) data: Vec<u8>,
}

/// The service that the engine calls.
#[derive(Clone)]
pub(crate) struct FileSyncServer(Arc<Files>);

impl FileSyncServer {
    pub(crate) fn new(files: Files) -> Self {
        Self(Arc::new(files))
    }
}

impl NamedService for FileSyncServer {
    const NAME: &'static str = "moby.filesync.v1.FileSync";
}

impl Service<http::Request<Body>> for FileSyncServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let files = Arc::clone(&self.0);
        Box::pin(async move {
            if request.uri().path() != "/moby.filesync.v1.FileSync/DiffCopy" {
                return Ok(Status::unimplemented("files are sent by difference only").into_http());
            }
            let codec: ProstCodec<Packet, Packet> = ProstCodec::default();
            Ok(Grpc::new(codec).streaming(DiffCopy(files), request).await)
        })
    }
}

struct DiffCopy(Arc<Files>);

impl StreamingService<Packet> for DiffCopy {
    type Response = Packet;
    type ResponseStream = Packets;
    type Future = BoxFuture<Response<Packets>, Status>;

    fn call(&mut self, request: Request<Streaming<Packet>>) -> Self::Future {
        let files = Arc::clone(&self.0);
        Box::pin(async move { files.diff_copy(request) })
    }
}

#[cfg(test)]
mod tests {
    use bollard_buildkit_proto::fsutil::types;
    use prost::Message;

    use super::*;

    #[test]
    fn the_messages_are_those_of_the_engine() {
        let stat = Stat {
            path: b"a/b".to_vec(),
            mode: 1,
            size: 2,
            mod_time: 3,
            linkname: b"c".to_vec(),
            devmajor: 4,
            devminor: 5,
        };
        let packet = Packet { r#type: 1, stat: Some(stat), id: 6, data: b"data".to_vec() };
        let theirs = types::Packet::decode(packet.encode_to_vec().as_slice()).unwrap();
        let stat = theirs.stat.clone().unwrap();
        assert_eq!((stat.path.as_str(), stat.mode, stat.size, stat.mod_time), ("a/b", 1, 2, 3));
        assert_eq!((stat.linkname.as_str(), stat.devmajor, stat.devminor), ("c", 4, 5));
        assert_eq!((theirs.r#type, theirs.id, theirs.data.as_slice()), (1, 6, &b"data"[..]));
        assert_eq!(Packet::decode(theirs.encode_to_vec().as_slice()).unwrap(), packet);
    }
}
