//! Which events of a cluster are told, and in which words.

use engine_model::Time;
use k8s_openapi::api::core::v1 as api;

use crate::ObjectKey;

/// An event that is worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    pub(crate) uid: String,
    pub(crate) created: Time,
    /// How often it happened.
    pub(crate) count: i32,
    /// The object it happened to.
    pub(crate) object: ObjectKey,
    pub(crate) object_uid: String,
    /// The line that tells it.
    pub(crate) message: String,
    pub(crate) is_warning: bool,
}

impl Happening {
    /// An event as the API server gives it, if it is worth telling: all that is not normal, and pulls of images.
    pub(crate) fn of(event: api::Event) -> Option<Self> {
        let is_normal = event.type_.as_deref() == Some("Normal");
        let is_pull = matches!(event.reason.as_deref(), Some("Pulling" | "Pulled"));
        if is_normal && !is_pull {
            return None;
        }
        let object = event.involved_object;
        let key = ObjectKey {
            api_version: object.api_version.unwrap_or_default(),
            kind: object.kind.unwrap_or_default(),
            namespace: object.namespace.unwrap_or_default(),
            name: object.name.unwrap_or_default(),
        };
        let series = event.series.and_then(|it| it.count).unwrap_or_default();
        let message = event.message.unwrap_or_default();
        Some(Self {
            uid: event.metadata.uid.unwrap_or_default(),
            created: crate::pods::time(event.metadata.creation_timestamp.as_ref())
                .unwrap_or_default(),
            count: event.count.unwrap_or_default().max(series),
            message: format!("[event: {}] {}", named(&key), message.trim()),
            object: key,
            object_uid: object.uid.unwrap_or_default(),
            is_warning: !is_normal,
        })
    }
}

/// An object in the words of people.
fn named(key: &ObjectKey) -> String {
    let kind = key.kind.to_lowercase();
    match key.namespace.as_str() {
        "" | "default" => format!("{kind} {}", key.name),
        namespace => format!("{kind} {namespace}/{}", key.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: serde_json::Value) -> Option<(String, bool)> {
        let event: api::Event = serde_json::from_value(event).unwrap();
        Happening::of(event).map(|it| (it.message, it.is_warning))
    }

    #[test]
    fn only_trouble_and_pulls_are_told() {
        let event = |kind: &str, reason: &str, namespace: &str| {
            serde_json::json!({
                "metadata": {"name": "e", "uid": "u"}, "type": kind, "reason": reason, "message": " text\n",
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": namespace},
            })
        };
        for (kind, reason, namespace, expected) in [
            ("Normal", "Scheduled", "default", None),
            ("Normal", "Pulling", "default", Some(("[event: pod p] text", false))),
            ("Normal", "Pulled", "web", Some(("[event: pod web/p] text", false))),
            ("Warning", "BackOff", "", Some(("[event: pod p] text", true))),
        ] {
            let expected = expected.map(|(text, is_warning)| (text.to_owned(), is_warning));
            assert_eq!(line(event(kind, reason, namespace)), expected, "{kind} {reason}");
        }
    }

    #[test]
    fn events_of_the_new_kind_count_in_their_series() {
        let event = serde_json::json!({
            "metadata": {"name": "e"}, "type": "Warning", "involvedObject": {}, "series": {"count": 7},
        });
        let happening = Happening::of(serde_json::from_value(event).unwrap()).unwrap();
        assert_eq!(happening.count, 7);
    }
}
