//! Decides what a Go regular expression means: checks it with Go's rules and words, and rewrites
//! it for the `regex` crate, whose syntax differs in details.

use regex::{Regex, RegexBuilder};

mod class;
mod parse;

/// Why an expression was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// `invalid character class range`
    CharRange,
    /// `invalid escape sequence`
    Escape,
    /// `invalid named capture`
    NamedCapture,
    /// `invalid or unsupported Perl syntax`
    PerlOp,
    /// `invalid nested repetition operator`
    RepeatOp,
    /// `invalid repeat count`
    RepeatSize,
    /// `missing closing ]`
    MissingBracket,
    /// `missing closing )`
    MissingParen,
    /// `missing argument to repetition operator`
    MissingRepeatArgument,
    /// `trailing backslash at end of expression`
    TrailingBackslash,
    /// `unexpected )`
    UnexpectedParen,
    /// `expression nests too deeply`
    NestingDepth,
    /// `expression too large`
    Large,
}

impl Problem {
    fn words(self) -> &'static str {
        match self {
            Self::CharRange => "invalid character class range",
            Self::Escape => "invalid escape sequence",
            Self::NamedCapture => "invalid named capture",
            Self::PerlOp => "invalid or unsupported Perl syntax",
            Self::RepeatOp => "invalid nested repetition operator",
            Self::RepeatSize => "invalid repeat count",
            Self::MissingBracket => "missing closing ]",
            Self::MissingParen => "missing closing )",
            Self::MissingRepeatArgument => "missing argument to repetition operator",
            Self::TrailingBackslash => "trailing backslash at end of expression",
            Self::UnexpectedParen => "unexpected )",
            Self::NestingDepth => "expression nests too deeply",
            Self::Large => "expression too large",
        }
    }
}

/// An expression that was refused, with the part that caused it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {}: `{part}`", problem.words())]
pub struct RegexpError {
    /// What is wrong.
    pub problem: Problem,
    /// The offending part of the expression.
    pub part: String,
}

impl RegexpError {
    fn new(problem: Problem, part: &str) -> Self {
        Self { problem, part: part.to_owned() }
    }
}

/// Compiles a Go regular expression.
pub fn compile(pattern: &str) -> Result<Regex, RegexpError> {
    RegexBuilder::new(&to_rust(pattern)?)
        .nest_limit(5_000)
        .build()
        .map_err(|_| RegexpError::new(Problem::Large, pattern))
}

/// Rewrites a Go regular expression in the syntax of the `regex` crate.
pub fn to_rust(pattern: &str) -> Result<String, RegexpError> {
    parse::RegexpParser::new(pattern).parse()
}

#[cfg(test)]
mod tests;
