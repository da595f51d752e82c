//! What the check of programs asks of the catalog.

use serde_json::Value;

use narrows_python::{
    check::{ByFullName, KnownParameter, KnownTool, KnownTools},
    codegen::{Calling, unwrapped},
};

use super::{Catalog, Missing, Tool};

impl KnownTools for Catalog {
    fn servers(&self) -> Vec<String> {
        self.modules().values().cloned().collect()
    }

    fn disabled(&self, module: &str) -> Option<String> {
        Self::disabled(self, module).map(|disabled| disabled.to_string())
    }

    fn tools(&self, module: &str) -> Option<Vec<String>> {
        // What was listed long ago may have changed.
        let server = self.server_of(module).filter(|server| !self.is_stale(server))?;
        let listing = self.listing(server)?;
        Some(listing.tools.iter().map(|tool| tool.name.python.clone()).collect())
    }

    fn tool(&self, module: &str, name: &str) -> Option<KnownTool> {
        let listing = self.listing(self.server_of(module)?)?;
        listing.tool(name).map(|tool| known_tool(tool, None))
    }

    fn suggest(&self, module: &str, name: &str) -> String {
        let listing = self.server_of(module).and_then(|server| self.listing(server));
        listing.map(|listing| listing.suggest(name)).unwrap_or_default()
    }

    fn by_full_name(&self, name: &str) -> ByFullName {
        known_by_full_name(self, name, |tool| known_tool(tool, None))
    }

    fn why_wrong(&self, name: &str) -> String {
        self.resolve(name, None).err().map(|error| error.to_string()).unwrap_or_default()
    }
}

/// What a full name means, with what is known of its tool.
pub fn known_by_full_name(
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
        // It may be a tool of a server that has not said yet what it has.
        Err(Missing::ToolAnywhere(_)) if !all_listed() => ByFullName::NotKnown,
        Err(_) => ByFullName::Wrong,
    }
}

/// How a tool is called and what it gives: as it declares, or else as was observed.
pub fn known_tool(tool: &Tool, observed: Option<(Value, u64)>) -> KnownTool {
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

/// The schema that a property has to fit, whatever else is said of it.
fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// The schema of what a program gets, by itself.
fn whole(output: &Value) -> Value {
    let mut schema = unwrapped(output).clone();
    // What its references lead to.
    if let Value::Object(schema) = &mut schema {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = output.get(key) {
                schema.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    schema
}
