//! The chain of hashes: each entry holds the hash of the one before it, the head that of the last,
//! and the anchor that of the entry before the first.

use std::fmt::{self, Write as _};

use narrows_model::EventAction;
use ring::digest::{Context, SHA256};
use serde::Serialize;
use serde_json::Value;

use super::{Audit, sql};
use crate::database::{Result, Row, Write, args};

/// How many entries are read at once.
pub(super) const PAGE: i64 = 1_000;

/// The action of the entry that moves the beginning of the chain.
pub(super) const PRUNE: EventAction = EventAction::AuditPrune;

/// The hash before the first entry.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The result of verifying the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    Intact {
        entries: i64,
        /// The first of them: 1, unless older ones were pruned.
        first: i64,
    },
    /// The first entry at which something is wrong.
    Broken { seq: i64, what: Damage },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    Changed,
    Missing,
    /// The entry was inserted, or stood elsewhere before.
    Foreign,
    /// The head was changed, or goes with another last entry.
    Head,
    /// The beginning was changed: no entry says that the chain was cut off here.
    Anchor,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "the entry was changed",
            Self::Missing => "the entry is missing",
            Self::Foreign => "the entry does not follow the one before it",
            Self::Head => "the entry is not the last one that was noted",
            Self::Anchor => "the chain was not cut off after this entry",
        })
    }
}

/// The end of the chain.
pub(super) struct Link {
    pub(super) at: i64,
    pub(super) hash: String,
}

/// Makes room for entries. Returns the number that the last of them gets, and the link before them.
pub(super) async fn take_head(write: &mut Write, count: i64) -> Result<(i64, Link)> {
    let row = write.one(sql::TAKE_HEAD, args![count]).await?;
    let mut columns = row.columns();
    Ok((columns.get()?, Link { at: columns.get()?, hash: columns.get()? }))
}

impl Link {
    /// Goes on to the next entry, and returns the hash before it. The texts are principal, namespace,
    /// action, target, outcome and details.
    pub(super) fn next(&mut self, seq: i64, texts: [&str; 6]) -> String {
        let hash = hash(&self.hash, seq, self.at, texts);
        std::mem::replace(&mut self.hash, hash)
    }
}

/// Hashes an entry, each part with its length before it, so that no two entries have the same form.
fn hash(previous: &str, seq: i64, at: i64, texts: [&str; 6]) -> String {
    let (seq, at) = (seq.to_string(), at.to_string());
    let mut context = Context::new(&SHA256);
    for part in [previous, &seq, &at].into_iter().chain(texts) {
        context.update(part.len().to_string().as_bytes());
        context.update(b":");
        context.update(part.as_bytes());
    }
    hex(context.finish().as_ref())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A place in the chain: an entry, by its number and hash.
#[derive(PartialEq, Eq)]
pub(super) struct ChainMark {
    pub(super) seq: i64,
    hash: String,
}

/// Where the chain begins and ends, all at one moment.
#[derive(PartialEq, Eq)]
pub(super) struct ChainEnds {
    /// The last entry that was removed; the beginning if none was.
    anchor: ChainMark,
    /// The last entry.
    pub(super) head: ChainMark,
    /// The lowest and the highest number in the table.
    oldest: Option<i64>,
    newest: Option<i64>,
}

impl Audit<'_> {
    /// Reads the whole chain, as it is at the beginning of this call, and says where it is broken.
    pub async fn verify(&self) -> Result<Verification> {
        let mut ends = self.ends().await?;
        loop {
            let found = self.follow(&ends).await?;
            if matches!(found, Verification::Intact { .. }) {
                return Ok(found);
            }
            // Entries may have been removed before we came to them. Then it begins elsewhere now.
            let now = self.ends().await?;
            if (&now.anchor, now.oldest) == (&ends.anchor, ends.oldest) {
                return Ok(found);
            }
            ends = now;
        }
    }

    pub(super) async fn ends(&self) -> Result<ChainEnds> {
        let row = self.database.one(sql::ENDS, args![]).await?;
        let mut columns = row.columns();
        Ok(ChainEnds {
            anchor: ChainMark { seq: columns.get()?, hash: columns.get()? },
            head: ChainMark { seq: columns.get()?, hash: columns.get()? },
            oldest: columns.get()?,
            newest: columns.get()?,
        })
    }

    async fn follow(&self, ends: &ChainEnds) -> Result<Verification> {
        let ChainEnds { anchor, head, .. } = ends;
        let broken = |seq, what| Ok(Verification::Broken { seq, what });
        if self.noted_anchor(head.seq).await?.as_ref() != Some(anchor) {
            return broken(anchor.seq, Damage::Anchor);
        }
        // Entries that were removed may still be there. They have to lead to those that were not.
        let first = ends.oldest.unwrap_or(i64::MAX).min(anchor.seq + 1);
        if first < 1 {
            return broken(first, Damage::Foreign);
        }
        let mut seq = first - 1;
        let mut hash = match seq {
            0 => Some(BEGINNING.to_owned()),
            seq if seq == anchor.seq => Some(anchor.hash.clone()),
            _ => None,
        };
        while seq < head.seq {
            let rows = self.database.rows(sql::PAGE, args![seq, head.seq, PAGE]).await?;
            if rows.is_empty() {
                return broken(seq + 1, Damage::Missing);
            }
            for row in &rows {
                match follow(row, seq + 1, hash.as_deref())? {
                    Ok(next) => (seq, hash) = (seq + 1, Some(next)),
                    Err(what) => return broken(seq + 1, what),
                }
            }
        }
        Ok(if ends.newest > Some(head.seq) {
            Verification::Broken { seq: head.seq + 1, what: Damage::Foreign }
        } else if hash.as_ref() != Some(&head.hash) {
            Verification::Broken { seq: head.seq, what: Damage::Head }
        } else {
            Verification::Intact { entries: head.seq - first + 1, first }
        })
    }

    /// Returns the anchor as the chain itself has it: by the last entry that says so.
    async fn noted_anchor(&self, end: i64) -> Result<Option<ChainMark>> {
        let Some(row) = self.database.row(sql::LAST_OF, args![PRUNE.as_str(), end]).await? else {
            return Ok(Some(ChainMark { seq: 0, hash: BEGINNING.to_owned() }));
        };
        let details: Value = row.columns().json("audit")?;
        let mark = (details["seq"].as_i64(), details["hash"].as_str());
        let (Some(seq), Some(hash)) = mark else { return Ok(None) };
        Ok(Some(ChainMark { seq, hash: hash.to_owned() }))
    }
}

/// Returns the hash of the entry, if it is the one that follows. `before` is not known where the entry
/// before it was removed and is gone.
fn follow(
    row: &Row,
    seq: i64,
    before: Option<&str>,
) -> Result<std::result::Result<String, Damage>> {
    let mut columns = row.columns();
    let (found, at): (i64, i64) = (columns.get()?, columns.get()?);
    let [principal, namespace, action, target, outcome]: [&str; 5] =
        [columns.get()?, columns.get()?, columns.get()?, columns.get()?, columns.get()?];
    let (previous, kept, details): (&str, String, &str) =
        (columns.get()?, columns.get()?, columns.get()?);
    let texts = [principal, namespace, action, target, outcome, details];
    Ok(if found != seq {
        Err(Damage::Missing)
    } else if hash(previous, found, at, texts) != kept {
        Err(Damage::Changed)
    } else if before.is_some_and(|before| previous != before) {
        Err(Damage::Foreign)
    } else {
        Ok(kept)
    })
}
