//! More than a thousand queries that mean no good: each ends as an error or as a small answer,
//! within its limits, and the engine goes on answering ordinary ones.

mod attacks;
mod growth;
mod nonsense;
mod refused;

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::support::{
    MB, PATIENCE, alone, leftovers, resident, run, settings, single, table, wait_until_idle,
    wait_until_tidy,
};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use futures::{StreamExt, stream};
use narrows_analysis::{Analysis, AnalysisError, Answer, Input, ResultTable};
use tempfile::TempDir;

const SECRET: &str = "TOP-SECRET-93417";

/// How many run at a time, and how many before ordinary queries are asked in between.
const AT_A_TIME: usize = 4;
const BETWEEN: usize = 100;

/// What a query may end as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// It must not be run at all.
    Refused,
    /// It must fail: refused, or because of a limit.
    Error,
    /// If it is answered, then with this number.
    Number(i64),
    /// Anything but what is wrong for all of them.
    Any,
}

/// A query and what may come of it.
pub(crate) struct Attack {
    family: &'static str,
    query: String,
    end: End,
}

/// The queries of a family, which all end alike.
pub(crate) fn family(
    family: &'static str,
    end: End,
    queries: impl IntoIterator<Item = impl Into<String>>,
) -> Vec<Attack> {
    queries.into_iter().map(|query| Attack { family, query: query.into(), end }).collect()
}

fn tables() -> [(&'static str, ResultTable); 3] {
    let count = 100_000_i64;
    let names = ["Alpha", "Beta", "Gamma", "Delta"];
    [
        (
            "people",
            table(vec![
                ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as ArrayRef),
                ("name", Arc::new(StringArray::from_iter_values(names))),
                ("age", Arc::new(Int64Array::from(vec![Some(30), None, Some(50), Some(41)]))),
                ("day", Arc::new(StringArray::from_iter_values(names.map(|_| "2024-02-29")))),
            ]),
        ),
        (
            "big",
            table(vec![
                ("n", Arc::new(Int64Array::from_iter_values(0..count)) as ArrayRef),
                ("k", Arc::new(Int64Array::from_iter_values((0..count).map(|n| n % 100)))),
                ("x", Arc::new(Float64Array::from_iter_values((0..count).map(|n| n as f64 / 7.0)))),
                (
                    "s",
                    Arc::new(StringArray::from_iter_values((0..count).map(|n| format!("row {n}")))),
                ),
            ]),
        ),
        (
            "extremes",
            table(vec![
                ("i", Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 1, i64::MAX])) as ArrayRef),
                (
                    "f",
                    Arc::new(Float64Array::from(vec![
                        f64::NEG_INFINITY,
                        f64::NAN,
                        -0.0,
                        1e308,
                        f64::INFINITY,
                    ])),
                ),
                (
                    "t",
                    Arc::new(StringArray::from(vec![
                        Some(""),
                        None,
                        Some("\u{0}"),
                        Some("é😀"),
                        Some("9e999"),
                    ])),
                ),
            ]),
        ),
    ]
}

fn inputs(tables: &[(&str, ResultTable)]) -> Vec<(String, Input)> {
    tables.iter().map(|(name, table)| ((*name).to_owned(), Input::from(table.clone()))).collect()
}

fn attacks(directory: &Path) -> Vec<Attack> {
    let mut attacks = refused::attacks(directory);
    attacks.extend(growth::attacks());
    attacks.extend(attacks::attacks());
    attacks.extend(nonsense::attacks());
    attacks
}

/// Ordinary queries have their answers, whatever was asked before.
async fn works(analysis: &Analysis, tables: &[(&str, ResultTable)]) {
    let queries = [
        ("select count(*) from big", 100_000),
        ("select sum(age) from people where name like '%a'", 121),
        ("select count(*) from (select k, avg(x) from big group by k having count(*) = 1000)", 100),
        (
            "select max(r) from (select row_number() over (partition by k order by x) r from big)",
            1000,
        ),
        ("select count(*) from people p join big b on p.id = b.n", 4),
    ];
    for (query, expected) in queries {
        let begun = Instant::now();
        let answer = loop {
            match run(analysis, query, inputs(tables), None).await {
                // The time for a query is short: on a busy machine it may not be enough.
                Err(AnalysisError::Time(_)) if begun.elapsed() < PATIENCE => {}
                answer => break answer,
            }
        };
        assert_eq!(single(&answer.unwrap_or_else(|error| panic!("{query}: {error}"))), expected);
    }
}

