//! A catalog of real tools, from files.

use std::path::Path;

use anyhow::{Context, ensure};
use narrows_engine::{Background, Discovery, DiscoverySettings};
use narrows_model::{Connection, ServerSpec, StdioSpec};
use narrows_upstream::catalog::{Listing, UpstreamInfo};
use serde_json::Value;
use tempfile::TempDir;

use crate::{app, config::AppDirs};

/// The discovery of the loaded tools, and the temporary directory that it uses.
pub(in crate::bench) struct Loaded {
    pub(in crate::bench) discovery: Discovery,
    pub(in crate::bench) home: TempDir,
}

/// Reads a directory of `tools/list` results, one JSON file for each server.
pub(in crate::bench) fn load(dir: &Path) -> anyhow::Result<Loaded> {
    let listings = read(dir)?;
    ensure!(!listings.is_empty(), "there is no tools/list result in {}", dir.display());
    let home = tempfile::tempdir().context("there is no place for temporary files")?;
    let spec = |name: &str| ServerSpec::new(name, Connection::Stdio(StdioSpec::default()));
    let specs: Vec<ServerSpec> = listings.iter().map(|(name, _)| spec(name)).collect();
    let broker = app::broker(&AppDirs::below(home.path()), specs.clone())?;
    for (spec, (_, listing)) in specs.iter().zip(listings) {
        broker.catalog().replace(spec, listing);
    }
    let settings = DiscoverySettings { check: true, ..DiscoverySettings::default() };
    let discovery = Discovery::new(broker, settings, Background::default());
    Ok(Loaded { discovery, home })
}

fn read(dir: &Path) -> anyhow::Result<Vec<(String, Listing)>> {
    let mut listings = Vec::new();
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let value: Value = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not JSON", path.display()))?;
        let Some(tools) = value.get("tools").and_then(Value::as_array) else { continue };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        listings.push((name, Listing { about: UpstreamInfo::default(), tools: tools.clone() }));
    }
    listings.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(listings)
}
