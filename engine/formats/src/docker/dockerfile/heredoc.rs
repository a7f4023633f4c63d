//! Finds the heredocs that an instruction announces with `<<`.

use std::sync::LazyLock;

use regex::Regex;

use super::shell::Lexer;

static HEREDOC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[0-9]*<<(-?)[\t\n\x0C\r ]*([^<]*)\z").expect("the pattern is a constant")
});

/// Lines that follow an instruction.
#[derive(Debug, Clone, Default)]
pub(super) struct Heredoc {
    /// The line that ends it.
    pub(super) name: String,
    /// Whether that line may be indented with tabs.
    pub(super) chomp: bool,
    pub(super) content: String,
}

/// The heredocs that a line announces, still without content.
pub(super) fn in_line(line: &str) -> Result<Vec<Heredoc>, String> {
    // A line whose quotes do not match announces nothing.
    let words = Lexer::unset('\\').raw_quotes().raw_escapes().process_words(line);
    words.unwrap_or_default().iter().filter_map(|word| parse(word).transpose()).collect()
}

/// Reads one word such as `<<-EOF`.
pub(super) fn parse(word: &str) -> Result<Option<Heredoc>, String> {
    let Some(parts) = HEREDOC.captures(word).filter(|parts| !parts[2].is_empty()) else {
        return Ok(None);
    };
    let mut words = Lexer::unset('\\').process_words(&parts[2])?;
    match (words.pop(), words.is_empty()) {
        (Some(name), true) => {
            Ok(Some(Heredoc { name, chomp: &parts[1] == "-", content: String::new() }))
        }
        _ => Ok(None),
    }
}
