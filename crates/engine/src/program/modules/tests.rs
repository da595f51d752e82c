//! The modules that exist, and the beginnings of their sources.

use super::*;
use crate::catalog::{
    PythonNaming,
    tests::{listing, named, spec},
};

/// Creates a catalog of a server with tools, and of one that has not listed its tools.
fn catalog() -> Catalog {
    let specs = [spec("my-files"), spec("asleep")];
    let catalog = Catalog::new(&specs, None, &PythonNaming);
    catalog.replace(&specs[0], listing(named(&["read-file", "list"])));
    catalog
}

#[test]
fn the_package_of_servers_names_every_server() {
    let package = source(&catalog(), "servers").unwrap();
    assert!(package.is_package);
    assert!(package.source.contains(r#"_package(__name__, ["asleep","my_files"])"#), "{package:?}");
}

#[test]
fn the_module_of_a_server_has_its_own_name_and_pythons_names_of_its_tools() {
    let module = source(&catalog(), "servers.my_files").unwrap();
    assert!(!module.is_package);
    let expected = r#"_module(__name__, "my-files", ["read_file","list_"])"#;
    assert!(module.source.contains(expected), "{module:?}");
}

#[test]
fn the_module_of_a_server_that_has_said_nothing_asks_when_it_is_used() {
    let module = source(&catalog(), "servers.asleep").unwrap();
    assert!(module.source.contains(r#"_module(__name__, "asleep", None)"#), "{module:?}");
    // That is not the same as to have no tools.
    let catalog = catalog();
    catalog.replace(&spec("asleep"), listing(Vec::new()));
    let module = source(&catalog, "servers.asleep").unwrap();
    assert!(module.source.contains(r#"_module(__name__, "asleep", [])"#), "{module:?}");
}

#[test]
fn the_name_of_a_server_is_never_more_than_a_text_in_its_module() {
    let name = "a\"; import os # \\";
    let catalog = Catalog::new(&[spec(name)], None, &PythonNaming);
    let [module] = catalog.modules().values().collect::<Vec<_>>().try_into().unwrap();
    let source = source(&catalog, &format!("servers.{module}")).unwrap().source;
    assert!(source.contains(r#"_module(__name__, "a\"; import os # \\", None)"#), "{source}");
}

#[test]
fn a_server_that_is_switched_off_says_so_however_it_is_named() {
    let catalog = catalog().with_disabled(["off-line"]);
    let reason = "No module named 'servers.off_line': the server \\\"off-line\\\" is disabled; \
                  ask the user to run `narrows servers enable off-line`";
    let package = source(&catalog, "servers").unwrap().source;
    assert!(package.contains(r#"["asleep","my_files"]"#), "{package}");
    assert!(package.contains(&format!(r#"_disabled, _enabled = {{"off_line":"{reason}"}}"#)));
    let module = source(&catalog, "servers.off_line").unwrap().source;
    assert_eq!(module, format!("raise ModuleNotFoundError(\"{reason}\", name=__name__)\n"));
    for name in ["off-line.go", "mcp__off-line__go", "servers.off_line.go"] {
        let told = catalog.resolve(name, None).unwrap_err();
        assert_eq!(told, DisabledServer("off-line".to_owned()).into(), "{name}");
    }
}

#[test]
fn there_are_no_other_modules() {
    let catalog = catalog();
    for name in ["client", "tool_discovery"] {
        assert!(source(&catalog, name).is_some_and(|module| !module.is_package), "{name}");
    }
    assert!(source(&catalog, "skills").is_some_and(|module| module.is_package));
    // A server is imported by the name of its module alone.
    for name in ["os", "", "servers.", "servers.my-files", "servers.other", "servers.my_files.list"]
    {
        assert_eq!(source(&catalog, name), None, "{name}");
    }
}
