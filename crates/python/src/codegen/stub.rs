//! The `.pyi` of a server's module, for editors and type checkers.

use serde_json::Value;

use super::classes::{Comments, Defined};
use super::definition::{Definition, Parameter, Presence};
use super::names::ToolName;
use super::types::Type;
use super::wrapper::docstring;

const HEADER: &str = "from typing import Any, Literal, NotRequired, TypedDict, Union, overload\n\n";

/// A tool that a stub describes.
#[derive(Clone, Copy, Debug)]
pub struct StubTool<'a> {
    pub name: &'a ToolName,
    /// The tool as its server defines it.
    pub raw: &'a Value,
}

/// Writes the stub of a module with these tools.
pub fn stub<'a>(tools: impl IntoIterator<Item = StubTool<'a>>) -> String {
    let mut text = HEADER.to_owned();
    for tool in tools {
        push_tool(&mut text, tool);
    }
    text
}

fn push_tool(text: &mut String, tool: StubTool<'_>) {
    let definition = Definition::new(tool.raw, &tool.name.class_prefix, None);
    let classes = &definition.classes;
    let whole = arguments(&definition);
    for id in classes.needed([&whole, &definition.returns]) {
        *text += &classes.source(id, &Defined::All, Comments::With);
        text.push('\n');
    }
    let name = &tool.name.python;
    let returns = classes.expression(&definition.returns, &Defined::All);
    let docstring = docstring(&definition);
    if definition.parameters.is_empty() && definition.extra.is_none() {
        *text += &format!("async def {name}() -> {returns}:\n{docstring}\n\n");
        return;
    }
    let parameters = parameters(&definition);
    let whole = classes.expression(&whole, &Defined::All);
    *text += &format!(
        "@overload\nasync def {name}({parameters}) -> {returns}:\n{docstring}\n\
         @overload\nasync def {name}(arguments: {whole}, /) -> {returns}: ...\n\n"
    );
}

/// Returns the type of the only argument in a call with a dictionary. A `TypedDict` cannot say that
/// there may be more keys, so if there may, any dictionary is allowed.
fn arguments(definition: &Definition<'_>) -> Type {
    let class = definition.arguments.map(Type::Class);
    let any = definition.extra.as_ref().map(|_| Type::dict(Type::Any));
    Type::union(class.into_iter().chain(any))
}

/// Writes the parameters, without defaults: the default of a schema may not be of its type.
fn parameters(definition: &Definition<'_>) -> String {
    definition.parameter_list(|Parameter { python, ty, presence, .. }| {
        let (ty, default) = match presence {
            Presence::Required => (ty.clone(), ""),
            Presence::Optional => (ty.clone().or_none(), " = ..."),
            Presence::Default(_) => (ty.clone(), " = ..."),
        };
        let ty = definition.classes.expression(&ty, &Defined::All);
        format!("{python}: {ty}{default}")
    })
}
