//! A component as far as linking needs it: its core modules, and what passes between them.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentName, Instance as CoreInstance,
    KnownCustom, Parser, Payload,
};

use super::module::{Kind, Module};

/// Host functions that need the memory of a module exist only after it. Modules are given those
/// of a shim in their place, and this one puts the real ones behind them.
const SHIM: &str = "wit-component-shim-module";
const FIXUP: &str = "wit-component-fixup";

#[derive(Default)]
pub(super) struct Component<'a> {
    pub(super) modules: Vec<Module<'a>>,
    names: HashMap<usize, &'a str>,
    instances: Vec<Instance<'a>>,
    /// By kind, in the order of their indices.
    items: HashMap<Kind, Vec<Item<'a>>>,
    lifts: Vec<Lift>,
}

enum Instance<'a> {
    Module { module: usize, arguments: HashMap<&'a str, usize> },
    Items(HashMap<&'a str, usize>),
}

#[derive(Clone, Copy)]
enum Item<'a> {
    Export { instance: usize, name: &'a str },
    Host,
}

/// A function that the component exports.
struct Lift {
    function: usize,
    after: Option<usize>,
    realloc: Option<usize>,
}

/// Where something really is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place<'a> {
    Host { module: &'a str, name: &'a str },
    Defined { module: usize, index: u32 },
}

