//! Comma, semicolon and tab separated values.
//!
//! Prose has commas too, and lines of words are often not a table. So the first line must consist of
//! names, every line must have the same number of cells, and something must show that the first line is
//! a header. Common names of columns do, whatever stands below them: then a tool returns a list whether
//! there are many rows, one or none. With uncommon names the rows have to differ from the header, so
//! that such a table is a text while it has no rows.

use std::collections::HashSet;

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use super::{
    around,
    cells::{self, Sort},
};

const MAX_COLUMNS: usize = 500;
const MAX_NAME_LEN: usize = 40;
const MAX_WORDS: usize = 4;

/// Names that are common in headers of tables, and rare in other lines with commas.
const USUAL_NAMES: &str = "\
    id name title key value type kind status state date time url email description count path \
    size version label category \
    age amount author balance city code cost country currency customer department \
    duration employee filename gender host language latitude longitude month order owner \
    percent phone population price priority product project quantity rank rate rating region role \
    salary score sku symbol timestamp total unit username year";

/// Reads the rows of a text that consists of a table, with at most a label above it.
pub(super) fn find(text: &str) -> Option<Value> {
    let has_end = text.ends_with('\n');
    // Tabs are not trimmed, because one at the end is an empty cell.
    let text = text.trim_matches(['\n', '\r']);
    // A header without rows could be a few words with commas, so more evidence is needed.
    let empty = if has_end { EmptyRows::Usual } else { EmptyRows::No };
    table(text, empty).or_else(|| {
        let (label, rest) = text.split_once('\n')?;
        let rows = table(rest.trim_start_matches(['\r', '\n']), empty)?;
        around::is_label(label, rows.as_array().map(Vec::len)).then_some(rows)
    })
}

/// Reads the rows of the only fenced block in a text, if its info string is `csv` or `tsv`.
pub(super) fn find_fenced(text: &str) -> Option<Value> {
    let marks = ["```csv", "```tsv"];
    let (before, rest) = marks.iter().find_map(|mark| text.split_once(mark))?;
    let (body, after) =
        rest.strip_prefix("\r\n").or(rest.strip_prefix('\n'))?.split_once("\n```")?;
    let rows = table(body.trim_end_matches('\r'), EmptyRows::Yes)?;
    around::says_no_more(before, after, rows.as_array().map(Vec::len)).then_some(rows)
}

/// Whether a header may stand without rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmptyRows {
    No,
    /// If one of the names is a common one.
    Usual,
    Yes,
}

fn table(text: &str, empty: EmptyRows) -> Option<Value> {
    let quotes = text.bytes().filter(|byte| *byte == b'"').count();
    // Within quotes there may be empty lines; elsewhere they separate paragraphs.
    let has_paragraphs = quotes == 0 && (text.contains("\n\n") || text.contains("\n\r\n"));
    if has_paragraphs || quotes % 2 != 0 {
        return None;
    }
    let first = text.lines().next()?;
    ["\t", ";", ","]
        .into_iter()
        .filter(|delimiter| first.contains(*delimiter))
        .find_map(|delimiter| read(text, delimiter.as_bytes()[0], empty))
}

fn read(text: &str, delimiter: u8, empty: EmptyRows) -> Option<Value> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(false)
        .from_reader(text.as_bytes());
    let mut records = reader.records();
    let header = records.next()?.ok()?;
    let names: Vec<&str> = header.iter().collect();
    if !are_names(&names) {
        return None;
    }
    let records: Vec<StringRecord> = records.collect::<Result<_, _>>().ok()?;
    let rows: Vec<Vec<&str>> =
        records.iter().map(|record| record.iter().map(str::trim).collect()).collect();
    let is_table = match (rows.is_empty(), empty) {
        (false, _) => differs(&names, &rows),
        (true, EmptyRows::No) => false,
        (true, EmptyRows::Usual) => names.iter().all(is_identifier) && names.iter().any(is_usual),
        (true, EmptyRows::Yes) => true,
    };
    is_table.then(|| cells::objects(&names, &rows))
}

fn are_names(names: &[&str]) -> bool {
    let distinct: HashSet<&&str> = names.iter().collect();
    (2..=MAX_COLUMNS).contains(&names.len())
        && distinct.len() == names.len()
        && names.iter().all(|name| is_name(name))
}

/// Tells whether a cell can be the name of a column: a few words without the punctuation of a sentence
/// or a program. A cell with a leading space cannot, because that follows a comma in a sentence.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || " _-./()%#$°".contains(c);
    let mut open = 0_i32;
    let balanced = name.chars().all(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open >= 0
    });
    name.chars().count() <= MAX_NAME_LEN
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !name.ends_with(['.', '-', '/', ' '])
        && name.chars().all(allowed)
        && balanced
        && open == 0
        && name.split_whitespace().count() <= MAX_WORDS
}

