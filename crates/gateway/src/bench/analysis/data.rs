//! The rows of the benchmark, the same each time.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::ensure;
use narrows_analysis::{Analysis, AnalysisType, FileFormat, Input, Output, Request, SpillTarget};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(super) const CUSTOMERS: usize = 10_000;
const SEGMENTS: usize = 20;
const REGIONS: [&str; 8] =
    ["north", "south", "east", "west", "centre", "islands", "coast", "abroad"];

/// Writes the files that do not exist yet. Parquet is written by the same code that spills long answers.
pub(super) async fn write(analysis: &Analysis, dir: &Path, rows: usize) -> anyhow::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, count, of) in
        [("rows", rows, row as fn(usize) -> Value), ("customers", CUSTOMERS, customer)]
    {
        let lines = dir.join(name).with_extension("jsonl");
        let parquet = dir.join(name).with_extension("parquet");
        if lines.exists() && parquet.exists() {
            continue;
        }
        let mut file = BufWriter::new(File::create(&lines)?);
        for number in 0..count {
            serde_json::to_writer(&mut file, &of(number))?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
        // Renamed at the end, so that an interrupted file is not taken for a complete one.
        let part = parquet.with_extension("part");
        convert(analysis, &lines, &part, count).await?;
        fs::rename(part, parquet)?;
    }
    Ok(())
}

async fn convert(
    analysis: &Analysis,
    lines: &Path,
    parquet: &Path,
    rows: usize,
) -> anyhow::Result<()> {
    let tables = vec![(
        "data".to_owned(),
        Input::File { file: File::open(lines)?, format: FileFormat::JsonLines },
    )];
    let mut parameters = serde_json::Map::new();
    parameters.insert("query".into(), "SELECT * FROM data".into());
    let request = Request {
        kind: AnalysisType::Sql,
        parameters,
        output: Output { rows: 1, ..Output::default() },
        refusal: None,
    };
    let path = parquet.to_owned();
    let make = move || Ok((path.display().to_string(), Box::new(File::create(&path)?) as _));
    let keep = SpillTarget { format: FileFormat::Parquet, always: true, make: Box::new(make) };
    let answer = analysis.run(request, tables, Some(keep), CancellationToken::new()).await?;
    let total = answer.table.map_or(0, |table| table.total_rows);
    ensure!(total == rows, "{total} of {rows} rows were read from {}", lines.display());
    Ok(())
}

pub(super) fn row(number: usize) -> Value {
    let mut noise = Noise(number as u64);
    let mut maybe = |value: f64, percent: u64| (noise.below(100) >= percent).then_some(value);
    let mut other = Noise(!(number as u64));
    let price = other.below(100_000) as f64 / 100.0;
    let weight = other.below(500_000) as f64 / 10_000.0;
    json!({
        "id": number,
        "region": REGIONS[other.below(REGIONS.len() as u64) as usize],
        "product": format!("product {:02}", other.below(60)),
        "day": format!("2026-{:02}-{:02}", other.below(12) + 1, other.below(28) + 1),
        "customer": other.below(CUSTOMERS as u64),
        "price": maybe(price, 3),
        "weight": maybe(weight, 5),
        "discount": maybe(other.below(1_000) as f64 / 1_000.0, 60),
    })
}

fn customer(number: usize) -> Value {
    json!({"customer": number, "segment": format!("segment {:02}", number * 7 % SEGMENTS)})
}

/// A generator of pseudo-random numbers (SplitMix64).
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % limit
    }
}
