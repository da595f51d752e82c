//! The composition root: builds the engine, the broker and the store from the user's directories and
//! configuration.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use narrows_engine::{
    Background, Discovery, DiscoverySettings, Engine, Executor,
    broker::Broker,
    catalog::PythonNaming,
    safety::{Mode, Safety},
    state::{Agent, State, StateSettings},
    token_stats::TokenStats,
};
use narrows_model::{Principal, ServerSpec};
use narrows_pii::Scanner;
use narrows_sandbox::SandboxConfig;
use narrows_store::StoreUrl;
use narrows_upstream::{
    ANSWER_BYTES, ChildReaper, Fleet, LoginStore, ServerLogs,
    catalog::{Cache, Catalog},
};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{AppDirs, Config, ConfigSource, DiscoveryConfig, Environment, Os, RulesFile},
    rule_source::ConfiguredRules,
    secret::{kept_text, random_hex},
    settings, vault_key,
};

/// The exit code of a command, which scripts can rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Success = 0,
    /// The program that was run failed, or the command did.
    Failure = 1,
    /// The command was used wrongly.
    WrongUse = 2,
    /// A limit ended the program.
    Limit = 3,
    /// Interrupted by the user; the code that shells use for SIGINT.
    Interrupted = 130,
    /// The reader of the output went away; the code that shells use for SIGPIPE.
    OutputClosed = 141,
}

