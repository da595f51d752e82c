//! What must hold for linking whatever the component is, as a function for a fuzzer.
//!
//! The tests below feed it components that are damaged; `fuzz/` at the top of the repository feeds
//! it what libFuzzer finds. No part of the builder: compiled for tests and fuzzers only.

#![allow(clippy::expect_used, reason = "a fuzz target fails by panicking")]

use wasmparser::{Parser, Payload};
use wit_component::DecodedWasm;
use wit_parser::WorldItem;

use super::layout::Layout;

/// Of a guest with little memory, all of which is in use.
const LAYOUT: Layout = Layout { resident: 1024..8192, end: i32::MAX };

/// Checks that linking ends, with an error or with a component that has one module of its own and
/// the same functions as before.
pub fn guest_link(data: &[u8]) {
    let Ok(linked) = super::link(data, &LAYOUT) else { return };
    // The encoder adds a shim, and what fills it, for functions of the host that need the memory.
    let modules = modules(&linked);
    assert!(matches!(modules, 1 | 3), "it is not linked to one module, but to {modules}");
    assert_eq!(functions(&linked), functions(data), "other functions are exported than before");
}

/// How many modules a component has itself.
fn modules(component: &[u8]) -> usize {
    let payloads = Parser::new(0).parse_all(component);
    let is_module = |payload: &Payload<'_>| matches!(payload, Payload::ModuleSection { .. });
    payloads
        .map(|payload| payload.expect("a linked component can be read"))
        .filter(is_module)
        .count()
}

