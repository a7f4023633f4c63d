//! Segments in Tilt's JSON: the `logList` of a view, written without a detour.

use std::{collections::BTreeMap, sync::Arc};

use engine_api::log::{BuildEvent, MicroTimes, Segment, Span};
use serde::Serialize;

use super::{Checkpoint, LogStore};

/// About how much a list holds; of more, the newest is taken.
const MAX_BYTES: usize = 8 << 20;

/// Writes the segments from a place on as a `logList`, and returns the place after them; nothing if there are none,
/// which the list says too.
///
/// The numbers in it tell apart what a client has from what is new: there are always as many segments as indices, so
/// that what is not kept anymore, or too old to be sent, lies before the list.
pub fn view_log_list(store: &LogStore, from: Checkpoint, out: &mut Vec<u8>) -> Option<Checkpoint> {
    let snapshot = store.snapshot(from);
    let end = snapshot.end;
    let before = out.len();
    let mut list = List::default();
    out.extend_from_slice(br#"{"segments":["#);
    for batch in snapshot.newest(MAX_BYTES) {
        list.write(&batch, out);
    }
    if list.count == 0 {
        out.truncate(before);
        out.extend_from_slice(br#"{"fromCheckpoint":-1,"toCheckpoint":-1}"#);
        return None;
    }
    list.write_spans(out);
    let first = end.0 - list.count;
    if first > 0 {
        out.extend_from_slice(format!(r#","fromCheckpoint":{first}"#).as_bytes());
    }
    out.extend_from_slice(format!(r#","toCheckpoint":{}}}"#, end.0).as_bytes());
    Some(end)
}

#[derive(Default)]
struct List {
    count: u64,
    /// The spans of what was written, and their resources.
    spans: BTreeMap<Box<str>, Arc<str>>,
    last: Option<Arc<Span>>,
    times: MicroTimes,
}

impl List {
    fn write(&mut self, segments: &[Segment], out: &mut Vec<u8>) {
        for segment in segments {
            if self.count > 0 {
                out.push(b',');
            }
            self.count += 1;
            write_segment(segment, None, &mut self.times, out);
            // The span that wrote last mostly writes again.
            if self.last.as_ref().is_none_or(|it| !Arc::ptr_eq(it, &segment.span)) {
                let Span { id, resource } = &*segment.span;
                self.spans.entry(id.clone()).or_insert_with(|| Arc::clone(resource));
                self.last = Some(Arc::clone(&segment.span));
            }
        }
    }

    fn write_spans(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"],"spans":{"#);
        for (at, (id, resource)) in self.spans.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_json(id, out);
            out.extend_from_slice(b":{");
            if !resource.is_empty() {
                out.extend_from_slice(br#""manifestName":"#);
                write_json(&**resource, out);
            }
            out.push(b'}');
        }
        out.push(b'}');
    }
}

/// Writes a segment as an object, which may name its resource.
pub(super) fn write_segment(
    segment: &Segment,
    resource: Option<&str>,
    times: &mut MicroTimes,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    if !segment.span.id.is_empty() {
        out.extend_from_slice(br#""spanId":"#);
        write_json(&segment.span.id, out);
        out.push(b',');
    }
    if let Some(resource) = resource.filter(|it| !it.is_empty()) {
        out.extend_from_slice(br#""manifestName":"#);
        write_json(resource, out);
        out.push(b',');
    }
    out.extend_from_slice(br#""time":""#);
    out.extend_from_slice(times.format(segment.micros).as_bytes());
    out.extend_from_slice(br#"","text":"#);
    write_json(&segment.text, out);
    out.extend_from_slice(br#","level":""#);
    out.extend_from_slice(segment.level.name().as_bytes());
    out.push(b'"');
    if segment.anchor {
        out.extend_from_slice(br#","anchor":true"#);
    }
    if !segment.fields.is_empty() {
        write_fields(segment, out);
    }
    out.push(b'}');
}

fn write_fields(segment: &Segment, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Fields<'f> {
        #[serde(skip_serializing_if = "Option::is_none")]
        build_event: Option<&'static str>,
        #[serde(rename = "progressID", skip_serializing_if = "Option::is_none")]
        progress_id: Option<&'f str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        progress_must_print: Option<&'static str>,
    }
    let fields = Fields {
        build_event: segment.fields.build_event.map(BuildEvent::name),
        progress_id: segment.fields.progress_id.as_deref(),
        progress_must_print: segment.fields.progress_must_print.then_some("1"),
    };
    out.extend_from_slice(br#","fields":"#);
    write_json(&fields, out);
}

pub(super) fn write_json(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("writing text to memory does not fail");
}
