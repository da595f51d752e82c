//! The names that the catalog of `narrows-upstream` gives to servers and tools in Python.

use std::collections::BTreeMap;

use narrows_model::ToolName;
use narrows_python::codegen::{Deprecation, ToolNames, module_names};
use narrows_upstream::catalog::ToolNaming;
use serde_json::Value;

/// The naming of servers and tools for Python.
#[derive(Clone, Copy, Debug)]
pub struct PythonNaming;

impl ToolNaming for PythonNaming {
    fn modules(&self, servers: &[&str]) -> BTreeMap<String, String> {
        module_names(servers.iter().copied())
    }

    fn tools(&self, tools: &[&str]) -> BTreeMap<String, ToolName> {
        let names = ToolNames::new(tools.iter().copied());
        names.iter().map(|(raw, name)| (raw.to_owned(), name.clone())).collect()
    }

    fn is_deprecated(&self, definition: &Value) -> bool {
        Deprecation::of(definition).is_some()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use narrows_upstream::catalog::Catalog;
    pub(crate) use narrows_upstream::fakes::{listing, named, spec, tool};

    use super::*;

    #[test]
    fn tools_have_the_names_of_python() {
        let specs = [spec("class")];
        let catalog = Catalog::new(&specs, None, &PythonNaming);
        let old = json!({"name": "from", "description": "DEPRECATED: use import."});
        catalog.replace(&specs[0], listing(vec![json!({"name": "import"}), old]));
        let import = catalog.resolve("servers.class_.import_", None).unwrap();
        assert_eq!((import.id.tool.as_str(), import.is_deprecated()), ("import", false));
        assert!(catalog.resolve("class_.from_", None).unwrap().is_deprecated());
    }
}