/// Returns a token that is cancelled when the user interrupts the process, or somebody terminates it, so
/// that what was begun can be put away. Call it before anything is begun, so that no signal is missed.
pub(crate) fn interruption() -> CancellationToken {
    let interrupted = CancellationToken::new();
    let stop = interrupted.clone();
    #[cfg(unix)]
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    tokio::spawn(async move {
        #[cfg(unix)]
        if let (Ok(mut interrupt), Ok(mut terminate)) = signals {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            stop.cancel();
            return;
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    interrupted
}

/// Waits for a future, unless the user interrupts once more.
pub(crate) async fn unless_interrupted(waiting: impl Future<Output = ()>) {
    interruption().run_until_cancelled(waiting).await;
}

/// How long a command waits at its end until what was learnt is written down.
pub(crate) const FLUSH_TIME: Duration = Duration::from_secs(2);

/// Makes an executor with a sandbox alone, for a command that runs one program after another.
pub(crate) fn single_executor() -> anyhow::Result<Executor> {
    Ok(Executor::new(SandboxConfig::single())?)
}

/// The paths that the command line names, for the configuration and the data.
#[derive(Clone, Debug, Default)]
pub(crate) struct GlobalArgs {
    pub(crate) config: Option<PathBuf>,
    pub(crate) data: Option<PathBuf>,
}

/// The user's directories and configuration.
#[derive(Debug)]
pub(crate) struct AppContext {
    pub(crate) places: AppDirs,
    pub(crate) config: Config,
}

impl AppContext {
    pub(crate) fn load(at: &GlobalArgs) -> anyhow::Result<Self> {
        let (places, source) = Self::find(at)?;
        places.make_private().context("the rights to Narrows' own directories cannot be set")?;
        let config = Config::load(&source)?;
        Ok(Self { places, config })
    }

    /// Finds the directories and the configuration file without reading them.
    pub(crate) fn find(at: &GlobalArgs) -> anyhow::Result<(AppDirs, ConfigSource)> {
        let mut places = AppDirs::find(Os::current(), &Environment::Process)?;
        let here = std::env::current_dir().context("the working directory is not there")?;
        if let Some(data) = &at.data {
            places.data = here.join(data);
        }
        let source = ConfigSource::find(at.config.as_deref(), &here, &places);
        Ok((places, source))
    }

    /// Makes a broker for the tools of all configured servers.
    pub(crate) fn broker(&self) -> anyhow::Result<Broker> {
        let Config { servers, disabled, .. } = &self.config;
        let logs = self.server_logs()?;
        let answers = settings::answer_bytes(&self.config);
        broker_with(&self.places, servers.clone(), disabled, logs, answers)
    }

    /// Makes the discovery of a broker's tools, with what was learnt about them on this machine.
    pub(crate) fn discovery(&self, broker: Broker, background: &Background) -> Arc<Discovery> {
        let DiscoveryConfig { learn, observe, check } = self.config.discovery;
        let servers = self.config.servers.iter();
        let categories = servers
            .filter_map(|server| Some((server.name.clone(), server.category.clone()?)))
            .collect();
        let dir = Some(self.places.data.join("learnt"));
        let settings = DiscoverySettings { dir, learn, observe, check, categories };
        Arc::new(Discovery::new(broker, settings, background.clone()))
    }

    /// Makes an engine for a command that runs one program after another.
    pub(crate) fn engine(
        &self,
        broker: Broker,
        background: &Background,
    ) -> anyhow::Result<Arc<Engine>> {
        let discovery = self.discovery(broker, background);
        Ok(Engine::new(discovery, self.state()?, SandboxConfig::single()))
    }

    /// Opens the token stats that are kept on this machine.
    pub(crate) fn token_stats(&self, background: &Background) -> Arc<TokenStats> {
        TokenStats::new(Some(self.places.data.join("stats")), background.clone())
    }

    /// Opens the logs of what servers printed, in which personal data is replaced.
    pub(crate) fn server_logs(&self) -> anyhow::Result<ServerLogs> {
        let scanner = Scanner::new(&settings::safety(&self.config).pii).context("narrows.toml")?;
        Ok(ServerLogs::new(self.places.data.join("logs"), scanner))
    }

    pub(crate) fn logins(&self) -> LoginStore {
        LoginStore::new(self.places.data.join("logins"))
    }

    /// Opens the state (store, workspaces, sessions, vault) of this configuration.
    pub(crate) fn state(&self) -> anyhow::Result<Arc<State>> {
        state(&self.places, &self.config)
    }

    /// Returns the principal of the agent with this name, or the local one if none is named.
    pub(crate) fn principal(&self, name: Option<&str>) -> anyhow::Result<Principal> {
        let local = Principal::local();
        let Some(name) = name.filter(|name| *name != local.name) else { return Ok(local) };
        let agents = &self.config.keeping.agents;
        match agents.iter().find(|agent| agent.principal.name == name) {
            Some(agent) => Ok(agent.principal.clone()),
            None => {
                let known = agents.iter().map(|agent| agent.principal.name.as_str());
                let near = narrows_model::nearest(name, known);
                bail!("there is no agent {name:?}{near}; add [agents.{name}] to narrows.toml")
            }
        }
    }

    /// Opens the state as the agent with this name may see it.
    pub(crate) fn agent(&self, name: Option<&str>) -> anyhow::Result<Agent> {
        Ok(self.state()?.agent(Arc::new(self.principal(name)?)))
    }
}

/// Opens the state (store, workspaces, sessions, vault) of a configuration.
pub(crate) fn state(places: &AppDirs, config: &Config) -> anyhow::Result<Arc<State>> {
    let keeping = &config.keeping;
    let store = store_place(places, config)?;
    places.create_data().with_context(|| format!("cannot make {}", places.data.display()))?;
    // Programs that must not see real values do not see files that have them.
    let safety = safety(places, config)?;
    let workspaces = match safety.mode() {
        Mode::Strict => "workspaces-strict",
        Mode::Boundary | Mode::Off => "workspaces",
    };
    Ok(State::new(StateSettings {
        store,
        workspaces: places.data.join(workspaces),
        place: place_of(&places.data)?,
        limits: config.limits.clone(),
        output_age: keeping.output_age,
        output_bytes: keeping.output_bytes,
        sessions: settings::sessions(&keeping.sessions),
        safety,
        analysis: settings::analysis(&config.analysis),
    }))
}

/// Returns the URL of the store: from the environment, else from the configuration, else a SQLite file
/// among the data.
pub(crate) fn store_place(places: &AppDirs, config: &Config) -> anyhow::Result<StoreUrl> {
    let named = match std::env::var("NARROWS_STORE") {
        Ok(url) if !url.is_empty() => Some(url),
        _ => {
            let url = config.keeping.store.as_ref();
            let expanded = url.map(|url| url.expand(|name| std::env::var(name).ok()));
            expanded.transpose().context("store.url")?
        }
    };
    match named {
        Some(url) => url.parse::<StoreUrl>().context("the URL of the store"),
        None => Ok(StoreUrl::Sqlite(places.data.join("narrows.db"))),
    }
}

/// Makes the safety of a configuration: policy, isolation levels and the handling of personal data.
pub(crate) fn safety(places: &AppDirs, config: &Config) -> anyhow::Result<Arc<Safety>> {
    let rules = ConfiguredRules(RulesFile::new(rules_file(places, config)));
    let key = vault_key::source(&config.safety.key, &places.data);
    Safety::with_rules_from(Arc::new(rules), settings::safety(config), key).context("narrows.toml")
}

/// Returns the file that rules are read from and written to, whether it exists or not.
pub(crate) fn rules_file(places: &AppDirs, config: &Config) -> PathBuf {
    config.path.clone().unwrap_or_else(|| places.config_file())
}

/// Returns a random name of this data directory, made once, by which its files differ from those of
/// other directories that share a store.
fn place_of(data: &Path) -> anyhow::Result<String> {
    let random = || Ok(random_hex()?[..12].to_owned());
    kept_text(&data.join("place"), |text| !text.is_empty(), random)
}

/// Makes a broker for these servers. Nothing that they print is kept.
pub(crate) fn broker(places: &AppDirs, servers: Vec<ServerSpec>) -> anyhow::Result<Broker> {
    broker_with(places, servers, &[], ServerLogs::none(), ANSWER_BYTES)
}

/// The same as [`broker`], but what the servers print is kept, and naming a disabled server is answered
/// with the fact that it is.
fn broker_with(
    places: &AppDirs,
    servers: Vec<ServerSpec>,
    disabled: &[ServerSpec],
    logs: ServerLogs,
    answers: u64,
) -> anyhow::Result<Broker> {
    let cache = Cache::new(places.cache.join("catalog"));
    let disabled = disabled.iter().map(|spec| spec.name.as_str());
    let catalog =
        Arc::new(Catalog::new(&servers, Some(cache), &PythonNaming).with_disabled(disabled));
    let logins = LoginStore::new(places.data.join("logins"));
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let guard = ChildReaper::new(program, vec!["guard".to_owned()]);
    let tools = Arc::clone(&catalog);
    let fleet = Arc::new(Fleet::within(answers, servers, tools, logins, guard, logs));
    Ok(Broker::new(catalog, fleet))
}
