//! Searches of the audit, each along an index, however many entries there are.
//!
//! An index has one of the fields: every entry is written to each of them. Only who asks for several
//! fields at once, and for what is common by each but rare together, waits while entries are looked
//! through.

use narrows_model::EventOutcome;

use super::{Audit, Entry, entry, sql};
use crate::{
    database::{Result, args},
    limits,
    queries::Sql,
};

/// The conditions of a search. Those that are not given do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub principal: Option<String>,
    pub namespace: Option<String>,
    /// The beginning of the action.
    pub action: Option<String>,
    pub target: Option<String>,
    /// Entries of earlier versions, which have another word for it, are found too.
    pub outcome: Option<EventOutcome>,
    /// Entries from this time on, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Entries before this time.
    pub until: Option<i64>,
}

/// The numbers of the entries to look at, without the end.
struct Range {
    from: i64,
    end: i64,
}

impl Audit<'_> {
    /// Returns the entries that match, the latest first. For more, give the number of the last entry
    /// that is known.
    pub async fn search(
        &self,
        filter: &Filter,
        before_seq: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let range = Range {
            from: self.first_at(filter.since).await?.unwrap_or(0),
            end: self.first_at(filter.until).await?.unwrap_or(i64::MAX),
        };
        let range = Range { end: range.end.min(before_seq.unwrap_or(i64::MAX)), ..range };
        let Some(prefix) = filter.action.as_ref().filter(|prefix| !prefix.is_empty()) else {
            return self.search_one(filter, None, &range, limit).await;
        };
        // Entries are in order within one action, not over several that begin alike. There are few
        // different ones: each is searched, and what is found put together.
        let mut all = Vec::new();
        for action in self.actions(prefix).await? {
            all.extend(self.search_one(filter, Some(&action), &range, limit).await?);
        }
        all.sort_by_key(|entry| std::cmp::Reverse(entry.seq));
        all.truncate(limit);
        Ok(all)
    }

    async fn search_one(
        &self,
        filter: &Filter,
        action: Option<&str>,
        range: &Range,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let principal = filter.principal.as_deref();
        let namespace = filter.namespace.as_deref();
        let target = filter.target.as_deref();
        let limit = limits::rows(limit);
        let outcome = filter.outcome.map(EventOutcome::as_str);
        let old_outcome = filter.outcome.and_then(EventOutcome::old_word);
        let Range { from, end } = *range;
        let args =
            args![principal, namespace, action, target, outcome, old_outcome, from, end, limit];
        let rows = self.database.rows(narrowest(filter, action), args).await?;
        rows.iter().map(entry).collect()
    }

    /// Returns the number of the first entry that is not before the time, past all entries if there is
    /// none.
    pub(super) async fn first_at(&self, time: Option<i64>) -> Result<Option<i64>> {
        let Some(time) = time else { return Ok(None) };
        let row = self.database.row(sql::FIRST_AT, args![time]).await?;
        row.map_or(Ok(i64::MAX), |row| row.columns().get()).map(Some)
    }

    /// Returns the actions that begin with a prefix.
    async fn actions(&self, prefix: &str) -> Result<Vec<String>> {
        let end = limits::after_prefix(prefix);
        let rows = self.database.rows(sql::ACTIONS, args![prefix, end.as_deref()]).await?;
        rows.iter().map(|row| row.columns().get()).collect()
    }
}

/// Returns the query whose index leaves the fewest entries to look at.
fn narrowest(filter: &Filter, action: Option<&str>) -> Sql {
    let Filter { principal, namespace, target, .. } = filter;
    match (target, principal, namespace, action) {
        (Some(_), ..) => sql::SEARCH_TARGET,
        (_, Some(_), ..) => sql::SEARCH_PRINCIPAL,
        (_, _, Some(_), _) => sql::SEARCH_NAMESPACE,
        (_, _, _, Some(_)) => sql::SEARCH_ACTION,
        _ => sql::SEARCH,
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};

    use super::*;
    use crate::{Store, StoreUrl};

    #[tokio::test]
    async fn every_search_goes_along_the_index_that_was_made_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("narrows.db");
        Store::open(&StoreUrl::Sqlite(file.clone())).await.unwrap().close().await;
        let url = format!("sqlite:{}", file.display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        for (query, index) in [
            (sql::SEARCH, "INTEGER PRIMARY KEY (rowid>?"),
            (sql::SEARCH_TARGET, "audit_by_target (target=? AND seq>?"),
            (sql::SEARCH_PRINCIPAL, "audit_by_principal (principal=? AND seq>?"),
            (sql::SEARCH_NAMESPACE, "audit_by_namespace (namespace=? AND seq>?"),
            (sql::SEARCH_ACTION, "audit_by_action (action=? AND seq>?"),
            (sql::FIRST_AT, "COVERING INDEX audit_by_time (at>?"),
            (sql::LAST_OF, "audit_by_action (action=? AND seq<?"),
        ] {
            let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", query.text()));
            let plan = sqlx::query(explain).fetch_all(&mut connection).await.unwrap();
            let steps: Vec<String> = plan.iter().map(|row| row.get(3)).collect();
            assert!(steps.len() == 1 && steps[0].contains(index), "{index}: {steps:?}");
        }
    }
}
