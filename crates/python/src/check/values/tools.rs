//! The tools that a program names, each looked up once in the catalog.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use crate::check::{
    known::{ByFullName, KnownTool, KnownTools},
    values::ValueShape,
};

/// A tool that a program uses.
#[derive(Debug)]
pub(crate) struct UsedTool {
    pub(crate) known: KnownTool,
    shape: OnceCell<Rc<ValueShape>>,
    /// Whether the program changes results of the tool in ways that cannot be followed.
    pub(crate) is_changed: Cell<bool>,
}

impl UsedTool {
    fn new(known: KnownTool) -> Rc<Self> {
        Rc::new(Self { known, shape: OnceCell::new(), is_changed: Cell::new(false) })
    }

    /// Returns the shape of the tool's results.
    pub(crate) fn shape(&self) -> Rc<ValueShape> {
        let shape = self.shape.get_or_init(|| match &self.known.returns {
            Some(schema) => ValueShape::new(schema, self.known.observed),
            None => Rc::new(ValueShape::Anything),
        });
        Rc::clone(shape)
    }
}

/// How many names are looked up for `call_mcp_tool`: a tool can be written in many ways, and each copies
/// its schemas. Nothing is reported about further names.
const MAX_FULL_NAMES: usize = 200;
/// How many wrong names get a suggestion: finding one in a large catalog takes milliseconds, and a
/// program can be made of wrong names.
const MAX_ADVICE: usize = 5;

/// The meaning of a full name.
#[derive(Clone, Debug)]
pub(crate) enum FullNameMeaning {
    Tool(Rc<UsedTool>),
    Wrong,
    NotKnown,
}

/// The meaning of a path such as `servers.github.create_issue`.
#[derive(Clone, Debug)]
pub(crate) enum PathMeaning {
    Servers,
    /// A server, by its module.
    Server(String),
    Tool(Rc<UsedTool>),
    /// Something else, or nothing that exists.
    Other,
}

pub(crate) struct UsedTools<'k> {
    known: &'k dyn KnownTools,
    servers: OnceCell<Vec<String>>,
    owners: OnceCell<HashMap<String, Vec<String>>>,
    by_path: RefCell<HashMap<String, Option<Rc<UsedTool>>>>,
    by_full_name: RefCell<HashMap<String, FullNameMeaning>>,
    /// Whether the program changes a value that may be the result of any tool.
    pub(crate) all_change: Cell<bool>,
    /// How many wrong names still get a suggestion.
    advice_left: Cell<usize>,
}

impl<'k> UsedTools<'k> {
    pub(crate) fn new(known: &'k dyn KnownTools) -> Self {
        Self {
            known,
            servers: OnceCell::new(),
            owners: OnceCell::new(),
            by_path: RefCell::default(),
            by_full_name: RefCell::default(),
            all_change: Cell::new(false),
            advice_left: Cell::new(MAX_ADVICE),
        }
    }

    /// Counts a suggestion for a wrong name, and tells whether it may still be made.
    pub(crate) fn takes_advice(&self) -> bool {
        let left = self.advice_left.get().checked_sub(1);
        self.advice_left.set(left.unwrap_or_default());
        left.is_some()
    }

    pub(crate) fn servers(&self) -> &[String] {
        self.servers.get_or_init(|| self.known.servers())
    }

    pub(crate) fn has_server(&self, module: &str) -> bool {
        self.servers().iter().any(|server| server == module)
    }

    /// Returns the reason for which a server is missing, if it is switched off.
    pub(crate) fn disabled(&self, module: &str) -> Option<String> {
        self.known.disabled(module)
    }

    /// Returns the names of a server's tools, if they are known.
    pub(crate) fn names(&self, module: &str) -> Option<Vec<String>> {
        self.known.tools(module)
    }

    pub(crate) fn tool(&self, module: &str, name: &str) -> Option<Rc<UsedTool>> {
        let mut by_path = self.by_path.borrow_mut();
        let found = by_path
            .entry(format!("{module}.{name}"))
            .or_insert_with(|| self.known.tool(module, name).map(UsedTool::new));
        found.clone()
    }

    /// Returns the modules that have a tool of this name.
    pub(crate) fn owners(&self, name: &str) -> &[String] {
        let owners = self.owners.get_or_init(|| {
            let mut owners: HashMap<String, Vec<String>> = HashMap::new();
            for module in self.servers() {
                for tool in self.names(module).unwrap_or_default() {
                    owners.entry(tool).or_default().push(module.clone());
                }
            }
            owners
        });
        owners.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the end of the message that a module has no such tool.
    pub(crate) fn suggest(&self, module: &str, name: &str) -> String {
        if self.takes_advice() { self.known.suggest(module, name) } else { String::new() }
    }

    /// Returns the reason for which a full name means no tool.
    pub(crate) fn why_wrong(&self, name: &str) -> String {
        match self.takes_advice() {
            true => self.known.why_wrong(name),
            false => format!("there is no tool {name:?}"),
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathMeaning {
        let mut parts = path.split('.');
        if parts.next() != Some("servers") {
            return PathMeaning::Other;
        }
        match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => PathMeaning::Servers,
            (Some(module), None, _) if self.has_server(module) => {
                PathMeaning::Server(module.to_owned())
            }
            (Some(module), Some(name), None) => {
                self.tool(module, name).map_or(PathMeaning::Other, PathMeaning::Tool)
            }
            _ => PathMeaning::Other,
        }
    }

    pub(crate) fn full(&self, name: &str) -> FullNameMeaning {
        let mut by_full_name = self.by_full_name.borrow_mut();
        if by_full_name.len() >= MAX_FULL_NAMES && !by_full_name.contains_key(name) {
            return FullNameMeaning::NotKnown;
        }
        let found = by_full_name.entry(name.to_owned()).or_insert_with(|| {
            match self.known.by_full_name(name) {
                ByFullName::Tool(known) => FullNameMeaning::Tool(UsedTool::new(*known)),
                ByFullName::Wrong => FullNameMeaning::Wrong,
                ByFullName::NotKnown => FullNameMeaning::NotKnown,
            }
        });
        found.clone()
    }

    /// Tells whether the program may have changed the fields of this tool's results.
    pub(crate) fn is_changed(&self, tool: &UsedTool) -> bool {
        self.all_change.get() || tool.is_changed.get()
    }
}
