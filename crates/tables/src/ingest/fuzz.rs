//! What must hold for tables whatever bytes they are read from, as functions for a fuzzer.
//!
//! The tests below feed them random bytes and damaged seeds; `fuzz/` at the top of the repository
//! feeds them what libFuzzer finds. No part of the product: compiled for tests and fuzzers only.

#![allow(clippy::expect_used, reason = "a fuzz target fails by panicking")]

use std::{
    env,
    fs::{self, File},
    io::Write,
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use datafusion::{
    arrow::{
        array::{Array, AsArray, RecordBatch},
        compute::concat_batches,
        datatypes::DataType,
    },
    error::DataFusionError,
    execution::memory_pool::{GreedyMemoryPool, MemoryPool},
};

use super::{
    blocks::Source,
    csv,
    memory_budget::Allowance,
    python,
    task::{Made, MadeRows, Task},
};
use crate::{
    flaw::{Flaw, Result},
    marshal::marshal as write_marshal,
};

/// Enough for any table that is not made to fill memory.
const MAX_MEMORY: usize = 4 << 20;

/// Checks the reader of Python's `marshal`: bytes are a table or an error, within bounded memory;
/// and a table that was read is the same when it is written for Python and read again.
///
/// The first byte chooses where the written table is cut into two parts.
pub fn marshal(data: &[u8]) {
    let Some((&cut, bytes)) = data.split_first() else { return };
    let pool = Arc::new(GreedyMemoryPool::new(MAX_MEMORY));
    let task = task(Arc::<GreedyMemoryPool>::clone(&pool), MAX_BLOCK);
    let loaded = python::load(&task, &[Bytes::copy_from_slice(bytes)]);
    assert!(pool.reserved() <= MAX_MEMORY, "more memory is used than there is");
    let table = match loaded.and_then(|made| table_of(&task, made)) {
        Ok(table) => table,
        Err(Flaw::Data(_)) => return,
        Err(Flaw::Engine(error)) => {
            let is_memory = matches!(error.find_root(), DataFusionError::ResourcesExhausted(_));
            assert!(is_memory, "the query engine failed: {error}");
            return;
        }
        Err(flaw) => panic!("values of Python have no such flaw: {flaw:?}"),
    };
    // A table without rows is written as an empty list, which has no columns.
    if table.rows.num_rows() > 0 {
        check_written(&table.rows, usize::from(cut));
    }
}

/// A table that was written reads as the same, in one part and in two, and leaves nothing to mend.
fn check_written(rows: &RecordBatch, cut: usize) {
    let write = |rows: RecordBatch| Bytes::from(write_marshal(&rows.schema(), &[rows]));
    let cut = cut % rows.num_rows();
    let parts = vec![write(rows.slice(0, cut)), write(rows.slice(cut, rows.num_rows() - cut))];
    for parts in [vec![write(rows.clone())], parts] {
        let task = task(Arc::new(GreedyMemoryPool::new(64 * MAX_MEMORY)), MAX_BLOCK);
        let read = python::load(&task, &parts).and_then(|made| table_of(&task, made));
        let read = read.expect("what was written cannot be read");
        assert_eq!(read.rows, *rows, "in {} parts", parts.len());
        assert_eq!(read.notes, [""; 0], "values that were mended are mended again");
    }
}

/// Checks the reader of CSV: bytes are a table or an error; blocks of any size and a second look at
/// the file give the same table; and cells that are quoted come back as they were.
///
/// The first byte chooses the size of blocks.
pub fn csv(data: &[u8]) {
    let Some((&size, bytes)) = data.split_first() else { return };
    let file = file(bytes);
    for delimiter in [None, Some(b'\t')] {
        let whole = read_csv(&file, delimiter, MAX_BLOCK, HeldIn::Memory);
        if let Ok(table) = &whole {
            check_texts(&table.rows);
        }
        // The header has to be in the first block, which it is not behind empty lines.
        let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        if text.starts_with(b"\n") || text.starts_with(b"\r") {
            continue;
        }
        let block = u64::from(size) + 1;
        for held in [HeldIn::Memory, HeldIn::File] {
            let in_blocks = read_csv(&file, delimiter, block, held);
            assert_eq!(in_blocks, whole, "in blocks of {block} bytes, held in {held:?}");
        }
    }
    check_quoted(&String::from_utf8_lossy(bytes));
}

/// Cells of text are not blank: those are missing, as in all formats without null.
fn check_texts(rows: &RecordBatch) {
    for column in rows.columns().iter().filter(|column| *column.data_type() == DataType::Utf8) {
        for cell in column.as_string::<i32>().iter().flatten() {
            assert!(!cell.trim_ascii().is_empty(), "a blank cell is not missing");
        }
    }
}

/// Writes cells with quotes around them, whatever is in them, and reads them again.
fn check_quoted(text: &str) {
    // This is no beginning of a number, a boolean or what stands for nothing.
    let cells: Vec<String> = text.split(['\u{0}', ' ']).map(|cell| format!("~{cell}")).collect();
    for delimiter in [",", ";", "\t", "|"] {
        let mut content = format!("left{delimiter}right\n");
        for pair in cells.chunks_exact(2) {
            let quoted = pair.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")));
            content += &(quoted.collect::<Vec<_>>().join(delimiter) + "\n");
        }
        let file = file(content.as_bytes());
        let table = read_csv(&file, None, MAX_BLOCK, HeldIn::Memory).expect("a table");
        assert_eq!(table.notes, [""; 0]);
        let columns: Vec<_> = table.rows.columns().iter().map(|c| c.as_string::<i32>()).collect();
        let [left, right] = columns[..] else { panic!("{} columns", columns.len()) };
        let read: Vec<_> = left.iter().zip(right).flat_map(|(left, right)| [left, right]).collect();
        let written: Vec<_> = cells.chunks_exact(2).flatten().map(|c| Some(c.as_str())).collect();
        assert_eq!(read, written, "separated by {delimiter:?}");
    }
}

/// Where the rows of a file are kept for queries.
#[derive(Clone, Copy, Debug)]
enum HeldIn {
    Memory,
    /// They are read again whenever they are needed.
    File,
}

/// A block that holds all that a fuzzer gives us.
const MAX_BLOCK: u64 = 1 << 20;

fn read_csv(file: &File, delimiter: Option<u8>, block: u64, held: HeldIn) -> Result<Table, String> {
    let mut task = task(Arc::new(GreedyMemoryPool::new(1 << 30)), block);
    if let HeldIn::File = held {
        task.max_in_memory = 0;
    }
    let source = Source::new(file.try_clone().expect("a handle")).expect("a source");
    let loaded = csv::load(&task, &source, delimiter).and_then(|made| table_of(&task, made));
    loaded.map_err(|flaw| match flaw {
        Flaw::Data(reason) => reason,
        flaw => panic!("CSV has no such flaw: {flaw:?}"),
    })
}

fn task(pool: Arc<dyn MemoryPool>, block: u64) -> Task {
    Task { allowance: Allowance::new("fuzz", &pool), threads: 2, max_in_memory: u64::MAX, block }
}

/// All rows of a table, wherever they are held.
#[derive(Debug, PartialEq)]
struct Table {
    rows: RecordBatch,
    notes: Vec<String>,
}

fn table_of(task: &Task, made: Made) -> Result<Table> {
    let batches = match made.rows {
        MadeRows::Memory(batches) => batches,
        MadeRows::File { source, ranges, rows, parse } => {
            let mut batches = Vec::new();
            for range in ranges {
                batches.extend(parse(&source.read(range.clone())?, range, task.budget())?);
            }
            let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(found, rows, "a second look finds another number of rows");
            batches
        }
    };
    Ok(Table { rows: concat_batches(&made.schema, &batches)?, notes: made.notes })
}

/// An open file that has no name any more.
fn file(content: &[u8]) -> File {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("narrows-fuzz-{}-{number}", process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    let mut file = file.expect("a temporary file");
    fs::remove_file(&path).expect("the name of the temporary file");
    file.write_all(content).expect("what the file holds");
    file
}

#[cfg(test)]
mod tests {
    use narrows_testkit::{damaged, same_cases};
    use proptest::prelude::*;

    use super::*;

    /// Damaged seeds behind a byte that chooses how they are read.
    fn input(
        seeds: &'static [&'static [u8]],
        telling: &'static [u8],
    ) -> impl Strategy<Value = Vec<u8>> {
        (any::<u8>(), damaged(seeds, telling)).prop_map(|(choice, mut bytes)| {
            bytes.insert(0, choice);
            bytes
        })
    }

    /// What Python's `marshal` writes: values of all kinds, objects in objects, references, lists of
    /// lists, an object of lists, numbers of many digits.
    #[allow(clippy::octal_escapes, reason = "zeros before digits are what marshal writes")]
    const MARSHAL_SEEDS: [&[u8]; 6] = [
        b"\xdb\x02\0\0\0{\xda\x01a\xe9\x01\0\0\0\xda\x01b\xda\x04text\xda\x01cN0{r\x01\0\0\0\
          \xe7\0\0\0\0\0\0\xf8?r\x03\0\0\0\xfa\x03N/Ar\x05\0\0\0N0",
        b"\xdb\x03\0\0\0{\xda\x01k\xfb\xda\x01x[\x02\0\0\0TF\xda\x01yN0\xda\x01lr\x02\0\0\0\
          \xda\x01v\xe9\x02\0\0\00{r\x01\0\0\0r\x02\0\0\0r\x06\0\0\0\xda\x0130{r\x01\0\0\0N\
          \xda\x01w[\x01\0\0\0r\x02\0\0\00",
        b"\xdb\x03\0\0\0[\x02\0\0\0\xda\x01n\xda\x01t[\x02\0\0\0\xe9\x01\0\0\0\xda\x01x[\x02\0\
          \0\0g\0\0\0\0\0\0\xf8\x7f\xf5\x02\0\0\0\xc3\xa4",
        b"{u\x01\0\0\0a[\x02\0\0\0i\x01\0\0\0u\x01\0\0\02u\x03\0\0\0b.c[\x02\0\0\0TF0",
        b"\xdb\x04\0\0\0l\x05\0\0\0\0\0\0\0\0\0\0\0\0\x04\xe9\xff\x7f\xff\xffl\x09\0\0\0\x05\0\
          \0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0{\xda\x01d\xec\xfb\xff\xff\xff\0\0\0\0\0\0\0\0\x08\
          \00",
        b"[\x04\0\0\0{i\x01\0\0\0u\x01\0\0\0xN<\x01\0\0\0i\x03\0\0\00N{u\x03\0\0\0N/Ai\x02\0\0\
          \0u\0\0\0\0u\0\0\0\0u\x01\0\0\0eu\x04\0\0\0\xed\xa0\x80x0{u\x01\0\0\0\x01f\x18-1.000\
          0000000000001e+3000",
    ];
    const MARSHAL_BYTES: &[u8] = b"0NTFifglsztruaA([)]{<>\xdb\xfb\xda\xe9\0\0\0\0\x01\x02\x03";

    const CSV_SEEDS: [&[u8]; 7] = [
        b"id,price,ok,zip,name\n1,2.5,true,007,\"a, b\"\n2,3,FALSE,8000,\"c \"\"d\"\"\n e\"\n",
        b"\xef\xbb\xbfa;b\r\n1;x\r\n;\r\n\r\n18446744073709551616;-\r\n",
        b"a\tb\n1,5\tx;y\n\"q\n\n\"\t\"\"\"\"\n",
        b"a|b|c\n1|2,3|4\n5\n6|7|8|9\n",
        b"a,b\r1,x\r2,\"y\rz\"\r",
        b"n\xe4me,name,name,\n\"M\xfcller\"x,N/A,-1e3,inf\n5\" pipe,\"\",9007199254740993,0.5\n",
        b"only\n\"one\ncell\"\n\n true \nfalse\n",
    ];
    const CSV_BYTES: &[u8] = b",;\t|\"\"\"\n\n\r 0123456789.-eNatrue";

    proptest! {
        #![proptest_config(same_cases(400))]

        #[test]
        fn any_bytes_keep_the_promises_of_the_marshal_reader(
            data in input(&MARSHAL_SEEDS, MARSHAL_BYTES),
        ) {
            marshal(&data);
        }

        #[test]
        fn any_bytes_keep_the_promises_of_the_csv_reader(data in input(&CSV_SEEDS, CSV_BYTES)) {
            csv(&data);
        }
    }

    /// A seed that is refused would only test how it is refused.
    #[test]
    fn the_seeds_are_tables() {
        for seed in MARSHAL_SEEDS {
            let task = task(Arc::new(GreedyMemoryPool::new(MAX_MEMORY)), MAX_BLOCK);
            let made = python::load(&task, &[Bytes::from_static(seed)]);
            let table = made.and_then(|made| table_of(&task, made)).expect("a table");
            assert!(table.rows.num_rows() > 0, "{seed:?}");
        }
        for seed in CSV_SEEDS {
            let table = read_csv(&file(seed), None, MAX_BLOCK, HeldIn::Memory).expect("a table");
            assert!(table.rows.num_rows() > 0, "{seed:?}");
        }
    }
}
