//! Searches the catalog, with an index that is kept in step with it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use narrows_search::{Index, Selection};
use narrows_upstream::catalog::{Catalog, ServerTools, Snapshot, Tool};

use super::{
    CATEGORIES, SearchAnswer, SearchHit, SearchRequest, ServerOverview, UsageStats,
    answer::ToolHits, category_of,
};

/// The default number of tools in a ranking, and in a list.
const BEST: usize = 10;
const LISTED: usize = 50;

/// The search over the catalog.
#[derive(Debug)]
pub struct ToolSearch {
    /// The configured categories of servers, by server name.
    categories: BTreeMap<String, String>,
    habits: Option<Arc<UsageStats>>,
    indexed: Mutex<Arc<Indexed>>,
}

/// The catalog at one moment, with its index.
#[derive(Debug, Default)]
struct Indexed {
    servers: Vec<IndexedServer>,
    index: Index,
}

impl Indexed {
    fn is_of(&self, snapshot: &Snapshot) -> bool {
        let known = self.servers.iter().map(|known| &known.tools);
        known.len() == snapshot.servers().count()
            && known.zip(snapshot.servers()).all(|(known, server)| Arc::ptr_eq(known, server))
    }
}

#[derive(Clone, Debug)]
struct IndexedServer {
    tools: Arc<ServerTools>,
    category: Option<String>,
}

impl ToolSearch {
    /// Creates a search. `categories` are the configured ones; without `habits` nothing is learnt.
    pub fn new(categories: BTreeMap<String, String>, habits: Option<Arc<UsageStats>>) -> Self {
        Self { categories, habits, indexed: Mutex::default() }
    }

    /// Searches the visible tools, or lists them if the query is empty or the name of a server or
    /// category. `define` writes the definition of a tool.
    pub fn search(
        &self,
        catalog: &Catalog,
        request: &SearchRequest,
        is_visible: &dyn Fn(&Tool) -> bool,
        define: impl Fn(&Tool) -> String,
    ) -> SearchAnswer {
        let indexed = self.indexed(&catalog.snapshot());
        let scope = ServerFilter::of(&indexed, request);
        let query = request.query.trim();
        let mut tools: Vec<(&Arc<Tool>, f32)>;
        let mut total = None;
        let mut hint = None;
        if query.is_empty() && scope.is_all() {
            return SearchAnswer::Overview(self.overview(&indexed, catalog, is_visible));
        }
        // A query that is the name of a server or category asks for its tools.
        let named = match scope.is_all() {
            true => ServerFilter::named(&indexed, query),
            false => None,
        };
        let listed = named.or_else(|| query.is_empty().then(|| scope.clone()));
        match listed {
            Some(listed) => {
                let listed = listed.tools(&indexed).filter(|tool| is_visible(tool));
                tools = listed.map(|tool| (tool, 0.0)).collect();
                put_deprecated_last(&mut tools);
                let limit = request.limit.unwrap_or(LISTED);
                if tools.len() > limit {
                    let more = tools.len() - limit;
                    hint =
                        Some(format!("{more} more; add what to do to the query, or raise limit"));
                }
                total = Some(tools.len());
                tools.truncate(limit);
            }
            None => {
                tools =
                    self.ranked(&indexed, &scope, query, request.limit.unwrap_or(BEST), is_visible);
                if tools.is_empty() {
                    hint = Some(self.nothing(&indexed, catalog, request));
                }
            }
        }
        let detail = request.detail_level;
        let tools = tools.into_iter().map(|(tool, score)| {
            let found = SearchHit::new(tool, detail, || define(tool));
            SearchHit { score, ..found }
        });
        SearchAnswer::Tools(ToolHits { tools: tools.collect(), total, hint, detail })
    }

