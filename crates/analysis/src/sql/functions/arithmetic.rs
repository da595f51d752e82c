//! `+`, `-` and `*` of whole numbers that fail when the result has no room.

use datafusion::{
    arrow::{
        compute::kernels::numeric::{add, mul, sub},
        datatypes::DataType,
    },
    common::{exec_datafusion_err, internal_err},
    error::Result,
    logical_expr::{
        ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        type_coercion::binary::BinaryTypeCoercer,
    },
    physical_expr_common::datum::apply,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Arithmetic {
    name: &'static str,
    operator: Operator,
    signature: Signature,
}

impl Arithmetic {
    pub(super) fn all() -> [Self; 3] {
        let make = |name, operator| Self {
            name,
            operator,
            signature: Signature::user_defined(Volatility::Immutable),
        };
        [make("+", Operator::Plus), make("-", Operator::Minus), make("*", Operator::Multiply)]
    }

    pub(super) fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the type of both sides, if it is an integer type.
    pub(super) fn kind(&self, left: &DataType, right: &DataType) -> Option<DataType> {
        if !left.is_integer() || !right.is_integer() {
            return None;
        }
        let types = BinaryTypeCoercer::new(left, &self.operator, right).get_input_types().ok()?;
        (types.0 == types.1 && types.0.is_integer()).then_some(types.0)
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![self.return_type(types)?; 2])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let kind = match types {
            [left, right] => self.kind(left, right),
            _ => None,
        };
        kind.map_or_else(|| internal_err!("{} of {types:?}", self.name), Ok)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else {
            return internal_err!("{} has two sides", self.name);
        };
        let compute = match self.operator {
            Operator::Plus => add,
            Operator::Minus => sub,
            _ => mul,
        };
        apply(left, right, compute).map_err(|_| {
            exec_datafusion_err!("a {} b: the result is too large for a whole number", self.name)
        })
    }
}
