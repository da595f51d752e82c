//! Commands that exchange skills with others: export, publish, search, install, update.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, bail};
use clap::Subcommand;
use narrows_engine::skills::{PythonReader, SkillOrigin};
use narrows_skills::{
    Fetched, FetchedSkill, Fetcher, IndexEntry, KeyFile, Package, Registry, SkillSource,
    SourceError, write_folder,
};
use narrows_upstream::client_builder;
use serde_json::{Value, json};

use super::SkillCommands;
use crate::{
    app::Exit,
    printer::{Column, Table},
};

#[derive(Debug, Subcommand)]
pub(super) enum ExchangeCommand {
    /// Write a skill into one file, signed with your key
    Export {
        name: String,
        /// Where to; NAME.skill.json if nothing is said
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[arg(long)]
        version: Option<i64>,
        /// Put the skills that it imports into the same file
        #[arg(long)]
        bundle: bool,
        /// Without a signature
        #[arg(long)]
        unsigned: bool,
        /// As a folder with a SKILL.md below this directory, as other tools read it
        #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "bundle", "unsigned"])]
        folder: Option<PathBuf>,
    },
    /// Put a skill into a registry: a directory that any web server can serve
    Publish {
        name: String,
        /// Its directory; that of [skills] registry in narrows.toml if none is named
        #[arg(long, value_name = "DIR")]
        registry: Option<PathBuf>,
        /// Put the skills that it imports into the same file
        #[arg(long)]
        bundle: bool,
    },
    /// Look for skills in a registry
    Search {
        #[arg(default_value = "")]
        query: String,
        /// Its directory or URL; that of [skills] registry in narrows.toml if none is named
        #[arg(long, value_name = "SOURCE")]
        registry: Option<String>,
    },
    /// Install skills from a file, a directory, a git repository or a URL
    Install {
        /// Where from, or the name of a skill in the registry of narrows.toml
        source: String,
        /// Which, as NAME or NAME@VERSION
        names: Vec<String>,
        /// Without being asked
        #[arg(short, long)]
        yes: bool,
    },
    /// Install newer versions from where skills came from
    Update {
        /// All that were installed, if none is named
        names: Vec<String>,
        /// Without being asked
        #[arg(short, long)]
        yes: bool,
    },
    /// Show the fingerprint of the key that your skills are signed with
    Key,
}

