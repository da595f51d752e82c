//! Finds the delimiter and the names of the columns.

use super::records::Records;
use crate::flaw::{Flaw, Result};

/// How many records are read to find the delimiter.
const ENOUGH: usize = 50;

/// Returns the delimiter with which the most records have as many cells as the first.
pub(super) fn delimiter(text: &str) -> u8 {
    let score = |delimiter: u8| {
        let mut records = Records::new(text, delimiter);
        let mut lengths = Vec::new();
        while lengths.len() < ENOUGH
            && let Ok(Some(cells)) = records.next(|_, _| Ok(()))
        {
            lengths.push(cells);
        }
        let first = lengths.first().copied().unwrap_or_default();
        let equal = lengths.iter().filter(|length| **length == first).count();
        if first < 2 { (0, 0) } else { (equal, first) }
    };
    let candidates = [b'|', b'\t', b';', b','];
    candidates.into_iter().max_by_key(|delimiter| score(*delimiter)).unwrap_or(b',')
}

/// Reads the first record.
pub(super) fn read(text: &str, delimiter: u8) -> Result<Vec<String>> {
    let mut records = Records::new(text, delimiter);
    let mut names = Vec::new();
    let cells = records.next(|_, cell| {
        names.push(cell.to_owned());
        Ok(())
    })?;
    if cells.is_none() || names.iter().all(|name| name.trim_ascii().is_empty()) {
        return Err(Flaw::data("the file is empty: it has not even a header"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_found() {
        assert_eq!(delimiter("a,b,c\n1,2,3\n"), b',');
        assert_eq!(delimiter("a;b\n1,5;2,5\n"), b';');
        assert_eq!(delimiter("a\tb\n1,5\t2\n"), b'\t');
        assert_eq!(delimiter("a|b|c\n1|2,3|4\n"), b'|');
        assert_eq!(delimiter("only\n1\n"), b',');
        assert_eq!(delimiter("\"a;b\",c\n\"1;2\",3\n"), b',');
        assert_eq!(delimiter("name,notes\nx,a;b;c\ny,d\n"), b',');
        assert_eq!(delimiter(""), b',');
    }
}