fn judge(
    attack: &Attack,
    ended: &Result<Answer, AnalysisError>,
    took: Duration,
) -> Result<(), String> {
    if took > PATIENCE {
        return Err(format!("it took {took:?}"));
    }
    let said = match ended {
        Ok(answer) => format!("{answer:?}"),
        Err(error) => format!("{error} {error:?}"),
    };
    if said.contains(SECRET) {
        return Err("it read the secret".to_owned());
    }
    match (attack.end, ended) {
        (_, Err(AnalysisError::Internal(reason))) => Err(format!("it broke: {reason}")),
        (_, Err(error)) if error.to_string().contains('\n') => Err(format!("lines: {error}")),
        (End::Refused, Err(AnalysisError::Sql(_))) => Ok(()),
        (End::Refused, other) => Err(format!("it was not refused: {other:?}")),
        (End::Error, Ok(answer)) => Err(format!("it was answered: {answer:?}")),
        (End::Number(number), Ok(answer)) if single(answer) != number => {
            Err(format!("{} instead of {number}", single(answer)))
        }
        (_, Ok(answer)) => {
            let shown = answer.table.iter().flat_map(|table| &table.batches);
            let bytes: usize = shown.map(|batch| batch.get_array_memory_size()).sum();
            if bytes > MB { Err(format!("{bytes} bytes came back")) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

#[test]
fn hostile_queries_end_within_their_limits() {
    let _alone = alone();
    let directory = TempDir::new().expect("a directory");
    for name in ["secret.csv", "secret.json", "secret.parquet", "secret.txt"] {
        fs::write(directory.path().join(name), format!("a,b\n{SECRET},1\n")).expect("the secret");
    }
    let before = leftovers(directory.path()).len();
    let temporary = TempDir::new().expect("a directory");
    let analysis = Analysis::new(settings(temporary.path())).expect("an engine");
    let callers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let tables = tables();
    let attacks = attacks(directory.path());
    assert!(attacks.len() >= 1000, "{} queries", attacks.len());
    callers.block_on(works(&analysis, &tables));

    let (start, mut most) = (resident(), 0);
    let mut wrong = Vec::new();
    for some in attacks.chunks(BETWEEN) {
        let (analysis, tables) = (&analysis, &tables);
        let ended = stream::iter(some).map(|attack| async move {
            let begun = Instant::now();
            let mut ended = run(analysis, &attack.query, inputs(tables), None).await;
            // What is refused is not run, but on a busy machine its time may be over before.
            for _ in 0..3 {
                if attack.end == End::Refused && matches!(ended, Err(AnalysisError::Time(_))) {
                    ended = run(analysis, &attack.query, inputs(tables), None).await;
                }
            }
            (attack, resident(), judge(attack, &ended, begun.elapsed()))
        });
        let ended: Vec<_> = callers.block_on(ended.buffer_unordered(AT_A_TIME).collect());
        for (attack, resident, verdict) in ended {
            most = most.max(resident);
            if let Err(reason) = verdict {
                let query: String = attack.query.chars().take(200).collect();
                wrong.push(format!(
                    "{}: {query}\n    {}",
                    attack.family,
                    reason.chars().take(300).collect::<String>()
                ));
            }
        }
        callers.block_on(works(analysis, tables));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), attacks.len(), wrong.join("\n"));
    let grown = most.saturating_sub(start);
    assert!(grown < 400 * MB, "the process grew by {} MB", grown / MB);
    wait_until_idle();
    wait_until_tidy(temporary.path());
    assert_eq!(leftovers(directory.path()).len(), before, "a query wrote a file");
}
