//! `narrows import`: takes over the servers that other clients have.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use narrows_model::nearest;

use crate::{
    app::{AppContext, Exit, GlobalArgs},
    config::{AppDirs, Config, ConfigEdit, ConfigSource, Environment, Existing, Os},
    import::{self, Applied, ClientApp, Force, Home, ImportReport, Launch, Plan},
    printer::Printer,
};

pub(crate) const AFTER_HELP: &str = "\
Servers are added to narrows.toml in the user's config directory, or to --config. Entries that are
there stay as they are, and values such as tokens are copied without being shown.

Clients: claude-desktop, claude-code, cursor, vscode, windsurf, zed, codex, gemini, opencode, goose

Examples:
  narrows import --dry-run
  narrows import --from cursor,claude-code --apply
  narrows import --undo";

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The clients to import from, separated by commas, or `all`
    #[arg(long, value_name = "CLIENT", default_value = "all", value_parser = parse_clients)]
    from: Clients,
    /// Also import what the clients have for work in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "undo")]
    project: Option<PathBuf>,
    /// Only show what would be imported
    #[arg(long, conflicts_with_all = ["apply", "undo"])]
    dry_run: bool,
    /// Put Narrows into the clients' files instead of what was imported, with backups
    #[arg(long, conflicts_with = "undo")]
    apply: bool,
    /// Put back the files that the last --apply changed
    #[arg(long)]
    undo: bool,
    /// Put them back even if they were changed since
    #[arg(long, requires = "undo")]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Clients(pub(super) Vec<ClientApp>);

pub(super) fn parse_clients(text: &str) -> Result<Clients, String> {
    if text == "all" {
        return Ok(Clients(ClientApp::ALL.to_vec()));
    }
    let ids = || ClientApp::ALL.iter().map(|client| client.id());
    let clients = text.split(',').map(str::trim).map(|id| {
        ClientApp::from_id(id).ok_or_else(|| {
            let near = nearest(id, ids());
            let ids = ids().collect::<Vec<_>>().join(", ");
            format!("there is no client {id:?}{near} (use all, or some of {ids})")
        })
    });
    clients.collect::<Result<_, _>>().map(Clients)
}

pub(crate) fn run(args: ImportArgs, at: &GlobalArgs, printer: Printer) -> anyhow::Result<Exit> {
    let (places, _) = AppContext::find(at)?;
    let report = if args.undo {
        undo(&args, &places)?
    } else {
        let home = Home::find(Os::current(), &Environment::Process)?;
        import(&args, at, &places, &home)?
    };
    if args.json {
        printer.json(&report);
    } else {
        report.lines().into_iter().for_each(|line| printer.line(line));
        advise(&args, &report, printer);
    }
    let has_read = args.undo || report.files.iter().any(|file| file.error.is_none());
    let failed = !has_read || report.has_failed_changes();
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

fn import(
    args: &ImportArgs,
    at: &GlobalArgs,
    places: &AppDirs,
    home: &Home,
) -> anyhow::Result<ImportReport> {
    let named = at.config.as_ref().map(std::path::absolute).transpose()?;
    let target = named.unwrap_or_else(|| places.config_file());
    let project = args.project.as_deref().map(directory).transpose()?;
    // Without --dry-run the configuration is locked from here on, until it is written.
    let (edit, config) = if args.dry_run {
        (None, Config::load(&ConfigSource::User(target.clone()))?)
    } else {
        let edit = ConfigEdit::open(&target)?;
        let config = edit.config()?;
        (Some(edit), config)
    };
    let plan = Plan::make(&args.from.0, home, project.as_deref(), &config);
    if plan.files.is_empty() {
        let looked: Vec<_> =
            plan.missing.iter().map(|path| format!("\n  {}", path.display())).collect();
        bail!("no configuration of a client was found; looked for{}", looked.concat());
    }
    let mut report = ImportReport::of(&plan, target);
    let Some(mut edit) = edit.filter(|_| plan.has_read_any()) else { return Ok(report) };
    for server in &plan.additions {
        edit.add(server, Existing::Refuse)?;
    }
    report.added = plan.additions.len();
    if report.added > 0 {
        edit.save()?;
    } else {
        // The record of changes may be in the same directory, and locks it again.
        drop(edit);
    }
    if args.apply {
        let launch = launch(at)?;
        let mut applied = open_record(places)?;
        report = report.with_applied(import::apply(&plan, &launch, &mut applied));
    }
    Ok(report)
}

/// Returns how clients start this program: with the configuration and the data directory that were named
/// for this command, as absolute paths.
pub(super) fn launch(at: &GlobalArgs) -> anyhow::Result<Launch> {
    let command = std::env::current_exe().context("cannot find the path of narrows itself")?;
    let command = command.to_str().context("the path of narrows is not valid Unicode")?;
    let absolute = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    let (config, data) = (absolute(&at.config)?, absolute(&at.data)?);
    Ok(Launch::new(command.to_owned(), config.as_deref(), data.as_deref()))
}

fn undo(args: &ImportArgs, places: &AppDirs) -> anyhow::Result<ImportReport> {
    let force = if args.force { Force::Yes } else { Force::No };
    let undone = open_record(places)?.undo(&args.from.0, force)?;
    if undone.is_empty() {
        bail!(
            "there is nothing to undo: no file of a client was changed by narrows import --apply"
        );
    }
    let report = ImportReport { config: places.config_file(), ..ImportReport::default() };
    Ok(report.with_undone(undone))
}

fn open_record(places: &AppDirs) -> anyhow::Result<Applied> {
    Applied::open(&places.data)
        .with_context(|| format!("cannot use the record of imports in {}", places.data.display()))
}

/// Returns the path of a project as clients write it.
fn directory(path: &Path) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    if !path.is_dir() {
        bail!("--project: {} is not a directory", path.display());
    }
    Ok(path)
}

/// Tells the user what to do next.
fn advise(args: &ImportArgs, report: &ImportReport, printer: Printer) {
    let config = report.config.display();
    if args.undo {
        printer.note(format!("the servers that were imported stay in {config}"));
        return;
    }
    let servers = if report.added == 1 { "server" } else { "servers" };
    match report.added {
        0 if args.dry_run => printer.note("nothing was written"),
        0 => printer.note(format!("there was nothing to add to {config}")),
        added => printer.line(format!("added {added} {servers} to {config}")),
    }
    let changed = report.applied.iter().any(|change| change.error.is_none());
    if changed {
        printer.note("restart these clients; narrows import --undo puts their files back");
    } else if report.added > 0 && !args.apply {
        printer.note("narrows import --apply puts Narrows into the clients instead of these");
    }
}
