//! Writes one module with all that the modules of a component need.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow, bail};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind,
    ExportSection, FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction,
    MemorySection, StartSection, TableSection, TypeSection, ValType,
    reencode::{Error, Reencode, utils},
};
use wasmparser::{DataKind, FuncType, Operator};

use super::{
    component::{Component, Place},
    layout::Layout,
    live::Live,
    module::{Kind, Module},
    resident,
};

pub(super) fn merge(component: &Component<'_>, layout: &Layout) -> Result<Vec<u8>> {
    let exports = component.exports()?;
    let table = table(component)?;
    let roots = exports.iter().map(|(_, place)| *place).chain(table.iter().flatten().copied());
    let live = Live::from(component, roots)?;
    Merged::new(component, live)?.write(&exports, &table, layout)
}

/// The table as it is when all modules have put their functions into it.
fn table<'a>(component: &Component<'a>) -> Result<Vec<Option<Place<'a>>>> {
    let (_, home) = sole(component, |module| &module.tables)?;
    let mut table = vec![None; usize::try_from(home.initial)?];
    for module in component.linked_modules() {
        for elements in &component.modules[module].elements {
            let start = usize::try_from(constant(component, module, &elements.offset)?)?;
            for (at, function) in (start..).zip(&elements.functions) {
                let place = component.place(module, Kind::Function, *function)?;
                *table.get_mut(at).context("a function beyond the end of the table")? = Some(place);
            }
        }
    }
    Ok(table)
}

/// That of which there has to be exactly one, and the module that has it.
fn sole<'c, 'a, T>(
    component: &'c Component<'a>,
    of: impl Fn(&'c Module<'a>) -> &'c Vec<T>,
) -> Result<(usize, &'c T)> {
    let mut found = component
        .linked_modules()
        .flat_map(|module| of(&component.modules[module]).iter().map(move |one| (module, one)));
    match (found.next(), found.next()) {
        (Some(sole), None) => Ok(sole),
        _ => bail!("the guest has not one memory and one table"),
    }
}

/// The value of an expression of numbers, their sums and globals.
fn constant(
    component: &Component<'_>,
    module: usize,
    expression: &wasmparser::ConstExpr<'_>,
) -> Result<i32> {
    let mut stack = Vec::new();
    let mut operators = expression.get_operators_reader();
    while !operators.eof() {
        match operators.read()? {
            Operator::I32Const { value } => stack.push(value),
            Operator::GlobalGet { global_index } => {
                let global = component.place(module, Kind::Global, global_index)?;
                stack.push(initial(component, global)?);
            }
            Operator::I32Add => match (stack.pop(), stack.pop()) {
                (Some(right), Some(left)) => stack.push(left.wrapping_add(right)),
                _ => bail!("a sum of nothing"),
            },
            Operator::End => {}
            other => bail!("an address that is not a sum of numbers: {other:?}"),
        }
    }
    match stack[..] {
        [value] => Ok(value),
        _ => bail!("an expression without a value"),
    }
}

/// The value that a global begins with.
fn initial(component: &Component<'_>, global: Place<'_>) -> Result<i32> {
    let Place::Defined { module, index } = global else { bail!("the host has no globals") };
    constant(component, module, &component.modules[module].global(index).init_expr)
}

/// The indices that everything has in the merged module.
struct Merged<'c, 'a> {
    component: &'c Component<'a>,
    functions: HashMap<Place<'a>, u32>,
    order: Vec<Place<'a>>,
    types: HashMap<FuncType, u32>,
    type_order: Vec<FuncType>,
    globals: HashMap<Place<'a>, u32>,
    global_order: Vec<Place<'a>>,
}

