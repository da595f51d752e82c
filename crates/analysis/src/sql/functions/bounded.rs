//! A function that looks at what it is given before it makes too much of it.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use datafusion::{
    arrow::{
        array::{Array, ArrayRef},
        compute::concat,
        datatypes::{DataType, FieldRef},
    },
    common::exec_err,
    error::Result,
    logical_expr::{
        ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
        Signature,
    },
};

use super::{Allowance, growth::Growth};
use crate::guard::weigh;

#[derive(Debug)]
pub(super) struct Bounded {
    inner: Arc<ScalarUDF>,
    growth: Growth,
    allowance: Arc<Allowance>,
}

impl Bounded {
    pub(super) fn new(inner: Arc<ScalarUDF>, growth: Growth, allowance: Arc<Allowance>) -> Self {
        Self { inner, growth, allowance }
    }

    fn too_much<T>(&self, max: usize) -> Result<T> {
        exec_err!("{} would make more than {} KB at once", self.inner.name(), max >> 10)
    }

    /// Constants are computed once, while a query is planned.
    fn constant(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let max = self.allowance.constant();
        args.number_rows = 1;
        if self.growth.bytes(&args.args, 1) > max {
            return self.too_much(max);
        }
        self.inner.invoke_with_args(args)
    }

    /// Halves the rows until what may come of each part is small enough to be computed.
    fn compute(&self, args: ScalarFunctionArgs, made: &mut BoundedOutput) -> Result<()> {
        self.allowance.go_on()?;
        let rows = args.number_rows;
        if self.growth.bytes(&args.args, rows) <= made.max {
            let part = self.inner.invoke_with_args(args)?.into_array(rows)?;
            made.bytes += weigh(&part);
            made.parts.push(part);
            return if made.bytes > made.max { self.too_much(made.max) } else { Ok(()) };
        }
        if rows <= 1 {
            return self.too_much(made.max);
        }
        let half = rows / 2;
        self.compute(slice(&args, 0, half), made)?;
        self.compute(slice(&args, half, rows - half), made)
    }
}

/// The output for some rows so far, and the most bytes that it may have.
struct BoundedOutput {
    max: usize,
    bytes: usize,
    parts: Vec<ArrayRef>,
}

fn slice(args: &ScalarFunctionArgs, start: usize, rows: usize) -> ScalarFunctionArgs {
    let part = |value: &ColumnarValue| match value {
        ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(start, rows)),
        scalar => scalar.clone(),
    };
    ScalarFunctionArgs {
        args: args.args.iter().map(part).collect(),
        number_rows: rows,
        arg_fields: args.arg_fields.clone(),
        return_field: args.return_field.clone(),
        config_options: args.config_options.clone(),
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.growth.check(self.inner.name(), &args.args)?;
        if args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_))) {
            return self.constant(args);
        }
        let mut made = BoundedOutput { max: self.allowance.step(), bytes: 0, parts: Vec::new() };
        self.compute(args, &mut made)?;
        if made.parts.len() == 1 {
            return Ok(ColumnarValue::Array(made.parts.swap_remove(0)));
        }
        let parts: Vec<&dyn Array> = made.parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }
}
