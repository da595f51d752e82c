//! The meaning of names, as the check and the review see it.

use ruff_text_size::TextSize;

use super::{BindingValue, BoundName, MODULE, NameMeaning, ScopeKind, Scopes};
use crate::{ParsedProgram, SourceTree};

/// Calls `look` with the scopes of a program.
fn in_scopes<T>(code: &str, look: impl FnOnce(&Scopes<'_>) -> T) -> T {
    let tree = SourceTree::new(code);
    let program = ParsedProgram::new(&tree);
    assert!(program.body().is_ok(), "{code}");
    look(program.scopes())
}

/// Calls `ask` with the bindings of `x` at the end of a program.
fn of_x<T>(code: &str, ask: impl FnOnce(Option<&BoundName<'_>>) -> T) -> T {
    in_scopes(code, |scopes| ask(scopes.bound(MODULE, "x")))
}

fn is_certain(code: &str) -> bool {
    of_x(code, |x| x.is_some_and(|x| x.certain_from().is_some()))
}

fn is_one_value(code: &str) -> bool {
    of_x(code, |x| {
        x.and_then(BoundName::only).is_some_and(|one| matches!(one.source, BindingValue::Value(_)))
    })
}

fn meaning(code: &str) -> &'static str {
    let end = TextSize::try_from(code.len()).unwrap_or_default();
    in_scopes(code, |scopes| match scopes.meaning("x", MODULE, end) {
        NameMeaning::One(binding, _) => match binding.source {
            BindingValue::Unknown | BindingValue::Definition => "one, unknown",
            _ => "one",
        },
        NameMeaning::Unclear => "unclear",
        NameMeaning::Free => "free",
    })
}

#[test]
fn what_may_be_left_out_is_not_certain() {
    for certain in ["x = 1", "x, y = 1, 2", "import x", "def x(): pass", "with f() as x: pass"] {
        assert!(is_certain(certain), "{certain}");
    }
    for maybe in [
        "if y:\n  x = 1",
        "for x in y: pass",
        "while y:\n  x = 1",
        "try:\n  import x\nexcept Z:\n  pass",
        "match y:\n  case x: pass",
        "[x := 1 for y in z]",
        "x = 1\ndel x",
        "def f():\n  global x\n  x = 1",
        "x: int",
    ] {
        assert!(!is_certain(maybe), "{maybe}");
    }
    // A function has conditions of its own.
    let inner = "if y:\n  def f():\n    x = 1";
    in_scopes(inner, |scopes| {
        let function = scopes.names().find(|name| *name == "x");
        assert!(function.is_some() && scopes.bound(MODULE, "x").is_none());
    });
}

#[test]
fn a_declaration_gives_no_value_but_is_a_doubt() {
    assert!(is_one_value("x: int\nx = 1"));
    assert_eq!(meaning("x: int\nx = 1"), "unclear");
    assert_eq!(meaning("x: int"), "one, unknown");
    assert!(of_x("x: int", |x| x.is_none()), "nothing is bound to it");
    assert!(!is_one_value("x = 1\nx = 2"));
    assert!(!is_one_value("x = 1\ndel x"));
}

#[test]
fn what_a_function_binds_as_global_belongs_to_the_program() {
    let code = "def f():\n  global x\n  x = 1";
    assert!(is_one_value(code), "it is found where it is read");
    assert_eq!(meaning(code), "unclear");
    let code = "def f():\n  x = 1\n  def g():\n    nonlocal x\n    x = 2";
    in_scopes(code, |scopes| {
        let times: Vec<usize> = scopes
            .names()
            .filter(|name| *name == "x")
            .zip(0..)
            .map(|(_, scope)| scopes.bound(scope, "x").map_or(0, |x| x.followed().count()))
            .collect();
        assert_eq!(times, [0, 2, 0], "of the program, of f and of g");
    });
}

#[test]
fn imports_of_one_package_are_one_binding() {
    assert_eq!(meaning("import x.a\nimport x.b"), "one");
    assert_eq!(meaning("import x.a\nx = 1"), "unclear");
    assert_eq!(meaning("from y import *"), "unclear");
    assert_eq!(meaning("y = 1"), "free");
}

#[test]
fn a_class_keeps_its_names_from_its_functions() {
    let code = "class C:\n  x = 1\n  def f(self): return x";
    in_scopes(code, |scopes| {
        let names = (0..).take(3).map(|id| (id, scopes.kind(id)));
        let seen: Vec<(ScopeKind, bool)> = names
            .map(|(id, kind)| {
                let mut visible = scopes.visible(id);
                (kind, visible.any(|id| scopes.binds(id, "x")))
            })
            .collect();
        let expected =
            [(ScopeKind::Module, false), (ScopeKind::Class, true), (ScopeKind::Function, false)];
        assert_eq!(seen, expected);
    });
}
