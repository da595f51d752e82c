//! Real clients of models, each with a model that follows a script (`tests/servers/scripted_model.py`).
//! What the model was given is on record.

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    MAX_PROGRAM_TIME, PATIENCE,
    real::{Running, Site, Wire, lines, repository},
};

/// Nothing listens there: what a client sends elsewhere than to the loopback fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";
/// What the model says when its script is done.
const DONE: &str = "the script is done";
const PROMPT: &str = "Follow the script.";

/// A program that gives the tools of MCP servers to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelClient {
    ClaudeCode,
    OpenCode,
    /// With its model of Anthropic's API.
    PydanticAi,
    /// With its model of OpenAI's API, which says other things in other places.
    PydanticAiOpenAi,
    LangChain,
}

/// A call that the model makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    /// `execute_code` with a program.
    Program(&'static str),
    /// `search_tools` with a query.
    Search(&'static str),
}

impl Call {
    fn script(self) -> Value {
        match self {
            Self::Program(code) => {
                let timeout = MAX_PROGRAM_TIME.as_secs();
                json!({"tool": "execute_code", "arguments": {"code": code, "timeout": timeout}})
            }
            Self::Search(query) => json!({"tool": "search_tools", "arguments": {"query": query}}),
        }
    }
}

/// The calls that the model makes, one after another, each with a name for it.
pub(crate) type Script = &'static [(&'static str, Call)];

/// What the model was given for a call.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) is_error: bool,
    pub(crate) text: String,
    /// Each with its MIME type and its data in base64.
    pub(crate) images: Vec<(String, String)>,
}

/// A conversation from start to end.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) client: ModelClient,
    /// What the gateway tells every client when it comes.
    pub(crate) instructions: String,
    /// All requests to the model, as the scripted model has recorded them.
    pub(crate) requests: Vec<Value>,
    /// What programs left in the workspace, by path.
    pub(crate) files: BTreeMap<String, String>,
    script: Script,
}

impl Conversation {
    /// Has a client talk with a model that follows this script, and with a gateway over stdio.
    #[track_caller]
    pub(crate) fn hold(client: ModelClient, site: &Site, script: Script) -> Self {
        let model = Model::start(site, script);
        let mut command = client.command(site, &model.url);
        let output = fs::File::create(site.path("output.txt")).unwrap();
        command.stderr(output.try_clone().unwrap()).stdout(output);
        Running(command.spawn().unwrap()).ends_within(PATIENCE);
        let said = fs::read_to_string(site.path("output.txt")).unwrap();
        assert!(said.contains(DONE), "{client:?}: {said}");
        let conversation = Self {
            client,
            instructions: instructions(site),
            requests: model.requests(site),
            files: workspace(site),
            script,
        };
        let results = conversation.last()["results"].as_array().unwrap().len();
        let names: Vec<&String> = conversation.tools().keys().collect();
        assert_eq!(results, script.len(), "a tool is missing among those of {client:?}: {names:?}");
        conversation
    }

    /// The request with the whole conversation.
    pub(crate) fn last(&self) -> &Value {
        let results = |request: &&Value| request["results"].as_array().map_or(0, Vec::len);
        self.requests.iter().max_by_key(results).unwrap()
    }

    /// The tools that the model was given at first, by name.
    pub(crate) fn tools(&self) -> &serde_json::Map<String, Value> {
        let mut given = self.requests.iter().filter_map(|request| request["tools"].as_object());
        given.find(|tools| !tools.is_empty()).unwrap()
    }

    /// What the model was told before anything was called.
    pub(crate) fn told(&self) -> String {
        let last = self.last();
        format!("{}\n{}", last["system"].as_str().unwrap(), last["messages"].as_str().unwrap())
    }

    /// What it was given for the call of this name.
    #[track_caller]
    pub(crate) fn given(&self, name: &str) -> Given {
        let index = self.script.iter().position(|(each, _)| *each == name).unwrap();
        let result = &self.last()["results"][index];
        let string = |value: &Value| value.as_str().unwrap().to_owned();
        let texts: Vec<String> = result["texts"].as_array().unwrap().iter().map(string).collect();
        let image = |image: &Value| (string(&image["mime_type"]), string(&image["data"]));
        Given {
            is_error: result["is_error"].as_bool().unwrap(),
            text: texts.join("\n"),
            images: result["images"].as_array().unwrap().iter().map(image).collect(),
        }
    }
}

fn instructions(site: &Site) -> String {
    let mut wire = Wire::start(site);
    let client = json!({"name": "wire", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let answer = wire.ask("initialize", hello);
    answer["result"]["instructions"].as_str().unwrap().to_owned()
}

/// What is in the workspace of those who have no name.
fn workspace(site: &Site) -> BTreeMap<String, String> {
    let directory = site.path("data/workspaces/default");
    let files = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    let texts = files.filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((name, fs::read_to_string(path).ok()?))
    });
    texts.collect()
}