impl<'c, 'a> Merged<'c, 'a> {
    fn new(component: &'c Component<'a>, live: Live<'a>) -> Result<Self> {
        // Those of the host come first, as imports do.
        let order: Vec<_> = live.functions.into_iter().collect();
        let mut global_order: Vec<_> = live.changed.into_iter().collect();
        global_order.sort_unstable();
        let mut merged = Self {
            component,
            functions: (0..).zip(&order).map(|(index, place)| (*place, index)).collect(),
            order,
            types: HashMap::new(),
            type_order: Vec::new(),
            globals: (0..).zip(&global_order).map(|(index, place)| (*place, index)).collect(),
            global_order,
        };
        let modules = component.linked_modules().map(|module| &component.modules[module]);
        // The last one is that of the start function.
        for ty in modules.flat_map(|module| &module.types).chain([&FuncType::new([], [])]) {
            if !merged.types.contains_key(ty) {
                merged.types.insert(ty.clone(), u32::try_from(merged.type_order.len())?);
                merged.type_order.push(ty.clone());
            }
        }
        Ok(merged)
    }

    fn write(
        &self,
        exported: &[(&str, Place<'a>)],
        table: &[Option<Place<'a>>],
        layout: &Layout,
    ) -> Result<Vec<u8>> {
        let mut code = CodeSection::new();
        let mut functions = FunctionSection::new();
        for place in &self.order {
            if let Place::Defined { module, index } = *place {
                let body = self.component.modules[module].body(index).clone();
                functions.function(self.function_type(*place)?);
                written(InModule { merged: self, module }.parse_function_body(&mut code, body))?;
            }
        }
        functions.function(self.types[&FuncType::new([], [])]);
        code.function(&resident::touch(&layout.resident));
        let start = StartSection { function_index: u32::try_from(self.order.len())? };
        let mut module = wasm_encoder::Module::new();
        module
            .section(&self.type_section()?)
            .section(&self.import_section()?)
            .section(&functions)
            .section(&self.table_section(table)?)
            .section(&self.memory_section()?)
            .section(&self.global_section()?)
            .section(&self.export_section(exported))
            .section(&start)
            .section(&self.element_section(table))
            .section(&code)
            .section(&self.data_section(layout)?);
        Ok(module.finish())
    }

    fn function_type(&self, place: Place<'a>) -> Result<u32> {
        let ty = match place {
            Place::Defined { module, index } => {
                self.component.modules[module].function_type(index)?
            }
            Place::Host { module, name } => self.host_type(module, name)?,
        };
        self.types.get(ty).copied().context("a function of a type that no module has")
    }

    /// The type that those who import a function of the host give it.
    fn host_type(&self, module: &str, name: &str) -> Result<&FuncType> {
        for asking in self.component.linked_modules().map(|index| &self.component.modules[index]) {
            for (index, import) in (0..).zip(asking.imported(Kind::Function)) {
                if import.module == module && import.name == name {
                    return asking.function_type(index);
                }
            }
        }
        bail!("nobody imports {module} {name}")
    }

    fn type_section(&self) -> Result<TypeSection> {
        let mut section = TypeSection::new();
        for ty in &self.type_order {
            // No type names another, so it does not matter in which module it is read.
            let ty = InModule { merged: self, module: 0 }.func_type(ty.clone());
            section.ty().func_type(&written(ty)?);
        }
        Ok(section)
    }

    fn import_section(&self) -> Result<ImportSection> {
        let mut section = ImportSection::new();
        for place in &self.order {
            if let Place::Host { module, name } = place {
                section.import(module, name, EntityType::Function(self.function_type(*place)?));
            }
        }
        Ok(section)
    }

    /// It has all its functions and never grows.
    fn table_section(&self, table: &[Option<Place<'a>>]) -> Result<TableSection> {
        let (module, home) = sole(self.component, |module| &module.tables)?;
        let mut ty = written(InModule { merged: self, module }.table_type(*home))?;
        ty.maximum = Some(table.len() as u64);
        let mut section = TableSection::new();
        section.table(ty);
        Ok(section)
    }

    fn memory_section(&self) -> Result<MemorySection> {
        let (module, home) = sole(self.component, |module| &module.memories)?;
        let mut section = MemorySection::new();
        section.memory(written(InModule { merged: self, module }.memory_type(*home))?);
        Ok(section)
    }

    fn global_section(&self) -> Result<GlobalSection> {
        let mut section = GlobalSection::new();
        let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        for place in &self.global_order {
            section.global(ty, &ConstExpr::i32_const(initial(self.component, *place)?));
        }
        Ok(section)
    }

    fn export_section(&self, exported: &[(&str, Place<'a>)]) -> ExportSection {
        let mut section = ExportSection::new();
        section.export("memory", ExportKind::Memory, 0);
        for (name, place) in exported {
            section.export(name, ExportKind::Func, self.functions[place]);
        }
        section
    }

    /// One segment for each run of places that are taken.
    fn element_section(&self, table: &[Option<Place<'a>>]) -> ElementSection {
        let mut section = ElementSection::new();
        let mut start = 0;
        for run in table.chunk_by(|one, next| one.is_some() == next.is_some()) {
            let functions: Vec<_> =
                run.iter().flatten().map(|place| self.functions[place]).collect();
            if !functions.is_empty() {
                let offset = ConstExpr::i32_const(start);
                section.active(None, &offset, Elements::Functions(functions.into()));
            }
            start += run.len() as i32;
        }
        section
    }

    fn data_section(&self, layout: &Layout) -> Result<DataSection> {
        let mut section = DataSection::new();
        for module in self.component.linked_modules() {
            for data in &self.component.modules[module].data {
                let DataKind::Active { offset_expr, .. } = &data.kind else { continue };
                let offset = constant(self.component, module, offset_expr)?;
                let data = layout.in_use(offset, data.data);
                if !data.is_empty() {
                    section.active(0, &ConstExpr::i32_const(offset), data.iter().copied());
                }
            }
        }
        Ok(section)
    }
}

/// An error of the encoder, or ours inside of it.
fn written<T>(result: Result<T, Error<anyhow::Error>>) -> Result<T> {
    result.map_err(|error| match error {
        Error::UserError(error) => error,
        other => anyhow!("the linked guest cannot be written: {other}"),
    })
}

/// Something is used in a way that [`Live`] does not look at.
fn unreached(what: &str) -> Error<anyhow::Error> {
    Error::UserError(anyhow!("a {what} is used that was not found before"))
}

/// Reads one of the modules and writes what it reads with the indices of the merged one.
struct InModule<'m, 'c, 'a> {
    merged: &'m Merged<'c, 'a>,
    module: usize,
}

impl<'a> InModule<'_, '_, 'a> {
    fn place(&self, kind: Kind, index: u32) -> Result<Place<'a>, Error<anyhow::Error>> {
        self.merged.component.place(self.module, kind, index).map_err(Error::UserError)
    }
}

impl Reencode for InModule<'_, '_, '_> {
    type Error = anyhow::Error;

    fn function_index(&mut self, index: u32) -> Result<u32, Error<Self::Error>> {
        let function = self.merged.functions.get(&self.place(Kind::Function, index)?);
        function.copied().ok_or_else(|| unreached("function"))
    }

    fn global_index(&mut self, index: u32) -> Result<u32, Error<Self::Error>> {
        let global = self.merged.globals.get(&self.place(Kind::Global, index)?);
        global.copied().ok_or_else(|| unreached("global"))
    }

    fn type_index(&mut self, index: u32) -> Result<u32, Error<Self::Error>> {
        let types = &self.merged.component.modules[self.module].types;
        let ty = types.get(index as usize).and_then(|ty| self.merged.types.get(ty));
        ty.copied().ok_or_else(|| unreached("type"))
    }

    fn instruction<'b>(
        &mut self,
        operator: Operator<'b>,
    ) -> Result<Instruction<'b>, Error<Self::Error>> {
        if let Operator::GlobalGet { global_index } = operator {
            let global = self.place(Kind::Global, global_index)?;
            if !self.merged.globals.contains_key(&global) {
                let value = initial(self.merged.component, global).map_err(Error::UserError)?;
                return Ok(Instruction::I32Const(value));
            }
        }
        utils::instruction(self, operator)
    }
}
