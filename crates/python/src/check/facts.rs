//! What is collected of a program.

use std::collections::HashSet;

use ruff_python_ast::Expr;
use ruff_text_size::TextRange;

use super::{
    handled::Handling,
    scope::{ScopeId, Scopes},
};

/// All that is collected.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) handling: Handling<'a>,
    /// Fields that the program itself writes or looks for.
    pub(super) touched_fields: HashSet<&'a str>,
    /// Fields that are read by `get`.
    pub(super) got_fields: HashSet<&'a str>,
    /// What gets fields of other names, or elements.
    pub(super) mutated: Vec<Mutation<'a>>,
    /// Variables whose type the program asks for.
    pub(super) doubted: HashSet<&'a str>,
    /// Lambdas that are called where they stand, for each element of something.
    pub(super) keys: HashSet<TextRange>,
    /// The program does what nobody can follow.
    pub(super) is_opaque: bool,
}

#[derive(Debug)]
pub(super) struct Mutation<'a> {
    pub(super) of: &'a Expr,
    pub(super) scope: ScopeId,
    /// It adds elements to a list, and not fields to a dict.
    pub(super) is_list: bool,
}

impl Facts<'_> {
    pub(super) fn new(module: TextRange) -> Self {
        Self {
            scopes: Scopes::new(module),
            handling: Handling::default(),
            touched_fields: HashSet::new(),
            got_fields: HashSet::new(),
            mutated: Vec::new(),
            doubted: HashSet::new(),
            keys: HashSet::new(),
            is_opaque: false,
        }
    }
}

/// The text of a literal.
pub(super) fn string(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

/// The variable that an expression starts from.
pub(super) fn root(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        Expr::Call(call) => root(&call.func),
        _ => None,
    }
}