    fn ranked<'a>(
        &self,
        indexed: &'a Indexed,
        scope: &ServerFilter,
        query: &str,
        limit: usize,
        is_visible: &dyn Fn(&Tool) -> bool,
    ) -> Vec<(&'a Arc<Tool>, f32)> {
        let stems = narrows_search::stems(query);
        let bonuses = self.habits.as_ref().map(|habits| habits.bonuses(&stems)).unwrap_or_default();
        let mut bonus: Vec<(u32, u32, f32)> = Vec::new();
        if !bonuses.is_empty() {
            for (at, server) in indexed.servers.iter().enumerate() {
                for (number, tool) in server.tools.tools.iter().enumerate() {
                    if let Some(gain) = bonuses.get(&tool.id) {
                        bonus.push((at as u32, number as u32, *gain));
                    }
                }
            }
        }
        let segments = scope.segments.clone();
        let selection = Selection { limit, segments, bonus, ..Selection::default() };
        let found = |selection: &Selection| -> Vec<(&'a Arc<Tool>, f32)> {
            let hits = indexed.index.search(query, selection);
            let tool = |hit: &narrows_search::Hit| {
                let server = indexed.servers.get(hit.segment)?;
                Some((server.tools.tools.get(hit.document)?, hit.score))
            };
            hits.iter().filter_map(tool).collect()
        };
        let mut tools = found(&selection);
        let is_out = |tool: &Tool| !is_visible(tool) || tool.is_deprecated();
        if tools.iter().any(|(tool, _)| is_out(tool)) {
            // Hidden and deprecated tools must not take places from others, so the search is repeated
            // with more.
            let all = indexed.servers.iter().flat_map(|server| &server.tools.tools);
            let out = all.filter(|tool| is_out(tool)).count();
            tools = found(&Selection { limit: limit.saturating_add(out), ..selection });
            tools.retain(|(tool, _)| is_visible(tool));
            put_deprecated_last(&mut tools);
            tools.truncate(limit);
        }
        if let Some(habits) = &self.habits {
            habits.searched(&stems, tools.iter().map(|(tool, _)| tool.id.clone()).collect());
        }
        tools
    }

    fn overview(
        &self,
        indexed: &Indexed,
        catalog: &Catalog,
        is_visible: &dyn Fn(&Tool) -> bool,
    ) -> Vec<ServerOverview> {
        let count = |known: &IndexedServer| {
            known.tools.tools.iter().filter(|tool| is_visible(tool)).count()
        };
        let known = |name: &str| indexed.servers.iter().find(|known| known.tools.server == name);
        let servers = catalog.modules().iter().map(|(name, module)| ServerOverview {
            server: module.clone(),
            name: module.clone(),
            tools: known(name).map(count),
            category: known(name).and_then(|known| known.category.clone()),
        });
        servers.collect()
    }

    fn nothing(&self, indexed: &Indexed, catalog: &Catalog, request: &SearchRequest) -> String {
        if let Some(server) = &request.server
            && catalog.server_of(server).is_none()
        {
            if let Some(disabled) = catalog.disabled(server) {
                return disabled.to_string();
            }
            let known = catalog.modules().values().map(String::as_str);
            return format!(
                "there is no server {server:?}{}",
                narrows_model::nearest(server, known)
            );
        }
        if let Some(category) = &request.category
            && !CATEGORIES.iter().any(|(known, _)| same_name(known, category))
            && !self.categories.values().any(|known| same_name(known, category))
        {
            let mut there: Vec<&str> =
                indexed.servers.iter().filter_map(|server| server.category.as_deref()).collect();
            there.sort_unstable();
            there.dedup();
            return format!("there is no category {category:?}; there are {}", there.join(", "));
        }
        format!(
            "nothing fits {:?}; name the thing and what to do with it (\"list issues\"), one step \
             at a time, or search for \"\" to see the servers",
            request.query
        )
    }

    /// Tells whether the current tools of the catalog are indexed.
    pub(crate) fn has_indexed(&self, snapshot: &Snapshot) -> bool {
        // If the lock is held, somebody is indexing.
        self.indexed.try_lock().is_ok_and(|indexed| indexed.is_of(snapshot))
    }

    /// Returns the index of the current catalog. Only servers that changed are indexed again.
    fn indexed(&self, snapshot: &Snapshot) -> Arc<Indexed> {
        let mut indexed = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        if indexed.is_of(snapshot) {
            return Arc::clone(&indexed);
        }
        let servers: Vec<IndexedServer> = snapshot
            .servers()
            .map(|server| {
                let known = indexed.servers.iter().find(|old| Arc::ptr_eq(&old.tools, server));
                known.cloned().unwrap_or_else(|| self.index(server))
            })
            .collect();
        let segments = servers.iter().map(|server| Arc::clone(server.tools.segment()));
        let index = Index::new(segments.collect());
        *indexed = Arc::new(Indexed { servers, index });
        Arc::clone(&indexed)
    }

    fn index(&self, server: &Arc<ServerTools>) -> IndexedServer {
        let configured = self.categories.get(&server.server).cloned();
        IndexedServer {
            tools: Arc::clone(server),
            category: configured.or_else(|| category_of(server).map(str::to_owned)),
        }
    }
}

