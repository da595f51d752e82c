//! Our client as the official conformance suite drives it: one scenario, one run.
//!
//! The suite gives the address of its server as the last argument and the scenario in the
//! environment. The person with the browser is played here.
#![allow(clippy::unwrap_used, clippy::expect_used, deprecated)]

use std::{env, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use narrows_engine::{
    broker::{Broker, CallError},
    catalog::PythonNaming,
    safety::{RunGuard, Safety, SafetySettings},
    state::{SessionSettings, State, StateSettings},
};
use narrows_model::{Connection, HttpSpec, Limits, OAuthSpec, Principal, ServerSpec, Template};
use narrows_store::StoreUrl;
use narrows_upstream::{
    Caller, ChildReaper, Fleet, LoginStore, ServerLogs, UpstreamError, catalog::Catalog,
};
use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, ClientRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest,
        ListResourcesRequest, PaginatedRequestParams, ReadResourceRequest,
        ReadResourceRequestParams, ServerResult,
    },
};
use serde_json::{Map, Value, json};

const SERVER: &str = "suite";
/// The suite counts how often a client authorizes before it gives up.
const MAX_LOGINS: usize = 2;

/// A person who accepts every form as it is.
struct Person;

impl Caller for Person {
    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        capabilities
    }

    fn elicit(
        &self,
        _server: &str,
        question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        let form = serde_json::to_value(&question).unwrap();
        let properties = form["requestedSchema"]["properties"].as_object();
        let answers: Map<String, Value> = properties
            .into_iter()
            .flatten()
            .map(|(name, field)| {
                let value = match field.get("default") {
                    Some(default) => default.clone(),
                    None if field["type"] == "boolean" => json!(true),
                    None => json!("an answer"),
                };
                (name.clone(), value)
            })
            .collect();
        let accepted = ElicitResult::new(ElicitationAction::Accept).with_content(json!(answers));
        Box::pin(std::future::ready(Ok(accepted)))
    }
}

/// Returns the guard of a run in a gateway with default settings.
fn guard(home: &std::path::Path) -> Arc<RunGuard> {
    let state = State::new(StateSettings {
        store: StoreUrl::Sqlite(home.join("narrows.db")),
        workspaces: home.join("workspaces"),
        place: "here".to_owned(),
        limits: Limits::default(),
        output_age: Duration::from_secs(60),
        output_bytes: 1 << 20,
        sessions: SessionSettings::default(),
        safety: Safety::new(SafetySettings::default(), Arc::new(|| Ok([7; 32]))).unwrap(),
        analysis: narrows_analysis::Settings::default(),
    });
    let agent = state.agent(Arc::new(Principal::local()));
    let level = agent.level(None).unwrap();
    agent.guard(level)
}

struct Driver {
    spec: ServerSpec,
    logins: LoginStore,
    broker: Broker,
    guard: Arc<RunGuard>,
    done_logins: usize,
}

impl Driver {
    fn new(url: &str, context: &Value, home: &std::path::Path) -> Self {
        let text = |key: &str| context[key].as_str().map(Template::new);
        let oauth = OAuthSpec {
            client_id: text("client_id"),
            client_secret: text("client_secret"),
            ..OAuthSpec::default()
        };
        let http = HttpSpec { url: Template::new(url), oauth, ..HttpSpec::default() };
        let spec = ServerSpec::new(SERVER, Connection::Http(http));
        let logins = LoginStore::new(home.join("logins"));
        let catalog = Arc::new(Catalog::new(std::slice::from_ref(&spec), None, &PythonNaming));
        let fleet = Fleet::new(
            vec![spec.clone()],
            Arc::clone(&catalog),
            logins.clone(),
            ChildReaper::none(),
            ServerLogs::none(),
        );
        let broker = Broker::new(catalog, Arc::new(fleet));
        Self { spec, logins, broker, guard: guard(home), done_logins: 0 }
    }

