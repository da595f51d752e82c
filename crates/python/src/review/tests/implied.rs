//! Modules and tools that a program uses without an import are reviewed like imports.

use super::{Severity::*, *};

/// Returns the findings in a program that gets a module of the library and a tool without an import.
fn given(code: &str, level: &Level) -> Vec<(&'static str, u32, Severity)> {
    given_with(code, level, &ReviewSettings::default())
}

fn given_with(
    code: &str,
    level: &Level,
    settings: &ReviewSettings,
) -> Vec<(&'static str, u32, Severity)> {
    let implied = ImpliedImports {
        library: ["threading"].into(),
        tools: [("delete_repo".to_owned(), "github".to_owned())].into(),
    };
    let denied = |tool: &str| {
        (tool == "github.delete_repo").then(|| Denial { why: "no deletes".to_owned() })
    };
    let tree = SourceTree::new(code);
    let program = ParsedProgram::new(&tree);
    let found = super::super::review(&program, &implied, level, settings, &denied);
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

#[test]
fn a_forbidden_server_is_not_reached_without_an_import() {
    let settings =
        ReviewSettings { deny: ["servers.github".to_owned()].into(), ..Default::default() };
    let denied = |code| {
        let found = given_with(code, &level(Levels::DEFAULT), &settings);
        found.iter().filter(|one| one.0 == "denied-name").map(|one| one.1).collect::<Vec<_>>()
    };
    assert_eq!(denied("x = 1\nawait delete_repo()"), [2]);
    // The control: with its import.
    let imported = "from servers.github import delete_repo\nawait delete_repo()";
    assert_eq!(denied(imported).first(), Some(&1));

    let mut strict = level(Levels::DEFAULT);
    strict.denied.insert("servers.github".to_owned());
    let found = given("x = 1\nawait delete_repo()", &strict);
    assert!(found.iter().any(|one| (one.0, one.1) == ("import-not-allowed", 2)), "{found:?}");
}

#[test]
fn a_name_that_an_import_may_not_have_bound_is_still_the_builtin() {
    let code = "import contextlib\nwith contextlib.suppress(ImportError):\n    from ..a import eval\n\
                eval('40 + 2')";
    let found = given(code, &level(Levels::DEFAULT));
    assert!(found.iter().any(|one| (one.0, one.1) == ("dynamic-code", 4)), "{found:?}");
}
