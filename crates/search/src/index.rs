//! All segments together, and the search.

use std::sync::Arc;

use crate::{
    document::FIELDS,
    parts::parts,
    segment::Segment,
    table::{Table, cosine},
    words::Stems,
};

/// What a word weighs by where it stands, in the order of [`crate::document::Field`].
const WEIGHTS: [f32; FIELDS] = [3.0, 1.5, 1.0, 0.75, 0.3];
const K1: f32 = 0.9;
const B: f32 = 0.75;
/// The best score by words becomes the less than 1 the smaller it is.
const DAMPING: f32 = 10.0;
/// What meaning counts beside words.
const MEANING: f32 = 0.5;

/// Something was found if one of the best reaches one of these: it has so much of the query's
/// words (by their rarity), or means nearly the same, or both together are enough.
const FLOOR_TOP: usize = 5;
const FLOOR_COVERAGE: f32 = 0.4;
const FLOOR_MEANING: f32 = 0.65;
const FLOOR_SUM: f32 = 1.8;

/// The tools of all servers, ready to be searched.
#[derive(Debug, Default)]
pub struct Index {
    segments: Vec<Arc<Segment>>,
    /// Where the documents of each segment begin among all.
    starts: Vec<usize>,
    documents: usize,
    average: [f32; FIELDS],
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    Full,
    /// Only the words of the whole query, to compare with.
    Bm25,
}

/// What is to be found.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub limit: usize,
    /// Only in these; none means all.
    pub segments: Option<Vec<usize>>,
    /// What documents of a segment gain.
    pub bonus: Vec<(u32, u32, f32)>,
    pub method: Method,
}

/// A document that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub segment: usize,
    pub document: usize,
    pub score: f32,
}

/// What all documents are worth for a query.
struct Ranking {
    scores: Vec<f32>,
    evidence: Vec<Evidence>,
}

/// What all documents are worth by words alone.
struct Words {
    scores: Vec<f32>,
    /// The share of the text's words that each has.
    coverage: Vec<f32>,
}

/// What speaks for a document, each the most over the query and its parts.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    coverage: f32,
    meaning: f32,
    words: f32,
    /// From elsewhere.
    sum: f32,
}

impl Evidence {
    fn add(&mut self, words: f32, coverage: f32, meaning: f32) {
        self.words = self.words.max(words);
        self.coverage = self.coverage.max(coverage);
        self.meaning = self.meaning.max(meaning);
    }

    fn is_enough(&self) -> bool {
        self.coverage >= FLOOR_COVERAGE
            || self.meaning >= FLOOR_MEANING
            || self.sum + self.words + self.coverage / 2.0 + self.meaning >= FLOOR_SUM
    }
}

impl Index {
    pub fn new(segments: Vec<Arc<Segment>>) -> Self {
        let mut starts = Vec::with_capacity(segments.len());
        let mut documents = 0;
        let (mut total, mut filled) = ([0_u64; FIELDS], [0_u64; FIELDS]);
        for segment in &segments {
            starts.push(documents);
            documents += segment.len();
            for field in 0..FIELDS {
                total[field] += segment.total[field];
                filled[field] += segment.filled[field];
            }
        }
        // Of those that have the field at all.
        let average =
            std::array::from_fn(|field| total[field].max(1) as f32 / filled[field].max(1) as f32);
        Self { segments, starts, documents, average }
    }

    /// The documents that fit a query, best first. Nothing rather than what does not fit.
    pub fn search(&self, query: &str, selection: &Selection) -> Vec<Hit> {
        let mut stems = Stems::new();
        if selection.method == Method::Bm25 {
            return self.best(&self.by_words(query, &mut stems).scores, selection);
        }
        let mut found = self.fused(query, &mut stems);
        for (segment, document, gain) in &selection.bonus {
            let start = self.starts.get(*segment as usize).copied().unwrap_or(usize::MAX);
            let at = start.saturating_add(*document as usize);
            if let Some(score) = found.scores.get_mut(at) {
                *score += gain;
                found.evidence[at].sum += FLOOR_SUM;
            }
        }
        let hits = self.best(&found.scores, selection);
        let fits = hits
            .iter()
            .take(FLOOR_TOP)
            .any(|hit| found.evidence[self.starts[hit.segment] + hit.document].is_enough());
        if fits { hits } else { Vec::new() }
    }