/// The names of the functions that a component exports by themselves.
fn functions(component: &[u8]) -> Vec<String> {
    let decoded = wit_component::decode(component).expect("a component");
    let DecodedWasm::Component(resolve, world) = decoded else { panic!("a package") };
    let exports = resolve.worlds[world].exports.values();
    let functions = exports.filter_map(|item| match item {
        WorldItem::Function(function) => Some(function.name.clone()),
        _ => None,
    });
    functions.collect()
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::Index, test_runner::RngSeed};
    use wasm_encoder::{
        CodeSection, ComponentBuilder, ComponentExportKind, ComponentTypeRef, ConstExpr,
        DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection, Function,
        FunctionSection, GlobalSection, GlobalType, ImportSection, MemorySection, MemoryType,
        Module, ModuleArg, PrimitiveValType, RefType, TableSection, TableType, TypeSection,
        ValType,
    };
    use wit_component::{ComponentEncoder, StringEncoding};
    use wit_parser::Resolve;

    use super::{super::component::Component, *};

    /// The same cases in every run: what nobody thought of is for the fuzzer to find, not for a test that
    /// fails now and then.
    const SEED: RngSeed = RngSeed::Fixed(1);

    const MEMORY: MemoryType = MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    const TABLE: TableType = TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: 2,
        maximum: None,
        shared: false,
    };
    const COUNTER: GlobalType = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    const CONSTANT: GlobalType =
        GlobalType { val_type: ValType::I32, mutable: false, shared: false };

    /// A library: it has the memory and the table, a counter, an address and a function that counts.
    fn library() -> Module {
        let mut types = TypeSection::new();
        types.ty().function([], [ValType::I32]);
        types.ty().function([], []);
        let mut functions = FunctionSection::new();
        functions.function(0);
        let mut tables = TableSection::new();
        tables.table(TABLE);
        let mut memories = MemorySection::new();
        memories.memory(MEMORY);
        let mut globals = GlobalSection::new();
        globals.global(COUNTER, &ConstExpr::i32_const(5));
        globals.global(CONSTANT, &ConstExpr::i32_const(4096));
        let mut exports = ExportSection::new();
        exports.export("memory", ExportKind::Memory, 0);
        exports.export("table", ExportKind::Table, 0);
        exports.export("base", ExportKind::Global, 1);
        exports.export("count", ExportKind::Func, 0);
        let mut count = Function::new([]);
        count.instructions().global_get(0).i32_const(1).i32_add().global_set(0).global_get(0).end();
        let mut code = CodeSection::new();
        code.function(&count);
        let mut module = Module::new();
        module.section(&types).section(&functions).section(&tables).section(&memories);
        module.section(&globals).section(&exports).section(&code);
        module
    }

    /// A program that imports all of the library, logs and puts a function into the table.
    fn program() -> Module {
        let mut types = TypeSection::new();
        types.ty().function([], [ValType::I32]);
        types.ty().function([ValType::I32], []);
        let mut imports = ImportSection::new();
        imports.import("env", "memory", MEMORY);
        imports.import("env", "table", TABLE);
        imports.import("env", "base", CONSTANT);
        imports.import("env", "count", EntityType::Function(0));
        imports.import("$root", "log", EntityType::Function(1));
        let mut functions = FunctionSection::new();
        functions.function(0);
        let mut exports = ExportSection::new();
        exports.export("run", ExportKind::Func, 2);
        let mut elements = ElementSection::new();
        elements.active(None, &ConstExpr::i32_const(1), Elements::Functions(vec![2].into()));
        let mut run = Function::new([]);
        run.instructions().global_get(0).call(1).call(0).end();
        let mut code = CodeSection::new();
        code.function(&run);
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::global_get(0), *b"some data");
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&exports);
        module.section(&elements).section(&code).section(&data);
        module
    }

    /// Both of them in a component with `import log: func(code: u32)` and `export run: func() -> u32`.
    fn two_modules() -> Vec<u8> {
        let mut component = ComponentBuilder::default();
        let (log_type, mut encoder) = component.type_function(None);
        encoder.params([("code", PrimitiveValType::U32)]).result(None);
        let log = component.import("log", ComponentTypeRef::Func(log_type));
        let library = component.core_module(Some("library"), &library());
        let program = component.core_module(Some("program"), &program());
        let library = component.core_instantiate(None, library, []);
        let log = component.lower_func(None, log, []);
        let host = component.core_instantiate_exports(None, [("log", ExportKind::Func, log)]);
        let arguments =
            [("env", ModuleArg::Instance(library)), ("$root", ModuleArg::Instance(host))];
        let program = component.core_instantiate(None, program, arguments);
        let run = component.core_alias_export(None, program, "run", ExportKind::Func);
        let (run_type, mut encoder) = component.type_function(None);
        let no_parameters: [(&str, PrimitiveValType); 0] = [];
        encoder.params(no_parameters).result(Some(PrimitiveValType::U32.into()));
        let run = component.lift_func(None, run, run_type, []);
        component.export("run", ComponentExportKind::Func, run, None);
        component.append_names();
        component.finish()
    }

    /// A component in which the host's function needs the memory of the module that calls it, so
    /// that it is reached by way of a shim.
    fn with_shim() -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], [ValType::I32]);
        types.ty().function([ValType::I32, ValType::I32], []);
        types.ty().function([], []);
        let mut imports = ImportSection::new();
        imports.import("$root", "log", EntityType::Function(1));
        let mut functions = FunctionSection::new();
        functions.function(0);
        let mut tables = TableSection::new();
        tables.table(TABLE);
        let mut memories = MemorySection::new();
        memories.memory(MEMORY);
        let mut exports = ExportSection::new();
        exports.export("memory", ExportKind::Memory, 0);
        exports.export("run", ExportKind::Func, 1);
        let mut run = Function::new([]);
        run.instructions().i32_const(16).i32_const(4).call(0).i32_const(7).end();
        let mut code = CodeSection::new();
        code.function(&run);
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(16), *b"text");
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&tables);
        module.section(&memories).section(&exports).section(&code).section(&data);
        let mut module = module.finish();

        let mut resolve = Resolve::default();
        let wit =
            "package a:b; world w { import log: func(text: string); export run: func() -> u32; }";
        let package = resolve.push_source("w.wit", wit).expect("WIT");
        let world = resolve.select_world(&[package], Some("w")).expect("a world");
        wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
            .expect("metadata");
        let encoder = ComponentEncoder::default().module(&module).expect("a module");
        encoder.validate(true).encode().expect("a component")
    }

    #[test]
    fn components_are_linked_to_one_module() {
        for (component, modules) in [(two_modules(), 2), (with_shim(), 3)] {
            let before = Component::read(&component).expect("a component");
            assert_eq!(before.modules.len(), modules);
            super::super::link(&component, &LAYOUT).expect("it can be linked");
            guest_link(&component);
        }
    }

    #[test]
    fn components_that_are_cut_off_are_refused() {
        for component in [two_modules(), with_shim()] {
            for length in 0..component.len() {
                let linked = super::super::link(&component[..length], &LAYOUT);
                // Names come last, and are not needed.
                if linked.is_ok() {
                    guest_link(&component[..length]);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 500, failure_persistence: None, rng_seed: SEED, ..ProptestConfig::default()
        })]

        #[test]
        fn damaged_components_end_in_an_error_or_in_one_module(
            shim in any::<bool>(),
            edits in prop::collection::vec((any::<Index>(), any::<u8>(), 0..4), 1..4),
        ) {
            let mut bytes = if shim { with_shim() } else { two_modules() };
            for (at, byte, edit) in edits {
                let at = at.index(bytes.len());
                match edit {
                    0 => bytes[at] = byte,
                    // Lengths and indices that are off by one.
                    1 => bytes[at] = bytes[at].wrapping_add(1),
                    2 => bytes[at] = bytes[at].wrapping_sub(1),
                    _ => bytes[at] ^= 1 << (byte % 8),
                }
            }
            guest_link(&bytes);
        }

        #[test]
        fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let header = b"\0asm\x0d\0\x01\0";
            prop_assert!(super::super::link(&bytes, &LAYOUT).is_err());
            guest_link(&[header, &bytes[..]].concat());
        }
    }
}
