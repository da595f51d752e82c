//! Keeps the pages that every program writes to in memory of their own.
//!
//! An isolate that ends is put back page by page, as long as what it wrote to lies in few
//! stretches; beyond a few dozen the rest is dropped, and the next isolate in that place begins
//! with hundreds of page faults. So each isolate writes once to every page of the stretch in which
//! all programs write (see `packing.py`), and it counts as one.

use std::ops::Range;

use wasm_encoder::{BlockType, Function, MemArg, ValType};

/// No system has smaller ones.
const PAGE: i32 = 4096;

/// A function that reads a byte of each page and writes it back.
pub(super) fn touch(range: &Range<i32>) -> Function {
    const AT: u32 = 0;
    let byte = MemArg { offset: 0, align: 0, memory_index: 0 };
    let mut function = Function::new([(1, ValType::I32)]);
    let mut code = function.instructions();
    code.i32_const(range.start).local_set(AT);
    code.loop_(BlockType::Empty);
    code.local_get(AT).local_get(AT).i32_load8_u(byte).i32_store8(byte);
    code.local_get(AT).i32_const(PAGE).i32_add().local_tee(AT);
    code.i32_const(range.end).i32_lt_u().br_if(0);
    code.end();
    code.end();
    function
}