    async fn start(&mut self) -> Result<(), String> {
        loop {
            match self.broker.fleet().start(SERVER).await {
                Err(UpstreamError::LoginNeeded { .. }) => self.log_in(&[]).await?,
                Err(UpstreamError::ScopeNeeded { scope, .. }) => {
                    self.log_in(&words(&scope)).await?
                }
                Err(error) => return Err(error.to_string()),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Opens the login URL that a person would open, and returns at once.
    async fn log_in(&mut self, scopes: &[String]) -> Result<(), String> {
        self.done_logins += 1;
        if self.done_logins > MAX_LOGINS {
            return Err("it asks for a login again and again".into());
        }
        let login = self.logins.begin(&self.spec, "http://127.0.0.1:1/callback", scopes).await;
        let login = login.map_err(|error| error.to_string())?;
        let browser = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        let page = browser.get(login.url()).send().await.map_err(|error| error.to_string())?;
        let location = page.headers().get("location").and_then(|to| to.to_str().ok());
        let location = location.ok_or("the authorization server did not send us back")?.to_owned();
        login.finish(&location).await.map_err(|error| error.to_string())
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        loop {
            let found = self.broker.find(tool, Some(SERVER)).await;
            let tool = found.map_err(|error| error.to_string())?;
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            match self.broker.call(&self.guard, &tool, arguments, Arc::new(Person)).await {
                Ok(called) => return Ok(serde_json::to_value(called.result).unwrap()),
                Err(CallError::Upstream(UpstreamError::LoginNeeded { .. })) => {
                    self.log_in(&[]).await?;
                }
                Err(CallError::Upstream(UpstreamError::ScopeNeeded { scope, .. })) => {
                    self.log_in(&words(&scope)).await?;
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    async fn request(&self, request: ClientRequest) -> Result<ServerResult, String> {
        let asked = self.broker.fleet().request(SERVER, request, Arc::new(Person)).await;
        asked.map(|reply| reply.result).map_err(|error| error.to_string())
    }

    async fn run(&mut self, scenario: &str, context: &Value) -> Result<(), String> {
        self.start().await?;
        match scenario {
            "tools_call" => self.call("add_numbers", json!({"a": 2, "b": 3})).await.map(drop),
            "elicitation-sep1034-client-defaults" => {
                self.call("test_client_elicitation_defaults", json!({})).await.map(drop)
            }
            "sse-retry" => self.call("test_reconnection", json!({})).await.map(drop),
            "sep-2322-client-request-state" => {
                for tool in [
                    "test_mrtr_echo_state",
                    "test_mrtr_no_state",
                    "test_mrtr_unrelated",
                    "test_mrtr_no_result_type",
                ] {
                    self.call(tool, json!({})).await?;
                }
                Ok(())
            }
            "http-standard-headers" => self.use_everything().await,
            "http-custom-headers" => {
                for call in context["toolCalls"].as_array().cloned().unwrap_or_default() {
                    let name = call["name"].as_str().unwrap_or_default().to_owned();
                    self.call(&name, call["arguments"].clone()).await?;
                }
                Ok(())
            }
            "http-invalid-tool-headers" => {
                self.call("valid_tool", json!({"region": "eu"})).await.map(drop)
            }
            "json-schema-2020-12-preservation" => {
                let found = self.broker.find("json_schema_2020_12_tool", Some(SERVER)).await;
                let schema = found.map_err(|error| error.to_string())?.input_schema().clone();
                self.call("json_schema_echo", json!({ "schema": schema })).await.map(drop)
            }
            "auth/authorization-server-migration" => {
                for _ in 0..3 {
                    self.call("test-tool", json!({})).await?;
                }
                Ok(())
            }
            name if name.starts_with("auth/") => self.call("test-tool", json!({})).await.map(drop),
            _ => Ok(()),
        }
    }

    async fn use_everything(&mut self) -> Result<(), String> {
        let listing = self.broker.catalog().listing(SERVER).ok_or("it lists no tools")?;
        if let Some(tool) = listing.tools.first() {
            let name = tool.id.tool.clone();
            self.call(&name, json!({})).await?;
        }
        let all = PaginatedRequestParams::default;
        let list = ListResourcesRequest::with_param(all());
        let resources = self.request(ClientRequest::ListResourcesRequest(list)).await?;
        if let ServerResult::ListResourcesResult(list) = resources
            && let Some(resource) = list.resources.first()
        {
            let params = ReadResourceRequestParams::new(resource.uri.clone());
            let read = ReadResourceRequest::new(params);
            self.request(ClientRequest::ReadResourceRequest(read)).await?;
        }
        let list = ListPromptsRequest::with_param(all());
        let prompts = self.request(ClientRequest::ListPromptsRequest(list)).await?;
        if let ServerResult::ListPromptsResult(list) = prompts
            && let Some(prompt) = list.prompts.first()
        {
            let params = GetPromptRequestParams::new(prompt.name.clone());
            self.request(ClientRequest::GetPromptRequest(GetPromptRequest::new(params))).await?;
        }
        Ok(())
    }
}

fn words(scopes: &str) -> Vec<String> {
    scopes.split(' ').map(str::to_owned).collect()
}

#[tokio::main]
async fn main() {
    let url = env::args().next_back().expect("the suite gives its address");
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let home = tempfile::tempdir().expect("a place for logins");
    let mut driver = Driver::new(&url, &context, home.path());
    let ran = tokio::time::timeout(Duration::from_secs(25), driver.run(&scenario, &context)).await;
    driver.broker.fleet().shut_down().await;
    let exit = match ran {
        Ok(Ok(())) => 0,
        Ok(Err(reason)) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "{scenario}: {reason}");
            1
        }
        Err(_) => 2,
    };
    std::process::exit(exit);
}
