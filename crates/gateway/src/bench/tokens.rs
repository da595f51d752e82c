//! Measures what tool definitions and answers cost in tokens, on a catalog of real tools, against the
//! budgets.

use std::{fmt, path::Path};

use narrows_engine::{
    search::{Detail, SearchRequest},
    token_stats::{definition_text, tokens},
};
use serde::Serialize;

use super::{
    budget::{Budget, Budgeted},
    catalog::{self, Loaded},
};
use crate::mcp::{Surface, instructions, surface_text};

/// How many tools are shown at each level of detail.
const SHOWN: usize = 100;

#[derive(Debug, Serialize)]
pub(super) struct TokensReport {
    servers: usize,
    tools: usize,
    /// The tokens of all definitions, as a client that loads them shows them to its model.
    direct: u64,
    /// Budgets of the worst figure that was seen, or of the mean where the text says so.
    budgets: Vec<Budget>,
}

pub(super) fn measure(dir: &Path) -> anyhow::Result<TokensReport> {
    let Loaded { discovery, home: _home } = catalog::load(dir)?;
    let snapshot = discovery.broker().catalog().snapshot();
    let tools: Vec<_> = snapshot.tools().collect();
    let definitions =
        tools.iter().map(|tool| tokens(&definition_text(&tool.id.to_string(), &tool.raw)));
    let direct = definitions.sum();
    let mut budgets = Vec::new();
    for (what, detail_level, budget) in [
        ("100 tools, names only", Detail::NameOnly, 1_200.0),
        ("100 tools, with descriptions", Detail::WithDescription, 4_500.0),
    ] {
        let mut worst = 0;
        for chunk in QUERIES {
            let query = chunk.to_owned();
            let request = SearchRequest {
                query,
                detail_level,
                limit: Some(SHOWN),
                ..SearchRequest::default()
            };
            let answer = discovery.search_known(&request);
            let shown = answer.tools().len().max(1);
            // A search that found fewer is brought to a hundred.
            worst = worst.max(tokens(&answer.text()) * SHOWN as u64 / shown as u64);
        }
        budgets.push(Budget::at_most(what, worst as f64, budget));
    }
    let (mut share, mut full, mut json) = (0.0, 0, 0);
    for tool in &tools {
        let raw = tokens(&tool.raw.to_string()).max(1);
        // As a search shows it.
        let shown = tokens(&format!("# servers.{}\n{}", tool.module, discovery.signature(tool)));
        share += shown as f64 / raw as f64;
        (full, json) = (full + shown, json + raw);
    }
    let mean = share / tools.len().max(1) as f64 * 100.0;
    budgets.push(Budget::at_most("a tool in full, percent of its JSON, mean", mean, 40.0));
    let all = full as f64 / json as f64 * 100.0;
    budgets.push(Budget::at_most("all tools in full, percent of their JSON", all, 40.0));
    let core = tokens(&surface_text(Surface::Core)) as f64;
    let full = tokens(&surface_text(Surface::Full)) as f64;
    budgets.push(Budget::at_most("the core surface (tools/list)", core, 500.0));
    budgets.push(Budget::at_most("the full surface (tools/list)", full, 1_500.0));
    let modules = discovery.broker().catalog().modules();
    let said = tokens(&instructions(modules.values().map(String::as_str))) as f64;
    budgets.push(Budget::at_most("the instructions (initialize)", said, 250.0));
    Ok(TokensReport { servers: snapshot.servers().count(), tools: tools.len(), direct, budgets })
}

/// Queries with words that many tools have, so that a hundred tools are found.
const QUERIES: [&str; 8] = [
    "list",
    "create",
    "get information about a resource",
    "update or delete",
    "search documents and files",
    "read data from the database",
    "send message to user",
    "manage cluster deployment",
];

impl fmt::Display for TokensReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tools of {} servers; their definitions directly: {} tokens (o200k)",
            self.tools, self.servers, self.direct
        )?;
        for budget in &self.budgets {
            write!(f, "\n{budget}")?;
        }
        Ok(())
    }
}

impl Budgeted for TokensReport {
    fn budgets(&self) -> Vec<Budget> {
        self.budgets.clone()
    }
}
