//! Tables: columns that line up on a terminal, and fields for scripts elsewhere.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{
    color::Style,
    escape::{Notation, escaped},
};

/// The space between two columns.
const GAP: &str = "  ";
/// The narrowest that a column is made; one with a longer head stays as wide as its head.
const MIN_WIDTH: usize = 8;

/// How a cell that is wider than its column is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellOverflow {
    /// It is shown in full: a name that other commands take.
    Whole,
    /// It is cut, with an ellipsis.
    Cut,
    /// It goes on in the next line.
    Wrap,
}

/// A column: its head, and how its cells are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    head: &'static str,
    style: Style,
    fit: CellOverflow,
    is_right: bool,
}

impl Column {
    /// Makes a column of text that is shown in full.
    pub(crate) const fn text(head: &'static str) -> Self {
        Self { head, style: Style::Plain, fit: CellOverflow::Whole, is_right: false }
    }

    /// Makes a column of values that other commands take.
    pub(crate) const fn name(head: &'static str) -> Self {
        Self { style: Style::Name, ..Self::text(head) }
    }

    /// Makes a column of right-aligned figures.
    pub(crate) const fn number(head: &'static str) -> Self {
        Self { is_right: true, ..Self::text(head) }
    }

    /// Returns the column in another style.
    pub(crate) const fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Returns the column with cells that are cut where there is no room.
    pub(crate) const fn cut(self) -> Self {
        Self { fit: CellOverflow::Cut, ..self }
    }

    /// Returns the column with cells that are wrapped where there is no room.
    pub(crate) const fn wrapped(self) -> Self {
        Self { fit: CellOverflow::Wrap, ..self }
    }

    fn min_width(&self) -> usize {
        MIN_WIDTH.max(self.head.width())
    }
}

/// A cell, in the style of its column if it has none of its own.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Option<Style>,
}

impl Cell {
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style: Some(style) }
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.to_string(), style: None }
    }
}

/// The form in which a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A head and aligned columns, within the width of the terminal if it is known.
    Aligned { width: Option<usize>, is_colored: bool },
    /// A line for each row, with a tab between its fields; nothing is cut. It is the same however
    /// wide the terminal is and whatever the other rows hold.
    Fields,
}

/// A head and rows of cells.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row, with a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Writes the table as lines.
    pub(super) fn lines(&self, layout: Layout) -> Vec<String> {
        match layout {
            Layout::Fields => self.rows.iter().map(|row| fields(row)).collect(),
            Layout::Aligned { width, is_colored } => {
                self.without_empty_columns().aligned(width, is_colored)
            }
        }
    }

    /// Returns the table without empty columns, which take room from the others.
    fn without_empty_columns(&self) -> Self {
        let is_filled = |at: &usize| {
            self.rows.iter().any(|row| row.get(*at).is_some_and(|cell| !cell.text.is_empty()))
        };
        let filled: Vec<usize> = (0..self.columns.len()).filter(is_filled).collect();
        let of = |row: &Vec<Cell>| filled.iter().filter_map(|at| row.get(*at).cloned()).collect();
        Self {
            columns: filled.iter().map(|at| self.columns[*at]).collect(),
            rows: self.rows.iter().map(of).collect(),
        }
    }

    fn aligned(&self, width: Option<usize>, is_colored: bool) -> Vec<String> {
        let head: Vec<Cell> = self
            .columns
            .iter()
            .map(|column| Cell::styled(column.head.to_uppercase(), Style::Heading))
            .collect();
        let all: Vec<Vec<Cell>> =
            std::iter::once(&head).chain(&self.rows).map(|row| visible(row)).collect();
        let widths = self.widths(&all, width);
        all.iter().flat_map(|row| self.row_lines(row, &widths, is_colored)).collect()
    }

    /// Returns the width of each column. Where room is short, the widest column that may shrink does so
    /// first.
    fn widths(&self, rows: &[Vec<Cell>], width: Option<usize>) -> Vec<usize> {
        let of = |number: usize| {
            rows.iter().filter_map(|row| row.get(number)).map(|cell| cell.text.width()).max()
        };
        let mut widths: Vec<usize> =
            (0..self.columns.len()).map(|number| of(number).unwrap_or_default()).collect();
        let Some(width) = width else { return widths };
        let room = width.saturating_sub(GAP.len() * self.columns.len().saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let widest = (0..widths.len())
                .filter(|number| self.columns[*number].fit != CellOverflow::Whole)
                .filter(|number| widths[*number] > self.columns[*number].min_width())
                .max_by_key(|number| widths[*number]);
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
        }
        widths
    }

    fn row_lines(&self, row: &[Cell], widths: &[usize], is_colored: bool) -> Vec<String> {
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(&self.columns)
            .zip(widths)
            .map(|((cell, column), width)| match column.fit {
                CellOverflow::Whole => vec![cell.text.clone()],
                CellOverflow::Cut => vec![cut(&cell.text, *width)],
                CellOverflow::Wrap => wrapped(&cell.text, *width),
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        (0..height)
            .map(|number| {
                let mut line = String::new();
                for (at, parts) in cells.iter().enumerate() {
                    let (column, text) = (&self.columns[at], parts.get(number));
                    let text = text.map_or("", String::as_str);
                    let style = row[at].style.unwrap_or(column.style);
                    let space = " ".repeat(widths[at].saturating_sub(text.width()));
                    if at > 0 {
                        line.push_str(GAP);
                    }
                    if column.is_right {
                        line.push_str(&space);
                    }
                    style.paint(text, is_colored, &mut line);
                    if !column.is_right {
                        line.push_str(&space);
                    }
                }
                line.truncate(line.trim_end().len());
                line
            })
            .collect()
    }
}

/// Returns cells on one line each, with escapes for what a terminal would obey.
fn visible(row: &[Cell]) -> Vec<Cell> {
    let visible = |cell: &Cell| {
        let text = escaped(&one_line(&cell.text), Notation::Text).into_owned();
        Cell { text, style: cell.style }
    };
    row.iter().map(visible).collect()
}

fn fields(row: &[Cell]) -> String {
    row.iter().map(|cell| one_line(&cell.text)).collect::<Vec<_>>().join("\t")
}

/// Replaces line breaks and tabs, which would end a row or a field, by spaces.
fn one_line(text: &str) -> String {
    text.trim_end().replace(['\n', '\r', '\t'], " ")
}

/// Cuts a text to a width, with an ellipsis.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let start = text.get(..fitting(text, width.saturating_sub(1))).unwrap_or_default();
    format!("{}…", start.trim_end())
}

