//! One core module, taken apart.

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};
use wasmparser::{
    ConstExpr, Data, DataKind, ElementItems, ElementKind, ExternalKind, FuncType, FunctionBody,
    Global, Import, MemoryType, Parser, Payload, TableType, TypeRef,
};

/// What modules give each other. There is one memory and one table, so those need no names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Function,
    Global,
}

impl Kind {
    pub(super) fn of(kind: ExternalKind) -> Option<Self> {
        match kind {
            ExternalKind::Func => Some(Self::Function),
            ExternalKind::Global => Some(Self::Global),
            _ => None,
        }
    }

    fn of_import(ty: &TypeRef) -> Option<Self> {
        match ty {
            TypeRef::Func(_) => Some(Self::Function),
            TypeRef::Global(_) => Some(Self::Global),
            _ => None,
        }
    }
}

#[derive(Default)]
pub(super) struct Module<'a> {
    pub(super) types: Vec<FuncType>,
    imports: HashMap<Kind, Vec<Import<'a>>>,
    pub(super) exports: HashMap<&'a str, u32>,
    /// Of those that are defined here, as are the next ones.
    function_types: Vec<u32>,
    bodies: Vec<FunctionBody<'a>>,
    globals: Vec<Global<'a>>,
    pub(super) tables: Vec<TableType>,
    pub(super) memories: Vec<MemoryType>,
    pub(super) elements: Vec<Elements<'a>>,
    pub(super) data: Vec<Data<'a>>,
}

/// Functions that are put into the table, and where.
pub(super) struct Elements<'a> {
    pub(super) offset: ConstExpr<'a>,
    pub(super) functions: Vec<u32>,
}

impl<'a> Module<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut module = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            module.take(payload?)?;
        }
        Ok(module)
    }

    fn take(&mut self, payload: Payload<'a>) -> Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section.into_iter_err_on_gc_types() {
                    self.types.push(group?);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    if let Some(kind) = Kind::of_import(&import.ty) {
                        self.imports.entry(kind).or_default().push(import);
                    }
                }
            }
            Payload::FunctionSection(section) => {
                self.function_types = section.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.tables.push(table?.ty);
                }
            }
            Payload::MemorySection(section) => {
                self.memories = section.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::GlobalSection(section) => {
                self.globals = section.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    self.exports.insert(export.name, export.index);
                }
            }
            Payload::ElementSection(section) => {
                for element in section {
                    let element = element?;
                    let ElementKind::Active { offset_expr: offset, .. } = element.kind else {
                        bail!("elements that are not put into a table at once");
                    };
                    let ElementItems::Functions(functions) = element.items else {
                        bail!("elements that are not functions");
                    };
                    let functions = functions.into_iter().collect::<Result<_, _>>()?;
                    self.elements.push(Elements { offset, functions });
                }
            }
            Payload::DataSection(section) => {
                for data in section {
                    let data = data?;
                    let is_active = matches!(data.kind, DataKind::Active { .. });
                    ensure!(is_active, "data that is not put into memory at once");
                    self.data.push(data);
                }
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::StartSection { .. } => bail!("a module still wants to start something"),
            Payload::TagSection(_) => bail!("a module throws exceptions"),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn imported(&self, kind: Kind) -> &[Import<'a>] {
        self.imports.get(&kind).map_or(&[], Vec::as_slice)
    }

    fn defined(&self, kind: Kind, index: u32) -> usize {
        index as usize - self.imported(kind).len()
    }

    pub(super) fn body(&self, function: u32) -> &FunctionBody<'a> {
        &self.bodies[self.defined(Kind::Function, function)]
    }

    pub(super) fn global(&self, global: u32) -> &Global<'a> {
        &self.globals[self.defined(Kind::Global, global)]
    }

    pub(super) fn function_type(&self, function: u32) -> Result<&FuncType> {
        let imported = self.imported(Kind::Function);
        let index = match imported.get(function as usize).map(|import| import.ty) {
            Some(TypeRef::Func(index)) => index,
            Some(_) => bail!("an imported function that is none"),
            None => self.function_types[self.defined(Kind::Function, function)],
        };
        Ok(&self.types[index as usize])
    }
}
