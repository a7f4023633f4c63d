//! How `restart_process` asks for a restart: by a command that writes the date to a file.

/// Under this name the helper is the first process of images that `restart_process` builds.
pub const WRAPPER: &str = "tilt-restart-wrapper";

/// The file of `sh -c 'date > FILE'`. There need not be a shell for that, nor anything else.
pub fn restart_file<T: AsRef<[u8]>>(argv: &[T]) -> Option<&str> {
    let [shell, flag, script] = argv else { return None };
    if !matches!(shell.as_ref(), b"sh" | b"/bin/sh") || flag.as_ref() != b"-c" {
        return None;
    }
    let file = str::from_utf8(script.as_ref()).ok()?.strip_prefix("date > ")?;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-".contains(it);
    (file.starts_with('/') && file.chars().all(is_plain)).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_for_a_file_needs_no_shell() {
        assert_eq!(
            restart_file(&["sh", "-c", "date > /tmp/.restart-proc"]),
            Some("/tmp/.restart-proc")
        );
        for other in [
            &["sh", "-c", "date > file"][..],
            &["sh", "-c", "date > /a; rm /b"],
            &["sh", "-c", "date > /a b"],
            &["sh", "-c", "date >> /a"],
            &["date", "-c", "date > /a"],
            &["sh", "-x", "date > /a"],
        ] {
            assert_eq!(restart_file(other), None, "{other:?}");
        }
    }
}
