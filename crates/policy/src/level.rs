//! An isolation level: limits and rights under one name.

use std::{collections::BTreeSet, time::Duration};

use narrows_model::{LimitKind, Limits};

use super::{
    ask::{Action, Decision, Hints},
    modules::{Modules, covers},
    pattern::{Pattern, Spelled, any_fits_tool, includes},
};

/// The access of a program to the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkspaceAccess {
    None,
    Read,
    Write,
}

impl WorkspaceAccess {
    /// The kinds of access by their words in the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("none", Self::None), ("read", Self::Read), ("write", Self::Write)];
}

/// The tools that a program may call, as far as the policy allows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolAccess {
    None,
    /// Tools that say that they only read, and tools that a rule of the policy names and allows.
    ReadOnly,
    All,
}

impl ToolAccess {
    /// The kinds of access by their words in the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("none", Self::None), ("read_only", Self::ReadOnly), ("all", Self::All)];
}

/// The consequence of the findings in the review of a program.
///
/// The sandbox is the boundary, whatever the review finds. The review gives an early and clear answer,
/// by line, to a program that cannot work or that tries something that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReviewMode {
    /// Programs are not reviewed.
    Off,
    /// The program runs, and findings of the severity `Warning` or `Danger` are reported beside its
    /// outcome.
    Warn,
    /// A program with a finding of the severity `Danger` is not run. Warnings are reported as in
    /// `Warn`.
    Block,
}

impl ReviewMode {
    /// The modes by their words in the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("off", Self::Off), ("warn", Self::Warn), ("block", Self::Block)];
}

/// The rights and limits of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub name: String,
    pub limits: Limits,
    /// The longest wall time that a caller may ask for.
    pub longest: Duration,
    pub modules: Modules,
    /// Modules that are refused, whatever `modules` says.
    pub denied: BTreeSet<String>,
    pub workspace: WorkspaceAccess,
    pub tools: ToolAccess,
    /// The patterns of which a tool has to fit one; none allows all tools, an empty list no tool.
    pub tool_globs: Option<Vec<Pattern>>,
    /// How much of output and result together a model is shown. Clients cut answers over 48 KB.
    pub shown_bytes: usize,
    pub review: ReviewMode,
    /// Whether a run fails if its audit record cannot be written.
    pub audit_must_hold: bool,
}

impl Level {
    /// Tells whether a program may import a module. The modules of the tools can be imported unless they
    /// are denied; which tools may be called is another question.
    pub fn allows_module(&self, module: &str) -> bool {
        let is_own = Modules::OWN.iter().any(|own| module.split('.').next() == Some(own));
        (is_own || self.modules.allow(module)) && !covers(&self.denied, module)
    }

    /// Returns the reason for which a tool may not be called at this level, as a sentence for the
    /// caller; none if it may. `decision` is that of the policy.
    pub fn refuses(
        &self,
        server: &str,
        tool: &str,
        hints: Hints,
        decision: &Decision,
    ) -> Option<String> {
        let level = &self.name;
        let reason = match self.tools {
            ToolAccess::None => "allows no calls of tools",
            ToolAccess::ReadOnly if hints.writes() && !decision.allows_by_name() => {
                "allows only tools that say that they just read, or that a rule of the policy names"
            }
            ToolAccess::ReadOnly | ToolAccess::All => {
                let globs = self.tool_globs.as_ref();
                if globs.is_none_or(|globs| any_fits_tool(globs, &Spelled::new(server, tool))) {
                    return None;
                }
                "allows only some tools, and this is none of them"
            }
        };
        Some(format!(
            "{server}.{tool} was not called: the isolation level {level} {reason}; use another tool, or ask whoever runs the gateway for another level"
        ))
    }

    /// Returns the respects in which this level allows more than `own`. A caller may ask for a level
    /// only if it allows nothing more than the caller's own.
    pub fn looser_than(&self, own: &Self) -> Vec<&'static str> {
        let levels = Limits::ALL.iter().filter(|limit| limit.is_in_levels());
        let limits = levels.flat_map(|limit| {
            let is_more = limit.amount_of(&self.limits) > limit.amount_of(&own.limits);
            // The longest time is listed after the other times.
            let is_last_time = limit.kind == LimitKind::CpuTime;
            let longest = is_last_time.then(|| ("longest time", self.longest > own.longest));
            std::iter::once((limit.name, is_more)).chain(longest)
        });
        let others = [
            ("modules", self.imports_more_than(own)),
            ("workspace", self.workspace > own.workspace),
            ("tools", self.tools > own.tools || self.names_more_than(own)),
            ("shown output", self.shown_bytes > own.shown_bytes),
            ("review", self.review < own.review),
            ("audit", !self.audit_must_hold && own.audit_must_hold),
        ];
        let respects = limits.chain(others).filter(|(_, looser)| *looser);
        respects.map(|(respect, _)| respect).collect()
    }

    fn imports_more_than(&self, own: &Self) -> bool {
        let more = match (&self.modules, &own.modules) {
            (Modules::Any, Modules::Only(_)) => true,
            (Modules::Any, Modules::Any) => false,
            (Modules::Only(modules), _) => modules
                .iter()
                .any(|module| self.allows_module(module) && !own.allows_module(module)),
        };
        more || own.denied.iter().any(|module| self.reaches(module))
    }

    /// Tells whether a module, or a part of it, can be imported.
    fn reaches(&self, module: &str) -> bool {
        let parts = |modules: &BTreeSet<String>| {
            let prefix = format!("{module}.");
            modules.iter().any(|part| part.starts_with(&prefix) && self.allows_module(part))
        };
        self.allows_module(module)
            || match &self.modules {
                Modules::Only(modules) => parts(modules),
                Modules::Any => false,
            }
    }

    fn names_more_than(&self, own: &Self) -> bool {
        match (&self.tool_globs, &own.tool_globs) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(mine), Some(theirs)) => {
                !mine.iter().all(|one| theirs.iter().any(|other| includes(other, one)))
            }
        }
    }
}

impl Decision {
    fn allows_by_name(&self) -> bool {
        self.action == Action::Allow && self.named
    }
}