/// The scripted model, which ends with this.
struct Model {
    url: String,
    _process: Running,
}

impl Model {
    fn start(site: &Site, script: Script) -> Self {
        let script: Vec<Value> = script.iter().map(|(_, call)| call.script()).collect();
        fs::write(site.path("script.json"), json!(script).to_string()).unwrap();
        let mut command = site.command("python3");
        command.arg(repository().join("tests/servers/scripted_model.py"));
        command.arg(site.path("script.json")).arg(site.path("record.jsonl"));
        let mut process = Running(command.stderr(Stdio::inherit()).spawn().unwrap());
        let url = lines(process.0.stdout.take().unwrap()).recv_timeout(PATIENCE).unwrap();
        Self { url, _process: process }
    }

    fn requests(&self, site: &Site) -> Vec<Value> {
        let record = fs::read_to_string(site.path("record.jsonl")).unwrap_or_default();
        record.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl ModelClient {
    /// Starts the client for one conversation. It knows nothing of the machine's user and reaches
    /// nothing but the loopback.
    fn command(self, site: &Site, model: &str) -> Command {
        match self {
            Self::ClaudeCode => claude_code(site, model),
            Self::OpenCode => opencode(site, model),
            Self::PydanticAi => pydantic_ai(site, model, "anthropic"),
            Self::PydanticAiOpenAi => pydantic_ai(site, model, "openai"),
            Self::LangChain => langchain(site, model),
        }
    }
}

/// A command without the variables of whoever runs the tests, who may be such a client.
fn isolated(mut command: Command, site: &Site) -> Command {
    let own =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let own: Vec<_> = own.collect();
    let directories = [
        ("TMPDIR", "temporary"),
        ("XDG_CONFIG_HOME", "home/.config"),
        ("XDG_DATA_HOME", "home/.local/share"),
        ("XDG_STATE_HOME", "home/.local/state"),
        ("XDG_CACHE_HOME", "home/.cache"),
    ];
    command.env_clear().envs(own);
    for (name, directory) in directories {
        fs::create_dir_all(site.path(directory)).unwrap();
        command.env(name, site.path(directory));
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "npm_config_registry"] {
        command.env(name, NOWHERE);
    }
    command.env("NO_PROXY", "127.0.0.1");
    command
}

/// The command line of the gateway.
fn gateway(site: &Site) -> Vec<String> {
    site.over_stdio().split_off(1)
}

fn milliseconds() -> String {
    PATIENCE.as_millis().to_string()
}

fn claude_code(site: &Site, model: &str) -> Command {
    let gateway = gateway(site);
    let servers = json!({"mcpServers": {
        "narrows": {"type": "stdio", "command": gateway[0], "args": gateway[1..]},
    }});
    fs::write(site.path("mcp.json"), servers.to_string()).unwrap();
    let mut command = isolated(site.command(&site.tool("node/claude")), site);
    command
        .args(["--print", PROMPT, "--strict-mcp-config", "--mcp-config", &site.text("mcp.json")])
        .args(["--allowedTools", "mcp__narrows__execute_code,mcp__narrows__search_tools"])
        .env("ANTHROPIC_BASE_URL", model)
        .env("ANTHROPIC_API_KEY", "none")
        .env("MCP_TIMEOUT", milliseconds())
        .env("MCP_TOOL_TIMEOUT", milliseconds());
    for switch in [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
    ] {
        command.env(switch, "1");
    }
    command
}

fn opencode(site: &Site, model: &str) -> Command {
    let options = json!({"baseURL": format!("{model}/v1"), "apiKey": "none"});
    let scripted = json!({
        "name": "Scripted",
        "tool_call": true,
        "attachment": true,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        // So that nothing is left out for want of room.
        "limit": {"context": 10_000_000, "output": 10_000},
    });
    let config = json!({
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "enabled_providers": ["scripted"],
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": options,
            "models": {"scripted": scripted},
        }},
        "mcp": {"narrows": {
            "type": "local",
            "command": gateway(site),
            "timeout": PATIENCE.as_millis(),
        }},
        "autoupdate": false,
        "share": "disabled",
    });
    fs::write(site.path("opencode.json"), config.to_string()).unwrap();
    let mut command = isolated(site.command(&site.tool("node/opencode")), site);
    command.args(["run", PROMPT]).env("OPENCODE_CONFIG", site.path("opencode.json"));
    for switch in [
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_SHARE",
    ] {
        command.env(switch, "1");
    }
    command
}

fn pydantic_ai(site: &Site, model: &str, api: &str) -> Command {
    let mut command = isolated(site.client("pydantic_ai_agent.py"), site);
    command.args(["--api", api, "--model", model, "--instructions"]).args(site.over_stdio());
    command
}

fn langchain(site: &Site, model: &str) -> Command {
    let mut command = isolated(site.client("langchain_agent.py"), site);
    command.args(["--model", model]).args(site.over_stdio());
    command
}
