//! Makes one module of the many that the guest is linked from.
//!
//! `componentize-py` leaves the interpreter, the C library and their relatives as modules that
//! import from each other, the way shared libraries do. Every isolate would pay for that: a
//! dozen instances, thousands of functions written into a table one by one, addresses that are
//! looked up at each use. All of it is known now, so it is done now; an isolate is one instance
//! whose table and addresses are constants, and what nothing can reach is left out.

mod component;
mod live;
mod merge;
mod module;
mod resident;

use std::ops::Range;

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding};
use wit_parser::WorldItem;

use component::Component;
pub(crate) use resident::ranges;

/// The same component with one module inside, which begins by writing to the pages of `resident`.
pub(crate) fn link(component: &[u8], resident: &[Range<i32>]) -> Result<Vec<u8>> {
    let mut module = merge::merge(&Component::read(component)?, resident)?;
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
