//! How large the audit is, and cutting off its beginning.
//!
//! The chain is cut by one entry at its end, which names the last one that is removed: its number
//! and hash, the anchor. From then on the chain begins after it. The entries before it go
//! afterwards, oldest first and some at a time, so that nobody who writes waits for long; if that
//! is interrupted, the next time goes on with it.

use serde::Serialize;
use serde_json::json;

use super::{Audit, NewEntry, append, chain::PRUNE, sql};
use crate::database::{Result, args};

/// How many entries are removed with one write.
const BATCH: i64 = 500;

/// The principal that removes entries: the program itself.
const ITSELF: &str = "narrows";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AuditSize {
    pub entries: i64,
    /// About what the entries take, with their places in the indexes.
    pub bytes: i64,
    /// The times of the first and of the last entry.
    pub oldest: Option<i64>,
    pub newest: Option<i64>,
}

/// The result of cutting off the beginning of the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PruneReport {
    pub entries: i64,
    /// The entry that the chain begins with now.
    pub first: i64,
}

impl Audit<'_> {
    /// Returns the size of the audit, from figures that are kept: it takes no longer with more entries.
    pub async fn size(&self) -> Result<AuditSize> {
        let row = self.database.one(sql::SIZE, args![]).await?;
        let mut columns = row.columns();
        Ok(AuditSize {
            entries: columns.get()?,
            bytes: columns.get()?,
            oldest: columns.get()?,
            newest: columns.get()?,
        })
    }

    /// Removes the oldest entries: those from before a time, and as many as are needed for the rest to
    /// take no more than so many bytes. The removal is itself an entry.
    pub async fn prune(&self, before: Option<i64>, max_bytes: Option<i64>) -> Result<PruneReport> {
        let newest = self.ends().await?.head.seq;
        let too_old = self.first_at(before).await?.map_or(0, |first| newest.min(first - 1));
        let too_many = match max_bytes {
            Some(max) => self.last_beyond(max).await?.min(newest),
            None => 0,
        };
        let pruned = self.move_anchor(too_old.max(too_many)).await?;
        while self.remove_some().await? {}
        Ok(pruned)
    }

    /// Returns the last of the entries that have to go for the rest to fit.
    async fn last_beyond(&self, max: i64) -> Result<i64> {
        let mut excess = self.size().await?.bytes - max;
        let mut last = 0;
        while excess > 0 {
            let rows = self.database.rows(sql::BYTES, args![last, BATCH]).await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                if excess <= 0 {
                    break;
                }
                let mut columns = row.columns();
                last = columns.get()?;
                excess -= columns.get::<i64>()?;
            }
        }
        Ok(last)
    }

    /// Makes the chain begin after an entry.
    async fn move_anchor(&self, last: i64) -> Result<PruneReport> {
        let mut write = self.database.begin().await?;
        let anchor = write.number(sql::TAKE_ANCHOR, args![]).await?;
        if last <= anchor {
            return Ok(PruneReport { entries: 0, first: anchor + 1 });
        }
        let hash: String = write.one(sql::HASH, args![last]).await?.columns().get()?;
        write.run(sql::PUT_ANCHOR, args![last, &hash]).await?;
        let entries = last - anchor;
        let details = json!({ "entries": entries, "seq": last, "hash": hash });
        let entry = NewEntry::done(ITSELF, "", PRUNE, "", details);
        append(&mut write, &[entry]).await?;
        write.commit().await?;
        Ok(PruneReport { entries, first: last + 1 })
    }

    /// Removes some of the entries before the anchor, if there are any.
    async fn remove_some(&self) -> Result<bool> {
        let mut write = self.database.begin().await?;
        let anchor = write.number(sql::TAKE_ANCHOR, args![]).await?;
        let oldest: Option<i64> = write.one(sql::OLDEST, args![]).await?.columns().get()?;
        let Some(oldest) = oldest.filter(|oldest| *oldest <= anchor) else { return Ok(false) };
        let last = anchor.min(oldest.saturating_add(BATCH - 1));
        let bytes = write.number(sql::BYTES_UP_TO, args![last]).await?;
        write.run(sql::REMOVE, args![last]).await?;
        write.run(sql::NOTE_REMOVED, args![bytes]).await?;
        write.commit().await?;
        Ok(true)
    }
}
