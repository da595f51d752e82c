//! Names of columns, and notes about columns.

use std::collections::HashSet;

/// The most columns that notes are written about.
const MAX_NOTES: usize = 10;

/// Notes on what was done to the data that the caller might not expect.
#[derive(Debug, Default)]
pub(in crate::ingest) struct Notes {
    general: Vec<String>,
    columns: Vec<String>,
}

impl Notes {
    pub(in crate::ingest) fn general(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.general.contains(&note) {
            self.general.push(note);
        }
    }

    pub(in crate::ingest) fn column(&mut self, name: &str, note: String) {
        self.columns.push(format!("{name}: {note}"));
    }

    /// Returns the notes as lines, with a limit on those about columns.
    pub(in crate::ingest) fn finish(mut self) -> Vec<String> {
        let more = self.columns.len().saturating_sub(MAX_NOTES);
        self.columns.truncate(MAX_NOTES);
        self.general.append(&mut self.columns);
        if more > 0 {
            let columns = if more == 1 { "column" } else { "columns" };
            self.general.push(format!("and {more} more {columns}"));
        }
        self.general
    }
}

/// Makes the names of a header unique, and gives a name to columns without one.
pub(in crate::ingest) fn unique(names: Vec<String>, notes: &mut Notes) -> Vec<String> {
    let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
    let mut numbering = Numbering::new(&names);
    let mut unnamed = 0;
    let named = names.into_iter().enumerate().map(|(place, name)| {
        if name.is_empty() {
            unnamed += 1;
            return distinct(format!("c{place}"), &mut numbering.taken);
        }
        numbering.name(name)
    });
    let named = named.collect();
    if unnamed > 0 {
        notes.general(format!(
            "{} without a name in the header: named by position (c0, c1, …)",
            columns(unnamed)
        ));
    }
    numbering.note("a name that was there before in the header", notes);
    named
}

/// Makes names unique that different columns are shown by, such as those of a key `x.y` and of the key
/// `y` of an object `x`.
pub(in crate::ingest) fn apart(names: Vec<String>, notes: &mut Notes) -> Vec<String> {
    let mut numbering = Numbering::new(&names);
    let named = names.into_iter().map(|name| numbering.name(name)).collect();
    numbering.note("the dotted name of another one", notes);
    named
}

/// Adds numbers to repeated names, without using a name that another column has.
struct Numbering {
    taken: HashSet<String>,
    seen: HashSet<String>,
    repeated: usize,
}

impl Numbering {
    fn new(names: &[String]) -> Self {
        Self { taken: names.iter().cloned().collect(), seen: HashSet::new(), repeated: 0 }
    }

    fn name(&mut self, name: String) -> String {
        if self.seen.insert(name.clone()) {
            return name;
        }
        self.repeated += 1;
        distinct(name, &mut self.taken)
    }

    fn note(&self, what: &str, notes: &mut Notes) {
        if self.repeated > 0 {
            let repeated = columns(self.repeated);
            notes.general(format!("{repeated} with {what}: numbered (_2, _3, …)"));
        }
    }
}

/// Returns a name that is not taken: the wanted one, or else one with a number.
fn distinct(wanted: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{wanted}_{number}"));
    let mut names = std::iter::once(wanted.clone()).chain(numbered);
    names.find(|name| taken.insert(name.clone())).unwrap_or(wanted)
}

fn columns(number: usize) -> String {
    super::column_stats::count(number, "column")
}

/// The escape before a dot in a key, which would otherwise separate the keys of objects in the name of a
/// column.
const ESCAPE: char = '\u{1}';
const ESCAPED_DOT: &str = "\u{1}d";
const ESCAPED_ESCAPE: &str = "\u{1}e";

/// Escapes a key as a part of the name of a column, in which dots separate the keys of objects.
pub(in crate::ingest) fn of_key(key: String) -> String {
    if !key.contains(['.', ESCAPE]) {
        return key;
    }
    key.replace(ESCAPE, ESCAPED_ESCAPE).replace('.', ESCAPED_DOT)
}

fn shown(name: &str) -> String {
    name.replace(ESCAPED_DOT, ".").replace(ESCAPED_ESCAPE, "\u{1}")
}

/// Returns the name of a column as it is shown. A column of a list of lists (`c0`, or `c0.x` for objects
/// in it) gets its name from the header.
pub(in crate::ingest) fn in_header(name: &str, header: &[String]) -> String {
    let (place, rest) = match name.find('.') {
        Some(dot) => name.split_at(dot),
        None => (name, ""),
    };
    let place = place.strip_prefix('c').and_then(|place| place.parse::<usize>().ok());
    match place.and_then(|place| header.get(place)) {
        Some(named) => format!("{named}{}", shown(rest)),
        None => shown(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_to_differ() {
        let mut notes = Notes::default();
        let names = ["a", "", "a", " b ", "a_2", "", "a", "c1"].map(str::to_owned).to_vec();
        let expected = ["a", "c1_2", "a_3", "b", "a_2", "c5", "a_4", "c1"];
        assert_eq!(unique(names, &mut notes), expected);
        let notes = notes.finish();
        assert_eq!(notes.len(), 2);
        assert!(notes[0].starts_with("2 columns without a name"), "{notes:?}");
        assert!(notes[1].starts_with("2 columns with a name that was there before"), "{notes:?}");
    }

    #[test]
    fn notes_do_not_grow_without_end() {
        let mut notes = Notes::default();
        for column in 0..13 {
            notes.column(&format!("c{column}"), "changed".to_owned());
        }
        let notes = notes.finish();
        assert_eq!(notes.len(), 11);
        assert_eq!(notes[0], "c0: changed");
        assert_eq!(notes[10], "and 3 more columns");
    }

    #[test]
    fn places_get_the_names_of_the_header() {
        let header = ["id".to_owned(), "address".to_owned()];
        assert_eq!(in_header("c1", &header), "address");
        assert_eq!(in_header("c1.city", &header), "address.city");
        assert_eq!(in_header("c2", &header), "c2");
        assert_eq!(in_header("cost", &header), "cost");
        let dotted = of_key("c1.city".to_owned());
        assert_eq!(in_header(&dotted, &header), "c1.city");
        assert_eq!(in_header(&format!("c1.{dotted}"), &header), "address.c1.city");
    }

    #[test]
    fn keys_are_shown_as_they_are() {
        for key in ["", "x", "x.y", ".", "\u{1}", "\u{1}d", "\u{1}e.", "\u{1}\u{1}ed"] {
            let name = of_key(key.to_owned());
            assert!(!name.contains('.'), "{name:?}");
            assert_eq!(in_header(&name, &[]), key);
        }
    }

    #[test]
    fn names_that_are_shown_alike_are_numbered() {
        let mut notes = Notes::default();
        let names = ["x.y", "x.y", "x.y_2", "", "x.y"].map(str::to_owned).to_vec();
        assert_eq!(apart(names, &mut notes), ["x.y", "x.y_3", "x.y_2", "", "x.y_4"]);
        let note = "2 columns with the dotted name of another one: numbered (_2, _3, …)";
        assert_eq!(notes.finish(), [note]);
    }
}
