//! The catalog at one moment, and how it changes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
};

use narrows_model::{ServerSpec, ToolId, ToolName, fingerprint::fingerprint};
use narrows_search::Segment;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{
    Cache, DisabledServer, Listing, ToolNaming, UpstreamInfo,
    memory::{DefinitionMemory, DefinitionShare, value_bytes},
};
use crate::arguments::Checker;

/// The tools of all servers of a gateway. Readers take a [`Snapshot`], which does not change under
/// them.
#[derive(Debug)]
pub struct Catalog {
    naming: &'static dyn ToolNaming,
    modules: BTreeMap<String, String>,
    /// The modules that disabled servers would have, by the server's name.
    disabled: BTreeMap<String, String>,
    now: RwLock<Arc<Snapshot>>,
    /// Servers whose listing is missing or old.
    stale: Mutex<BTreeSet<String>>,
    version: watch::Sender<u64>,
    cache: Option<Cache>,
    memory: DefinitionMemory,
}

/// The catalog at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// By the name of the server.
    servers: BTreeMap<String, Arc<ServerTools>>,
}

/// One server's tools.
#[derive(Debug)]
pub struct ServerTools {
    pub server: String,
    /// Its module in code, under `servers`.
    pub module: String,
    pub about: UpstreamInfo,
    pub tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, usize>,
    by_name_in_code: HashMap<String, usize>,
    pub(super) segment: OnceLock<Arc<Segment>>,
}

/// One tool.
#[derive(Debug)]
pub struct Tool {
    pub id: ToolId,
    pub module: String,
    pub name: ToolName,
    /// The definition as the server wrote it.
    pub raw: Value,
    checker: OnceLock<Checker>,
    version: OnceLock<u64>,
    naming: &'static dyn ToolNaming,
    is_deprecated: OnceLock<bool>,
}

impl Catalog {
    /// Returns a catalog of these servers, with what is known of them from the last time.
    pub fn new(
        specs: &[ServerSpec],
        cache: Option<Cache>,
        naming: &'static dyn ToolNaming,
    ) -> Self {
        let servers: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let modules = naming.modules(&servers);
        let catalog = Self {
            naming,
            modules,
            disabled: BTreeMap::new(),
            now: RwLock::default(),
            stale: Mutex::default(),
            version: watch::Sender::new(0),
            cache,
            memory: DefinitionMemory::default(),
        };
        let mut stale = BTreeSet::new();
        let mut snapshot = Snapshot::default();
        for spec in specs {
            let kept = catalog.cache.as_ref().and_then(|cache| cache.load(spec));
            let mut is_stale = !kept.as_ref().is_some_and(|kept| kept.is_fresh);
            if let Some(mut kept) = kept {
                let (share, is_whole) = catalog.fit(&spec.name, &mut kept.listing);
                share.keep();
                is_stale |= !is_whole;
                snapshot.insert(catalog.server_tools(&spec.name, kept.listing));
            }
            if is_stale {
                stale.insert(spec.name.clone());
            }
        }
        *catalog.write() = Arc::new(snapshot);
        *catalog.stale.lock().unwrap_or_else(PoisonError::into_inner) = stale;
        catalog
    }

