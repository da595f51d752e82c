//! Examples in messages, with columns of the table at hand instead of made-up ones.

use datafusion::{arrow::datatypes::DataType, common::DFSchema};

use crate::error::AnalysisError;

/// What stands before an example.
const BEGINNING: &str = "as in {";
/// The columns of examples, by what they have.
const NUMBERS: [&str; 3] = ["amount", "price", "quantity"];
const TEXTS: [&str; 2] = ["region", "name"];
const TIMES: [&str; 1] = ["date"];

/// Puts columns of a table into the example of a message; one that the table has stays.
pub(crate) fn with_columns(error: AnalysisError, schema: &DFSchema) -> AnalysisError {
    let AnalysisError::Parameter { parameter, reason } = error else { return error };
    let Some(start) = reason.find(BEGINNING) else {
        return AnalysisError::Parameter { parameter, reason };
    };
    let columns = |is_of: fn(&DataType) -> bool| -> Vec<String> {
        let fields = schema.fields().iter().filter(|field| is_of(field.data_type()));
        fields.map(|field| field.name().clone()).collect()
    };
    let has = |name: &str| schema.fields().iter().any(|field| field.name() == name);
    let mut example = reason[start..].to_owned();
    for (names, columns) in [
        (NUMBERS.as_slice(), columns(DataType::is_numeric)),
        (TEXTS.as_slice(), columns(DataType::is_string)),
        (TIMES.as_slice(), columns(DataType::is_temporal)),
    ] {
        let mut columns = columns.iter().cycle().take(names.len());
        for name in names.iter().filter(|name| !has(name)) {
            let (Some(column), quoted) = (columns.next(), format!("{name:?}")) else { break };
            example = example.replace(&quoted, &format!("{column:?}"));
        }
    }
    AnalysisError::Parameter { parameter, reason: format!("{}{example}", &reason[..start]) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use datafusion::arrow::datatypes::{Field, Schema};

    use super::*;

    #[test]
    fn an_example_has_columns_that_are_there() {
        let fields = vec![
            Field::new("sector", DataType::Utf8, true),
            Field::new("roi", DataType::Float64, true),
        ];
        let schema = Schema::new_with_metadata(fields, HashMap::new());
        let schema = DFSchema::try_from(schema).unwrap();
        let reason = r#"is missing; as in {"field":"amount","group_by":"region"}"#;
        let error = with_columns(AnalysisError::parameter("field", reason), &schema);
        let said = error.to_string();
        assert_eq!(said, r#"field: is missing; as in {"field":"roi","group_by":"sector"}"#);
    }
}
