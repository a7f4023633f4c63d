//! Messages survive any way of cutting the stream, and no bytes are too strange to be refused.

use proptest::prelude::*;

use super::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..40)
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    (any::<i64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Timestamp { seconds, nanos })
}

fn request() -> impl Strategy<Value = Request> {
    let keep = (bytes(), any::<u32>(), any::<u64>(), timestamp(), timestamp());
    prop_oneof![
        any::<u32>().prop_map(Request::Hello),
        bytes().prop_map(Request::Root),
        (bytes(), any::<u32>()).prop_map(|(path, mode)| Request::Directory { path, mode }),
        (bytes(), any::<u32>(), timestamp()).prop_map(|(path, mode, modified)| Request::File {
            path,
            mode,
            modified
        }),
        bytes().prop_map(Request::Data),
        Just(Request::EndOfFile),
        Just(Request::AbortFile),
        (bytes(), bytes()).prop_map(|(path, target)| Request::Link { path, target }),
        keep.prop_map(|(path, mode, size, was, modified)| {
            Request::Keep { path, mode, size, was, modified }
        }),
        bytes().prop_map(Request::Delete),
        prop::collection::vec(bytes(), 0..5).prop_map(Request::Run),
        Just(Request::Commit),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let refusal = prop_oneof![
        Just(Refusal::Denied),
        Just(Refusal::Escapes),
        Just(Refusal::BadPath),
        Just(Refusal::NoSpace),
        Just(Refusal::Other),
    ];
    let end = prop_oneof![
        any::<i32>().prop_map(RunEnd::Exited),
        any::<i32>().prop_map(RunEnd::Signaled),
        Just(RunEnd::NotStarted),
    ];
    prop_oneof![
        any::<u32>().prop_map(Reply::Hello),
        (any::<u32>(), refusal, ".*").prop_map(|(entry, refusal, message)| Reply::Refused {
            entry,
            refusal,
            message
        }),
        any::<u32>().prop_map(|entry| Reply::Missing { entry }),
        any::<u32>().prop_map(|run| Reply::Begins { run }),
        bytes().prop_map(Reply::Output),
        (any::<u32>(), end).prop_map(|(run, end)| Reply::Ran { run, end }),
        any::<u32>().prop_map(|placed| Reply::Done { placed }),
        ".*".prop_map(Reply::Broken),
    ]
}

/// What is understood of a stream that comes in pieces of these lengths, over and over.
fn decode<M: Message>(stream: &[u8], lengths: &[usize]) -> Result<Vec<M>, ProtocolError> {
    let mut decoder = Decoder::default();
    let (mut rest, mut found) = (stream, Vec::new());
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, later) = rest.split_at((*length).min(rest.len()));
        decoder.push(piece);
        while let Some(message) = decoder.decode()? {
            found.push(message);
        }
        rest = later;
    }
    Ok(found)
}

proptest! {
    #[test]
    fn requests_arrive_however_the_stream_is_cut(
        sent in prop::collection::vec(request(), 0..20),
        lengths in prop::collection::vec(1..50_usize, 1..10),
    ) {
        let mut stream = Vec::new();
        for message in &sent {
            message.encode(&mut stream);
        }
        prop_assert_eq!(decode::<Request>(&stream, &lengths), Ok(sent));
    }

    #[test]
    fn replies_arrive_however_the_stream_is_cut(
        sent in prop::collection::vec(reply(), 0..20),
        lengths in prop::collection::vec(1..50_usize, 1..10),
    ) {
        let mut stream = Vec::new();
        for message in &sent {
            message.encode(&mut stream);
        }
        prop_assert_eq!(decode::<Reply>(&stream, &lengths), Ok(sent));
    }

    #[test]
    fn a_damaged_stream_is_understood_or_refused(
        sent in prop::collection::vec(request(), 1..5),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
    ) {
        let mut stream = Vec::new();
        for message in &sent {
            message.encode(&mut stream);
        }
        for (index, byte) in damage {
            let index = index.index(stream.len());
            stream[index] = byte;
        }
        let _ = decode::<Request>(&stream, &[7]);
        let _ = decode::<Reply>(&stream, &[7]);
    }

    #[test]
    fn times_before_and_after_1970_are_kept(seconds in -1_i64 << 40..1 << 40, nanos in 0..1_000_000_000_u32) {
        let time = Timestamp { seconds, nanos };
        let back = time.to_system_time().map(Timestamp::from);
        prop_assert_eq!(back, Some(time));
    }
}

#[test]
fn a_message_that_claims_to_be_huge_is_refused_at_once() {
    let mut decoder = Decoder::default();
    decoder.push(&[b'+', 0xff, 0xff, 0xff, 0x7f]);
    assert_eq!(decoder.decode::<Request>(), Err(ProtocolError::TooLong));
}

#[test]
fn of_what_a_container_answers_no_more_than_64_kilobytes_are_held() {
    let mut bytes = Vec::new();
    Reply::Output(vec![0; 64 * 1024]).encode(&mut bytes);
    let mut decoder = Decoder::default();
    decoder.push(&bytes);
    assert!(matches!(decoder.decode::<Reply>(), Ok(Some(Reply::Output(_)))));
    bytes.clear();
    Reply::Output(vec![0; 64 * 1024 + 1]).encode(&mut bytes);
    decoder.push(&bytes[..5]);
    assert_eq!(decoder.decode::<Reply>(), Err(ProtocolError::TooLong));
}