    /// Adds disabled servers, so that whoever names one is told that it is disabled.
    pub fn with_disabled<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all: Vec<&str> = self.modules.keys().map(String::as_str).collect();
        // Named together with the enabled ones, with which they must not share a module.
        for name in names {
            all.push(name);
        }
        let disabled = self.naming.modules(&all);
        let disabled = disabled.into_iter().filter(|(name, _)| !self.modules.contains_key(name));
        self.disabled = disabled.collect();
        self
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Arc<Snapshot>> {
        self.now.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn server_tools(&self, server: &str, listing: Listing) -> ServerTools {
        let module = self.modules.get(server).cloned().unwrap_or_else(|| server.to_owned());
        ServerTools::new(server, module, listing, self.naming)
    }

    /// Returns the catalog as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the module in code of every configured server, by its name, whether its tools are known
    /// or not.
    pub fn modules(&self) -> &BTreeMap<String, String> {
        &self.modules
    }

    /// Finds a server by its module or by its name in the configuration.
    pub fn server_of(&self, module_or_name: &str) -> Option<&str> {
        if let Some((server, _)) = self.modules.get_key_value(module_or_name) {
            return Some(server);
        }
        let found = self.modules.iter().find(|(_, module)| *module == module_or_name);
        found.map(|(server, _)| server.as_str())
    }

    /// Finds a disabled server by its module or its name.
    pub fn disabled(&self, module_or_name: &str) -> Option<DisabledServer> {
        self.disabled_name(module_or_name).map(|name| DisabledServer(name.to_owned()))
    }

    pub(super) fn disabled_name(&self, module_or_name: &str) -> Option<&str> {
        let mut all = self.disabled.iter();
        let found = all.find(|(name, module)| *name == module_or_name || *module == module_or_name);
        found.map(|(name, _)| name.as_str())
    }

    /// Returns the disabled servers as pairs of the module that each would have, and its name.
    pub fn disabled_modules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.disabled.iter().map(|(name, module)| (module.as_str(), name.as_str()))
    }

    /// Returns a server's tools, if they are known.
    pub fn listing(&self, server: &str) -> Option<Arc<ServerTools>> {
        self.snapshot().servers.get(server).cloned()
    }

    /// Tells whether a server's tools are unknown or out of date.
    pub fn is_stale(&self, server: &str) -> bool {
        self.stale.lock().unwrap_or_else(PoisonError::into_inner).contains(server)
    }

    /// Returns a number to watch, which changes whenever the tools do.
    pub fn version(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Returns a share of the memory for definitions, which a new list of a server's tools begins with.
    pub(crate) fn definition_share(&self, server: &str) -> DefinitionShare {
        self.memory.share(server)
    }

    /// Removes the tools for which there is no memory. Returns the share of the others, and whether all
    /// did fit.
    fn fit(&self, server: &str, listing: &mut Listing) -> (DefinitionShare, bool) {
        let mut share = self.definition_share(server);
        let all = listing.tools.len();
        listing.tools.retain(|tool| share.grow(value_bytes(tool, usize::MAX)));
        let is_whole = listing.tools.len() == all;
        (share, is_whole)
    }

    /// Replaces a server's tools by a listing, as far as there is memory for it.
    pub fn replace(&self, spec: &ServerSpec, mut listing: Listing) {
        let (share, _) = self.fit(&spec.name, &mut listing);
        self.publish(spec, listing, share);
    }

    /// Like [`Self::replace`], for a listing whose memory was taken while it was read. Takes a while,
    /// because the listing is compared with what is known and written to disk.
    pub(crate) fn publish(&self, spec: &ServerSpec, listing: Listing, share: DefinitionShare) {
        let was_stale =
            self.stale.lock().unwrap_or_else(PoisonError::into_inner).remove(&spec.name);
        share.keep();
        // Compared before the lock is taken, under which everybody who needs the catalog would wait.
        let changed = !self.listing(&spec.name).is_some_and(|known| known.is(&listing));
        if changed {
            let tools = self.server_tools(&spec.name, listing.clone());
            let mut now = self.write();
            let mut next = Snapshot::clone(&now);
            next.insert(tools);
            *now = Arc::new(next);
        }
        if let Some(cache) = self.cache.clone().filter(|_| changed || was_stale) {
            // Not in the background: it is a short write, and a command that ends right after must not
            // lose it.
            cache.save(spec, listing);
        }
        if changed {
            self.version.send_modify(|version| *version += 1);
        }
    }
}

impl Snapshot {
    fn insert(&mut self, server: ServerTools) {
        self.servers.insert(server.server.clone(), Arc::new(server));
    }

    pub fn servers(&self) -> impl Iterator<Item = &Arc<ServerTools>> {
        self.servers.values()
    }

