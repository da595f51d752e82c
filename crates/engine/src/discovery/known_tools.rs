//! Answers what the check of programs asks about tools.

use narrows_python::{
    check::{ByFullName, KnownParameter, KnownTool, KnownTools},
    codegen::{Calling, unwrapped},
};
use narrows_upstream::catalog::{Catalog, Missing, Tool};
use serde_json::Value;

use super::Discovery;

/// The tools of a catalog, as their servers declare them.
#[derive(Debug)]
pub struct CatalogTools<'c>(pub &'c Catalog);

impl KnownTools for CatalogTools<'_> {
    fn servers(&self) -> Vec<String> {
        self.0.modules().values().cloned().collect()
    }

    fn disabled(&self, module: &str) -> Option<String> {
        self.0.disabled(module).map(|disabled| disabled.to_string())
    }

    fn tools(&self, module: &str) -> Option<Vec<String>> {
        // A stale list does not tell which tools there are now.
        let server = self.0.server_of(module).filter(|server| !self.0.is_stale(server))?;
        let listing = self.0.listing(server)?;
        Some(listing.tools.iter().map(|tool| tool.name.python.clone()).collect())
    }

    fn tool(&self, module: &str, name: &str) -> Option<KnownTool> {
        let listing = self.0.listing(self.0.server_of(module)?)?;
        listing.tool(name).map(|tool| known(tool, None))
    }

    fn suggest(&self, module: &str, name: &str) -> String {
        let listing = self.0.server_of(module).and_then(|server| self.0.listing(server));
        listing.map(|listing| listing.suggest(name)).unwrap_or_default()
    }

    fn by_full_name(&self, name: &str) -> ByFullName {
        by_full_name(self.0, name, |tool| known(tool, None))
    }

    fn why_wrong(&self, name: &str) -> String {
        self.0.resolve(name, None).err().map(|error| error.to_string()).unwrap_or_default()
    }
}

/// Answers as the catalog does, with the result shapes that were observed.
impl KnownTools for Discovery {
    fn servers(&self) -> Vec<String> {
        CatalogTools(self.broker().catalog()).servers()
    }

    fn disabled(&self, module: &str) -> Option<String> {
        CatalogTools(self.broker().catalog()).disabled(module)
    }

    fn tools(&self, module: &str) -> Option<Vec<String>> {
        CatalogTools(self.broker().catalog()).tools(module)
    }

    fn tool(&self, module: &str, name: &str) -> Option<KnownTool> {
        let catalog = self.broker().catalog();
        let listing = catalog.listing(catalog.server_of(module)?)?;
        listing.tool(name).map(|tool| known(tool, self.observed(tool)))
    }

    fn suggest(&self, module: &str, name: &str) -> String {
        CatalogTools(self.broker().catalog()).suggest(module, name)
    }

    fn by_full_name(&self, name: &str) -> ByFullName {
        by_full_name(self.broker().catalog(), name, |tool| known(tool, self.observed(tool)))
    }

    fn why_wrong(&self, name: &str) -> String {
        CatalogTools(self.broker().catalog()).why_wrong(name)
    }
}

/// Resolves a full name to what is known of its tool.
fn by_full_name(
    catalog: &Catalog,
    name: &str,
    known: impl FnOnce(&Tool) -> KnownTool,
) -> ByFullName {
    let all_listed = || catalog.modules().keys().all(|server| !catalog.is_stale(server));
    match catalog.find(name, None) {
        Ok(tool) => ByFullName::Tool(Box::new(known(&tool))),
        Err(Missing::NotListed(_)) => ByFullName::NotKnown,
        Err(Missing::Tool { server, .. }) if catalog.is_stale(&server.server) => {
            ByFullName::NotKnown
        }
        // The name may be a tool of a server that has not listed its tools yet.
        Err(Missing::ToolAnywhere(_)) if !all_listed() => ByFullName::NotKnown,
        Err(_) => ByFullName::Wrong,
    }
}

/// Describes the parameters of a tool and its result, as declared or else as observed.
fn known(tool: &Tool, observed: Option<(Value, u64)>) -> KnownTool {
    let input = tool.input_schema();
    let calling = Calling::new(&tool.raw);
    let parameters = calling.parameters.into_iter().map(|parameter| KnownParameter {
        schema: property(input, parameter.raw)
            .filter(|_| tool.is_checked())
            .cloned()
            .unwrap_or_default(),
        python: parameter.python,
        raw: parameter.raw.to_owned(),
        required: parameter.is_required,
    });
    let declared = tool.output_schema().map(whole);
    KnownTool {
        name: tool.name.python.clone(),
        parameters: parameters.collect(),
        open: calling.is_open,
        closed: input.get("additionalProperties") == Some(&Value::Bool(false)),
        observed: declared.is_none(),
        returns: declared.or_else(|| observed.map(|(schema, _)| schema)),
    }
}

/// Returns the schema of a property.
fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// Returns the schema of the value that a program gets, complete with its definitions.
fn whole(output: &Value) -> Value {
    let mut schema = unwrapped(output).clone();
    // References in it lead to these.
    if let Value::Object(schema) = &mut schema {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = output.get(key) {
                schema.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    schema
}
