//! Memory, disk, time and the rows that do not fit: what an analysis may use, and that nothing is
//! left of it however it ends.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::support::{
    MB, PATIENCE, alone, leftovers, peak, run, settings, single, sql, table, wait_until_idle,
    wait_until_tidy,
};
use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray},
        datatypes::Int64Type,
    },
    parquet::{
        arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
        file::properties::WriterProperties,
    },
};
use narrows_analysis::{
    Analysis, AnalysisError, FileFormat, FileSink, Input, Output, Settings, SpillTarget,
};
use narrows_testkit::{report_figures, size};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A file of about 52 bytes a row: `id` counts, `key` hardly repeats, `text` is random.
fn parquet(directory: &Path, bytes: usize) -> (PathBuf, i64) {
    let path = directory.join("data.parquet");
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(256 << 10))
        .build();
    let mut numbers = Numbers(88_172_645_463_325_252);
    let mut writer: Option<ArrowWriter<File>> = None;
    let (mut rows, step) = (0_i64, 64_i64 << 10);
    let all = (bytes / 52) as i64;
    while rows < all {
        let keys: Vec<u64> = (0..step).map(|_| numbers.next()).collect();
        let texts = keys.iter().map(|key| format!("{key:016x}{:08x}", key.reverse_bits() >> 32));
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from_iter_values(rows..rows + step)) as ArrayRef),
            (
                "key",
                Arc::new(Int64Array::from_iter_values(
                    keys.iter().map(|key| (key % 50_000_000) as i64),
                )),
            ),
            (
                "value",
                Arc::new(Float64Array::from_iter_values(
                    keys.iter().map(|key| (key % 1000) as f64),
                )),
            ),
            ("text", Arc::new(StringArray::from_iter_values(texts))),
        ])
        .expect("a batch");
        let writer = writer.get_or_insert_with(|| {
            let file = File::create(&path).expect("a file");
            ArrowWriter::try_new(file, batch.schema(), Some(properties.clone())).expect("a writer")
        });
        writer.write(&batch).expect("rows are written");
        rows += step;
    }
    writer.expect("rows").close().expect("a file");
    (path, rows)
}

fn data(path: &Path) -> Vec<(String, Input)> {
    let file = File::open(path).expect("the file");
    vec![("data".to_owned(), Input::File { file, format: FileFormat::Parquet })]
}

fn keep(
    make: impl FnOnce() -> io::Result<(String, Box<dyn FileSink>)> + Send + 'static,
) -> SpillTarget {
    SpillTarget { format: FileFormat::Parquet, always: false, make: Box::new(make) }
}

fn keep_at(path: &Path) -> SpillTarget {
    let path = path.to_owned();
    keep(move || {
        let file = File::create(&path)?;
        Ok(("rows.parquet".to_owned(), Box::new(Rows { file, path, is_whole: false })))
    })
}

/// A file that goes away if it does not become whole.
struct Rows {
    file: File,
    path: PathBuf,
    is_whole: bool,
}

impl Write for Rows {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl FileSink for Rows {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Groups, sorts and counts more than fits into the memory, and says what it took.
async fn larger_than_memory(directory: &Path, bytes: usize, settings: Settings) -> Vec<String> {
    let (path, rows) = parquet(directory, bytes);
    let temporary = settings.temporary.clone();
    let analysis = Analysis::new(settings).expect("an engine");
    let mut report = Vec::new();
    let mut timed = |what: &str, start: Instant| {
        report.push(format!(
            "{what}: {:.1} s, peak {} MB",
            start.elapsed().as_secs_f64(),
            peak() / MB
        ));
    };

    let start = Instant::now();
    let few = "select count(*) from (select key % 1000 g, avg(value) a, max(text) m from data \
               group by 1) where a >= 0 and m > ''";
    assert_eq!(single(&run(&analysis, few, data(&path), None).await.expect("few groups")), 1000);
    timed("few groups", start);

    let start = Instant::now();
    let many = "select sum(c) from (select key, count(*) c, sum(value) v from data group by key) where c > 0 and v >= 0";
    assert_eq!(single(&run(&analysis, many, data(&path), None).await.expect("many groups")), rows);
    timed("many groups", start);

    let start = Instant::now();
    let distinct = "select count(*) from (select distinct text from data)";
    let count = single(&run(&analysis, distinct, data(&path), None).await.expect("distinct"));
    assert_eq!(count, rows);
    timed("distinct texts", start);

    let start = Instant::now();
    let kept = directory.join("kept.parquet");
    let sorted = "select text, id from data order by text";
    let answer = run(&analysis, sorted, data(&path), Some(keep_at(&kept))).await.expect("a sort");
    let shown = answer.table.expect("rows");
    assert_eq!(shown.total_rows as i64, rows);
    timed("sort into a file", start);
    let (mut last, mut read) = (String::new(), 0);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&kept).expect("the file"));
    for batch in reader.expect("a reader").build().expect("a reader") {
        let batch = batch.expect("rows");
        let texts = datafusion::arrow::compute::cast(
            batch.column(0),
            &datafusion::arrow::datatypes::DataType::Utf8,
        );
        let texts = texts.expect("texts");
        for text in texts.as_string::<i32>().iter().flatten() {
            assert!(last.as_str() <= text, "{last} before {text}");
            text.clone_into(&mut last);
            read += 1;
        }
    }
    assert_eq!(read, rows);
    wait_until_tidy(&temporary);
    report
}

