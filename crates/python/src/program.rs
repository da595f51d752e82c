//! A program that is parsed once for the check, the review, and everything else that looks at it
//! before it runs.

use std::sync::OnceLock;

use ruff_python_ast::Stmt;

use crate::{
    scope::{self, Scopes},
    syntax::{SourceTree, SyntaxFault},
};

/// A program with the scopes of its names. They are collected once, when they are first asked for;
/// the check, the review and the search for its tools share them.
#[derive(Debug)]
pub struct ParsedProgram<'t> {
    tree: &'t SourceTree,
    scopes: OnceLock<Scopes<'t>>,
}

impl<'t> ParsedProgram<'t> {
    pub fn new(tree: &'t SourceTree) -> Self {
        Self { tree, scopes: OnceLock::new() }
    }

    pub fn text(&self) -> &'t str {
        self.tree.text()
    }

    /// Returns the statements of the program, or the reason for which it does not parse.
    pub fn body(&self) -> Result<&'t [Stmt], &'t SyntaxFault> {
        self.tree.body()
    }

    /// Returns the scopes of the program. A program that does not parse binds no names.
    pub(crate) fn scopes(&self) -> &Scopes<'t> {
        let collect = || scope::collect(self.body().unwrap_or_default(), self.tree.range());
        self.scopes.get_or_init(collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles only for types that threads can share: a run keeps its program while it waits for
    /// servers, on whichever thread.
    fn is_shared_between_threads<T: Send + Sync>(_: &T) {}

    #[test]
    fn a_program_is_parsed_and_its_names_collected_once() {
        let tree = SourceTree::new("\u{feff}x = 1\n");
        let program = ParsedProgram::new(&tree);
        is_shared_between_threads(&program);
        assert_eq!(program.text(), "x = 1\n");
        let body = program.body().unwrap_or_default();
        assert_eq!(body.len(), 1);
        assert!(std::ptr::eq(body, program.body().unwrap_or_default()));
        assert!(std::ptr::eq(program.scopes(), program.scopes()));
    }

    #[test]
    fn what_does_not_parse_binds_nothing() {
        for (code, is_deep) in [("x = (".to_owned(), false), ("(".repeat(10_000), true)] {
            let tree = SourceTree::new(&code);
            let program = ParsedProgram::new(&tree);
            let is_too_deep = matches!(program.body(), Err(SyntaxFault::TooDeep));
            assert!(program.body().is_err() && is_too_deep == is_deep, "{:?}", program.body());
            assert_eq!(program.scopes().names().count(), 0);
        }
    }
}
