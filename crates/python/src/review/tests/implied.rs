//! Modules and tools that a program uses without an import are reviewed like imports.

use super::{Severity::*, *};

/// Returns the findings in a program that gets a module of the library and a tool without an import.
fn given(code: &str, level: &Level) -> Vec<(&'static str, u32, Severity)> {
    let implied = ImpliedImports {
        library: ["threading"].into(),
        tools: [("delete_repo".to_owned(), "github".to_owned())].into(),
    };
    let denied = |tool: &str| {
        (tool == "github.delete_repo").then(|| Denial { why: "no deletes".to_owned() })
    };
    let tree = SourceTree::new(code);
    let program = ParsedProgram::new(&tree);
    let found =
        super::super::review(&program, &implied, level, &ReviewSettings::default(), &denied);
    found.iter().map(|one| (one.rule, one.line, one.severity)).collect()
}

#[test]
fn a_module_that_cannot_be_imported_is_not_had_without_an_import() {
    let code = "x = 1\nthreading.Lock()";
    assert_eq!(given(code, &level("hardened")), [("import-not-allowed", 2, Danger)]);
    assert_eq!(given(code, &level(Levels::DEFAULT)), []);
    // Here, the name is the program's own.
    let own = "def f(threading):\n    return threading.Lock()";
    assert_eq!(given(own, &level("hardened")), []);
}

#[test]
fn a_tool_that_would_be_refused_is_told_where_it_is_called() {
    let code = "x = 1\nawait delete_repo()";
    assert_eq!(given(code, &level(Levels::DEFAULT)), [("denied-tool", 2, Danger)]);
    assert_clean(code);
}

#[test]
fn its_calls_are_counted() {
    let code = "for n in range(1_000_000):\n    await delete_repo()";
    let found = given(code, &level(Levels::DEFAULT));
    assert!(found.iter().any(|one| one.0 == "many-calls"), "{found:?}");
}
