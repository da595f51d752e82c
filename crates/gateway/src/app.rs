//! The composition root: reads the command line, puts the parts together, and runs a command.

use std::{path::Path, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Parser;
use narrows_engine::{
    Background, Executor, Guide, GuideSettings,
    broker::Broker,
    catalog::{Cache, Catalog},
    ledger::Ledger,
    upstream::{Fleet, Guard, LoginStore},
};
use narrows_model::ServerSpec;
use narrows_sandbox::{SandboxConfig, Workspace};

use crate::{
    bench,
    cli::{self, Cli, Command},
    config::{Config, ConfigSource, Discovery, Environment, Os, Places},
    demo,
    printer::Printer,
};

/// The exit codes that scripts can rely on.
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
    /// Interrupted by the user, as shells have it.
    Interrupted = 130,
}

pub(crate) fn main() -> ExitCode {
    // Wrong arguments end here, with clap's own message and exit code 2.
    let cli = Cli::parse();
    let printer = Printer;
    let exit = match start(cli, printer) {
        Ok(exit) => exit,
        Err(error) => {
            printer.error(format!("{error:#}"));
            Exit::Failure
        }
    };
    ExitCode::from(exit as u8)
}

fn start(cli: Cli, printer: Printer) -> anyhow::Result<Exit> {
    // These need neither a runtime nor a configuration.
    match cli.command {
        Command::Guard => {
            Guard::stand(std::io::stdin().lock());
            return Ok(Exit::Success);
        }
        Command::Completions(args) => return Ok(cli::completions::run(args, printer)),
        Command::Import(args) => return cli::import::run(args, cli.config, printer),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let config = cli.config.as_deref();
    let exit = runtime.block_on(async {
        match cli.command {
            Command::Run(args) => cli::run::run(args, Setting::load(config)?, printer).await,
            Command::Bench(args) => bench::run(args, printer).await,
            Command::Demo(args) => demo::run(args, printer).await,
            Command::DemoServer => demo::server::serve().await,
            Command::Serve(args) => cli::serve::run(args, Setting::load(config)?, printer).await,
            Command::Servers(args) => cli::servers::run(args, config, printer).await,
            Command::Tools(args) => cli::tools::run(args, Setting::load(config)?, printer).await,
            Command::Stats(args) => cli::stats::run(args, Setting::load(config)?, printer),
            Command::Doctor(args) => cli::doctor::run(args, config, printer).await,
            Command::Guard | Command::Completions(_) | Command::Import(_) => Ok(Exit::Success),
        }
    });
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// How long a command that ends waits until what it learnt is written down.
pub(crate) const FLUSH_TIME: Duration = Duration::from_secs(2);

/// An executor for a command that runs one program after another.
pub(crate) fn single_executor() -> anyhow::Result<Executor> {
    let config = SandboxConfig { most_runs: 1, warm_isolates: 0, ..SandboxConfig::default() };
    Ok(Executor::new(config)?)
}

/// The user's directories and configuration.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) places: Places,
    pub(crate) config: Config,
}

impl Setting {
    pub(crate) fn load(named: Option<&Path>) -> anyhow::Result<Self> {
        let (places, source) = Self::find(named)?;
        let config = Config::load(&source)?;
        Ok(Self { places, config })
    }

    /// Where everything is, without reading it.
    pub(crate) fn find(named: Option<&Path>) -> anyhow::Result<(Places, ConfigSource)> {
        let places = Places::find(Os::current(), &Environment::Process)?;
        let here = std::env::current_dir().context("the working directory is not there")?;
        let source = ConfigSource::find(named, &here, &places);
        Ok((places, source))
    }

    /// The way to the tools of all configured servers.
    pub(crate) fn broker(&self) -> anyhow::Result<Broker> {
        broker(&self.places, self.config.servers.clone())
    }

    /// What is known of them, and learnt.
    pub(crate) fn guide(&self, broker: Broker, background: &Background) -> Arc<Guide> {
        let Discovery { learn, observe, check } = self.config.discovery;
        let servers = self.config.servers.iter();
        let categories = servers
            .filter_map(|server| Some((server.name.clone(), server.category.clone()?)))
            .collect();
        let dir = Some(self.places.data.join("learnt"));
        let settings = GuideSettings { dir, learn, observe, check, categories };
        Arc::new(Guide::new(broker, settings, background.clone()))
    }

    /// What was counted on this machine.
    pub(crate) fn ledger(&self, background: &Background) -> Arc<Ledger> {
        Ledger::new(Some(self.places.data.join("stats")), background.clone())
    }

    pub(crate) fn logins(&self) -> LoginStore {
        LoginStore::new(self.places.data.join("logins"))
    }

    /// The directory that programs of clients see as `/workspace`.
    pub(crate) fn workspace(&self) -> anyhow::Result<Arc<Workspace>> {
        let path = self.places.data.join("workspace");
        std::fs::create_dir_all(&self.places.data)
            .with_context(|| format!("cannot make {}", self.places.data.display()))?;
        Ok(Workspace::open(path, &self.config.limits)?)
    }
}

/// The way to the tools of these servers.
pub(crate) fn broker(places: &Places, servers: Vec<ServerSpec>) -> anyhow::Result<Broker> {
    let cache = Cache::new(places.cache.join("catalog"));
    let catalog = Arc::new(Catalog::new(&servers, Some(cache)));
    let logins = LoginStore::new(places.data.join("logins"));
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let guard = Guard::new(program, vec!["guard".to_owned()]);
    let fleet = Arc::new(Fleet::new(servers, Arc::clone(&catalog), logins, guard));
    Ok(Broker::new(catalog, fleet))
}
