//! Makes one module of the many that the guest is linked from.
//!
//! `componentize-py` leaves the interpreter, the C library and their relatives as modules that
//! import from each other, the way shared libraries do. Every isolate would pay for that: a
//! dozen instances, thousands of functions written into a table one by one, addresses that are
//! looked up at each use. All of it is known now, so it is done now; an isolate is one instance
//! whose table and addresses are constants, and what nothing can reach is left out.

mod component;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod layout;
mod live;
mod merge;
mod module;
mod resident;

use anyhow::{Context, Result, bail};
use wasmparser::{Validator, WasmFeatures};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding};
use wit_parser::WorldItem;

use component::Component;
pub(crate) use layout::Layout;

/// The same component with one module inside, which begins by writing to the pages that every program
/// writes to, and has no data where all is free.
pub(crate) fn link(component: &[u8], layout: &Layout) -> Result<Vec<u8>> {
    // Lengths and indices are looked at here once; what follows relies on them.
    Validator::new_with_features(WasmFeatures::all())
        .validate_all(component)
        .context("the guest is not a valid component")?;
    let mut module = merge::merge(&Component::read(component)?, layout)?;
    let DecodedWasm::Component(mut resolve, world) = wit_component::decode(component)? else {
        bail!("the guest is not a component");
    };
    // What is exported as an interface is the interpreter's own set-up, which is over.
    resolve.worlds[world].exports.retain(|_, item| matches!(item, WorldItem::Function(_)));
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default()
        .module(&module)?
        .validate(true)
        .encode()
        .context("the linked guest is not a component")
}
