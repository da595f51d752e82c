//! The audit: who did what, in a chain that shows whether it was tampered with.

mod chain;
mod export;
mod retention;
mod search;

use narrows_model::{Event, EventAction, EventOutcome};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    clock::now,
    database::{Arg, Database, Result, Row, Write, args},
    limits::{NAME_BYTES, PATH_BYTES},
    queries::{ENTRIES_AT_ONCE, ENTRY_ARGS, ENTRY_BYTES, FEW_ENTRIES, audit as sql},
};

pub(crate) use chain::hex;
pub use chain::{Damage, Verification};
pub use retention::{AuditSize, PruneReport};
pub use search::Filter;

/// The longest details of an entry, as JSON. An agent must not fill the audit with the arguments of its
/// calls.
const DETAILS_BYTES: usize = 64 << 10;

/// The arguments of a row that is left out.
const NO_ENTRY: [Arg<'static>; ENTRY_ARGS] = {
    let (number, text) = (Arg::Int(None), Arg::Text(None));
    [number, number, text, text, text, text, text, text, text, text]
};

/// The audit of all namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    pub(crate) database: &'a Database,
}

/// An entry to be written. The audit takes whatever happened: names are cut where they are too long,
/// control characters replaced, and of details that are too large the beginning is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEntry {
    pub principal: String,
    pub namespace: String,
    pub action: EventAction,
    pub target: String,
    pub outcome: EventOutcome,
    pub details: Value,
}

/// A run that went well and of which nothing else is known.
impl Default for NewEntry {
    fn default() -> Self {
        Self::done("", "", EventAction::Run, "", Value::Null)
    }
}

/// Turns an event into an entry; the run's name and the time that it took become details.
impl From<Event> for NewEntry {
    fn from(event: Event) -> Self {
        let Event { action, outcome, principal, namespace, target, run_id, duration, mut details } =
            event;
        if let Some(run_id) = run_id {
            details["run"] = run_id.into();
        }
        if let Some(duration) = duration {
            let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            details["milliseconds"] = milliseconds.into();
        }
        Self { principal, namespace, action, target: target.to_string(), outcome, details }
    }
}

impl NewEntry {
    /// Returns an entry about something that was done.
    pub(crate) fn done(
        principal: &str,
        namespace: &str,
        action: EventAction,
        target: &str,
        details: Value,
    ) -> Self {
        Self {
            principal: principal.to_owned(),
            namespace: namespace.to_owned(),
            action,
            target: target.to_owned(),
            outcome: EventOutcome::Ok,
            details,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub seq: i64,
    /// Never before that of the entry before it, whatever the clocks say.
    pub at: i64,
    pub principal: String,
    pub namespace: String,
    /// A word of [`EventAction`], unless a later version wrote it.
    pub action: String,
    pub target: String,
    /// A word of [`EventOutcome`], unless a later version wrote it.
    pub outcome: String,
    /// The word that an earlier version wrote for the outcome, where it is another one. Whoever computes the
    /// hash needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_outcome: Option<String>,
    /// The hash of the entry before it.
    pub previous: String,
    pub hash: String,
    pub details: Value,
}

impl Audit<'_> {
    /// Writes an entry and returns its number.
    pub async fn append(&self, entry: &NewEntry) -> Result<i64> {
        self.append_all(std::slice::from_ref(entry)).await
    }

    /// Writes all entries, or none, and returns the number of the last.
    pub async fn append_all(&self, entries: &[NewEntry]) -> Result<i64> {
        let mut write = self.database.begin().await?;
        let seq = append(&mut write, entries).await?;
        write.commit().await?;
        Ok(seq)
    }

    pub async fn get(&self, seq: i64) -> Result<Option<Entry>> {
        self.database.row(sql::GET, args![seq]).await?.as_ref().map(entry).transpose()
    }

    /// Returns how many entries there are.
    pub async fn count(&self) -> Result<i64> {
        Ok(self.size().await?.entries)
    }
}

/// Writes entries as part of a transaction. It has to be the last part: all writes wait here for each
/// other, and so none of them may wait for anything else after it.
pub(crate) async fn append(write: &mut Write, entries: &[NewEntry]) -> Result<i64> {
    let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    let (last, head) = chain::take_head(write, count).await?;
    let mut link = head;
    link.at = link.at.max(now());
    let rows: Vec<Prepared> = (last - count + 1..)
        .zip(entries)
        .map(|(seq, entry)| Prepared::new(seq, entry, &mut link))
        .collect();
    for rows in rows.chunks(ENTRIES_AT_ONCE) {
        let (statement, room) = match rows.len() {
            1 => (sql::ADD, 1),
            ..=FEW_ENTRIES => (sql::ADD_FEW, FEW_ENTRIES),
            _ => (sql::ADD_MANY, ENTRIES_AT_ONCE),
        };
        let nothing = std::iter::repeat_n(NO_ENTRY, room - rows.len());
        let args: Vec<Arg<'_>> = rows.iter().map(Prepared::args).chain(nothing).flatten().collect();
        write.run(statement, &args).await?;
    }
    let bytes = rows.iter().map(Prepared::bytes).sum::<usize>();
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    write.run(sql::PUT_HEAD, args![link.at, &link.hash, bytes]).await?;
    Ok(last)
}

/// An entry as the table has it, with its place in the chain.
struct Prepared {
    seq: i64,
    at: i64,
    /// Principal, namespace, action, target, outcome and details.
    texts: [String; 6],
    previous: String,
    hash: String,
}

impl Prepared {
    fn new(seq: i64, entry: &NewEntry, link: &mut chain::Link) -> Self {
        let name = |name: &str| clean(name, NAME_BYTES);
        let texts = [
            name(&entry.principal),
            name(&entry.namespace),
            entry.action.as_str().to_owned(),
            clean(&entry.target, PATH_BYTES),
            entry.outcome.as_str().to_owned(),
            details(&entry.details),
        ];
        let previous = link.next(seq, texts.each_ref().map(String::as_str));
        Self { seq, at: link.at, texts, previous, hash: link.hash.clone() }
    }

