//! Search indexes over the skills of each namespace, with the ranking that is used for tools.
//!
//! The store is authoritative. An index has the skills of one revision, and catches up before each
//! search. New skills become a part of their own, and parts of about the same size are merged, so that
//! there are few parts and each skill is seldom indexed again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use narrows_search::{Document, Index, Segment, Selection};
use narrows_store::{SkillHead, Store, StoreError};
use narrows_system::apart;

/// The number of skills that are read from the store at once.
const PAGE: usize = 2_000;
/// The largest number of skills that are searched at once, in less than a millisecond; larger indexes
/// are searched beside the async threads.
const FEW_SKILLS: usize = 200;

/// The indexes of all namespaces that were searched.
#[derive(Debug, Default)]
pub(super) struct SkillIndexes {
    shelves: Mutex<HashMap<String, Arc<RwLock<NamespaceIndex>>>>,
}

/// The skills of one namespace at one revision.
#[derive(Debug, Default)]
struct NamespaceIndex {
    revision: i64,
    /// The largest first.
    parts: Vec<IndexPart>,
    /// The newest revision of each skill, without removed ones.
    current: HashMap<String, i64>,
    index: Index,
}

/// Skills that are indexed together. Some may have newer versions in another part.
#[derive(Debug)]
struct IndexPart {
    heads: Vec<Arc<SkillHead>>,
    segment: Arc<Segment>,
}

impl SkillIndexes {
    /// Returns the skills of these namespaces that match best, with their scores.
    pub(super) async fn search(
        &self,
        store: &Store,
        namespaces: &[&str],
        query: &str,
        limit: usize,
    ) -> Result<Vec<(f32, SkillHead)>, StoreError> {
        let revision = store.skills().revision().await?;
        let mut found = Vec::new();
        for namespace in namespaces {
            let shelf = self.caught_up(store, namespace, revision).await?;
            let shelf = shelf.read().unwrap_or_else(PoisonError::into_inner);
            let searching = || shelf.search(query, limit);
            let is_small = shelf.current.len() <= FEW_SKILLS;
            found.extend(if is_small { searching() } else { apart(searching) });
        }
        found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        found.truncate(limit);
        Ok(found.into_iter().map(|(score, head)| (score, SkillHead::clone(&head))).collect())
    }

    async fn caught_up(
        &self,
        store: &Store,
        namespace: &str,
        revision: i64,
    ) -> Result<Arc<RwLock<NamespaceIndex>>, StoreError> {
        let shelf = {
            let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(shelves.entry(namespace.to_owned()).or_default())
        };
        let mut since = shelf.read().unwrap_or_else(PoisonError::into_inner).revision;
        let wanted = [namespace.to_owned()];
        let mut changed: Vec<SkillHead> = Vec::new();
        while since < revision {
            let page = store.skills().changed_since(&wanted, since, PAGE).await?;
            let last = page.last().map_or(revision, |last| last.revision);
            // After a page that is not full, later revisions belong to other namespaces.
            since = if page.len() < PAGE { last.max(revision) } else { last };
            changed.extend(page);
        }
        let mut now = shelf.write().unwrap_or_else(PoisonError::into_inner);
        now.add(changed, since);
        drop(now);
        Ok(shelf)
    }
}

impl NamespaceIndex {
    fn add(&mut self, changed: Vec<SkillHead>, revision: i64) {
        let mut new = Vec::new();
        // Another search may have added some of them meanwhile.
        for head in changed.into_iter().filter(|head| head.revision > self.revision) {
            if head.removed {
                self.current.remove(&head.name);
            } else {
                self.current.insert(head.name.clone(), head.revision);
                new.push(Arc::new(head));
            }
        }
        self.revision = self.revision.max(revision);
        if !new.is_empty() {
            self.index(new);
        }
    }

