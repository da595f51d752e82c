//! Replaces operators, and functions that a query uses without their names, by bounded functions.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    common::{DFSchema, config::ConfigOptions, plan_err, tree_node::Transformed},
    error::Result,
    logical_expr::{
        AggregateUDF, BinaryExpr, Expr, ExprSchemable, Like as LikeExpr, Operator, ScalarUDF,
        expr::{AggregateFunction, ScalarFunction},
        expr_rewriter::FunctionRewrite,
        lit,
    },
};

use super::{
    Allowance,
    arithmetic::Arithmetic,
    bounded::Bounded,
    growth::Growth,
    join_text::JoinText,
    like::{self, Like},
    sum::Sum,
};

#[derive(Debug)]
pub(super) struct Bounds {
    functions: HashMap<&'static str, Arc<ScalarUDF>>,
    join_text: Arc<ScalarUDF>,
    like: Arc<ScalarUDF>,
    ilike: Arc<ScalarUDF>,
    arithmetic: Vec<Arc<ScalarUDF>>,
    sum: Arc<AggregateUDF>,
}

impl Bounds {
    pub(super) fn new(
        functions: HashMap<&'static str, Arc<ScalarUDF>>,
        allowance: &Arc<Allowance>,
    ) -> Self {
        let join = Arc::new(ScalarUDF::new_from_impl(JoinText::new()));
        let join = Bounded::new(join, Growth::Together, allowance.clone());
        Self {
            functions,
            join_text: Arc::new(ScalarUDF::new_from_impl(join)),
            like: Arc::new(ScalarUDF::new_from_impl(Like::new(false))),
            ilike: Arc::new(ScalarUDF::new_from_impl(Like::new(true))),
            arithmetic: Arithmetic::all().map(|it| Arc::new(ScalarUDF::new_from_impl(it))).into(),
            sum: Arc::new(AggregateUDF::new_from_impl(Sum::new())),
        }
    }

    fn bounded(&self, mut call: ScalarFunction) -> Transformed<Expr> {
        match self.functions.get(call.func.name()) {
            Some(bounded) if !call.func.inner().is::<Bounded>() => {
                call.func = bounded.clone();
                Transformed::yes(Expr::ScalarFunction(call))
            }
            _ => Transformed::no(Expr::ScalarFunction(call)),
        }
    }

    fn operator(&self, binary: BinaryExpr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let BinaryExpr { left, op, right } = binary;
        let (negated, flags) = match op {
            Operator::StringConcat => {
                let call = ScalarFunction::new_udf(self.join_text.clone(), vec![*left, *right]);
                return Ok(Transformed::yes(Expr::ScalarFunction(call)));
            }
            Operator::RegexMatch => (false, None),
            Operator::RegexNotMatch => (true, None),
            Operator::RegexIMatch => (false, Some("i")),
            Operator::RegexNotIMatch => (true, Some("i")),
            _ => return self.arithmetic(BinaryExpr { left, op, right }, schema),
        };
        let Some(matches) = self.functions.get("regexp_like") else {
            return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
        };
        let mut args = vec![*left, *right];
        args.extend(flags.map(lit));
        let call = Expr::ScalarFunction(ScalarFunction::new_udf(matches.clone(), args));
        Ok(Transformed::yes(if negated { !call } else { call }))
    }

    fn arithmetic(&self, binary: BinaryExpr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let checked = self.arithmetic.iter().find_map(|function| {
            let arithmetic = function.inner().downcast_ref::<Arithmetic>();
            Some((function, arithmetic.filter(|it| it.operator() == binary.op)?))
        });
        let Some((function, arithmetic)) = checked else {
            return Ok(Transformed::no(Expr::BinaryExpr(binary)));
        };
        let (left, right) = (binary.left.get_type(schema)?, binary.right.get_type(schema)?);
        if arithmetic.kind(&left, &right).is_none() {
            return Ok(Transformed::no(Expr::BinaryExpr(binary)));
        }
        let args = vec![*binary.left, *binary.right];
        let call = ScalarFunction::new_udf(function.clone(), args);
        Ok(Transformed::yes(Expr::ScalarFunction(call)))
    }

    fn aggregate(&self, mut call: AggregateFunction) -> Transformed<Expr> {
        let is_sum = call.func.name() == "sum" && !call.func.inner().is::<Sum>();
        if is_sum {
            call.func = self.sum.clone();
        }
        Transformed::new_transformed(Expr::AggregateFunction(call), is_sum)
    }

    fn like(&self, like: LikeExpr) -> Result<Transformed<Expr>> {
        if like.escape_char.is_some_and(|escape| escape != '\\') {
            return plan_err!("LIKE knows no other escape than \\, which needs no ESCAPE");
        }
        if let Expr::Literal(pattern, _) = like.pattern.as_ref() {
            if let Some(Some(pattern)) = pattern.try_as_str() {
                like::check(pattern)?;
            }
            return Ok(Transformed::no(Expr::Like(like)));
        }
        let function = if like.case_insensitive { &self.ilike } else { &self.like };
        let args = vec![*like.expr, *like.pattern];
        let call = Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), args));
        Ok(Transformed::yes(if like.negated { !call } else { call }))
    }
}

impl FunctionRewrite for Bounds {
    fn name(&self) -> &str {
        "bounds"
    }

    fn rewrite(
        &self,
        expression: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        match expression {
            Expr::ScalarFunction(call) => Ok(self.bounded(call)),
            Expr::BinaryExpr(binary) => self.operator(binary, schema),
            Expr::Like(like) => self.like(like),
            Expr::AggregateFunction(call) => Ok(self.aggregate(call)),
            other => Ok(Transformed::no(other)),
        }
    }
}
