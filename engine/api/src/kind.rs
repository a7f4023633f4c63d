//! The fields of each kind of object.

use engine_model::Kind;

use super::schema::Type;

/// The fields of a kind of object.
pub trait KindSchema {
    /// The fields of the spec; config maps have data instead.
    fn spec(self) -> Option<&'static Type>;

    /// The fields of the status.
    fn status(self) -> Option<&'static Type>;

    /// The status of an object of which nothing is known yet, as JSON; nothing for config maps.
    fn zero_status(self) -> Option<String>;
}

impl KindSchema for Kind {
    fn spec(self) -> Option<&'static Type> {
        Type::named(&format!("{}Spec", self.name()))
    }

    fn status(self) -> Option<&'static Type> {
        Type::named(&format!("{}Status", self.name()))
    }

    fn zero_status(self) -> Option<String> {
        self.status().map(|it| it.zero().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_status_has_fields() {
        for kind in Kind::ALL {
            assert_eq!(kind.spec().is_some(), kind.has_status(), "{kind:?}");
            assert_eq!(kind.status().is_some(), kind.has_status(), "{kind:?}");
        }
    }
}
