//! Names of API objects and log spans.

/// The longest name an object may have.
const MAX_NAME: usize = 253;

/// A name that can stand in a path: Tilt's rule.
pub(super) fn sanitized(name: &str) -> String {
    if name == "." || name == ".." {
        return name.replace('.', "_");
    }
    let clean = name.replace(['/', '%'], "_");
    if clean.len() <= MAX_NAME {
        return clean;
    }
    let mut cut = MAX_NAME - 9;
    while !clean.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}-{:08x}", &clean[..cut], fnv1a(name))
}

fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The object of a resource's update command.
pub(super) fn update_cmd(resource: &str) -> String {
    sanitized(&format!("{resource}:update"))
}

/// The object of a run of a server.
pub(super) fn serve_cmd(resource: &str, id: u64) -> String {
    format!("{resource}-serve-{id}")
}

/// What a local resource watches.
pub(super) fn local_target(resource: &str) -> String {
    format!("local:{resource}")
}

/// What a Tiltfile watches.
pub(super) fn config_target(tiltfile: &str) -> String {
    format!("configs:{tiltfile}")
}

/// The switch of a resource.
pub(super) fn switch(resource: &str) -> String {
    format!("{resource}-disable")
}

/// The button that stops an update.
pub(super) fn stop_button(resource: &str) -> String {
    format!("{resource}-stopbuild")
}

/// The log of one run of a Tiltfile.
pub(super) fn tiltfile_span(tiltfile: &str, n: u64) -> String {
    format!("tiltfile:{tiltfile}:{n}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_paths() {
        assert_eq!(sanitized("local:web"), "local:web");
        assert_eq!(sanitized("image:gcr.io/x%y"), "image:gcr.io_x_y");
        assert_eq!(sanitized(".."), "__");
        let long = sanitized(&"é".repeat(200));
        assert!(long.len() <= MAX_NAME && long.contains('-'), "{long}");
    }
}