    fn index(&mut self, mut new: Vec<Arc<SkillHead>>) {
        while let Some(smallest) = self.parts.pop_if(|part| part.heads.len() <= new.len() * 2) {
            let older = smallest.heads.into_iter().filter(|head| is_current(&self.current, head));
            new = older.chain(new).collect();
        }
        let documents: Vec<Document> = new.iter().map(|head| document(head)).collect();
        self.parts.push(IndexPart { heads: new, segment: Arc::new(Segment::new(&documents)) });
        let segments = self.parts.iter().map(|part| Arc::clone(&part.segment));
        self.index = Index::new(segments.collect());
    }

    fn search(&self, query: &str, limit: usize) -> Vec<(f32, Arc<SkillHead>)> {
        // More hits are requested than needed, because older versions among them are left out.
        let selection = Selection { limit: limit.saturating_mul(2), ..Selection::default() };
        let hits = self.index.search(query, &selection);
        let found = hits.into_iter().filter_map(|hit| {
            let head = self.parts.get(hit.segment)?.heads.get(hit.document)?;
            is_current(&self.current, head).then(|| (hit.score, Arc::clone(head)))
        });
        found.take(limit).collect()
    }
}

fn is_current(current: &HashMap<String, i64>, head: &SkillHead) -> bool {
    current.get(&head.name) == Some(&head.revision)
}

fn document(head: &SkillHead) -> Document {
    Document {
        name: head.name.clone(),
        server: head.tags.join(" "),
        description: format!("{}\n{}", head.description, head.doc),
        parameters: vec![(head.signature.clone(), String::new())],
        values: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn head(name: &str, revision: i64, description: &str) -> SkillHead {
        SkillHead {
            namespace: "team".into(),
            name: name.into(),
            version: revision,
            revision,
            removed: false,
            hash: String::new(),
            author: "ada".into(),
            created_at: 0,
            description: description.into(),
            tags: Vec::new(),
            signature: format!("{name}()"),
            doc: String::new(),
            origin: Value::Null,
            uses: Value::Null,
        }
    }

    fn found(shelf: &NamespaceIndex, query: &str) -> Vec<String> {
        let found = shelf.search(query, 10).into_iter().map(|(_, head)| head);
        let found = found.filter(|head| !head.name.starts_with("filler"));
        found.map(|head| format!("{}@{}", head.name, head.version)).collect()
    }

    #[test]
    fn only_the_newest_version_is_found_and_nothing_that_was_removed() {
        let mut shelf = NamespaceIndex::default();
        let fillers = (1..=40).map(|n| head(&format!("filler_{n}"), n, "something else entirely"));
        shelf.add(fillers.collect(), 40);
        shelf.add(vec![head("invoices", 41, "sums up invoices")], 41);
        shelf.add(vec![head("invoices", 42, "sums up unpaid invoices")], 42);
        assert_eq!(found(&shelf, "sum up invoices"), ["invoices@42"]);
        // Known already.
        shelf.add(vec![head("invoices", 42, "sums up unpaid invoices")], 42);
        assert_eq!(found(&shelf, "unpaid invoices"), ["invoices@42"]);
        shelf.add(vec![SkillHead { removed: true, ..head("invoices", 43, "") }], 43);
        assert!(found(&shelf, "unpaid invoices").is_empty());
        shelf.add(vec![head("invoices", 44, "sums up invoices again")], 44);
        assert_eq!(found(&shelf, "sum up invoices"), ["invoices@44"]);
    }

    #[test]
    fn many_small_changes_make_few_parts() {
        let mut shelf = NamespaceIndex::default();
        for revision in 1..=300 {
            shelf.add(vec![head(&format!("skill_{revision}"), revision, "does it")], revision);
        }
        assert!(shelf.parts.len() <= 9, "{}", shelf.parts.len());
        assert_eq!(shelf.parts.iter().map(|part| part.heads.len()).sum::<usize>(), 300);
        assert_eq!(found(&shelf, "skill_177").first().map(String::as_str), Some("skill_177@177"));
    }
}
