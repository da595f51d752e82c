//! How often the right tool is among the first, on the labelled queries of `tests/data`.
//!
//! The least that is accepted lies somewhat below what was measured when the data was written.
//! A higher figure is a reason to raise it; a lower one is worse search.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, sync::Arc};

use narrows_search::{Document, Index, Segment, Selection};
use serde_json::Value;

/// A set of queries, with the least share of queries that find a right tool first, and the least
/// mean share of steps that have a tool among the first five.
const SETS: [(&str, f64, f64); 4] = [
    ("direct", 0.94, 0.98),
    ("reworded", 0.55, 0.72),
    ("several", 0.85, 0.88),
    ("short", 0.80, 0.80),
];
/// How many of the queries that no tool can answer have to be refused.
const MIN_REFUSED: usize = 9;

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn document(tool: &Value) -> Document {
    let parameters = tool["params"].as_array().unwrap().iter();
    Document {
        name: text(&tool["name"]),
        server: text(&tool["server"]),
        description: text(&tool["desc"]),
        parameters: parameters.map(|one| (text(&one[0]), text(&one[1]))).collect(),
        values: Vec::new(),
    }
}

/// An index of all labelled tools, and their ids.
struct Labelled {
    index: Index,
    ids: Vec<u64>,
    data: Value,
}

impl Labelled {
    fn read() -> Self {
        let data = narrows_testkit::labelled_queries();
        let tools = data["tools"].as_array().unwrap();
        let documents: Vec<Document> = tools.iter().map(document).collect();
        let ids = tools.iter().map(|tool| tool["id"].as_u64().unwrap()).collect();
        let index = Index::new(vec![Arc::new(Segment::new(&documents))]);
        Self { index, ids, data }
    }

    /// Returns the ids of the first five tools.
    fn search(&self, query: &str) -> Vec<u64> {
        let selection = Selection { limit: 5, ..Selection::default() };
        let hits = self.index.search(query, &selection);
        hits.iter().map(|hit| self.ids[hit.document]).collect()
    }
}

#[test]
fn right_tools_come_first() {
    let labelled = Labelled::read();
    let mut sets: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for case in labelled.data["queries"].as_array().unwrap() {
        let found = labelled.search(case["query"].as_str().unwrap());
        let steps: Vec<Vec<u64>> = serde_json::from_value(case["rel"].clone()).unwrap();
        let is_first =
            found.first().is_some_and(|first| steps.iter().any(|step| step.contains(first)));
        let met = steps.iter().filter(|step| step.iter().any(|id| found.contains(id))).count();
        let recall = met as f64 / steps.len() as f64;
        let figures = (f64::from(u8::from(is_first)), recall);
        sets.entry(case["set"].as_str().unwrap()).or_default().push(figures);
    }
    assert!(sets.keys().eq(SETS.iter().map(|(set, ..)| set)), "{:?}", sets.keys());
    for (set, min_first, min_recall) in SETS {
        let figures = &sets[set];
        let mean = |figure: fn(&(f64, f64)) -> f64| {
            figures.iter().map(figure).sum::<f64>() / figures.len() as f64
        };
        let (first, recall) = (mean(|(first, _)| *first), mean(|(_, recall)| *recall));
        assert!(first >= min_first, "{set}: a right tool is first in {first:.3} of the queries");
        assert!(recall >= min_recall, "{set}: the recall of the first five is {recall:.3}");
    }
}

#[test]
fn queries_that_no_tool_can_answer_are_mostly_refused() {
    let labelled = Labelled::read();
    let queries = labelled.data["unanswerable"].as_array().unwrap();
    let answered: Vec<&Value> = queries
        .iter()
        .filter(|query| !labelled.search(query.as_str().unwrap()).is_empty())
        .collect();
    assert!(queries.len() - answered.len() >= MIN_REFUSED, "{answered:?}");
}
