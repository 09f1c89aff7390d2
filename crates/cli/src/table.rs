//! Tables of text: columns as wide as their widest cell.

use crate::printable::printable_cell;

const COLUMN_GAP: &str = "  ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub fn new(headings: &[&str]) -> Self {
        let headings = headings.iter().map(|heading| heading.to_uppercase());
        Self {
            rows: vec![headings.collect()],
        }
    }

    /// A cell stays on its line.
    pub fn push(&mut self, row: Vec<String>) {
        let cells = row.into_iter();
        let cells = cells.map(|cell| printable_cell(&cell).into_owned());
        self.rows.push(cells.collect());
    }

    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                let padding = width.saturating_sub(cell.chars().count());
                line.extend(std::iter::repeat_n(' ', padding));
                line.push_str(COLUMN_GAP);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = TextTable::new(&["id", "status"]);
        table.push(vec!["crg_1".to_owned(), "PENDING".to_owned()]);
        table.push(vec!["é".to_owned(), String::new()]);
        insta::assert_snapshot!(table.render(), @r"
        ID     STATUS
        crg_1  PENDING
        é
        ");
    }
}
