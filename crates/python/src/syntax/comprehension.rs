//! One type for all four kinds of comprehensions.

use ruff_python_ast::{Comprehension, Expr};
use ruff_text_size::TextRange;

/// A comprehension, `[element for … in … if …]`, whatever brackets it has.
pub(crate) struct Comprehended<'a> {
    pub(crate) range: TextRange,
    pub(crate) generators: &'a [Comprehension],
    pub(crate) elements: Vec<&'a Expr>,
}

impl<'a> Comprehended<'a> {
    /// Returns the comprehension that an expression is; none for any other expression.
    pub(crate) fn of(expr: &'a Expr) -> Option<Self> {
        let (range, generators, elements) = match expr {
            Expr::ListComp(comp) => (comp.range, &comp.generators, vec![&*comp.elt]),
            Expr::SetComp(comp) => (comp.range, &comp.generators, vec![&*comp.elt]),
            Expr::Generator(comp) => (comp.range, &comp.generators, vec![&*comp.elt]),
            Expr::DictComp(comp) => {
                let key = comp.key.as_deref();
                (comp.range, &comp.generators, key.into_iter().chain([&*comp.value]).collect())
            }
            _ => return None,
        };
        Some(Self { range, generators, elements })
    }
}