/// At full size two gigabytes within half of one, for which it takes 10 GB of disk.
#[tokio::test]
async fn groups_and_sorts_more_than_fits_into_memory() {
    let _alone = alone();
    let directory = TempDir::new().expect("a directory");
    let mut settings = settings(&directory.path().join("temporary"));
    settings.memory_bytes = size(48, 512) * MB;
    settings.disk_bytes = size(2 << 30, 16 << 30);
    settings.time = 2 * PATIENCE;
    for line in larger_than_memory(directory.path(), size(200 * MB, 2 << 30), settings).await {
        report_figures(&line);
    }
}

/// A table of a hundred thousand rows.
fn numbers() -> Vec<(String, Input)> {
    let count = 100_000_i64;
    let table = table(vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..count)) as ArrayRef),
        ("k", Arc::new(Int64Array::from_iter_values((0..count).map(|n| n % 100)))),
        ("s", Arc::new(StringArray::from_iter_values((0..count).map(|n| format!("row {n}"))))),
    ]);
    vec![("big".to_owned(), Input::from(table))]
}

struct Engine {
    directory: TempDir,
    analysis: Analysis,
}

impl Engine {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let directory = TempDir::new().expect("a directory");
        let mut settings = settings(directory.path());
        settings.time = PATIENCE;
        change(&mut settings);
        Self { directory, analysis: Analysis::new(settings).expect("an engine") }
    }

    async fn run(&self, query: &str) -> Result<narrows_analysis::Answer, AnalysisError> {
        run(&self.analysis, query, numbers(), None).await
    }

    /// Ends when an analysis has begun, which has a directory of its own.
    async fn begun(&self) {
        while leftovers(self.directory.path()).is_empty() {
            tokio::task::yield_now().await;
        }
    }

    fn wait_until_tidy(&self) {
        wait_until_tidy(self.directory.path());
    }
}

#[tokio::test]
async fn what_needs_more_memory_says_so_and_leaves_nothing() {
    let _alone = alone();
    let engine = Engine::new(|settings| {
        settings.memory_bytes = 16 * MB;
        settings.time = 2 * PATIENCE;
    });
    for query in [
        "select count(*) from generate_series(1, 3000000) a join generate_series(1, 3000000) b \
         on a.value = b.value",
        "select array_agg(a.s) from big a, generate_series(1, 100) b",
        "select sum(n) over () from big, generate_series(1, 100) b",
        "select median(a.n + b.value) from big a, generate_series(1, 100) b",
        "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b, \
         generate_series(1, 1000000) c where a.value + b.value + c.value < 0",
    ] {
        let error = engine.run(query).await.expect_err(query);
        assert!(
            matches!(error, AnalysisError::Memory(limit) if limit == 16 * MB),
            "{query}: {error}"
        );
        assert!(error.is_limit() && error.to_string().contains("16 MB"), "{error}");
        engine.wait_until_tidy();
    }
}

/// A table that takes so many megabytes.
fn megabytes(size: usize) -> Vec<(String, Input)> {
    let rows = (size * MB / size_of::<i64>()) as i64;
    let numbers = Int64Array::from_iter_values(0..rows);
    vec![("big".to_owned(), Input::from(table(vec![("n", Arc::new(numbers) as ArrayRef)])))]
}

