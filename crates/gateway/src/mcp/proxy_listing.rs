//! Lists what is passed through to clients: tools, prompts and resources of servers under their own
//! names.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use futures::future::join_all;
use narrows_engine::{
    broker::Broker,
    compute::{ALWAYS_APART, json_bytes, without_place},
    safety::CallTarget,
    state::Agent,
};
use narrows_model::{Expose, ServerSpec};
use narrows_upstream::{NoCaller, UpstreamError, UpstreamReply, catalog::Snapshot};
use rmcp::{
    ErrorData,
    model::{
        ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
        PaginatedRequestParams, Prompt, Resource, ResourceTemplate, ServerCapabilities,
        ServerResult,
    },
};

use super::passed_tools::{PassedTools, is_passed};

/// How long a list waits for a server that is not ready. A notification follows when it is.
const LIST_PATIENCE: Duration = Duration::from_secs(5);
/// The most pages that are read of one list. Stops servers whose lists never end.
const MAX_PAGES: usize = 100;
/// The largest size of one list as JSON, over all its pages. Stops servers from filling our memory: a
/// page may be a whole message, and a hundred of those gigabytes.
const MAX_LIST_BYTES: usize = 32 << 20;
/// How many resources and prompts are remembered with their servers. For any other, each server is
/// asked.
const MAX_OWNED: usize = 100_000;

/// The name that rules and the audit use for every prompt of a server, as if it were a tool.
pub(super) const PROMPT: &str = "prompt";
/// The name that rules and the audit use for every resource of a server.
pub(super) const RESOURCE: &str = "resource";

/// The servers that are passed through to clients, and what they list.
pub(super) struct Passthrough {
    broker: Broker,
    servers: Vec<String>,
    /// The server that first listed a resource, a template or a prompt.
    owners: Mutex<HashMap<Item, String>>,
    ours: Vec<rmcp::model::Tool>,
    made: Mutex<Option<Made>>,
    /// Held while the list of tools is made, so that others who need it wait instead of making it too.
    making: Mutex<()>,
}

/// The tools that are passed through, and the snapshot of the catalog that they were made from.
struct Made {
    of: Weak<Snapshot>,
    tools: Arc<PassedTools>,
}

/// A prompt or a resource of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    Prompt(String),
    Resource(String),
}

impl Passthrough {
    /// Takes the servers of a broker that are not for programs only. `ours` are the gateway's own tools.
    pub(super) fn new(broker: Broker, ours: Vec<rmcp::model::Tool>) -> Self {
        let passes = |spec: &&ServerSpec| spec.expose != Expose::Code;
        let servers = broker.fleet().specs().filter(passes).map(|spec| spec.name.clone()).collect();
        let (owners, made, making) = Default::default();
        Self { broker, servers, ours, owners, made, making }
    }

    /// Waits a little for servers that have not listed their tools yet.
    pub(super) async fn ready(&self) {
        let waiting =
            self.servers.iter().filter(|name| self.broker.catalog().listing(name).is_none());
        let started = waiting
            .map(|name| tokio::time::timeout(LIST_PATIENCE, self.broker.fleet().start(name)));
        join_all(started).await;
    }

    /// Returns the tools that are passed through, with the names that clients use.
    pub(super) async fn tools(&self, agent: &Agent) -> Arc<PassedTools> {
        let snapshot = self.broker.catalog().snapshot();
        match self.made_of(&snapshot) {
            Some(tools) => tools,
            None => agent.compute(ALWAYS_APART, || self.make(&snapshot)).await,
        }
    }

    /// The same as [`Self::tools`], for callers that are not async.
    pub(super) fn tools_now(&self) -> Arc<PassedTools> {
        let snapshot = self.broker.catalog().snapshot();
        let made = self.made_of(&snapshot);
        made.unwrap_or_else(|| without_place(ALWAYS_APART, || self.make(&snapshot)))
    }

