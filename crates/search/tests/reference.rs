//! The engine agrees with `scripts/train-search/reference.py`, by which it was tuned.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;

use narrows_search::{Document, Index, Method, Segment, Selection, stems};
use serde_json::Value;

const GOLDEN: &str = include_str!("golden.json");

/// How many documents a segment has where an index is made of several.
const SEGMENT: usize = 60;

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn documents(labelled: &Value) -> Vec<Document> {
    let tools = labelled["tools"].as_array().unwrap().iter();
    let parameters = |tool: &Value| {
        let list = tool["params"].as_array().unwrap().iter();
        list.map(|one| (text(&one[0]), text(&one[1]))).collect()
    };
    tools
        .map(|tool| Document {
            name: text(&tool["name"]),
            server: text(&tool["server"]),
            description: text(&tool["desc"]),
            parameters: parameters(tool),
            values: Vec::new(),
        })
        .collect()
}

#[test]
fn stems_are_those_of_the_reference() {
    let golden: Vec<Value> = serde_json::from_str(GOLDEN).unwrap();
    for case in golden {
        let query = case["query"].as_str().unwrap();
        let expected: Vec<String> = serde_json::from_value(case["stems"].clone()).unwrap();
        assert_eq!(stems(query), expected, "{query}");
    }
}

#[test]
fn queries_find_what_the_reference_finds() {
    let labelled = narrows_testkit::labelled_queries();
    let documents = documents(&labelled);
    let index = Index::new(vec![Arc::new(Segment::new(&documents))]);
    let golden: Vec<Value> = serde_json::from_str(GOLDEN).unwrap();
    let selection = Selection { limit: 10, ..Selection::default() };
    for case in golden {
        let query = case["query"].as_str().unwrap();
        let hits = index.search(query, &selection);
        assert_eq!(!hits.is_empty(), case["has_match"], "{query}");
        let expected = case["top"].as_array().unwrap().iter();
        for (hit, expected) in hits.iter().zip(expected) {
            // Where two are equal their order is chance, so the scores are compared.
            let score = expected[1].as_f64().unwrap() as f32;
            assert!((hit.score - score).abs() < 2e-3, "{query}: {} and {score}", hit.score);
        }
        if let Some(first) = hits.first() {
            assert_eq!(labelled["tools"][first.document]["id"], case["top"][0][0], "{query}");
        }
    }
}

/// In parts, as the servers of a catalog are, it is the same index.
#[test]
fn an_index_in_segments_finds_the_same() {
    let documents = documents(&narrows_testkit::labelled_queries());
    let whole = Index::new(vec![Arc::new(Segment::new(&documents))]);
    let parts = documents.chunks(SEGMENT).map(|part| Arc::new(Segment::new(part))).collect();
    let parts = Index::new(parts);
    for method in [Method::Full, Method::Bm25] {
        let selection = Selection { limit: 10, method, ..Selection::default() };
        for query in ["create an issue", "weather forecast for Paris", "read mail and log the work"]
        {
            let flat = |hits: Vec<narrows_search::Hit>| -> Vec<usize> {
                hits.iter().map(|hit| hit.segment * SEGMENT + hit.document).collect()
            };
            let found = flat(whole.search(query, &selection));
            assert!(!found.is_empty(), "{query}");
            assert_eq!(flat(parts.search(query, &selection)), found, "{query}");
        }
    }
}

#[test]
fn only_wanted_segments_are_searched_and_a_bonus_counts() {
    let document = |name: &str| Document { name: name.into(), ..Document::default() };
    let segments =
        [vec![document("read_file"), document("read_mail")], vec![document("read_page")]];
    let segments = segments.iter().map(|documents| Arc::new(Segment::new(documents))).collect();
    let index = Index::new(segments);
    let found = |selection: &Selection| -> Vec<(usize, usize)> {
        let hits = index.search("read", selection);
        hits.iter().map(|hit| (hit.segment, hit.document)).collect()
    };
    let all = Selection { limit: 10, ..Selection::default() };
    assert_eq!(found(&all).len(), 3);
    let one = Selection { segments: Some(vec![1]), ..all.clone() };
    assert_eq!(found(&one), [(1, 0)]);
    let liked = Selection { bonus: vec![(0, 1, 1.0)], ..all.clone() };
    assert_eq!(found(&liked)[0], (0, 1));
    assert_eq!(found(&Selection { limit: 1, ..liked }), [(0, 1)]);
    assert!(Index::new(Vec::new()).search("read", &all).is_empty());
}