    /// Words and meaning together, of the whole query and of its parts.
    fn fused(&self, query: &str, stems: &mut Stems) -> Ranking {
        let mut ranking =
            Ranking { scores: Vec::new(), evidence: vec![Evidence::default(); self.documents] };
        let whole = self.unit(query, stems, &mut ranking.evidence);
        let parts = parts(query, stems);
        if parts.len() == 1 {
            return Ranking { scores: whole, ..ranking };
        }
        let mut best = vec![f32::MIN; self.documents];
        for part in &parts {
            for (best, score) in best.iter_mut().zip(self.unit(part, stems, &mut ranking.evidence))
            {
                *best = best.max(score);
            }
        }
        ranking.scores = whole.iter().zip(best).map(|(whole, best)| (whole + best) / 2.0).collect();
        ranking
    }

    /// What each document is worth for one text, and what speaks for it.
    fn unit(&self, text: &str, stems: &mut Stems, evidence: &mut [Evidence]) -> Vec<f32> {
        let Words { mut scores, coverage } = self.by_words(text, stems);
        let best = scores.iter().copied().fold(0.0, f32::max);
        let unknown = self.rarity(0);
        let table = Table::shared();
        let wanted = table.vector(text);
        // Without a word that it knows whole, the direction of a text is chance.
        let trust = if table.knows(text, stems) { 1.0 } else { 0.0 };
        let vectors =
            self.segments.iter().flat_map(|segment| segment.vectors.chunks(table.columns));
        let each = scores.iter_mut().zip(&coverage).zip(evidence).zip(vectors);
        for (((score, coverage), evidence), vector) in each {
            let meaning = cosine(&wanted, vector);
            evidence.add(*score / unknown, *coverage, meaning * trust);
            *score = *score / (best + DAMPING) + MEANING * meaning;
        }
        scores
    }

    /// By words alone: fielded BM25, and how much of the text's words each document has.
    fn by_words(&self, text: &str, stems: &mut Stems) -> Words {
        let mut words =
            Words { scores: vec![0.0; self.documents], coverage: vec![0.0; self.documents] };
        let mut total = 0.0;
        for stem in stems.distinct(text) {
            let lists = self.segments.iter().map(|segment| segment.postings.get(stem.as_str()));
            let lists: Vec<_> = lists.collect();
            let rarity = self.rarity(lists.iter().flatten().map(|list| list.len()).sum());
            total += rarity;
            for ((list, segment), start) in lists.iter().zip(&self.segments).zip(&self.starts) {
                for posting in list.iter().flat_map(|list| list.iter()) {
                    let document = posting.document as usize;
                    let weight = self.weight(&posting.counts, &segment.lengths[document]);
                    words.scores[start + document] += rarity * weight * (K1 + 1.0) / (weight + K1);
                    words.coverage[start + document] += rarity;
                }
            }
        }
        if total > 0.0 {
            words.coverage.iter_mut().for_each(|coverage| *coverage /= total);
        }
        words
    }

    /// How much a stem says that so many documents have.
    fn rarity(&self, having: usize) -> f32 {
        let (all, having) = (self.documents as f32, having as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    /// How much of a document a stem is, over all fields.
    fn weight(&self, counts: &[u8; FIELDS], lengths: &[u16; FIELDS]) -> f32 {
        let mut weight = 0.0;
        for field in 0..FIELDS {
            if counts[field] > 0 {
                let length = f32::from(lengths[field]) / self.average[field];
                weight += WEIGHTS[field] * f32::from(counts[field]) / (1.0 - B + B * length);
            }
        }
        weight
    }

    fn best(&self, scores: &[f32], selection: &Selection) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (at, (segment, start)) in self.segments.iter().zip(&self.starts).enumerate() {
            if selection.segments.as_ref().is_some_and(|wanted| !wanted.contains(&at)) {
                continue;
            }
            let of_segment = &scores[*start..start + segment.len()];
            hits.extend(
                of_segment
                    .iter()
                    .enumerate()
                    .filter(|(_, score)| **score > 0.0)
                    .map(|(document, score)| Hit { segment: at, document, score: *score }),
            );
        }
        let order = |a: &Hit, b: &Hit| {
            b.score.total_cmp(&a.score).then((a.segment, a.document).cmp(&(b.segment, b.document)))
        };
        let limit = selection.limit.min(hits.len());
        if limit < hits.len() && limit > 0 {
            hits.select_nth_unstable_by(limit, order);
        }
        hits.truncate(limit);
        hits.sort_unstable_by(order);
        hits
    }
}
