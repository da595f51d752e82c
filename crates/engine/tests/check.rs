//! The check of programs, with all tools of `tests/data`, and with programs that are right.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use narrows_engine::{CatalogTools, catalog::PythonNaming};
use narrows_model::{Connection, ServerSpec, StdioSpec};
use narrows_python::{
    ParsedProgram, SourceTree,
    check::{self, CheckFinding, GivenVariables},
    codegen::Calling,
};
use narrows_upstream::catalog::{Catalog, Listing, UpstreamInfo};
use serde_json::Value;

/// Creates a catalog of these servers, and of one that has not listed its tools yet.
fn filled(servers: &[(String, Vec<Value>)]) -> Catalog {
    let spec = |name: &str| {
        let stdio = StdioSpec { command: name.into(), ..StdioSpec::default() };
        ServerSpec::new(name, Connection::Stdio(stdio))
    };
    let names = servers.iter().map(|(name, _)| name.as_str()).chain(["company"]);
    let specs: Vec<ServerSpec> = names.map(spec).collect();
    let catalog = Catalog::new(&specs, None, &PythonNaming);
    for (spec, (_, tools)) in specs.iter().zip(servers) {
        catalog.replace(spec, Listing { about: UpstreamInfo::default(), tools: tools.clone() });
    }
    catalog
}

fn python_files(directory: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Writes a value that fits a schema, as Python.
fn fitting(schema: &Value) -> String {
    match (&schema["enum"][0], schema["type"].as_str()) {
        (Value::String(text), _) => Value::from(text.as_str()).to_string(),
        (Value::Null, Some("string")) => "'text'".to_owned(),
        (Value::Null, Some("integer")) => "1".to_owned(),
        (Value::Null, Some("number")) => "1.5".to_owned(),
        (Value::Null, Some("boolean")) => "True".to_owned(),
        (Value::Null, Some("array")) => "[]".to_owned(),
        (Value::Null, Some("object")) => "{}".to_owned(),
        _ => "given".to_owned(),
    }
}

/// A tool, and the arguments of a correct call: by keyword and by raw name.
struct Call {
    import: String,
    name: String,
    full_name: String,
    keywords: Vec<String>,
    items: Vec<String>,
    is_open: bool,
}

fn right_calls(catalog: &Catalog) -> Vec<Call> {
    let snapshot = catalog.snapshot();
    let calls = snapshot.tools().map(|tool| {
        let calling = Calling::new(&tool.raw);
        let required = calling.parameters.iter().filter(|parameter| parameter.is_required);
        let arguments: Vec<(&str, &str, String)> = required
            .map(|parameter| {
                let value = fitting(&tool.input_schema()["properties"][parameter.raw]);
                (parameter.python.as_str(), parameter.raw, value)
            })
            .collect();
        let keywords = arguments.iter().map(|(python, _, value)| format!("{python}={value}"));
        let items =
            arguments.iter().map(|(_, raw, value)| format!("{}: {value}", Value::from(*raw)));
        Call {
            import: format!("from servers.{} import {}\n", tool.module, tool.name.python),
            name: tool.name.python.clone(),
            full_name: tool.id.to_string(),
            keywords: keywords.collect(),
            items: items.collect(),
            is_open: calling.is_open,
        }
    });
    calls.collect()
}

/// Returns the findings in a program whose variables may be anything.
fn check(program: &str, catalog: &Catalog) -> Vec<CheckFinding> {
    let tree = SourceTree::new(program);
    let known = CatalogTools(catalog);
    check::check(&ParsedProgram::new(&tree), GivenVariables::Unknown, &known).findings
}

/// Returns the message of a program's only mistake.
fn only(found: &[CheckFinding], program: &str) -> String {
    assert_eq!(found.len(), 1, "{program}\n{found:?}");
    found[0].message.clone()
}

#[test]
fn programs_that_are_right_raise_no_alarm() {
    let catalog = filled(&narrows_testkit::catalog());
    let repository = narrows_testkit::repository();
    let corpus = python_files(&repository.join("crates/sandbox/tests/corpus"));
    assert!(corpus.len() >= 60);
    // A program without tools is not even looked at; with them all of it is.
    let header = "import client, servers\nfrom servers.ledgerline import ll_changes\n";
    for (path, program) in &corpus {
        for program in [program.clone(), format!("{header}{program}")] {
            assert_eq!(check(&program, &catalog), [], "{path}");
        }
    }
    for (path, program) in python_files(&repository.join("crates/gateway/src/demo/programs")) {
        assert_eq!(check(&program, &catalog), [], "{path}");
    }
}

#[test]
fn every_tool_can_be_called_in_every_way_without_an_alarm() {
    let catalog = filled(&narrows_testkit::catalog());
    for call in right_calls(&catalog) {
        let Call { import, name, full_name, .. } = &call;
        let (keywords, items) = (call.keywords.join(", "), call.items.join(", "));
        let program = format!(
            "{import}x = await {name}({keywords})\ny = await {name}({{{items}}})\n\
             from client import call_mcp_tool\nz = await call_mcp_tool({full_name:?}, {{{items}}})\n\
             print(x, y, z)\n"
        );
        assert_eq!(check(&program, &catalog), [], "{program}");
    }
}

#[test]
fn mistakes_with_every_tool_are_found() {
    let catalog = filled(&narrows_testkit::catalog());
    for call in right_calls(&catalog) {
        let Call { import, name, .. } = &call;
        let import_wrong = format!("{}x\n", import.trim_end());
        // A name with a capital may be a type of the module.
        if !name.starts_with(char::is_uppercase) {
            let message = only(&check(&import_wrong, &catalog), &import_wrong);
            assert!(message.contains(&format!("has no tool '{name}x'; did you mean")), "{message}");
        }
        if let [_, rest @ ..] = call.keywords.as_slice() {
            let missing = call.keywords[0].split('=').next().unwrap();
            let program = format!("{import}await {name}(**{{}}, {})\n", rest.join(", "));
            assert_eq!(check(&program, &catalog), [], "{program}");
            let program = format!("{import}await {name}({})\n", rest.join(", "));
            let message = only(&check(&program, &catalog), &program);
            assert!(message == format!("{name}() needs {missing}"), "{message}");
        }
        let arguments: Vec<&str> =
            call.keywords.iter().map(String::as_str).chain(["no_such_thing_at_all=1"]).collect();
        let program = format!("{import}await {name}({})\n", arguments.join(", "));
        let found = check(&program, &catalog);
        if call.is_open {
            assert_eq!(found, [], "{program}");
        } else {
            let message = only(&found, &program);
            assert!(message.contains("has no parameter 'no_such_thing_at_all'"), "{message}");
        }
    }
}
