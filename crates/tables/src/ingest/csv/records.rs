//! Splits text into records and cells.

use crate::flaw::{Flaw, Result};

/// A reader of records. A cell may be in double quotes; then it may contain anything, and two quotes
/// stand for one.
pub(super) struct Records<'a> {
    text: &'a str,
    delimiter: u8,
    position: usize,
    unquoted: String,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str, delimiter: u8) -> Self {
        Self { text, delimiter, position: 0, unquoted: String::new() }
    }

    /// Calls `cell` for each cell of the next record with its place, and returns how many there are.
    /// Empty lines are not records.
    #[inline]
    pub(super) fn next(
        &mut self,
        mut cell: impl FnMut(usize, &str) -> Result<()>,
    ) -> Result<Option<usize>> {
        while let Some(b'\n' | b'\r') = self.peek() {
            self.position += 1;
        }
        if self.peek().is_none() {
            return Ok(None);
        }
        let mut place = 0;
        loop {
            if self.peek() == Some(b'"') {
                self.quoted()?;
                cell(place, &self.unquoted)?;
            } else {
                let start = self.position;
                self.skip_plain();
                cell(place, &self.text[start..self.position])?;
            }
            place += 1;
            match self.peek() {
                Some(byte) if byte == self.delimiter => self.position += 1,
                Some(_) => {
                    self.position += 1;
                    return Ok(Some(place));
                }
                None => return Ok(Some(place)),
            }
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    /// Skips to the end of an unquoted cell.
    #[inline]
    fn skip_plain(&mut self) {
        let delimiter = self.delimiter;
        let rest = &self.text.as_bytes()[self.position..];
        let end = rest.iter().position(|byte| *byte == delimiter || matches!(byte, b'\n' | b'\r'));
        self.position += end.unwrap_or(rest.len());
    }

    /// Reads a cell in quotes; text after the closing quote belongs to it too.
    fn quoted(&mut self) -> Result<()> {
        self.unquoted.clear();
        let opening = self.position;
        self.position += 1;
        loop {
            let rest = &self.text[self.position..];
            let Some(quote) = rest.bytes().position(|byte| byte == b'"') else {
                return Err(Flaw::At(opening, "a quote is opened and not closed".to_owned()));
            };
            self.unquoted.push_str(&rest[..quote]);
            self.position += quote + 1;
            if self.peek() != Some(b'"') {
                break;
            }
            self.unquoted.push('"');
            self.position += 1;
        }
        let start = self.position;
        self.skip_plain();
        self.unquoted.push_str(&self.text[start..self.position]);
        Ok(())
    }
}

/// Returns the end of the last whole record in bytes that begin with a record.
pub(super) fn last_record_end(bytes: &[u8], delimiter: u8) -> Option<usize> {
    if !bytes.contains(&b'"') {
        return last_line_end(bytes);
    }
    let mut last = None;
    let mut in_quotes = false;
    let mut cell_begins = true;
    for (position, byte) in bytes.iter().enumerate() {
        match byte {
            // Two quotes for one close the cell and open it again.
            b'"' if in_quotes => {
                in_quotes = false;
                cell_begins = bytes.get(position + 1) == Some(&b'"');
                continue;
            }
            b'"' if cell_begins => in_quotes = true,
            _ if in_quotes => continue,
            b'\n' => last = Some(position + 1),
            _ => {}
        }
        cell_begins = *byte == delimiter || matches!(byte, b'\n' | b'\r');
    }
    last
}

/// Returns the end of the last line. Old programs end lines with a carriage return alone.
fn last_line_end(bytes: &[u8]) -> Option<usize> {
    let newline = bytes.iter().rposition(|byte| *byte == b'\n');
    let newline = newline.or_else(|| bytes.iter().rposition(|byte| *byte == b'\r'));
    newline.map(|newline| newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Vec<Vec<String>> {
        let mut records = Records::new(text, b',');
        let mut all = Vec::new();
        loop {
            let mut record = Vec::new();
            let cells = records.next(|place, cell| {
                assert_eq!(place, record.len());
                record.push(cell.to_owned());
                Ok(())
            });
            match cells.expect("text is well quoted") {
                Some(count) => assert_eq!(count, record.len()),
                None => return all,
            }
            all.push(record);
        }
    }

    #[test]
    fn cells_are_told_apart() {
        assert_eq!(records("a,b\n1,2"), [["a", "b"], ["1", "2"]]);
        assert_eq!(records("a,b\r\n1,\r\n\r\n,2\r\n"), [["a", "b"], ["1", ""], ["", "2"]]);
        assert_eq!(records("\"a,b\",\"c\"\"d\"\n\"e\nf\",\n"), [["a,b", "c\"d"], ["e\nf", ""]]);
        assert_eq!(records("5\" pipe,\"x\"y\n"), [["5\" pipe", "xy"]]);
        assert_eq!(records("\"\",\"\"\"\"\n"), [["", "\""]]);
        assert_eq!(records("a\rb\r"), [["a"], ["b"]]);
        assert_eq!(records("ä,日本\n"), [["ä", "日本"]]);
    }

    #[test]
    fn an_open_quote_is_an_error() {
        let flaw = Records::new("a,\"b\nc", b',').next(|_, _| Ok(()));
        assert!(matches!(flaw, Err(Flaw::At(2, _))), "{flaw:?}");
    }

    #[test]
    fn records_end_outside_of_quotes() {
        for text in [
            "a,b\n1,2\n",
            "a\n\"b\nc\"\n",
            "5\" x\n6\" y\n",
            "\"a\"\"\n\"\n",
            "\"\"\n",
            "x,\"\"\"\n\"\n",
        ] {
            let end = last_record_end(text.as_bytes(), b',');
            assert_eq!(end, Some(text.len()), "{text:?}");
        }
        assert_eq!(last_record_end(b"a\n\"b\nc", b','), Some(2));
        assert_eq!(last_record_end(b"a\n\"b\"\"\nc", b','), Some(2));
        assert_eq!(last_record_end(b"abc", b','), None);
        assert_eq!(last_record_end(b"a\rb", b','), Some(2));
    }
}