fn is_identifier(name: &&str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Tells whether a name is or contains a common one: `score`, `Unit price`, `created_date`.
fn is_usual(name: &&str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    words.any(|word| USUAL_NAMES.split(' ').any(|usual| usual == word))
}

/// Tells whether the rows differ from the header in kind.
fn differs(names: &[&str], rows: &[Vec<&str>]) -> bool {
    let sorts = cells::sorts_of(names, rows);
    let has_types = sorts.iter().any(|sort| sort.is_some_and(|sort| sort != Sort::Text));
    // Dates and amounts.
    let has_digits = (0..names.len()).any(|column| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        cells.all(|cell| cell.starts_with(|c: char| c.is_ascii_digit()))
    });
    has_types
        || has_digits
        || names.iter().any(is_usual)
        || (names.len() >= 3 && names.iter().all(is_identifier))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rows_of_a_table() {
        let rows = json!([{"id": 1, "full name": "Ada, L."}, {"id": 2, "full name": null}]);
        for text in [
            "id,full name\n1,\"Ada, L.\"\n2,\n",
            "id;full name\r\n1;Ada, L.\r\n2;\r\n",
            "id\tfull name\n1\tAda, L.\n2\t",
            "Rows:\n\nid,full name\n1,\"Ada, L.\"\n2,",
        ] {
            assert_eq!(find(text), Some(rows.clone()), "{text}");
        }
        for text in [
            "```csv\nid,full name\n1,\"Ada, L.\"\n2,\n```",
            "Here:\r\n```tsv\r\nid\tfull name\r\n1\tAda, L.\r\n2\t\r\n```\r\n2 rows",
        ] {
            assert_eq!(find_fenced(text), Some(rows.clone()), "{text}");
        }
        assert_eq!(
            find("name,note\na,\"two\n\nparagraphs\"\nb,\"she said \"\"no\"\"\""),
            Some(json!([
                {"name": "a", "note": "two\n\nparagraphs"},
                {"name": "b", "note": "she said \"no\""},
            ]))
        );
        assert_eq!(
            find("symbol,price\nA,1.5\nB,20\n"),
            Some(json!([{"symbol": "A", "price": 1.5}, {"symbol": "B", "price": 20}]))
        );
    }

    /// The text of a tool is a list with no row, with one and with many.
    #[test]
    fn the_number_of_rows_changes_no_type() {
        for (names, row) in
            [("id,name", "7,Ada"), ("id;price", "x;2.50"), ("a_b\tname\tx", "p\tq\tr")]
        {
            let of = |rows: usize| format!("{names}\n{}", format!("{row}\n").repeat(rows));
            let one = find(&of(1)).unwrap_or_else(|| panic!("{names}"));
            assert_eq!(one.as_array().map(Vec::len), Some(1));
            assert_eq!(find(&of(0)), Some(json!([])), "{names}");
            assert_eq!(find(&of(2)), Some(json!([one[0], one[0]])), "{names}");
        }
        assert_eq!(find_fenced("```csv\nfirst,last\n```"), Some(json!([])));
    }

    /// A missing cell in one row, or words in it, do not change that the table is a list.
    #[test]
    fn what_stands_in_the_rows_changes_no_type_below_usual_names() {
        let texts = ["", "Oslo,3\n", "Oslo,3\nBergen,n/a\n", "Oslo,n/a\nBergen,n/a\nRøros,7\n"];
        for names in ["city,score", "City,Unit_price", "place,order_total"] {
            for rows in texts {
                let list = find(&format!("{names}\n{rows}"));
                let count = list.as_ref().and_then(Value::as_array).map(Vec::len);
                assert_eq!(count, Some(rows.lines().count()), "{names}: {rows}");
            }
        }
    }

    #[test]
    fn what_is_no_table() {
        for text in [
            "",
            "a,b",
            "id,name",
            "Yes,no\n",
            "Found 30:\nid,name\n1,a\n2,b",
            "Hello, world\nAnd so, again\nOnce more, please",
            "Smith,John\nDoe,Jane\nRoe,Rick",
            "1,2\n3,4\n5,6",
            "id,id\n1,2\n3,4",
            "id,,x\n1,2,3\n4,5,6",
            "id,name\n1,a\n2,b,c",
            "id,name\n1,a\n\n2,b",
            "id,name\n1,a\n2,\"b",
            "int a; int b;\nint c; int d;\nint e; int f;",
            "def f(a,b):\n    g(a,b)\n    h(b,a)",
            "2026-11-16 10:00:00,123 INFO a\n2026-11-16 10:00:00,124 INFO b\n2026-11-16 10:00:01,5 c",
            "\tindented\tline\n\tindented\tline\n\tindented\tline",
            "12\t3\tsrc/main.rs\n1\t0\tsrc/lib.rs\n4\t4\tREADME.md",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        let table = "```csv\nid,name\n1,a\n2,b\n```";
        for text in
            [format!("{table}\n{table}"), format!("words\n{table}"), format!("{table}\nDone.")]
        {
            assert_eq!(find_fenced(&text), None, "{text}");
        }
    }
}
