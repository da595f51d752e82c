//! The language of rules and isolation levels, which this crate reads and writes. All that it needs of
//! the engine is here.

#[cfg(test)]
pub(crate) use narrows_engine::policy::Reason;
pub(crate) use narrows_engine::policy::{
    Action, AlwaysRule, DataOrigin, FlowRule, LevelSettings, Matcher, Modules, PolicySettings,
    Quota, RevealRule, ReviewMode, Rule, ToolAccess, WorkspaceAccess,
};