    /// Returns the values in the order of the query's columns.
    fn args(&self) -> [Arg<'_>; ENTRY_ARGS] {
        let [principal, namespace, action, target, outcome, details] =
            self.texts.each_ref().map(Arg::from);
        let (seq, at) = (Arg::from(self.seq), Arg::from(self.at));
        let (previous, hash) = (Arg::from(&self.previous), Arg::from(&self.hash));
        [seq, at, principal, namespace, action, target, outcome, previous, hash, details]
    }

    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.texts.iter().map(String::len).sum::<usize>()
    }
}

/// Replaces the control characters of a text, and cuts it to the limit.
fn clean(text: &str, limit: usize) -> String {
    const MARK: &str = "…";
    let visible = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut text: String = text.chars().map(visible).collect();
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit - MARK.len()));
        text.push_str(MARK);
    }
    text
}

fn details(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= DETAILS_BYTES {
        return text;
    }
    // As a string in JSON the beginning may become twice as long.
    let beginning = &text[..text.floor_char_boundary(DETAILS_BYTES / 4)];
    json!({ "cut": beginning, "bytes": text.len() }).to_string()
}

/// Reads an entry. Words of earlier versions become those of today here, and not in the table: they are
/// part of the entry's hash, so that a migration would break the chain.
fn entry(row: &Row) -> Result<Entry> {
    let mut columns = row.columns();
    let (seq, at) = (columns.get()?, columns.get()?);
    let (principal, namespace) = (columns.get()?, columns.get()?);
    let (action, target, stored) = (columns.get()?, columns.get()?, columns.get::<String>()?);
    let (outcome, stored_outcome) = match stored.parse::<EventOutcome>() {
        Ok(outcome) if outcome.as_str() != stored => (outcome.as_str().to_owned(), Some(stored)),
        _ => (stored, None),
    };
    Ok(Entry {
        seq,
        at,
        principal,
        namespace,
        action,
        target,
        outcome,
        stored_outcome,
        previous: columns.get()?,
        hash: columns.get()?,
        details: columns.json("audit")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Store, StoreUrl};

    #[test]
    fn names_are_cut_and_cleaned_instead_of_refused() {
        assert_eq!(clean("plan", 256), "plan");
        assert_eq!(clean("a\0b\nc", 256), "a\u{fffd}b\u{fffd}c");
        let cut = clean(&"ü".repeat(300), 256);
        assert!(cut.len() <= 256 && cut.ends_with("ü…"), "{cut}");
    }

    /// Each statement wakes the database's thread, and it wakes ours.
    #[tokio::test]
    async fn a_batch_is_as_many_statements_however_many_entries_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let place = StoreUrl::Sqlite(directory.path().join("state.db"));
        let store = Store::open(&place).await.unwrap();
        let mut total = 0;
        for entries in [1, 2, FEW_ENTRIES - 1, FEW_ENTRIES, FEW_ENTRIES + 1, 255, ENTRIES_AT_ONCE] {
            let batch = vec![NewEntry::default(); entries];
            let mut write = store.audit().database.begin().await.unwrap();
            total += entries as i64;
            assert_eq!(append(&mut write, &batch).await.unwrap(), total);
            assert_eq!(write.statements, 3, "{entries} entries");
            write.commit().await.unwrap();
        }
        let whole = Verification::Intact { entries: total, first: 1 };
        assert_eq!(store.audit().verify().await.unwrap(), whole);
        // Control: what is more than one statement has room for is counted.
        let mut write = store.audit().database.begin().await.unwrap();
        append(&mut write, &vec![NewEntry::default(); ENTRIES_AT_ONCE + 1]).await.unwrap();
        assert_eq!(write.statements, 4);
    }

    #[test]
    fn of_large_details_the_beginning_is_kept() {
        assert_eq!(details(&json!({"a": 1})), r#"{"a":1}"#);
        let kept = details(&json!({ "text": "\"".repeat(1 << 20) }));
        assert!(kept.len() < DETAILS_BYTES, "{}", kept.len());
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept["bytes"], (2 << 20) + 11);
    }
}