    pub fn server(&self, name: &str) -> Option<&Arc<ServerTools>> {
        self.servers.get(name)
    }

    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.servers.values().flat_map(|server| &server.tools)
    }
}

impl ServerTools {
    fn new(
        server: &str,
        module: String,
        listing: Listing,
        naming: &'static dyn ToolNaming,
    ) -> Self {
        let raw_names: Vec<&str> = listing.tools.iter().filter_map(raw_name).collect();
        let names = naming.tools(&raw_names);
        let mut tools = Vec::with_capacity(listing.tools.len());
        let mut by_name = HashMap::new();
        let mut by_name_in_code = HashMap::new();
        for raw in listing.tools {
            let Some(raw_name) = raw_name(&raw) else { continue };
            let Some(name) = names.get(raw_name) else { continue };
            // Of several tools of one name only one can be called.
            if by_name.contains_key(raw_name) {
                continue;
            }
            by_name.insert(raw_name.to_owned(), tools.len());
            by_name_in_code.insert(name.python.clone(), tools.len());
            tools.push(Arc::new(Tool {
                id: ToolId::new(server, raw_name),
                module: module.clone(),
                name: name.clone(),
                raw,
                checker: OnceLock::new(),
                version: OnceLock::new(),
                naming,
                is_deprecated: OnceLock::new(),
            }));
        }
        Self {
            server: server.to_owned(),
            module,
            about: listing.about,
            tools,
            by_name,
            by_name_in_code,
            segment: OnceLock::new(),
        }
    }

    /// Finds a tool by the server's name for it, or by its name in code.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        let index = self.by_name.get(name).or_else(|| self.by_name_in_code.get(name));
        index.and_then(|index| self.tools.get(*index))
    }

    fn is(&self, listing: &Listing) -> bool {
        self.about == listing.about
            && self.tools.len() == listing.tools.len()
            && self.tools.iter().zip(&listing.tools).all(|(known, raw)| known.raw == *raw)
    }
}

fn raw_name(raw: &Value) -> Option<&str> {
    raw.get("name").and_then(Value::as_str)
}

impl Tool {
    pub fn description(&self) -> &str {
        let text = |key| self.raw.get(key).and_then(Value::as_str);
        text("description").or_else(|| text("title")).unwrap_or_default()
    }

    pub fn input_schema(&self) -> &Value {
        self.raw.get("inputSchema").unwrap_or(&Value::Null)
    }

    pub fn output_schema(&self) -> Option<&Value> {
        self.raw.get("outputSchema")
    }

    /// Tells whether its server says that it should no longer be used.
    pub fn is_deprecated(&self) -> bool {
        *self.is_deprecated.get_or_init(|| self.naming.is_deprecated(&self.raw))
    }

    /// Checks arguments before they are sent, and removes nulls that stand for optional fields. May
    /// take a moment; a check that would take longer is skipped.
    pub fn check(&self, arguments: &mut Map<String, Value>) -> Result<(), String> {
        self.checker().check(self.input_schema(), arguments)
    }

    /// Tells whether arguments surely fit, if that takes no time to find out. It takes some if nothing
    /// was checked before, because the schema has to be compiled; then this returns false.
    pub fn fits_at_once(&self, arguments: &mut Map<String, Value>) -> bool {
        let checker = self.checker.get();
        checker.is_some_and(|checker| checker.fits_at_once(self.input_schema(), arguments))
    }

    /// Tells whether arguments can be refused before they are sent.
    pub fn is_checked(&self) -> bool {
        self.checker().checks()
    }

    /// Returns a fingerprint of the definition: a tool whose definition changes is another one.
    pub fn version(&self) -> u64 {
        *self.version.get_or_init(|| fingerprint([self.raw.to_string().as_str()]))
    }

    fn checker(&self) -> &Checker {
        self.checker.get_or_init(|| Checker::new(self.input_schema()))
    }
}
