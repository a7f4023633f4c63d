//! Aligns columns by the rules of Go's tabwriter.
//!
//! A cell that ends with a tab belongs to a column; a column is as wide as its widest cell among the adjacent lines
//! that have it.

/// The minimum width of a column, including the gap.
const LEAST: usize = 6;
/// The gap between the columns of a table.
const GAP: usize = 3;

/// Aligns the cells of a table; the last cell of a row is not padded.
pub(crate) fn align(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&row.join("\t"));
        text.push('\n');
    }
    tabulate(&text, LEAST, GAP)
}

/// Aligns the tab-separated cells of a text.
pub(crate) fn tabulate(text: &str, least: usize, gap: usize) -> String {
    let lines: Vec<Vec<&str>> = text.split('\n').map(|line| line.split('\t').collect()).collect();
    let mut widths: Vec<Vec<usize>> = lines.iter().map(|cells| vec![0; cells.len() - 1]).collect();
    let columns = widths.iter().map(Vec::len).max().unwrap_or_default();
    for column in 0..columns {
        let mut start = 0;
        while start < lines.len() {
            let has = |line: &usize| widths[*line].len() > column;
            let end = (start..lines.len()).find(|line| !has(line)).unwrap_or(lines.len());
            let cells = lines[start..end].iter().map(|cells| cells[column].chars().count());
            let width = (cells.max().unwrap_or_default() + gap).max(least);
            for line in &mut widths[start..end] {
                line[column] = width;
            }
            start = end + 1;
        }
    }
    let mut out = String::with_capacity(text.len() * 2);
    for (line, (cells, widths)) in lines.iter().zip(&widths).enumerate() {
        if line > 0 {
            out.push('\n');
        }
        for (column, cell) in cells.iter().enumerate() {
            out.push_str(cell);
            if let Some(width) = widths.get(column) {
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_neighbors_share_a_column() {
        let text =
            "Name:\ta\nLonger Name:\tb\nData:\n  X:\t1\n  Multi:\tline\nmore\n  Y:\t2\nEnd:\t\n";
        let want = "Name:         a\nLonger Name:  b\nData:\n  X:      1\n  Multi:  line\nmore\n  Y:  2\nEnd:  \n";
        assert_eq!(tabulate(text, 0, 2), want);
    }
}