pub(super) async fn run(desk: &SkillCommands, command: ExchangeCommand) -> anyhow::Result<Exit> {
    match command {
        ExchangeCommand::Export { name, version, folder: Some(folder), .. } => {
            let package = desk.agent.pack_skill(&name, version, false, None).await?;
            let path = write_folder(&folder, &package, &PythonReader)?;
            written(desk, "wrote", &path, &package);
        }
        ExchangeCommand::Export { name, output, version, bundle, unsigned, .. } => {
            let key = if unsigned { None } else { Some(key(desk)?) };
            let package = desk.agent.pack_skill(&name, version, bundle, key.as_ref()).await?;
            let path = output.unwrap_or_else(|| PathBuf::from(format!("{name}.skill.json")));
            std::fs::write(&path, package.to_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
            written(desk, "wrote", &path, &package);
        }
        ExchangeCommand::Publish { name, registry, bundle } => {
            let configured = || desk.setting.config.keeping.registry.clone().map(PathBuf::from);
            let registry = registry
                .or_else(configured)
                .context("say --registry DIR, or set [skills] registry in narrows.toml")?;
            let package = desk.agent.pack_skill(&name, None, bundle, Some(&key(desk)?)).await?;
            let path = Registry::new(registry).publish(&package)?;
            written(desk, "published", &path, &package);
        }
        ExchangeCommand::Search { query, registry } => return search(desk, &query, registry).await,
        ExchangeCommand::Install { source, names, yes } => {
            return install(desk, source, names, yes).await;
        }
        ExchangeCommand::Update { names, yes } => return update(desk, names, yes).await,
        ExchangeCommand::Key => {
            let fingerprint = key(desk)?.fingerprint();
            match desk.json {
                true => desk.printer.json(&json!({ "fingerprint": fingerprint.as_str() })),
                false => desk.printer.line(fingerprint.as_str()),
            }
        }
    }
    Ok(Exit::Success)
}

fn written(desk: &SkillCommands, what: &str, path: &std::path::Path, package: &Package) {
    let file = path.display().to_string();
    match desk.json {
        true => desk.printer.json(&json!({ "file": file, "manifest": package.manifest() })),
        false => desk.printer.line(format!("{what} {file}, {}", package.signed())),
    }
}

/// Makes the fetcher of skills from files, repositories and URLs.
fn fetcher() -> Result<Fetcher, SourceError> {
    Fetcher::new(client_builder(), Arc::new(PythonReader))
}

/// Opens the key that skills are signed with, which is made the first time.
fn key(desk: &SkillCommands) -> anyhow::Result<KeyFile> {
    let path = desk.setting.places.data.join("skills-key");
    Ok(KeyFile::open_or_create(&path)?)
}

fn registry_of(desk: &SkillCommands, named: Option<String>) -> anyhow::Result<String> {
    named
        .or_else(|| desk.setting.config.keeping.registry.clone())
        .context("say --registry SOURCE, or set [skills] registry in narrows.toml")
}

async fn search(
    desk: &SkillCommands,
    query: &str,
    registry: Option<String>,
) -> anyhow::Result<Exit> {
    let index = match SkillSource::parse(&registry_of(desk, registry)?)? {
        SkillSource::Directory(path) => Registry::new(path).index()?,
        SkillSource::Registry(url) => fetcher()?.index(&url).await?,
        _ => bail!("that is no registry; name its directory, or a URL that ends in /"),
    };
    let found: Vec<&IndexEntry> = match query.trim() {
        "" => index.entries().iter().collect(),
        query => index.search(query),
    };
    if desk.json {
        desk.printer.json(&json!({ "skills": found }));
        return Ok(Exit::Success);
    }
    if found.is_empty() {
        desk.printer.note("no skill of the registry fits");
    }
    let mut table = Table::new([
        Column::name("skill"),
        Column::text("signature").cut(),
        Column::text("description").wrapped(),
    ]);
    for entry in found {
        let name = format!("{}@{}", entry.name, entry.version);
        table.row([name.into(), (&entry.signature).into(), (&entry.description).into()]);
    }
    desk.printer.table(&table);
    Ok(Exit::Success)
}

async fn install(
    desk: &SkillCommands,
    mut source: String,
    mut names: Vec<String>,
    yes: bool,
) -> anyhow::Result<Exit> {
    // A lone name is that of a skill in the registry.
    let is_name = names.is_empty()
        && !std::path::Path::new(&source).exists()
        && !source.contains(['/', '\\', ':']);
    if is_name && let Some(registry) = &desk.setting.config.keeping.registry {
        names = vec![std::mem::replace(&mut source, registry.clone())];
    }
    let fetcher = fetcher()?;
    let place = SkillSource::parse(&source)?;
    let mut fetched = Vec::new();
    match names.is_empty() {
        true => fetched = fetcher.fetch(&place, None).await?,
        false => {
            for name in &names {
                fetched.extend(fetcher.fetch(&place, Some(name)).await?);
            }
        }
    }
    let source = match &place {
        SkillSource::File(path) | SkillSource::Directory(path) => {
            std::path::absolute(path)?.display().to_string()
        }
        _ => source,
    };
    put(desk, &source, fetched, yes).await
}

async fn update(desk: &SkillCommands, names: Vec<String>, yes: bool) -> anyhow::Result<Exit> {
    let installed = desk.agent.installed_skills().await?;
    if let Some(unknown) = names.iter().find(|name| !installed.iter().any(|(one, _)| one == *name))
    {
        bail!("{unknown:?} was not installed from anywhere; see narrows skills list");
    }
    let fetcher = fetcher()?;
    let mut exit = Exit::Success;
    for (name, origin) in installed {
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let fetched = match SkillSource::parse(&origin.source) {
            Ok(place) => fetcher.fetch(&place, Some(&origin.wanted)).await,
            Err(error) => Err(error),
        };
        let fetched = match fetched {
            Ok(fetched) => fetched,
            // The others can be updated all the same.
            Err(error) => {
                desk.printer.error(format!("{name}: {error}"));
                exit = Exit::Failure;
                continue;
            }
        };
        let is_new = |one: &Fetched| match &one.skill {
            FetchedSkill::Package(package) => package.manifest().hash != origin.hash,
            // A folder that is no longer a skill counts as changed, and is reported when it is
            // installed.
            FetchedSkill::Folder(folder) => !folder
                .to_package(&PythonReader)
                .is_ok_and(|package| package.manifest().hash == origin.hash),
        };
        if !fetched.iter().any(is_new) {
            desk.printer.note(format!("{name} is up to date"));
            continue;
        }
        let other_signer = fetched.iter().find_map(|one| match &one.skill {
            FetchedSkill::Package(package) => {
                Some(package.signed().to_string()).filter(|signed| *signed != origin.signed)
            }
            FetchedSkill::Folder(_) => None,
        });
        if let Some(signed) = other_signer {
            desk.printer.error(format!(
                "{name} was {}, and is {signed} now: it is not updated; if this is right, install \
                 it again from {}",
                origin.signed, origin.source
            ));
            exit = Exit::Failure;
            continue;
        }
        put(desk, &origin.source, fetched, yes).await?;
    }
    Ok(exit)
}

/// Shows the fetched skills, asks the person, and saves them.
async fn put(
    desk: &SkillCommands,
    source: &str,
    fetched: Vec<Fetched>,
    yes: bool,
) -> anyhow::Result<Exit> {
    let mut saved: Vec<Value> = Vec::new();
    for one in fetched {
        let package = match &one.skill {
            FetchedSkill::Package(package) => Package::clone(package),
            FetchedSkill::Folder(folder) => folder.to_package(&PythonReader)?,
        };
        if !desk.json || !yes {
            show(desk, &one.from, &package);
        }
        let agreed = yes
            || desk
                .printer
                .ask(&format!("Install {}?", one.name()))?
                .context("nobody is there to ask; look at it, and add --yes to install it")?;
        if !agreed {
            desk.printer.note(format!("{} was not installed", one.name()));
            continue;
        }
        let origin = SkillOrigin {
            source: source.to_owned(),
            wanted: one.name().to_owned(),
            from: one.from.clone(),
            ..SkillOrigin::default()
        };
        for skill in desk.agent.install_skill(&desk.broker, &package, origin).await? {
            if !desk.json {
                desk.printer.line(format!("installed {} version {}", skill.name, skill.version));
                skill.notes.iter().for_each(|note| desk.printer.note(note));
            }
            saved.push(json!(skill));
        }
    }
    if desk.json {
        desk.printer.json(&json!({ "installed": saved }));
    }
    Ok(Exit::Success)
}

/// Shows what a person has to know before a skill is installed.
fn show(desk: &SkillCommands, from: &str, package: &Package) {
    for skill in package.in_order() {
        let manifest = skill.manifest();
        let say = |text: String| desk.printer.note(text);
        say(format!("{} version {} from {from}", manifest.name, manifest.version));
        say(format!("  {}: {}", manifest.signature, manifest.description));
        say(format!("  {}", skill.signed()));
        let tools: Vec<&str> = manifest.tools.iter().map(|tool| tool.tool.as_str()).collect();
        say(match tools.is_empty() {
            true => "  calls no tools".to_owned(),
            false => format!("  may call {}", tools.join(", ")),
        });
    }
    let missing = package.missing_skills();
    if !missing.is_empty() {
        desk.printer
            .note(format!("  needs the skills {}, which are not in it", missing.join(", ")));
    }
}
