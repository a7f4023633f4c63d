//! Decides which place of the user's file a place of the rewritten text stands for.

use crate::syntax::position::LineTable;

/// Maps offsets of rewritten text to offsets, lines and columns of the source.
#[derive(Debug, Clone)]
pub struct SourceMap {
    source: Box<str>,
    lines: LineTable,
    /// Sorted by `out`; empty if the text is the source itself.
    segments: Vec<Segment>,
}

/// A stretch of output, up to the next segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Where it starts in the output.
    pub(crate) out: u32,
    /// The source offset it stands for.
    pub(crate) source: u32,
    /// Whether it was copied, so that offsets inside it correspond one by one.
    pub(crate) verbatim: bool,
}

impl SourceMap {
    pub(crate) fn new(source: &str, lines: LineTable, segments: Vec<Segment>) -> SourceMap {
        SourceMap { source: source.into(), lines, segments }
    }

    /// The user's text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The source offset that an output offset stands for.
    pub fn to_source(&self, out: u32) -> u32 {
        let after = self.segments.partition_point(|segment| segment.out <= out);
        match after.checked_sub(1).map(|index| self.segments[index]) {
            None => out,
            Some(segment) if segment.verbatim => segment.source + (out - segment.out),
            Some(segment) => segment.source,
        }
    }

    /// The 1-based line and column, in code points, of a source offset.
    pub fn line_col(&self, source_offset: u32) -> (u32, u32) {
        self.lines.line_col(&self.source, source_offset as usize)
    }
}
