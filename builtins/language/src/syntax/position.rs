//! Decides how byte offsets become lines and columns: 1-based, columns in code points, and
//! `\n`, `\r\n` and a lone `\r` each end a line, as starlark-go counts them.

/// Where the lines of a file start.
#[derive(Debug, Clone)]
pub struct LineTable {
    starts: Vec<u32>,
}

impl LineTable {
    /// Finds the line starts of `source`.
    pub fn new(source: &str) -> LineTable {
        let bytes = source.as_bytes();
        let mut starts = vec![0];
        for (i, &byte) in bytes.iter().enumerate() {
            let ends_line = byte == b'\n' || (byte == b'\r' && bytes.get(i + 1) != Some(&b'\n'));
            if ends_line {
                starts.push(offset(i + 1));
            }
        }
        LineTable { starts }
    }

    /// The line and column of a byte offset; offsets past the end count as the end.
    pub fn line_col(&self, source: &str, at: usize) -> (u32, u32) {
        let at = at.min(source.len());
        let line = self.starts.partition_point(|&start| start as usize <= at).max(1);
        let start = self.starts[line - 1] as usize;
        let col = source.as_bytes()[start..at].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        (offset(line), offset(col + 1))
    }
}

/// Narrows an offset; files beyond 4 GiB are refused long before.
pub(crate) fn offset(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_ending_counts_once_and_columns_are_code_points() {
        let source = "a\r\nbé\rc\n\nd";
        let table = LineTable::new(source);
        let check = |needle: &str, expected: (u32, u32)| {
            let at = source.find(needle).expect("the needle is in the source");
            assert_eq!(table.line_col(source, at), expected, "{needle:?}");
        };
        check("a", (1, 1));
        check("b", (2, 1));
        check("\rc", (2, 3));
        check("c", (3, 1));
        check("d", (5, 1));
        assert_eq!(table.line_col(source, 999), (5, 2));
        assert_eq!(LineTable::new("").line_col("", 0), (1, 1));
    }
}