    /// Returns the tools if they were already made from this snapshot.
    fn made_of(&self, snapshot: &Arc<Snapshot>) -> Option<Arc<PassedTools>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.as_ref().filter(|made| made.of.as_ptr() == Arc::as_ptr(snapshot));
        made.map(|made| Arc::clone(&made.tools))
    }

    /// Makes the list of tools, or takes the one that another thread has made meanwhile. Blocks its
    /// thread.
    fn make(&self, snapshot: &Arc<Snapshot>) -> Arc<PassedTools> {
        let _turn = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tools) = self.made_of(snapshot) {
            return tools;
        }
        let specs = self.broker.fleet().specs();
        let listed = specs.filter_map(|spec| Some((spec.expose, snapshot.server(&spec.name)?)));
        let servers: Vec<_> = listed
            .filter(|(expose, server)| is_passed(*expose, server))
            .map(|(_, server)| Arc::clone(server))
            .collect();
        let tools = Arc::new(PassedTools::new(&servers, &self.ours));
        let made = Made { of: Arc::downgrade(snapshot), tools: Arc::clone(&tools) };
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        tools
    }

    /// Returns the capabilities of all servers together (prompts, resources, completions). A server
    /// whose listing is not known yet counts as having all of them.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut all = ServerCapabilities::default();
        for name in &self.servers {
            match self.broker.catalog().listing(name) {
                Some(listing) => {
                    let some = &listing.about.capabilities;
                    all.prompts = all.prompts.or_else(|| some.prompts.clone());
                    all.resources = all.resources.or_else(|| some.resources.clone());
                    all.completions = all.completions.or_else(|| some.completions.clone());
                }
                // It may have any of them; a list that turns out to be empty is no harm.
                None => {
                    all.prompts.get_or_insert_default();
                    all.resources.get_or_insert_default();
                    all.completions.get_or_insert_default();
                }
            }
        }
        if let Some(prompts) = &mut all.prompts {
            prompts.list_changed = Some(true);
        }
        if let Some(resources) = &mut all.resources {
            resources.list_changed = Some(true);
            resources.subscribe = Some(true);
        }
        all
    }

    pub(super) async fn prompts(&self, agent: &Agent) -> Vec<Prompt> {
        self.all(
            agent,
            PROMPT,
            |page| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page)),
            |page| match page {
                ServerResult::ListPromptsResult(list) => list.prompts,
                _ => Vec::new(),
            },
            |prompt| Item::Prompt(prompt.name.clone()),
        )
        .await
    }

    pub(super) async fn resources(&self, agent: &Agent) -> Vec<Resource> {
        self.all(
            agent,
            RESOURCE,
            |page| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page)),
            |page| match page {
                ServerResult::ListResourcesResult(list) => list.resources,
                _ => Vec::new(),
            },
            |resource| Item::Resource(resource.uri.clone()),
        )
        .await
    }

    pub(super) async fn resource_templates(&self, agent: &Agent) -> Vec<ResourceTemplate> {
        self.all(
            agent,
            RESOURCE,
            |page| {
                let request = ListResourceTemplatesRequest::with_param(page);
                ClientRequest::ListResourceTemplatesRequest(request)
            },
            |page| match page {
                ServerResult::ListResourceTemplatesResult(list) => list.resource_templates,
                _ => Vec::new(),
            },
            |template| Item::Resource(template.uri_template.clone()),
        )
        .await
    }

    /// Collects one list from all servers, except those of which rules hide this kind from the agent.
    async fn all<T>(
        &self,
        agent: &Agent,
        kind: &str,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
        listed: impl Fn(ServerResult) -> Vec<T>,
        item: impl Fn(&T) -> Item,
    ) -> Vec<T> {
        let shown =
            self.servers.iter().filter(|server| !agent.hides(CallTarget::read(server, kind)));
        let lists = shown.map(async |server| {
            let pages = self.pages(server, agent, &request).await;
            let list: Vec<T> = pages.into_iter().flat_map(&listed).collect();
            self.own(server, list.iter().map(&item));
            list
        });
        join_all(lists).await.into_iter().flatten().collect()
    }

    /// Returns all pages of one list of one server; none if the server does not answer.
    async fn pages(
        &self,
        server: &str,
        agent: &Agent,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
    ) -> Vec<ServerResult> {
        let mut pages = Vec::new();
        let mut cursor = None;
        let mut bytes = 0;
        let method = request(PaginatedRequestParams::default()).method().to_owned();
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let asked = self.broker.fleet().request(server, request(params), Arc::new(NoCaller));
            let asked = tokio::time::timeout(LIST_PATIENCE, asked).await;
            let Ok(Ok(UpstreamReply { result: page, held: _ })) = asked else { break };
            cursor = match &page {
                ServerResult::ListPromptsResult(list) => list.next_cursor.clone(),
                ServerResult::ListResourcesResult(list) => list.next_cursor.clone(),
                ServerResult::ListResourceTemplatesResult(list) => list.next_cursor.clone(),
                _ => None,
            };
            let counting = || serde_json::to_string(&page).map_or(0, |text| text.len());
            bytes += agent.compute(json_bytes(&page), counting).await;
            let excess = if bytes > MAX_LIST_BYTES {
                Some(format!("{} MB", MAX_LIST_BYTES >> 20))
            } else {
                pages.push(page);
                let has_more = pages.len() == MAX_PAGES && cursor.is_some();
                has_more.then(|| format!("{MAX_PAGES} pages"))
            };
            if let Some(excess) = excess {
                let problem = format!("{method} has more than {excess}, and was cut off");
                tracing::warn!(server, problem, "a list of a server is too long");
                self.broker.fleet().report_problem(server, problem);
                break;
            }
            if cursor.is_none() {
                break;
            }
        }
        pages
    }

    fn own(&self, server: &str, items: impl Iterator<Item = Item>) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        for item in items {
            if owners.len() >= MAX_OWNED && !owners.contains_key(&item) {
                continue;
            }
            owners.entry(item).or_insert_with(|| server.to_owned());
        }
    }

    /// Returns the servers that may have an item: the one that listed it, or else all.
    pub(super) fn owners(&self, item: &Item) -> Vec<String> {
        let owner = self.owners.lock().unwrap_or_else(PoisonError::into_inner).get(item).cloned();
        owner.map_or_else(|| self.servers.clone(), |owner| vec![owner])
    }
}

/// Converts an error of a server. The server's own refusal is passed on unchanged.
pub(super) fn of_upstream(error: UpstreamError) -> ErrorData {
    match error {
        UpstreamError::Refused { error, .. } => *error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}
