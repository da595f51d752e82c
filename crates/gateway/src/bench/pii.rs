//! Measures how well and how fast personal data is found, on labelled texts, and how often harmless text
//! is taken for personal data.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::ensure;
use narrows_pii::{
    Form, Scanner, Settings, Tokens, Urls,
    score::{self, Sample, Score},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    budget::{Budget, Budgeted},
    read_json,
};

/// How long each speed is measured.
const MEASURED: Duration = Duration::from_secs(1);
/// How many records of clean JSON are made if no file of it is given.
const CLEAN_RECORDS: u64 = 5_000;
/// The budget, in megabytes a second on one core.
const BUDGET: f64 = 20.0;

#[derive(Debug, Serialize)]
pub(super) struct PiiReport {
    score: Score,
    leak_rate: f64,
    /// The labelled texts, each in the JSON of a tool's answer.
    mb_per_s: f64,
    /// The same letters without digits, `@` and names: text with nothing to look at.
    plain_mb_per_s: f64,
    /// Counting the lines of the same text, beside it.
    lines_mb_per_s: f64,
    budget_mb_per_s: f64,
    clean: Clean,
}

/// The false alarms in clean JSON.
#[derive(Debug, Serialize)]
struct Clean {
    bytes: usize,
    found: usize,
    per_100_kb: f64,
}

pub(super) fn measure(data: &Path, clean: Option<&Path>) -> anyhow::Result<PiiReport> {
    let samples: Vec<Sample> = read_json(data)?;
    ensure!(!samples.is_empty(), "{} has no texts", data.display());
    // Labelled sets take every address for personal; the product only those with credentials.
    let all = Scanner::new(&Settings { urls: Urls::All, ..Settings::default() })?;
    let score = score::score(&all, &samples);
    let scanner = Scanner::new(&Settings::default())?;
    let answers: Vec<Value> = samples.iter().map(answer).collect();
    let text = Value::from(answers).to_string();
    let plain: String = text
        .chars()
        .map(|letter| match letter {
            'a'..='z' | ' ' | '.' | ',' => letter,
            _ => 'x',
        })
        .collect();
    Ok(PiiReport {
        leak_rate: score.leak_rate(),
        score,
        mb_per_s: speed(&text, |text| scanner.find(text, None).len()),
        plain_mb_per_s: speed(&plain, |text| scanner.find(text, None).len()),
        lines_mb_per_s: speed(&text, |text| text.bytes().filter(|byte| *byte == b'\n').count()),
        budget_mb_per_s: BUDGET,
        clean: clean_of(clean, &scanner)?,
    })
}

/// Puts a text into JSON with other fields, as tools answer.
fn answer(sample: &Sample) -> Value {
    json!({
        "id": "5f2b7c1e-9a34-4c55-8d21-0b6a7e3f9c10",
        "created_at": "2026-01-05T10:20:30Z",
        "status": "open",
        "body": sample.full_text,
    })
}

fn speed(text: &str, look: impl Fn(&str) -> usize) -> f64 {
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < MEASURED {
        std::hint::black_box(look(text));
        bytes += text.len();
    }
    bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
}

fn clean_of(path: Option<&Path>, scanner: &Scanner) -> anyhow::Result<Clean> {
    let values: Vec<Value> = match path {
        Some(path) => files(path)?.iter().map(|file| read_json(file)).collect::<Result<_, _>>()?,
        None => (0..CLEAN_RECORDS).map(clean_record).collect(),
    };
    let mut found = Count(0);
    let mut bytes = 0;
    for mut value in values {
        bytes += value.to_string().len();
        scanner.protect_json(&mut value, &mut found);
    }
    let per_100_kb = found.0 as f64 / (bytes.max(1) as f64 / 100e3);
    Ok(Clean { bytes, found: found.0, per_100_kb })
}

/// Makes a record as tools answer with it. Nothing in it is personal, though many digits look like it.
fn clean_record(number: u64) -> Value {
    // Pseudo-random, and the same each time.
    let noise = |step: u64| (number + 1).wrapping_mul(step).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (a, b) = (noise(3), noise(7));
    let uuid = format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    );
    json!({
        "id": a >> 20,
        "uuid": uuid,
        "sha": format!("{a:016x}{b:016x}{:08x}", a ^ b),
        "order": format!("ORD-{:010}", a % 10_000_000_000),
        "created": 1_700_000_000 + number * 61,
        "updated_ms": 1_700_000_000_000_u64 + number * 61_007,
        "date": format!("2026-{:02}-{:02}T{:02}:{:02}:00Z", a % 12 + 1, b % 28 + 1, a % 24, b % 60),
        "version": format!("{}.{}.{}", a % 20, b % 30, a % 7),
        "price": (a % 1_000_000) as f64 / 100.0,
        "at": [(a % 18_000) as f64 / 100.0 - 90.0, (b % 36_000) as f64 / 100.0 - 180.0],
        "path": format!("src/module_{}/file_{}.rs:{}", a % 50, b % 90, a % 900),
        "url": format!("https://example.com/items/{}?page={}", a % 100_000, b % 40),
        "text": format!("Build {} of {} took {} ms, {} tests passed", a % 9_999, b % 99, a % 9_999_999, b % 5_000),
    })
}

struct Count(usize);

impl Tokens for Count {
    fn token(&mut self, _: &str, value: &str, _: Form) -> String {
        self.0 += 1;
        value.to_owned()
    }
}

/// Returns the file, or the JSON files of the directory.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

impl Budgeted for PiiReport {
    fn budgets(&self) -> Vec<Budget> {
        vec![Budget::at_least("speed, MB/s", self.mb_per_s, self.budget_mb_per_s)]
    }
}

impl fmt::Display for PiiReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Score { texts, micro, leaks, kinds, .. } = &self.score;
        writeln!(f, "{texts} texts   precision  recall  F1")?;
        let mut line = |name: &str, tally: &score::Tally| {
            let score::Tally { precision, recall, f1, .. } = tally;
            writeln!(f, "  {name:<14} {precision:.3}      {recall:.3}   {f1:.3}")
        };
        for (kind, tally) in kinds {
            line(kind, tally)?;
        }
        line("pattern types", micro)?;
        writeln!(f, "leaked: {leaks} ({:.1} %)", 100.0 * self.leak_rate)?;
        writeln!(
            f,
            "speed: {:.0} MB/s (budget {:.0}); {:.0} MB/s with nothing to look at; counting lines {:.0} MB/s",
            self.mb_per_s, self.budget_mb_per_s, self.plain_mb_per_s, self.lines_mb_per_s
        )?;
        let Clean { bytes, found, per_100_kb } = &self.clean;
        write!(f, "clean JSON: {found} found in {bytes} bytes, {per_100_kb:.2} in 100 KB")
    }
}
