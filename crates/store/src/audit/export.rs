//! The audit from its beginning, for whoever takes it elsewhere.

use super::{Audit, Entry, Filter, chain::PAGE, entry, sql};
use crate::database::{Result, args};

impl Audit<'_> {
    /// Returns entries, the oldest first, after the number of the last entry that is known (0 at the
    /// beginning). All entries are looked through, a page at a time; for what is rare a search is
    /// faster.
    pub async fn export(
        &self,
        filter: &Filter,
        after_seq: i64,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let from = self.first_at(filter.since).await?.map_or(i64::MIN, |first| first - 1);
        let end = self.first_at(filter.until).await?.map_or(i64::MAX, |first| first - 1);
        let (mut seq, mut all) = (after_seq.max(from), Vec::new());
        while all.len() < limit {
            let rows = self.database.rows(sql::PAGE, args![seq, end, PAGE]).await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                let entry = entry(row)?;
                seq = entry.seq;
                if filter.fits(&entry) && all.len() < limit {
                    all.push(entry);
                }
            }
        }
        Ok(all)
    }
}

impl Filter {
    /// Tells whether an entry matches, its time aside.
    fn fits(&self, entry: &Entry) -> bool {
        let same =
            |asked: &Option<String>, is: &str| asked.as_ref().is_none_or(|asked| asked == is);
        same(&self.principal, &entry.principal)
            && same(&self.namespace, &entry.namespace)
            && same(&self.target, &entry.target)
            && self.outcome.is_none_or(|outcome| outcome.as_str() == entry.outcome)
            && self.action.as_ref().is_none_or(|prefix| entry.action.starts_with(prefix.as_str()))
    }
}
