//! Servers that a client sees as they are: their tools, prompts and resources under their own
//! names.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::join_all;
use narrows_engine::{
    broker::Broker,
    catalog::Tool,
    safety::Target,
    state::Agent,
    upstream::{Nobody, Reply, UpstreamError},
};
use narrows_model::{Expose, ServerSpec};
use rmcp::{
    ErrorData,
    model::{
        ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
        PaginatedRequestParams, Prompt, Resource, ResourceTemplate, ServerCapabilities,
        ServerResult,
    },
};

/// `auto` passes a server through while its tools, as JSON, are no longer than this: about a
/// thousand tokens.
const AUTO_BYTES: usize = 4_000;
/// How long a list waits for a server that is not ready. It follows by a notification.
const LIST_PATIENCE: Duration = Duration::from_secs(5);
/// A list of more pages than this has no end.
const MOST_PAGES: usize = 100;
/// What all pages of one list may have as JSON. A page may be a whole message, and a hundred of those
/// gigabytes.
const MAX_LIST_BYTES: usize = 32 << 20;
/// So many resources and prompts are remembered with their servers. Of others, each server is asked.
const MAX_OWNED: usize = 100_000;

/// As what rules and the audit know any prompt of a server, as if it were a tool.
pub(super) const PROMPT: &str = "prompt";
/// As what they know any resource.
pub(super) const RESOURCE: &str = "resource";

/// The servers that are passed through.
pub(super) struct Passthrough {
    broker: Broker,
    servers: Vec<String>,
    /// Which server a resource, a template or a prompt was listed by.
    owners: Mutex<HashMap<Item, String>>,
}

/// Something that a server has beside tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    Prompt(String),
    Resource(String),
}

impl Passthrough {
    pub(super) fn new(broker: Broker) -> Self {
        let passes = |spec: &&ServerSpec| spec.expose != Expose::Code;
        let servers = broker.fleet().specs().filter(passes).map(|spec| spec.name.clone()).collect();
        Self { broker, servers, owners: Mutex::default() }
    }

    fn is_passed(&self, spec: &ServerSpec) -> bool {
        match spec.expose {
            Expose::Code => false,
            Expose::Direct | Expose::Both => true,
            Expose::Auto => self.broker.catalog().listing(&spec.name).is_some_and(|listing| {
                let size: usize = listing.tools.iter().map(|tool| tool.raw.to_string().len()).sum();
                size <= AUTO_BYTES
            }),
        }
    }

    /// Waits a little for servers that have not listed their tools yet.
    pub(super) async fn ready(&self) {
        let waiting =
            self.servers.iter().filter(|name| self.broker.catalog().listing(name).is_none());
        let started = waiting
            .map(|name| tokio::time::timeout(LIST_PATIENCE, self.broker.fleet().start(name)));
        join_all(started).await;
    }

    /// The tools that are passed through, with the names that clients use. A name that two
    /// servers have, or that is ours, gets its server in front.
    pub(super) fn tools(&self, ours: &[rmcp::model::Tool]) -> Vec<(String, Arc<Tool>)> {
        let snapshot = self.broker.catalog().snapshot();
        let passed: Vec<Arc<Tool>> = self
            .broker
            .fleet()
            .specs()
            .filter(|spec| self.is_passed(spec))
            .filter_map(|spec| snapshot.server(&spec.name))
            .flat_map(|server| server.tools.iter().cloned())
            .collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        for name in ours.iter().map(|tool| tool.name.as_ref()) {
            *times.entry(name).or_default() += 1;
        }
        for tool in &passed {
            *times.entry(tool.id.tool.as_str()).or_default() += 1;
        }
        let is_single = |tool: &Arc<Tool>| times.get(tool.id.tool.as_str()) == Some(&1);
        let mut taken: HashSet<String> = ours.iter().map(|tool| tool.name.to_string()).collect();
        // What one server calls a tool by itself may be what another's gets with its server in front.
        taken.extend(passed.iter().filter(|tool| is_single(tool)).map(|tool| tool.id.tool.clone()));
        let mut name_of = |tool: &Arc<Tool>| {
            if is_single(tool) {
                return tool.id.tool.clone();
            }
            let name = format!("{}__{}", tool.id.server, tool.id.tool);
            let numbered = (2..).map(|number| format!("{name}_{number}"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            let free = names.find(|name| taken.insert(name.clone()));
            free.unwrap_or(name)
        };
        passed.iter().map(|tool| (name_of(tool), Arc::clone(tool))).collect()
    }

    /// What the servers can do beside tools, as far as it is known before they have started.
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

    /// One list of all servers, but for those from which rules let this agent have nothing of the
    /// kind.
    async fn all<T>(
        &self,
        agent: &Agent,
        kind: &str,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
        listed: impl Fn(ServerResult) -> Vec<T>,
        item: impl Fn(&T) -> Item,
    ) -> Vec<T> {
        let shown = self.servers.iter().filter(|server| !agent.hides(Target::read(server, kind)));
        let lists = shown.map(async |server| {
            let pages = self.pages(server, &request).await;
            let list: Vec<T> = pages.into_iter().flat_map(&listed).collect();
            self.own(server, list.iter().map(&item));
            list
        });
        join_all(lists).await.into_iter().flatten().collect()
    }

    /// All pages of one list of one server. A server that does not answer has none.
    async fn pages(
        &self,
        server: &str,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
    ) -> Vec<ServerResult> {
        let mut pages = Vec::new();
        let mut cursor = None;
        let mut bytes = 0;
        while pages.len() < MOST_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let asked = self.broker.fleet().request(server, request(params), Arc::new(Nobody));
            let asked = tokio::time::timeout(LIST_PATIENCE, asked).await;
            let Ok(Ok(Reply { result: page, held: _ })) = asked else { break };
            cursor = match &page {
                ServerResult::ListPromptsResult(list) => list.next_cursor.clone(),
                ServerResult::ListResourcesResult(list) => list.next_cursor.clone(),
                ServerResult::ListResourceTemplatesResult(list) => list.next_cursor.clone(),
                _ => None,
            };
            bytes += serde_json::to_string(&page).map_or(0, |text| text.len());
            if bytes > MAX_LIST_BYTES {
                tracing::warn!(
                    server,
                    "a list of resources or prompts is too long and was cut off"
                );
                break;
            }
            pages.push(page);
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

    /// The servers that may have an item: the one that listed it, or else all.
    pub(super) fn owners(&self, item: &Item) -> Vec<String> {
        let owner = self.owners.lock().unwrap_or_else(PoisonError::into_inner).get(item).cloned();
        owner.map_or_else(|| self.servers.clone(), |owner| vec![owner])
    }
}

/// A server's own refusal is passed on as it is.
pub(super) fn of_upstream(error: UpstreamError) -> ErrorData {
    match error {
        UpstreamError::Refused { error, .. } => *error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}