/// Returns how many bytes at the beginning of a text fit into a width.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or_default();
        if used > width {
            return at;
        }
    }
    text.len()
}

/// Breaks a text into lines, between words where it can.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while rest.width() > width {
        // At least one character, however wide it is.
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let fits = fitting(rest, width).max(first);
        let at_space = rest[fits..].starts_with(' ');
        let end = match rest[..fits].rfind(' ') {
            Some(space) if !at_space && space > 0 => space,
            _ => fits,
        };
        lines.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(width: usize) -> Layout {
        Layout::Aligned { width: Some(width), is_colored: false }
    }

    fn files() -> Table {
        let columns =
            [Column::number("bytes"), Column::name("path"), Column::text("what it is").cut()];
        let mut table = Table::new(columns);
        table.row([7.into(), "größe.csv".into(), "a table".into()]);
        table.row([1234.into(), "日本.txt".into(), "a text that is much longer".into()]);
        table
    }

    #[test]
    fn columns_line_up_by_what_is_seen() {
        let lines = files().lines(aligned(80));
        let expected = [
            "BYTES  PATH       WHAT IT IS",
            "    7  größe.csv  a table",
            " 1234  日本.txt   a text that is much longer",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_does_not_fit_is_cut_and_names_are_not() {
        let lines = files().lines(aligned(30));
        assert_eq!(lines[2], " 1234  日本.txt   a text that…");
        assert!(lines.iter().all(|line| line.width() <= 30), "{lines:#?}");
        // Nothing more can be taken away.
        assert_eq!(files().lines(aligned(5))[2], " 1234  日本.txt   a text th…");
    }

    #[test]
    fn a_wrapped_column_goes_on_below_itself() {
        let mut table = Table::new([Column::name("name"), Column::text("text").wrapped()]);
        table.row(["a".into(), "one two three four".into()]);
        table.row(["b".into(), "averyveryverylongword".into()]);
        let lines = table.lines(aligned(16));
        assert_eq!(lines[..3], ["NAME  TEXT", "a     one two", "      three four"]);
        assert!(lines.iter().all(|line| line.width() <= 16), "{lines:#?}");
        assert_eq!(lines[3..].concat().replace([' ', 'b'], ""), "averyveryverylongword");
    }

    #[test]
    fn a_script_gets_fields_and_everything() {
        let mut table = files();
        table.row([0.into(), "a\tb\nc".into(), "\x1b[31m".into()]);
        let expected = [
            "7\tgröße.csv\ta table",
            "1234\t日本.txt\ta text that is much longer",
            "0\ta b c\t\x1b[31m",
        ];
        assert_eq!(table.lines(Layout::Fields), expected);
    }

    #[test]
    fn a_column_without_anything_is_left_out_for_people_only() {
        let mut table = Table::new([Column::name("a"), Column::text("b"), Column::text("c")]);
        table.row(["1".into(), "".into(), "3".into()]);
        assert_eq!(table.lines(aligned(80)), ["A  C", "1  3"]);
        assert_eq!(table.lines(Layout::Fields), ["1\t\t3"]);
        assert_eq!(Table::new([Column::name("a")]).lines(aligned(80)).concat(), "");
    }

    #[test]
    fn a_cell_from_outside_is_shown_and_not_obeyed() {
        let mut table = Table::new([Column::name("name")]);
        table.row(["\x1b[2Jx\ry".into()]);
        assert_eq!(table.lines(aligned(80))[1], r"\x1b[2Jx y");
    }

    #[test]
    fn colour_is_no_part_of_the_width() {
        let mut table = Table::new([Column::name("name"), Column::text("state")]);
        table.row(["a".into(), Cell::styled("failed", Style::Bad)]);
        let lines = table.lines(Layout::Aligned { width: Some(80), is_colored: true });
        assert_eq!(lines[0], "\x1b[1mNAME\x1b[0m  \x1b[1mSTATE\x1b[0m");
        assert_eq!(lines[1], "\x1b[36ma\x1b[0m     \x1b[1;31mfailed\x1b[0m");
    }
}