/// Moves tools that should no longer be used behind all others.
fn put_deprecated_last(tools: &mut [(&Arc<Tool>, f32)]) {
    tools.sort_by_key(|(tool, _)| tool.is_deprecated());
}

/// The servers that a search is limited to.
#[derive(Clone, Debug)]
struct ServerFilter {
    /// `None` for all servers.
    segments: Option<Vec<usize>>,
}

impl ServerFilter {
    fn of(indexed: &Indexed, request: &SearchRequest) -> Self {
        if request.server.is_none() && request.category.is_none() {
            return Self { segments: None };
        }
        let server = |known: &IndexedServer| {
            request.server.as_deref().is_none_or(|name| known.is_called(name))
        };
        let category = |known: &IndexedServer| {
            request.category.as_deref().is_none_or(|name| known.is_of_category(name))
        };
        Self { segments: Some(Self::those(indexed, |known| server(known) && category(known))) }
    }

    /// Returns the servers whose name or category is the whole query, if there are any.
    fn named(indexed: &Indexed, query: &str) -> Option<Self> {
        let servers = Self::those(indexed, |known| known.is_called(query));
        let found = match servers.is_empty() {
            false => servers,
            true => Self::those(indexed, |known| known.is_of_category(query)),
        };
        (!found.is_empty()).then_some(Self { segments: Some(found) })
    }

    fn those(indexed: &Indexed, which: impl Fn(&IndexedServer) -> bool) -> Vec<usize> {
        let servers = indexed.servers.iter().enumerate();
        servers.filter(|(_, known)| which(known)).map(|(at, _)| at).collect()
    }

    fn is_all(&self) -> bool {
        self.segments.is_none()
    }

    fn tools<'a>(&self, indexed: &'a Indexed) -> impl Iterator<Item = &'a Arc<Tool>> {
        let all = || (0..indexed.servers.len()).collect();
        let segments = self.segments.clone().unwrap_or_else(all);
        segments.into_iter().flat_map(|at| &indexed.servers[at].tools.tools)
    }
}

impl IndexedServer {
    fn is_called(&self, name: &str) -> bool {
        same_name(&self.tools.server, name) || same_name(&self.tools.module, name)
    }

    fn is_of_category(&self, name: &str) -> bool {
        // A caller that asks for the category `github` means the server.
        self.category.as_deref().is_some_and(|category| same_name(category, name))
            || self.is_called(name)
    }
}

/// Tells whether two names are the same: `google-drive`, `google_drive` and `Google Drive` are, and
/// `github tools` is `github`.
fn same_name(a: &str, b: &str) -> bool {
    let plain = |name: &str| {
        let name: String = name
            .chars()
            .filter_map(|c| match c {
                '-' | '_' | '.' => Some(' '),
                c => c.to_lowercase().next(),
            })
            .collect();
        let words = name.split_whitespace();
        words
            .filter(|word| !["server", "servers", "tools", "mcp"].contains(word))
            .collect::<String>()
    };
    let (a, b) = (plain(a), plain(b));
    !a.is_empty() && a == b
}
