//! Objects within rows: the same columns, whether JSON or a Parquet file has them.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, StructArray},
        buffer::NullBuffer,
        datatypes::{Field, Fields},
    },
    parquet::arrow::ArrowWriter,
};
use narrows_analysis::{AnalysisType, FileFormat, Input};
use serde_json::{Value, json};

use crate::support::{run_with, table};

/// Of three people the second has no address, and the address of the third no place.
fn people() -> Vec<Value> {
    vec![
        json!({"id": 1, "address": {"street": "a", "place": {"zip": 10, "city": "x"}}}),
        json!({"id": 2, "address": null}),
        json!({"id": 3, "address": {"street": "b", "place": null}}),
    ]
}

fn object(columns: Vec<(&str, ArrayRef)>, is_there: [bool; 3]) -> ArrayRef {
    let field =
        |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let fields: Fields = columns.iter().map(field).collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    Arc::new(StructArray::new(fields, columns, Some(NullBuffer::from(is_there.to_vec()))))
}

/// Fields have values where there is no object, which must not be seen.
fn batch() -> RecordBatch {
    let zips: ArrayRef = Arc::new(Int64Array::from(vec![10, 20, 30]));
    let cities: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let place = object(vec![("zip", zips), ("city", cities)], [true, true, false]);
    let streets: ArrayRef = Arc::new(StringArray::from(vec!["a", "?", "b"]));
    let address = object(vec![("street", streets), ("place", place)], [true, false, true]);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    RecordBatch::try_from_iter([("id", ids), ("address", address)]).unwrap()
}

fn parquet(batch: &RecordBatch) -> Input {
    let file = tempfile::tempfile().unwrap();
    let mut writer = ArrowWriter::try_new(file.try_clone().unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    Input::File { file, format: FileFormat::Parquet }
}

async fn answered(
    input: Input,
    kind: AnalysisType,
    parameters: &Value,
) -> (Vec<String>, Vec<Vec<Value>>) {
    let tables = vec![("data".to_owned(), input)];
    table(&run_with(4, kind, tables, parameters).await.unwrap())
}

#[tokio::test]
async fn fields_have_the_same_names_everywhere() {
    let zip = "address.place.zip";
    for (kind, parameters, expected) in [
        (
            AnalysisType::Filter,
            json!({"conditions": [{"field": zip, "operator": ">", "value": 5}]}),
            json!([[1, "a", 10, "x"]]),
        ),
        (
            AnalysisType::Filter,
            json!({"conditions": [{"field": zip, "operator": "is_null"}], "select": ["id"]}),
            json!([[2], [3]]),
        ),
        (
            AnalysisType::Aggregate,
            json!({"group_by": "address.street", "aggregations": {"id": "sum"}}),
            json!([["a", 1], ["b", 3], [null, 2]]),
        ),
        (
            AnalysisType::Transform,
            json!({"select": ["address.place.city", "id"], "sort": "-id"}),
            json!([[null, 3], [null, 2], ["x", 1]]),
        ),
        (
            AnalysisType::Sql,
            json!({"query": "select address.street, \"address.place.zip\" from data order by id"}),
            json!([["a", 10], [null, null], ["b", null]]),
        ),
    ] {
        let batches = Input::Batches { schema: batch().schema(), batches: vec![batch()] };
        let json = answered(Input::Json(json!(people())), kind, &parameters).await;
        assert_eq!(json!(json.1), expected, "{parameters}");
        assert_eq!(answered(parquet(&batch()), kind, &parameters).await, json, "{parameters}");
        assert_eq!(answered(batches, kind, &parameters).await, json, "{parameters}");
    }
}

/// Two columns cannot have one name.
#[tokio::test]
async fn an_object_stays_whole_if_a_name_is_taken() {
    let mut columns = vec![("id", batch().column(0).clone()), ("a", batch().column(1).clone())];
    columns.push(("a.street", batch().column(0).clone()));
    let input = parquet(&RecordBatch::try_from_iter(columns).unwrap());
    let (names, _) = answered(input, AnalysisType::Transform, &json!({"limit": 1})).await;
    assert_eq!(names, ["id", "a", "a.street"]);
}
