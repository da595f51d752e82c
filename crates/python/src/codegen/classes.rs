//! The `TypedDict`s that the types of one tool mention.

use std::collections::HashSet;

use serde_json::Value;

use super::literal;
use super::names::camel_case;
use super::notes::{self, PropertyNotes};
use super::reserved;
use super::types::Type;

/// How many classes a tool may have. Stops a schema of endless small objects from filling the module.
const MAX_CLASSES: usize = 200;

/// The length of a class name. It is repeated wherever the class is used, so long ones would multiply.
const MAX_NAME: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassId(usize);

#[cfg(test)]
impl ClassId {
    pub(super) fn first() -> Self {
        Self(0)
    }
}

/// A property of an object.
#[derive(Debug)]
pub(super) struct ClassField<'a> {
    pub(super) name: &'a str,
    pub(super) ty: Type,
    pub(super) required: bool,
    /// The schema with its description.
    pub(super) schema: Option<&'a Value>,
    /// The schema with its constraints.
    pub(super) limits: Option<&'a Value>,
}

impl<'a> ClassField<'a> {
    pub(super) fn said(&self) -> Option<PropertyNotes<'a>> {
        Some(PropertyNotes { description: self.schema?, limits: self.limits? })
    }
}

#[derive(Debug)]
pub(super) struct Class<'a> {
    pub(super) name: String,
    /// The name without the number that may distinguish it from another.
    base: String,
    pub(super) fields: Vec<ClassField<'a>>,
    /// Whether the schema explicitly allows more properties.
    pub(super) open: bool,
}

impl Class<'_> {
    fn equals(&self, other: &Self) -> bool {
        let same = |(a, b): (&ClassField<'_>, &ClassField<'_>)| {
            a.name == b.name && a.required == b.required && a.ty == b.ty
        };
        self.base == other.base
            && self.open == other.open
            && self.fields.len() == other.fields.len()
            && self.fields.iter().zip(&other.fields).all(same)
    }
}

/// Whether the source of a class has comments on its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comments {
    With,
    Without,
}

/// The classes that are defined already, so that an expression can name them without quotes.
#[derive(Debug)]
pub(super) enum Defined {
    /// All of them, where order does not matter: in stubs, and in text that is not run.
    All,
    Only(HashSet<ClassId>),
}

#[derive(Debug)]
pub(super) struct Classes<'a> {
    prefix: &'a str,
    list: Vec<Class<'a>>,
    /// The finished classes, the innermost first, so that few references are forward.
    finished: Vec<ClassId>,
    used: HashSet<String>,
}

impl<'a> Classes<'a> {
    pub(super) fn new(prefix: &'a str) -> Self {
        Self { prefix, list: Vec::new(), finished: Vec::new(), used: HashSet::new() }
    }

    /// Adds a class that has a name but no fields yet, so that they can refer to it. None if there are
    /// too many.
    pub(super) fn open(&mut self, hint: &str) -> Option<ClassId> {
        if self.list.len() >= MAX_CLASSES {
            return None;
        }
        let base = self.base_name(hint);
        let mut name = base.clone();
        let mut number = 1;
        while !self.used.insert(name.clone()) {
            number += 1;
            name = format!("{base}{number}");
        }
        self.list.push(Class { name, base, fields: Vec::new(), open: false });
        Some(ClassId(self.list.len() - 1))
    }

    /// Gives a class its fields, and returns the class to refer to: an equal one of the same name if
    /// there is one, for example when a tool returns an object that it also takes.
    pub(super) fn finish(
        &mut self,
        id: ClassId,
        fields: Vec<ClassField<'a>>,
        open: bool,
    ) -> ClassId {
        let class = &mut self.list[id.0];
        class.fields = fields;
        class.open = open;
        let class = &self.list[id.0];
        let equal = self.finished.iter().copied().find(|other| self.get(*other).equals(class));
        self.finished.push(id);
        equal.unwrap_or(id)
    }

    /// Removes the values that the types of fields list.
    pub(super) fn drop_values(&mut self) {
        for field in self.list.iter_mut().flat_map(|class| &mut class.fields) {
            field.ty = field.ty.without_values();
        }
    }

    pub(super) fn get(&self, id: ClassId) -> &Class<'a> {
        &self.list[id.0]
    }

    /// Returns the classes that these types need, directly or not, in the order in which to define them.
    pub(super) fn needed<'t>(&self, types: impl IntoIterator<Item = &'t Type>) -> Vec<ClassId> {
        let mut needed = HashSet::new();
        let mut waiting = Vec::new();
        types.into_iter().for_each(|ty| ty.visit_classes(&mut |id| waiting.push(id)));
        while let Some(id) = waiting.pop() {
            if needed.insert(id) {
                for field in &self.get(id).fields {
                    field.ty.visit_classes(&mut |id| waiting.push(id));
                }
            }
        }
        self.finished.iter().copied().filter(|id| needed.contains(id)).collect()
    }

    pub(super) fn expression(&self, ty: &Type, defined: &Defined) -> String {
        ty.expression(&|id| {
            let name = &self.get(id).name;
            match defined {
                Defined::Only(ids) if !ids.contains(&id) => format!("\"{name}\""),
                _ => name.clone(),
            }
        })
    }

    /// Writes the Python definition of a class.
    pub(super) fn source(&self, id: ClassId, defined: &Defined, comments: Comments) -> String {
        let class = self.get(id);
        // A field whose name is not an identifier, or hides a type of the fields after it, can only be
        // written as a key.
        let as_keys = class.fields.iter().any(|field| {
            !reserved::is_identifier(field.name)
                || reserved::is_module_name(field.name)
                || field.name.starts_with("__")
                || self.used.contains(field.name)
        });
        let mut source = if as_keys {
            format!("{name} = TypedDict(\"{name}\", {{\n", name = class.name)
        } else {
            format!("class {}(TypedDict):\n", class.name)
        };
        for field in &class.fields {
            let ty = self.expression(&field.ty, defined);
            let ty = if field.required { ty } else { format!("NotRequired[{ty}]") };
            if as_keys {
                source += &format!("    {}: {ty},", literal::string(field.name));
            } else {
                source += &format!("    {}: {ty}", field.name);
            }
            let note = field.said().map(notes::note).unwrap_or_default();
            if comments == Comments::With && !note.is_empty() {
                // The colon is needed because `# type: …` is an instruction to type checkers.
                source += &format!("  #: {note}");
            }
            source.push('\n');
        }
        if as_keys {
            source += "})\n";
        } else if class.fields.is_empty() {
            source += "    pass\n";
        }
        source
    }

    fn base_name(&self, hint: &str) -> String {
        let mut hint = camel_case(hint);
        hint.truncate(MAX_NAME);
        let mut base = format!("{}{hint}", self.prefix);
        if base.is_empty() || base.starts_with(|c: char| c.is_ascii_digit()) {
            base.insert_str(0, "Item");
        }
        if reserved::is_module_name(&base) || reserved::is_keyword(&base) {
            base.push('_');
        }
        base
    }
}
