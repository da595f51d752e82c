//! Quotas: how often, and how much.

use std::collections::BTreeMap;

use super::pattern::Patterns;

/// A quota for each of some principals. All quotas that fit a principal hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The name, which the principal is told when the quota is used up.
    pub name: String,
    /// Patterns; empty for all.
    pub principals: Vec<String>,
    pub runs_per_minute: Option<u32>,
    pub calls_per_run: Option<u64>,
    /// Limits by pattern; all tools that fit a pattern share its limit.
    pub calls_per_minute: BTreeMap<String, u32>,
    /// The limit on bytes that are read from servers.
    pub bytes_per_minute: Option<u64>,
}

/// A quota with its patterns compiled.
#[derive(Clone, Debug)]
pub(super) struct CompiledQuota {
    pub(super) quota: Quota,
    pub(super) principals: Patterns,
    pub(super) tools: Vec<(String, Patterns, u32)>,
}

impl CompiledQuota {
    pub(super) fn new(quota: Quota) -> Result<Self, String> {
        let principals = Patterns::exact(&quota.principals).map_err(|error| error.to_string())?;
        let tools = quota.calls_per_minute.iter().map(|(pattern, limit)| {
            let patterns = Patterns::names(std::slice::from_ref(pattern));
            Ok((pattern.clone(), patterns.map_err(|error| error.to_string())?, *limit))
        });
        Ok(Self { principals, tools: tools.collect::<Result<_, String>>()?, quota })
    }
}
