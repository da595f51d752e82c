//! Runs an analysis of JSON rows without the engine.

use std::{io::Cursor, sync::Arc};

use datafusion::{
    arrow::{
        array::RecordBatch,
        datatypes::{Schema, SchemaRef},
        json::{ArrayWriter, ReaderBuilder, reader::infer_json_schema_from_iterator},
    },
    datasource::MemTable,
    prelude::{SessionConfig, SessionContext},
};
use serde_json::{Map, Value};

use super::run;
use crate::{
    error::Result,
    kind::AnalysisType,
    work::{AnalysisContext, MAIN},
};

/// The whole result of an analysis.
#[derive(Debug)]
pub(crate) struct TestOutput {
    pub(crate) facts: Map<String, Value>,
    pub(crate) rows: Vec<Value>,
    pub(crate) notes: Vec<String>,
}

/// Makes a batch of JSON rows.
pub(crate) fn batch(rows: &Value) -> RecordBatch {
    let rows = rows.as_array().unwrap();
    let schema = if rows.is_empty() {
        Arc::new(Schema::empty())
    } else {
        Arc::new(infer_json_schema_from_iterator(rows.iter().map(Ok)).unwrap())
    };
    batch_of(rows, schema)
}

pub(crate) fn batch_of(rows: &[Value], schema: SchemaRef) -> RecordBatch {
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let mut reader = ReaderBuilder::new(schema.clone())
        .with_batch_size(rows.len().max(1))
        .build(Cursor::new(text))
        .unwrap();
    reader.next().map_or_else(|| RecordBatch::new_empty(schema), |batch| batch.unwrap())
}

/// Cuts a table into several partitions of several batches, as parallel scans have them.
pub(crate) fn parts(batch: &RecordBatch, partitions: usize) -> Vec<Vec<RecordBatch>> {
    let size = batch.num_rows().div_ceil(partitions).max(1);
    let cut = |batch: &RecordBatch, size: usize| -> Vec<RecordBatch> {
        let starts = (0..batch.num_rows()).step_by(size);
        starts.map(|at| batch.slice(at, size.min(batch.num_rows() - at))).collect()
    };
    let mut parts: Vec<_> =
        cut(batch, size).iter().map(|part| cut(part, part.num_rows().div_ceil(3))).collect();
    parts.resize(partitions, Vec::new());
    parts
}

