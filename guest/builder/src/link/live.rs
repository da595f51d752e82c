//! What of the modules can be reached at all.

use std::collections::{BTreeSet, HashSet};

use anyhow::Result;
use wasmparser::Operator;

use super::{
    component::{Component, Place},
    module::Kind,
};

#[derive(Default)]
pub(super) struct Live<'a> {
    pub(super) functions: BTreeSet<Place<'a>>,
    /// Globals that some function changes. The others are constants.
    pub(super) changed: HashSet<Place<'a>>,
}

impl<'a> Live<'a> {
    /// All that can be reached from these functions.
    pub(super) fn from(
        component: &Component<'a>,
        roots: impl IntoIterator<Item = Place<'a>>,
    ) -> Result<Self> {
        let mut live = Self::default();
        let mut waiting: Vec<_> = roots.into_iter().collect();
        while let Some(function) = waiting.pop() {
            if !live.functions.insert(function) {
                continue;
            }
            let Place::Defined { module, index } = function else { continue };
            let mut operators = component.modules[module].body(index).get_operators_reader()?;
            while !operators.eof() {
                match operators.read()? {
                    Operator::Call { function_index }
                    | Operator::ReturnCall { function_index }
                    | Operator::RefFunc { function_index } => {
                        waiting.push(component.place(module, Kind::Function, function_index)?);
                    }
                    Operator::GlobalSet { global_index } => {
                        let global = component.place(module, Kind::Global, global_index)?;
                        live.changed.insert(global);
                    }
                    _ => {}
                }
            }
        }
        Ok(live)
    }
}