#[tokio::test]
async fn analyses_at_once_have_one_memory_budget_and_each_its_own_part() {
    let _alone = alone();
    let engine = Engine::new(|settings| settings.threads = 4);
    let run = async |caller: &str, size: usize, keep: Option<SpillTarget>| {
        let query = sql("select n from big");
        let cancel = CancellationToken::new();
        engine.analysis.run_for(&caller.into(), query, megabytes(size), keep, cancel).await
    };
    // The control: alone it has room enough.
    run("other", 40, None).await.expect("room for it");
    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let keep = keep(move || {
        begin.send(()).map_err(io::Error::other)?;
        let _ = may_go_on.recv();
        Err(io::Error::other("nobody wants it"))
    });
    let (first, ()) = tokio::join!(run("one", 50, Some(keep)), async {
        begun.recv().await.expect("it has begun");
        let error = run("other", 40, None).await.expect_err("the first has the memory");
        assert!(matches!(error, AnalysisError::SharedMemory(all) if all == 80 * MB), "{error}");
        assert!(error.is_limit() && error.to_string().contains("80 MB"), "{error}");
        run("other", 10, None).await.expect("a part of its own");
        drop(go_on);
    });
    first.expect("it was not disturbed");
    run("other", 40, None).await.expect("room for it again");
}

#[tokio::test]
async fn what_needs_more_disk_says_so_and_leaves_nothing() {
    let _alone = alone();
    let engine = Engine::new(|settings| {
        settings.memory_bytes = 16 * MB;
        settings.disk_bytes = 4 * MB as u64;
        settings.time = 2 * PATIENCE;
    });
    let query =
        "select a.s, b.value from big a, generate_series(1, 20) b order by a.s desc, b.value";
    let error = engine.run(query).await.expect_err("too little disk");
    assert!(matches!(error, AnalysisError::Disk(limit) if limit == 4 * MB as u64), "{error}");
    engine.wait_until_tidy();
}

#[test]
fn the_time_limit_ends_every_operator() {
    let _alone = alone();
    let engine = Engine::new(|settings| {
        // Far less than any of them takes on a fast machine.
        settings.time = Duration::from_millis(100);
        settings.memory_bytes = 256 * MB;
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for query in [
        "select sum(a.n * b.n) from big a, big b",
        "select count(*) from big a join big b on a.n < b.n - 1000000",
        "select count(*) from big a left join big b on a.k = b.k and a.n > b.n + 1000000",
        "select count(*) from big a join big b on a.s like '%' || b.s || '%'",
        "select count(*) from generate_series(1, 10000000) a, generate_series(1, 10000000) b",
        "select value from generate_series(1, 10000000) order by random()",
        "select value % 5000000, count(*) from generate_series(1, 10000000) group by 1",
        "select count(*) over (order by random()) from generate_series(1, 10000000)",
        "select count(distinct a.n * b.n) from big a, big b",
        "select upper(repeat(a.s, 100)) || b.s from big a, big b",
        "select count(*) from big a where exists (select 1 from big b where b.n > a.n + 1000000)",
    ] {
        let error = runtime.block_on(engine.run(query)).expect_err(query);
        assert!(matches!(error, AnalysisError::Time(_)), "{query}: {error}");
        wait_until_idle();
        engine.wait_until_tidy();
    }
}

#[tokio::test]
async fn a_cancelled_analysis_stops() {
    let _alone = alone();
    let engine = Engine::new(|settings| settings.time = 2 * PATIENCE);
    let cancel = CancellationToken::new();
    let query = || sql("select sum(a.n * b.n) from big a, big b");
    let running = engine.analysis.run(query(), numbers(), None, cancel.clone());
    let (ended, ()) = tokio::join!(running, async {
        engine.begun().await;
        cancel.cancel();
    });
    assert!(matches!(ended, Err(AnalysisError::Cancelled)), "{ended:?}");
    engine.wait_until_tidy();
    wait_until_idle();
    let ended = engine.analysis.run(query(), numbers(), None, cancel).await;
    assert!(matches!(ended, Err(AnalysisError::Cancelled)), "{ended:?}");
}

#[test]
fn a_dropped_analysis_stops() {
    let _alone = alone();
    let engine = Engine::new(|settings| settings.time = 2 * PATIENCE);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let running = engine.run("select sum(a.n * b.n) from big a, big b");
        tokio::select! {
            ended = running => panic!("{ended:?}"),
            () = engine.begun() => {}
        }
    });
    engine.wait_until_tidy();
    wait_until_idle();
}

#[tokio::test]
async fn an_engine_can_be_dropped_while_it_works() {
    let _alone = alone();
    let engine = Engine::new(|settings| settings.time = 2 * PATIENCE);
    let running = engine.run("select sum(a.n * b.n) from big a, big b");
    tokio::select! {
        ended = running => panic!("{ended:?}"),
        () = engine.begun() => {}
    }
    drop(engine);
}