pub(crate) async fn analyse_tables(
    kind: AnalysisType,
    tables: Vec<(&str, RecordBatch)>,
    parameters: Value,
) -> Result<TestOutput> {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    let names = tables.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (name, batch) in tables {
        let table = MemTable::try_new(batch.schema(), parts(&batch, 3)).unwrap();
        context.register_table(name, Arc::new(table)).unwrap();
    }
    let work = Arc::new(AnalysisContext::new(context, names, Vec::new()));
    let Value::Object(parameters) = parameters else { panic!("parameters are an object") };
    let outcome = run(&work, kind, &parameters).await?;
    let batches = match outcome.frame {
        Some(frame) => frame.collect().await?,
        None => Vec::new(),
    };
    let mut writer = ArrayWriter::new(Vec::new());
    writer.write_batches(&batches.iter().collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    let written = writer.into_inner();
    let rows =
        if written.is_empty() { Vec::new() } else { serde_json::from_slice(&written).unwrap() };
    Ok(TestOutput { facts: outcome.facts, rows, notes: work.into_notes() })
}

pub(crate) async fn analyse(
    kind: AnalysisType,
    rows: Value,
    parameters: Value,
) -> Result<TestOutput> {
    analyse_tables(kind, vec![(MAIN, batch(&rows))], parameters).await
}

/// Columns of the types that only files bring.
mod types {
    use std::sync::Arc;

    use datafusion::arrow::{
        array::{
            ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Int32Array,
            ListArray, RecordBatch, StringArray, StringViewArray, StructArray,
            TimestampMillisecondArray, UInt64Array,
        },
        datatypes::{DataType, Field, Int32Type},
    };
    use serde_json::{Value, json};

    use super::{TestOutput, analyse_tables};
    use crate::{kind::AnalysisType, work::MAIN};

    fn table() -> RecordBatch {
        let lists = [Some(vec![Some(1)]), None, Some(vec![]), Some(vec![None, Some(2)])];
        let inner: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
        let decimal = Decimal128Array::from(vec![Some(150), Some(-20), None, Some(975)]);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("int", Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)]))),
            ("big", Arc::new(UInt64Array::from(vec![1, 2, 3, u64::MAX]))),
            (
                "float",
                Arc::new(Float32Array::from(vec![Some(1.5), Some(f32::NAN), Some(2.0), None])),
            ),
            ("decimal", Arc::new(decimal.with_precision_and_scale(9, 2).unwrap())),
            (
                "day",
                Arc::new(Date32Array::from(vec![Some(19_782), Some(19_783), None, Some(19_785)])),
            ),
            (
                "time",
                Arc::new(
                    TimestampMillisecondArray::from(vec![0, 3_600_000, 7_200_000, 86_400_000])
                        .with_timezone("Europe/Berlin"),
                ),
            ),
            ("view", Arc::new(StringViewArray::from(vec![Some("1"), Some("x"), None, Some("4")]))),
            (
                "dictionary",
                Arc::new(
                    vec![Some("2024-01-01"), Some("b"), None, Some("2024-01-03")]
                        .into_iter()
                        .collect::<DictionaryArray<Int32Type>>(),
                ),
            ),
            ("text", Arc::new(StringArray::from(vec!["a", "b", "a", "b"]))),
            ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
            (
                "struct",
                Arc::new(StructArray::from(vec![(
                    Arc::new(Field::new("inner", DataType::Int32, false)),
                    inner,
                )])),
            ),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    async fn analyse(kind: AnalysisType, parameters: Value) -> Result<TestOutput, String> {
        let given = analyse_tables(kind, vec![(MAIN, table())], parameters).await;
        given.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn every_type_can_be_validated() {
        let names: Vec<String> =
            table().schema().fields().iter().map(|field| field.name().clone()).collect();
        for name in &names {
            for kind in
                ["numeric", "integer", "text", "boolean", "date", "datetime", "email", "json"]
            {
                let rules =
                    json!([{"field": name, "type": kind, "required": true, "unique": true}]);
                let unique = !["list", "struct"].contains(&name.as_str());
                let rules = if unique {
                    rules
                } else {
                    json!([{"field": name, "type": kind, "required": true}])
                };
                let given = analyse(AnalysisType::Validate, json!({"rules": rules})).await;
                assert!(given.is_ok(), "{name} {kind}: {given:?}");
            }
        }
        let broken = async |rule: Value| -> Vec<i64> {
            let given = analyse(AnalysisType::Validate, json!({"rules": [rule]})).await.unwrap();
            given.rows.iter().map(|row| row["row"].as_i64().unwrap()).collect()
        };
        assert_eq!(broken(json!({"field": "float", "required": true})).await, [1, 3]);
        assert_eq!(broken(json!({"field": "decimal", "type": "integer"})).await, [0, 1, 3]);
        assert_eq!(broken(json!({"field": "decimal", "min": 0})).await, [1]);
        assert_eq!(broken(json!({"field": "big", "max": 3})).await, [3]);
        assert_eq!(broken(json!({"field": "day", "min": "2024-03-01"})).await, [0]);
        assert_eq!(broken(json!({"field": "time", "type": "date"})).await, [0, 1, 2, 3]);
        assert_eq!(broken(json!({"field": "time", "min": "1970-01-01T02:00"})).await, [0]);
        assert_eq!(broken(json!({"field": "time", "max": "1970-01-01T01:00:00Z"})).await, [2, 3]);
        assert_eq!(broken(json!({"field": "view", "type": "numeric", "coerce": true})).await, [1]);
        assert_eq!(broken(json!({"field": "dictionary", "type": "date"})).await, [1]);
        assert_eq!(broken(json!({"field": "day", "allowed": ["2024-02-29"]})).await, [1, 3]);
    }

    #[tokio::test]
    async fn every_number_correlates() {
        let fields = json!(["int", "big", "float", "decimal", "view"]);
        for kind in [AnalysisType::Correlation, AnalysisType::Covariance] {
            let given = analyse(kind, json!({"fields": fields, "group_by": "text"})).await.unwrap();
            assert_eq!(given.rows.len(), 10);
        }
        let said = analyse(AnalysisType::Correlation, json!({"fields": ["int", "list"]}))
            .await
            .unwrap_err();
        assert!(said.contains("\"list\" holds List"), "{said}");
        let given =
            analyse(AnalysisType::Test, json!({"test": "t", "field": "decimal", "value": 1})).await;
        assert_eq!(given.unwrap().facts["groups"][0]["n"], 3);
    }

    #[tokio::test]
    async fn every_time_makes_a_series() {
        for (time, start) in [
            ("day", "2024-02-29"),
            ("time", "1970-01-01T01:00:00+01:00"),
            ("dictionary", "2024-01-01"),
        ] {
            let given = analyse(AnalysisType::TimeSeries, json!({"time": time, "value": "int"}))
                .await
                .unwrap();
            assert_eq!(given.facts["start"], start);
        }
        let parameters = json!({"time": "time", "value": "int", "resample": "1d", "timezone": "Europe/Berlin",
            "group_by": ["dictionary", "view"]});
        let given = analyse(AnalysisType::TimeSeries, parameters).await.unwrap();
        assert_eq!((given.rows.len(), &given.rows[1]["time"]), (4, &json!("1970-01-01")));
        for time in ["list", "struct"] {
            let said = analyse(AnalysisType::TimeSeries, json!({"time": time, "value": "int"}))
                .await
                .unwrap_err();
            assert!(said.contains("which are no times"), "{said}");
        }
    }
}
