//! Where in a container the helper can be put, and as whom it runs there.

use engine_docker::Container;

/// What has to be known of a container for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: String,
    is_read_only: bool,
    volumes: Vec<String>,
    user: String,
}

impl Place {
    pub(super) fn of(container: &Container) -> Self {
        Self {
            id: container.id.clone(),
            is_read_only: container.is_read_only,
            volumes: container.volumes.clone(),
            user: container.user.clone(),
        }
    }

    /// Directories that can be written to, best first.
    pub(super) fn dirs(&self) -> impl Iterator<Item = &str> {
        let root = (!self.is_read_only).then_some("/");
        root.into_iter().chain(self.volumes.iter().map(String::as_str))
    }

    /// As whom the helper is started: root can write everywhere; nobody in particular is the container's own user.
    pub(super) fn users(&self) -> Vec<Option<&'static str>> {
        if self.is_roots() { vec![None] } else { vec![Some("0"), None] }
    }

    /// Whether all runs as root anyway, so that the helper can run commands as the container would.
    pub(super) fn is_roots(&self) -> bool {
        matches!(self.user.as_str(), "" | "0" | "root" | "0:0" | "root:root")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(is_read_only: bool, volumes: &[&str], user: &str) -> Place {
        let volumes = volumes.iter().map(|&it| it.to_owned()).collect();
        Place::of(&Container {
            is_read_only,
            volumes,
            user: user.to_owned(),
            ..Container::default()
        })
    }

    #[test]
    fn a_volume_takes_the_helper_if_the_root_cannot() {
        assert_eq!(place(false, &["/data"], "").dirs().collect::<Vec<_>>(), ["/", "/data"]);
        assert_eq!(place(true, &["/data"], "").dirs().collect::<Vec<_>>(), ["/data"]);
        assert_eq!(place(true, &[], "").dirs().count(), 0);
    }

    #[test]
    fn root_is_tried_before_the_own_user_of_a_container() {
        assert_eq!(place(false, &[], "").users(), [None]);
        assert_eq!(place(false, &[], "1000").users(), [Some("0"), None]);
        assert!(!place(false, &[], "0:1000").is_roots());
    }
}