#[tokio::test]
async fn rows_that_do_not_fit_are_kept_in_order() {
    let _alone = alone();
    let engine = Engine::new(|_| {});
    let path = engine.directory.path().join("kept.parquet");
    let query = "select n, s from big order by n desc";
    let answer = run(&engine.analysis, query, numbers(), Some(keep_at(&path))).await.expect("rows");
    let shown = answer.table.expect("rows");
    assert_eq!((shown.total_rows, rows(&shown.batches)), (100_000, 100));
    assert_eq!(column(&shown.batches), (0..100).map(|n| 99_999 - n).collect::<Vec<_>>());
    let kept = shown.kept.expect("a file");
    assert_eq!(kept.path, "rows.parquet");
    assert_eq!(kept.bytes, path.metadata().expect("a file").len());
    assert_eq!(column(&read(&path)), (0..100_000).map(|n| 99_999 - n).collect::<Vec<_>>());
    assert!(answer.notes.is_empty(), "{:?}", answer.notes);
}

/// Rows that nothing sorts come as they are in the data.
#[tokio::test]
async fn rows_stay_in_the_order_of_the_data() {
    let _alone = alone();
    let engine = Engine::new(|settings| settings.threads = 4);
    let path = engine.directory.path().join("kept.parquet");
    let query = "select n, upper(s) from big where n % 3 <> 0";
    run(&engine.analysis, query, numbers(), Some(keep_at(&path))).await.expect("rows");
    assert_eq!(column(&read(&path)), (0..100_000).filter(|n| n % 3 != 0).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_answer_that_fits_makes_no_file() {
    let _alone = alone();
    let engine = Engine::new(|_| {});
    let keep = keep(|| panic!("no file is needed"));
    let answer = run(&engine.analysis, "select n from big limit 100", numbers(), Some(keep)).await;
    let shown = answer.expect("rows").table.expect("rows");
    assert_eq!((shown.total_rows, rows(&shown.batches), shown.kept), (100, 100, None));
    let answer = engine.run("select n from big").await.expect("rows").table.expect("rows");
    assert_eq!((answer.total_rows, rows(&answer.batches), answer.kept), (100_000, 100, None));
}

#[tokio::test]
async fn an_answer_has_no_more_bytes_than_it_may() {
    let _alone = alone();
    let engine = Engine::new(|_| {});
    let mut request = sql("select repeat('x', 1000) as long, n from big");
    request.output = Output { rows: 1000, bytes: 10_000, ..Output::default() };
    let answer = engine.analysis.run(request, numbers(), None, CancellationToken::new()).await;
    let shown = answer.expect("rows").table.expect("rows");
    assert_eq!((shown.total_rows, rows(&shown.batches)), (100_000, 9));
}

/// The answer comes even if the file for the rest cannot be made or is full.
#[tokio::test]
async fn a_file_that_cannot_be_written_is_a_note() {
    let _alone = alone();
    let engine = Engine::new(|settings| settings.disk_bytes = MB as u64);
    let refused = keep(|| Err(io::Error::other("no such place")));
    let full = keep(|| {
        let file = File::options().write(true).open("/dev/full")?;
        Ok(("full".to_owned(), Box::new(file)))
    });
    let path = engine.directory.path().join("large.parquet");
    let large = keep_at(&path);
    let query = "select n, s, random() r, uuid() u from big";
    for (keep, reason) in
        [(refused, "no such place"), (full, "No space left"), (large, "more than 1 MB")]
    {
        let answer = run(&engine.analysis, query, numbers(), Some(keep)).await.expect("rows");
        let shown = answer.table.expect("rows");
        assert_eq!((shown.total_rows, rows(&shown.batches), shown.kept), (100_000, 100, None));
        assert!(
            matches!(answer.notes.as_slice(), [note] if note.contains(reason)),
            "{:?}",
            answer.notes
        );
    }
    assert!(!path.exists(), "what is of no use is not left");
}

#[tokio::test]
async fn two_tables_of_one_name_are_refused() {
    let _alone = alone();
    let engine = Engine::new(|_| {});
    let tables = numbers().into_iter().chain(numbers()).collect();
    let error = run(&engine.analysis, "select 1", tables, None).await.expect_err("two tables");
    assert_eq!(error.to_string(), "data: two tables are called \"big\"");
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn column(batches: &[RecordBatch]) -> Vec<i64> {
    let values =
        |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    batches.iter().flat_map(values).collect()
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).expect("the file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a reader");
    reader.build().expect("a reader").map(|batch| batch.expect("rows")).collect()
}