impl<'a> Component<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut component = Self::default();
        let mut depth = 0;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload?;
            match &payload {
                Payload::End(_) => depth -= 1,
                Payload::Version { .. } => depth += 1,
                Payload::ModuleSection { unchecked_range, .. } if depth == 1 => {
                    let module = bytes.get(unchecked_range.clone());
                    component.modules.push(Module::read(module.context("a module is cut off")?)?);
                }
                _ if depth == 1 => component.take(payload)?,
                // Of a module or component inside.
                _ => {}
            }
        }
        component.check()?;
        Ok(component)
    }

    fn take(&mut self, payload: Payload<'a>) -> Result<()> {
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section {
                    self.instances.push(match instance? {
                        CoreInstance::Instantiate { module_index, args } => Instance::Module {
                            module: module_index as usize,
                            arguments: args.iter().map(|a| (a.name, a.index as usize)).collect(),
                        },
                        CoreInstance::FromExports(exports) => Instance::Items(
                            exports.iter().map(|e| (e.name, e.index as usize)).collect(),
                        ),
                    });
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    if let ComponentAlias::CoreInstanceExport { kind, instance_index, name } =
                        alias?
                    {
                        let item = Item::Export { instance: instance_index as usize, name };
                        if let Some(kind) = Kind::of(kind) {
                            self.items.entry(kind).or_default().push(item);
                        }
                    }
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    self.take_canonical(function?)?;
                }
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::ComponentName(names) = section.as_known() {
                    for name in names {
                        let ComponentName::CoreModules(names) = name? else { continue };
                        for naming in names {
                            let naming = naming?;
                            self.names.insert(naming.index as usize, naming.name);
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_canonical(&mut self, function: CanonicalFunction) -> Result<()> {
        match function {
            CanonicalFunction::Lift { core_func_index, options, .. } => {
                let option = |wanted: fn(&CanonicalOption) -> Option<u32>| {
                    options.iter().find_map(wanted).map(|index| index as usize)
                };
                self.lifts.push(Lift {
                    function: core_func_index as usize,
                    after: option(|option| match option {
                        CanonicalOption::PostReturn(index) => Some(*index),
                        _ => None,
                    }),
                    realloc: option(|option| match option {
                        CanonicalOption::Realloc(index) => Some(*index),
                        _ => None,
                    }),
                });
            }
            CanonicalFunction::Lower { .. } | CanonicalFunction::ResourceDrop { .. } => {
                self.items.entry(Kind::Function).or_default().push(Item::Host);
            }
            other => bail!("the guest asks for something new: {other:?}"),
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let mut instantiated = vec![0; self.modules.len()];
        for instance in &self.instances {
            if let Instance::Module { module, .. } = instance {
                let count = instantiated.get_mut(*module);
                *count.context("a module that is not the component's own")? += 1;
            }
        }
        ensure!(instantiated.iter().all(|count| *count == 1), "a module has not one instance");
        Ok(())
    }

    /// The modules that have something of their own, in the order in which they are instantiated.
    pub(super) fn linked_modules(&self) -> impl Iterator<Item = usize> {
        self.instances
            .iter()
            .filter_map(|instance| match instance {
                Instance::Module { module, .. } if !self.is_named(*module, SHIM) => Some(*module),
                _ => None,
            })
            .filter(|module| !self.is_named(*module, FIXUP))
    }

    fn is_named(&self, module: usize, name: &str) -> bool {
        self.names.get(&module) == Some(&name)
    }

    fn arguments(&self, wanted: impl Fn(usize) -> bool) -> Result<&HashMap<&'a str, usize>> {
        let found = self.instances.iter().find_map(|instance| match instance {
            Instance::Module { module, arguments } if wanted(*module) => Some(arguments),
            _ => None,
        });
        found.context("a module that has no instance")
    }

    /// What the component exports: the names that its functions have in their module, and
    /// `cabi_realloc`, by which the host gets memory for what it hands over.
    pub(super) fn exports(&self) -> Result<Vec<(&'a str, Place<'a>)>> {
        let mut exports = Vec::new();
        for lift in &self.lifts {
            let (name, place) = self.item(lift.function)?;
            // A function of an interface; see `link`.
            if name.contains('#') {
                continue;
            }
            exports.push((name, place));
            if let Some(after) = lift.after {
                exports.push(self.item(after)?);
            }
            if let Some(realloc) = lift.realloc {
                exports.push(("cabi_realloc", self.item(realloc)?.1));
            }
        }
        exports.sort_unstable();
        exports.dedup();
        Ok(exports)
    }

    fn item(&self, function: usize) -> Result<(&'a str, Place<'a>)> {
        match self.item_at(Kind::Function, function)? {
            Item::Export { instance, name } => {
                Ok((name, self.exported(instance, Kind::Function, name, ("", ""))?))
            }
            Item::Host => bail!("the host's own function is exported"),
        }
    }

    fn item_at(&self, kind: Kind, index: usize) -> Result<Item<'a>> {
        let item = self.items.get(&kind).and_then(|items| items.get(index));
        item.copied().context("an item that is not there")
    }

    /// Where that is which a module knows by this index.
    pub(super) fn place(&self, module: usize, kind: Kind, index: u32) -> Result<Place<'a>> {
        self.place_within(self.max_steps(), module, kind, index)
    }

    /// No way from an import to where it really is goes through an instance more often than twice.
    /// The names of the shim and of the fixup are the only thing that could lead it in a circle.
    fn max_steps(&self) -> usize {
        2 * self.instances.len()
    }

    fn place_within(
        &self,
        steps: usize,
        module: usize,
        kind: Kind,
        index: u32,
    ) -> Result<Place<'a>> {
        let Some(import) = self.modules[module].imported(kind).get(index as usize) else {
            return Ok(Place::Defined { module, index });
        };
        let arguments = self.arguments(|other| other == module)?;
        let instance = arguments.get(import.module).context("an import that nobody gives")?;
        self.exported_within(steps, *instance, kind, import.name, (import.module, import.name))
    }

    /// Where an export of an instance is. What is the host's has the name by which it was asked.
    fn exported(
        &self,
        instance: usize,
        kind: Kind,
        name: &str,
        asked: (&'a str, &'a str),
    ) -> Result<Place<'a>> {
        self.exported_within(self.max_steps(), instance, kind, name, asked)
    }

    fn exported_within(
        &self,
        steps: usize,
        instance: usize,
        kind: Kind,
        name: &str,
        asked: (&'a str, &'a str),
    ) -> Result<Place<'a>> {
        let steps = steps.checked_sub(1).context("imports that lead in a circle")?;
        match self.instances.get(instance).context("an instance that is not there")? {
            Instance::Items(items) => {
                let item = *items.get(name).with_context(|| format!("no {name}"))?;
                match self.item_at(kind, item)? {
                    Item::Export { instance, name } => {
                        self.exported_within(steps, instance, kind, name, asked)
                    }
                    Item::Host => Ok(Place::Host { module: asked.0, name: asked.1 }),
                }
            }
            Instance::Module { module, .. } if self.is_named(*module, SHIM) => {
                let fixup = self.arguments(|module| self.is_named(module, FIXUP))?;
                let instance = fixup.values().next().context("the fixup has no arguments")?;
                self.exported_within(steps, *instance, kind, name, asked)
            }
            Instance::Module { module, .. } => {
                let exports = &self.modules[*module].exports;
                let index = exports.get(name).with_context(|| format!("no export {name}"))?;
                self.place_within(steps, *module, kind, *index)
            }
        }
    }
}
