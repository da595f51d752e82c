//! Writes the file with all rows of an answer.

use std::{fmt, fs::File, io, sync::Arc};

use datafusion::{
    arrow::{
        array::{ArrayRef, RecordBatch, StringArray},
        csv,
        datatypes::SchemaRef,
    },
    parquet::{
        arrow::ArrowWriter,
        basic::{Compression, ZstdLevel},
        file::properties::WriterProperties,
    },
};
use narrows_tables::FileFormat;
use serde_json::Value;

use crate::answer::{ResultTable, SpillFile};

/// A row group is in memory until it is written.
const GROUP_BYTES: usize = 16 << 20;
const GROUP_ROWS: usize = 128 << 10;

/// The file that all rows of an answer are to be written to.
pub struct SpillTarget {
    /// CSV, or else Parquet.
    pub format: FileFormat,
    /// Whether it is made in any case, or only for rows that do not fit into an answer.
    pub always: bool,
    pub make: MakeFile,
}

/// A function that creates the file and returns it with the path that the caller knows it by. It is
/// called at most once.
pub type MakeFile = Box<dyn FnOnce() -> io::Result<(String, Box<dyn FileSink>)> + Send>;

/// A file that is being written. It is discarded if it is dropped before it is finished.
pub trait FileSink: io::Write + Send {
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A plain file, which keeps its partial contents when the rows cannot be written to their end.
impl FileSink for File {
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for SpillTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillTarget").field("format", &self.format).finish_non_exhaustive()
    }
}

/// A writer of rows. Its errors are reported in the answer, which then comes without the file.
pub(super) struct Writer {
    path: String,
    rows: FormatWriter,
}

enum FormatWriter {
    Parquet(Box<ArrowWriter<CountedFile>>),
    Csv(Box<csv::Writer<CountedFile>>),
}

/// A file with the number of bytes written and the most that may be. Stops a query from filling the
/// disk.
struct CountedFile {
    sink: Box<dyn FileSink>,
    bytes: u64,
    max_bytes: u64,
}

impl io::Write for CountedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes + bytes.len() as u64 > self.max_bytes {
            let max = self.max_bytes >> 20;
            return Err(io::Error::other(format!("they have more than {max} MB")));
        }
        let written = self.sink.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl Writer {
    pub(super) fn new(
        keep: SpillTarget,
        schema: &SchemaRef,
        max_bytes: u64,
    ) -> Result<Self, String> {
        let (path, sink) = (keep.make)().map_err(failed)?;
        let file = CountedFile { sink, bytes: 0, max_bytes };
        let rows = match keep.format {
            FileFormat::Csv => FormatWriter::Csv(Box::new(csv(file, schema)?)),
            _ => FormatWriter::Parquet(Box::new(parquet(file, schema)?)),
        };
        Ok(Self { path, rows })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), String> {
        match &mut self.rows {
            FormatWriter::Parquet(writer) => writer.write(batch).map_err(failed),
            FormatWriter::Csv(writer) => writer.write(&flat(batch)?).map_err(failed),
        }
    }

    pub(super) fn finish(self) -> Result<SpillFile, String> {
        let file = match self.rows {
            FormatWriter::Parquet(writer) => writer.into_inner().map_err(failed)?,
            FormatWriter::Csv(writer) => writer.into_inner(),
        };
        let CountedFile { sink, bytes, .. } = file;
        sink.finish().map_err(failed)?;
        Ok(SpillFile { path: self.path, bytes })
    }
}

fn parquet(file: CountedFile, schema: &SchemaRef) -> Result<ArrowWriter<CountedFile>, String> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .build();
    ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(failed)
}

/// Makes a CSV writer. An empty batch is written first, so that a file without rows has a header too.
fn csv(file: CountedFile, schema: &SchemaRef) -> Result<csv::Writer<CountedFile>, String> {
    let mut writer = csv::WriterBuilder::new().with_header(true).build(file);
    writer.write(&flat(&RecordBatch::new_empty(schema.clone()))?).map_err(failed)?;
    Ok(writer)
}

/// Converts lists and objects into JSON text: CSV has no other form for them.
fn flat(batch: &RecordBatch) -> Result<RecordBatch, String> {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| field.data_type().is_nested()) {
        return Ok(batch.clone());
    }
    let mut columns: Vec<(&str, ArrayRef, bool)> = Vec::new();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let column = match field.data_type().is_nested() {
            true => json(column)?,
            false => column.clone(),
        };
        columns.push((field.name().as_str(), column, true));
    }
    RecordBatch::try_from_iter_with_nullable(columns).map_err(failed)
}

/// Writes the values of a column as JSON text, in the form that answers have.
fn json(column: &ArrayRef) -> Result<ArrayRef, String> {
    const NAME: &str = "value";
    let batch = RecordBatch::try_from_iter_with_nullable([(NAME, column.clone(), true)]);
    let batch = batch.map_err(failed)?;
    let (schema, total_rows) = (batch.schema(), batch.num_rows());
    let rows = ResultTable { schema, batches: vec![batch], total_rows, kept: None }.rows();
    let text = |row: &Value| match &row[NAME] {
        Value::Null => None,
        value => Some(value.to_string()),
    };
    Ok(Arc::new(rows.iter().map(text).collect::<StringArray>()))
}

fn failed(reason: impl fmt::Display) -> String {
    reason.to_string()
}
