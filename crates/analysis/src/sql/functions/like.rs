//! `a LIKE b` where `b` is no constant: every row has a pattern of its own, so they are short.

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray},
        compute::{cast, kernels::comparison},
        datatypes::DataType,
    },
    common::{exec_err, plan_err},
    error::Result,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

/// The longest pattern, and the most `%` in it. Stops patterns that take time with every character of a
/// text.
const MAX_BYTES: usize = 1024;
const MAX_WILDCARDS: usize = 32;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Like {
    name: &'static str,
    ignore_case: bool,
    signature: Signature,
}

impl Like {
    pub(super) fn new(ignore_case: bool) -> Self {
        let name = if ignore_case { "ilike" } else { "like" };
        Self { name, ignore_case, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// Checks that a constant can be used as a pattern.
pub(super) fn check(pattern: &str) -> Result<()> {
    match is_simple(pattern) {
        true => Ok(()),
        false => plan_err!("{}", too_complex()),
    }
}

fn is_simple(pattern: &str) -> bool {
    pattern.len() <= MAX_BYTES && pattern.matches('%').count() <= MAX_WILDCARDS
}

fn too_complex() -> String {
    format!("a pattern of LIKE has at most {MAX_BYTES} bytes and {MAX_WILDCARDS} times %")
}

impl ScalarUDFImpl for Like {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![DataType::Utf8View; types.len()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let texts = |value: &ColumnarValue| -> Result<ArrayRef> {
            Ok(cast(&value.to_array(args.number_rows)?, &DataType::Utf8View)?)
        };
        let (text, pattern) = (texts(&args.args[0])?, texts(&args.args[1])?);
        if pattern.as_string_view().iter().flatten().any(|pattern| !is_simple(pattern)) {
            return exec_err!("{}", too_complex());
        }
        let matches = match self.ignore_case {
            true => comparison::ilike(&text, &pattern)?,
            false => comparison::like(&text, &pattern)?,
        };
        Ok(ColumnarValue::Array(std::sync::Arc::new(matches)))
    }
}
