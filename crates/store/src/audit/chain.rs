//! The chain of hashes: each entry holds the hash of the one before it, the head that of the last.

use std::fmt::{self, Write as _};

use ring::digest::{Context, SHA256};
use serde::Serialize;

use super::{Audit, sql};
use crate::database::{Result, Row, Write, args};

/// How many entries are read at once.
const PAGE: i64 = 1_000;

/// The hash before the first entry.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What the chain says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verification {
    Intact {
        entries: i64,
    },
    /// The first entry at which something is wrong.
    Broken {
        seq: i64,
        what: Damage,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Damage {
    Changed,
    Missing,
    /// It was put there, or was elsewhere before.
    Foreign,
    /// The head was changed, or goes with another last entry.
    Head,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "the entry was changed",
            Self::Missing => "the entry is missing",
            Self::Foreign => "the entry does not follow the one before it",
            Self::Head => "the entry is not the last one that was noted",
        })
    }
}

/// The end of the chain.
pub(super) struct Link {
    pub(super) at: i64,
    pub(super) hash: String,
}

/// Makes room for entries; gives the number that the last of them gets, and the link before them.
pub(super) async fn take_head(write: &mut Write, count: i64) -> Result<(i64, Link)> {
    let row = write.one(sql::TAKE_HEAD, args![count]).await?;
    let mut columns = row.columns();
    Ok((columns.get()?, Link { at: columns.get()?, hash: columns.get()? }))
}

impl Link {
    /// Goes on to the next entry, and gives the hash before it. The texts are principal,
    /// namespace, action, target, outcome and details.
    pub(super) fn next(&mut self, seq: i64, texts: [&str; 6]) -> String {
        let hash = hash(&self.hash, seq, self.at, texts);
        std::mem::replace(&mut self.hash, hash)
    }
}

/// Each part with its length before it: no two entries have the same form.
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

impl Audit<'_> {
    /// Reads the whole chain, as it is at the beginning of this call, and says where it is broken.
    pub async fn verify(&self) -> Result<Verification> {
        let row = self.database.one(sql::HEAD, args![]).await?;
        let mut columns = row.columns();
        let (end, end_hash): (i64, String) = (columns.get()?, columns.get()?);
        let (oldest, newest): (i64, i64) = (columns.get()?, columns.get()?);
        if oldest < 1 {
            return Ok(Verification::Broken { seq: oldest, what: Damage::Foreign });
        }
        let (mut seq, mut hash) = (0, BEGINNING.to_owned());
        while seq < end {
            let rows = self.database.rows(sql::PAGE, args![seq, end, PAGE]).await?;
            if rows.is_empty() {
                return Ok(Verification::Broken { seq: seq + 1, what: Damage::Missing });
            }
            for row in &rows {
                match follow(row, seq + 1, &hash)? {
                    Ok(next) => (seq, hash) = (seq + 1, next),
                    Err(what) => return Ok(Verification::Broken { seq: seq + 1, what }),
                }
            }
        }
        Ok(match newest > end {
            true => Verification::Broken { seq: end + 1, what: Damage::Foreign },
            false if hash != end_hash => Verification::Broken { seq: end, what: Damage::Head },
            false => Verification::Intact { entries: end },
        })
    }
}

/// The hash of the entry, if it is the one that follows.
fn follow(row: &Row, seq: i64, before: &str) -> Result<std::result::Result<String, Damage>> {
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
    } else if previous != before {
        Err(Damage::Foreign)
    } else {
        Ok(kept)
    })
}
