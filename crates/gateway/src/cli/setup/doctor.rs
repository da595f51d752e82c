//! `narrows doctor`: checks everything, and says how to mend what does not work.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use narrows_engine::{ExecuteRequest, safety::Mode};
use narrows_model::{Connection, MissingVariable, Program};
use narrows_sandbox::NoTools;
use narrows_store::{Store, StoreUrl};
use narrows_system::private_file;
use narrows_upstream::{Health, StartProblem, Status};
use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    app::{self, AppContext, Exit, GlobalArgs},
    cli::{serve, servers::probe_each},
    config::{AppDirs, Config},
    error_chain::error_chain,
    printer::{Printer, Style},
    settings, vault_key,
};

/// The advice for a variable that is not set.
const UNSET: &str =
    "export the variable before the client starts narrows, or write ${NAME:-default}";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The result of checking one thing.
#[derive(Debug, Serialize)]
struct Check {
    subject: String,
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Check {
    fn good(subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self { subject: subject.into(), ok: true, found: found.into(), remedy: None }
    }

    fn bad(
        subject: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let remedy = Some(remedy.into());
        Self { subject: subject.into(), ok: false, found: found.into(), remedy }
    }
}

pub(crate) async fn run(
    args: DoctorArgs,
    at: &GlobalArgs,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let (places, source) = AppContext::find(at)?;
    let mut checks = vec![sandbox().await];
    checks.extend(directories(&places));
    match Config::load(&source) {
        Err(error) => checks.push(Check::bad(
            "configuration",
            error.to_string(),
            format!("correct {}", source.path().display()),
        )),
        Ok(config) => {
            checks.push(configuration(&config, source.path()));
            checks.extend(settings(&places, &config, source.path()).await);
            checks.push(personal_data(settings::safety(&config).mode));
            let names: Vec<String> = config.servers.iter().map(|spec| spec.name.clone()).collect();
            let broker = app::broker(&places, config.servers)?;
            let mut statuses = probe_each(&broker, &names, printer, |_| {}).await;
            statuses.sort_by(|one, other| one.server.cmp(&other.server));
            checks.extend(statuses.iter().map(|status| {
                let mut specs = broker.fleet().specs();
                let spec = specs.find(|spec| spec.name == status.server);
                let is_http =
                    spec.is_some_and(|spec| matches!(spec.connection, Connection::Http(_)));
                server(status, is_http)
            }));
            broker.fleet().shut_down().await;
        }
    }
    let all_good = checks.iter().all(|check| check.ok);
    if args.json {
        printer.json(&json!({ "ok": all_good, "checks": checks }));
    } else {
        for check in &checks {
            let (style, mark) = if check.ok { (Style::Good, "ok  ") } else { (Style::Bad, "FAIL") };
            let found = format!("  {}: {}", check.subject, check.found);
            printer.spans(&[(style, mark), (Style::Plain, &found)]);
            if let Some(remedy) = &check.remedy {
                printer.line(format!("      → {remedy}"));
            }
        }
    }
    Ok(if all_good { Exit::Success } else { Exit::Failure })
}

async fn sandbox() -> Check {
    let ran = async {
        let executor = app::single_executor()?;
        let program = Program::new("import sys; result = sys.version.split()[0]");
        let request = ExecuteRequest { program, ..ExecuteRequest::default() };
        let cancel = CancellationToken::new();
        Ok::<_, anyhow::Error>(executor.execute(None, request, &NoTools, cancel).await?)
    };
    match ran.await {
        Ok(outcome) if outcome.is_success() => Check::good(
            "sandbox",
            format!(
                "Python {} ran in {:.1} ms",
                outcome.result.as_str().unwrap_or_default(),
                outcome.wall_time.as_secs_f64() * 1e3
            ),
        ),
        Ok(outcome) => Check::bad(
            "sandbox",
            format!("{:?}", outcome.ending),
            "this is a fault of Narrows or of the machine's memory; report it with this line",
        ),
        Err(error) => Check::bad(
            "sandbox",
            format!("{error:#}"),
            "a processor with SSE4.2 and some hundred MB of memory are needed",
        ),
    }
}

fn directories(places: &AppDirs) -> Vec<Check> {
    let named = [("data", &places.data), ("cache", &places.cache), ("config", &places.config)];
    named
        .into_iter()
        .map(|(name, path)| {
            let subject = format!("{name} directory");
            let written = private_file::make_dir(path)
                .and_then(|()| tempfile::NamedTempFile::new_in(path).map(drop));
            match written {
                Ok(()) => Check::good(subject, path.display().to_string()),
                Err(error) => Check::bad(
                    subject,
                    format!("{} cannot be written to: {error}", path.display()),
                    format!("make it writable, or set NARROWS_{}_DIR", name.to_uppercase()),
                ),
            }
        })
        .collect()
}

fn configuration(config: &Config, path: &Path) -> Check {
    match &config.path {
        Some(path) if config.servers.is_empty() => Check::bad(
            "configuration",
            format!("{} has no servers", path.display()),
            "narrows import, or narrows servers add --help",
        ),
        Some(path) => Check::good(
            "configuration",
            format!("{}, {} servers", path.display(), config.servers.len()),
        ),
        None => Check::bad(
            "configuration",
            format!("{} is not there", path.display()),
            "narrows import, or narrows servers add --help",
        ),
    }
}

/// Checks what other commands need of the configuration, beside servers. Nothing is created here, even
/// if those commands would create it.
async fn settings(places: &AppDirs, config: &Config, path: &Path) -> [Check; 4] {
    let safety = app::safety(places, config)
        .map(|_| format!("isolation level {}", settings::safety(config).level));
    let key = match vault_key::is_there(&config.safety.key, &places.data) {
        Ok(true) => Ok("it is there".to_owned()),
        Ok(false) => Ok("it is made when it is first needed".to_owned()),
        Err(error) => Err(error),
    };
    let keys = serve::keys(config, config.http.listen).map(|keys| match keys.len() {
        0 => "none in the configuration".to_owned(),
        number => format!("{number} in the configuration"),
    });
    let store = store(places, config).await;
    [("store", store), ("safety", safety), ("vault key", key), ("HTTP keys", keys)].map(
        |(subject, found)| match found {
            Ok(found) => Check::good(subject, found),
            Err(error) => {
                let remedy = match error.downcast_ref::<MissingVariable>() {
                    Some(_) => UNSET.to_owned(),
                    None => format!("mend it, or correct {}", path.display()),
                };
                Check::bad(subject, error_chain(&error), remedy)
            }
        },
    )
}

/// Reports which personal data is replaced, and the setting that changes it: users who meet tokens look
/// here.
fn personal_data(mode: Mode) -> Check {
    let found = match mode {
        Mode::Off => "models read it as it is ([pii] mode = \"off\")",
        Mode::Boundary => {
            "models read tokens in its place; [pii] mode = \"off\" turns that off, [pii] off and \
             kinds say which kinds"
        }
        Mode::Strict => {
            "models and programs read tokens in its place ([pii] mode = \"strict\"); [pii] off and \
             kinds say which kinds"
        }
    };
    Check::good("personal data", found)
}

async fn store(places: &AppDirs, config: &Config) -> anyhow::Result<String> {
    let place = app::store_place(places, config)?;
    if let StoreUrl::Sqlite(file) = &place
        && !file.exists()
    {
        // The nearest ancestor that exists.
        let file = std::path::absolute(file)?;
        if let Some(above) = file.ancestors().skip(1).find(|above| above.exists()) {
            tempfile::NamedTempFile::new_in(above)
                .with_context(|| format!("the store {place} cannot be made"))?;
        }
        return Ok(format!("{place} is made when it is first needed"));
    }
    Store::look(&place).await?;
    Ok(place.to_string())
}

fn server(status: &Status, is_http: bool) -> Check {
    let subject = format!("server {}", status.server);
    let reason = status.last_error.clone().unwrap_or_default();
    match status.health {
        Health::Ready => {
            let tools = status.tools.unwrap_or_default();
            Check::good(subject, format!("{tools} tools"))
        }
        Health::LoginNeeded => Check::bad(
            subject,
            "it needs a login",
            format!("narrows servers login {}", status.server),
        ),
        _ => {
            let problem = status.start_problem.unwrap_or(StartProblem::Other);
            let remedy = remedy(problem, &status.server, is_http);
            Check::bad(subject, reason, remedy)
        }
    }
}

fn remedy(problem: StartProblem, server: &str, is_http: bool) -> String {
    match problem {
        StartProblem::WithheldVariable => {
            format!("give it the variable: inherit_env of servers.{server}")
        }
        StartProblem::NoCommand => {
            "install the command, or give its full path in the configuration".to_owned()
        }
        StartProblem::UnsetVariable => UNSET.to_owned(),
        StartProblem::NoAnswer => format!(
            "run its command by hand; if it only starts slowly, set servers.{server}.start_timeout"
        ),
        StartProblem::Other if is_http => format!(
            "check the url and the headers of servers.{server}, and whether it can be reached"
        ),
        StartProblem::Other => format!(
            "run its command by hand, and see what it says; if it works there, it may need a \
             variable that servers are not given: name it in servers.{server}.inherit_env"
        ),
    }
}
