//! Takes one of several results that a function returns together, or the fields of objects in files.
//!
//! The query engine has `get_field` for this, but moves it towards the sources of rows, where it gives
//! the same name to different expressions and fails.

use datafusion::{
    arrow::{
        array::{Array, AsArray, new_null_array},
        datatypes::DataType,
    },
    common::plan_err,
    error::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

/// Returns an expression for the field of an object, null where there is no object.
pub fn part(object: Expr, field: &str) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::from(Part { signature, field: field.to_owned() }).call(vec![object])
}

/// Collects the fields of an object with dotted names; any other value is added unchanged.
pub fn fields_of(value: Expr, data_type: &DataType, name: &str, into: &mut Vec<(String, Expr)>) {
    let DataType::Struct(fields) = data_type else {
        into.push((name.to_owned(), value));
        return;
    };
    for field in fields {
        let inner = part(value.clone(), field.name());
        fields_of(inner, field.data_type(), &format!("{name}.{}", field.name()), into);
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Part {
    signature: Signature,
    field: String,
}

impl ScalarUDFImpl for Part {
    fn name(&self) -> &str {
        &self.field
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let DataType::Struct(fields) = &types[0] else {
            return plan_err!("{} is no object", types[0]);
        };
        match fields.find(&self.field) {
            Some((_, field)) => Ok(field.data_type().clone()),
            None => plan_err!("there is no field {}", self.field),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let objects = arrays[0].as_struct();
        let Some(values) = objects.column_by_name(&self.field) else {
            let nothing = new_null_array(args.return_field.data_type(), objects.len());
            return Ok(ColumnarValue::Array(nothing));
        };
        let Some(nulls) = objects.nulls() else {
            return Ok(ColumnarValue::Array(values.clone()));
        };
        // Arrow allows a field to have a value where the object is null.
        let is_missing = (!nulls.inner()).into();
        Ok(ColumnarValue::Array(datafusion::arrow::compute::nullif(values, &is_missing)?))
    }
}
