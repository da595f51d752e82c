//! Measures how well and how fast tools are found, on labelled queries.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use narrows_search::{Document, Index, Method, Segment, Selection};
use serde::{Deserialize, Serialize};

use super::{
    budget::{Budget, Budgeted},
    read_json,
    statistics::LatencySummary,
};

/// How many results of each query are judged.
const DEPTH: usize = 10;

#[derive(Deserialize)]
struct ToolsFile {
    tools: Vec<LabelledTool>,
}

#[derive(Deserialize)]
struct LabelledTool {
    id: u64,
    #[serde(default)]
    server: String,
    name: String,
    #[serde(default, alias = "description")]
    desc: String,
    #[serde(default)]
    params: Vec<(String, Option<String>)>,
}

#[derive(Deserialize)]
struct QueriesFile {
    queries: Vec<LabelledQuery>,
}

#[derive(Deserialize)]
struct LabelledQuery {
    set: String,
    query: String,
    /// Groups of tools; any tool of a group meets it.
    rel: Vec<Vec<u64>>,
}

/// The budget at p95, in milliseconds.
const BUDGET: f64 = 2.0;

#[derive(Debug, Serialize)]
pub(super) struct SearchReport {
    tools: usize,
    queries: usize,
    index_ms: f64,
    /// The engine as it is used.
    full: MeasuredSearch,
    /// Fielded BM25 of the whole query, and nothing else.
    bm25: MeasuredSearch,
    /// The engine minus BM25, over the mean of sets.
    gain: Quality,
}

#[derive(Debug, Serialize)]
struct MeasuredSearch {
    sets: BTreeMap<String, Quality>,
    /// The mean over sets, not over queries.
    mean: Quality,
    latency: LatencySummary,
}

/// The quality of the results, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Quality {
    queries: usize,
    hit_at_1: f64,
    recall_at_5: f64,
    recall_at_10: f64,
    mrr: f64,
}

pub(super) fn measure(tools: &Path, queries: Option<&Path>) -> anyhow::Result<SearchReport> {
    let ToolsFile { tools: labelled } = read_json(tools)?;
    let QueriesFile { queries } = read_json(queries.unwrap_or(tools))?;
    ensure!(!labelled.is_empty() && !queries.is_empty(), "there are no tools, or no queries");
    let ids: Vec<u64> = labelled.iter().map(|tool| tool.id).collect();
    let documents: Vec<Document> = labelled.into_iter().map(LabelledTool::document).collect();
    let start = Instant::now();
    let index = Index::new(vec![Arc::new(Segment::new(&documents))]);
    let index_ms = start.elapsed().as_secs_f64() * 1e3;
    let full = measured(&index, &ids, &queries, Method::Full);
    let bm25 = measured(&index, &ids, &queries, Method::Bm25);
    let gain = full.mean.minus(&bm25.mean);
    Ok(SearchReport { tools: ids.len(), queries: queries.len(), index_ms, full, bm25, gain })
}

impl LabelledTool {
    fn document(self) -> Document {
        let parameters = self.params.into_iter();
        Document {
            name: self.name,
            server: self.server,
            description: self.desc,
            parameters: parameters.map(|(name, text)| (name, text.unwrap_or_default())).collect(),
            values: Vec::new(),
        }
    }
}

fn measured(
    index: &Index,
    ids: &[u64],
    queries: &[LabelledQuery],
    method: Method,
) -> MeasuredSearch {
    let mut sets: HashMap<&str, Vec<Quality>> = HashMap::new();
    let mut times: Vec<Duration> = Vec::with_capacity(queries.len());
    let selection = Selection { limit: DEPTH, method, ..Selection::default() };
    for query in queries {
        let start = Instant::now();
        let hits = index.search(&query.query, &selection);
        times.push(start.elapsed());
        let found: Vec<u64> =
            hits.iter().filter_map(|hit| ids.get(hit.document)).copied().collect();
        sets.entry(&query.set).or_default().push(Quality::of(&found, &query.rel));
    }
    let sets: BTreeMap<String, Quality> =
        sets.into_iter().map(|(set, all)| (set.to_owned(), Quality::mean(&all))).collect();
    let of_sets: Vec<Quality> = sets.values().copied().collect();
    let queries = queries.len();
    let mean = Quality { queries, ..Quality::mean(&of_sets) };
    MeasuredSearch { sets, mean, latency: LatencySummary::of(times) }
}

impl Quality {
    fn of(found: &[u64], groups: &[Vec<u64>]) -> Self {
        let is_meant = |id: &u64| groups.iter().any(|group| group.contains(id));
        let recall = |depth: usize| {
            let seen = &found[..depth.min(found.len())];
            let met = groups.iter().filter(|group| group.iter().any(|id| seen.contains(id)));
            met.count() as f64 / groups.len().max(1) as f64
        };
        let first = found.iter().position(is_meant);
        Self {
            queries: 1,
            hit_at_1: f64::from(u8::from(first == Some(0))),
            recall_at_5: recall(5),
            recall_at_10: recall(10),
            mrr: first.map_or(0.0, |first| 1.0 / (first + 1) as f64),
        }
    }

    fn mean(all: &[Self]) -> Self {
        let count = all.len().max(1) as f64;
        let mean = |value: fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / count;
        Self {
            queries: all.iter().map(|one| one.queries).sum(),
            hit_at_1: mean(|one| one.hit_at_1),
            recall_at_5: mean(|one| one.recall_at_5),
            recall_at_10: mean(|one| one.recall_at_10),
            mrr: mean(|one| one.mrr),
        }
    }

    fn minus(&self, other: &Self) -> Self {
        Self {
            queries: self.queries,
            hit_at_1: self.hit_at_1 - other.hit_at_1,
            recall_at_5: self.recall_at_5 - other.recall_at_5,
            recall_at_10: self.recall_at_10 - other.recall_at_10,
            mrr: self.mrr - other.mrr,
        }
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:6.3} {:6.3} {:6.3} {:6.3}",
            self.hit_at_1, self.recall_at_5, self.recall_at_10, self.mrr
        )
    }
}

impl Budgeted for SearchReport {
    fn budgets(&self) -> Vec<Budget> {
        vec![Budget::at_most("a search, ms at p95", self.full.latency.p95_ms, BUDGET)]
    }
}

impl fmt::Display for SearchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} tools indexed in {:.0} ms, {} queries",
            self.tools, self.index_ms, self.queries
        )?;
        writeln!(f, "{:22} {:27}  fielded BM25 alone", "", "full engine")?;
        writeln!(f, "{:22} {:>6} {:>6} {:>6} {:>6}", "set", "hit@1", "r@5", "r@10", "mrr")?;
        for (set, quality) in &self.full.sets {
            let bm25 = self.bm25.sets.get(set).copied().unwrap_or_default();
            writeln!(f, "{set:22} {quality}  {bm25}")?;
        }
        writeln!(f, "{:22} {}  {}", "mean over sets", self.full.mean, self.bm25.mean)?;
        writeln!(f, "{:22} {}", "gain", self.gain)?;
        writeln!(f, "full engine: {} (budget {BUDGET} ms at p95)", self.full.latency)?;
        write!(f, "BM25 alone:  {}", self.bm25.latency)
    }
}
