//! All isolation levels: the three builtin ones, and those of the configuration.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use narrows_model::{LimitSettings, Limits, Nearest, nearest};
use thiserror::Error;

use super::{
    amounts::{bytes, seconds},
    builtin::{self, PRODUCTION},
    level::{Level, ReviewMode, ToolAccess, WorkspaceAccess},
    modules::Modules,
    pattern::{Pattern, PatternError},
};

/// A level in the configuration. Everything that it leaves out is inherited from its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelSettings {
    /// The name of the parent, `production` by default. Settings under the name of a builtin level
    /// change that level.
    pub inherits: Option<String>,
    /// The limits. Those of the workspace are ignored, because all levels share it.
    pub limits: LimitSettings,
    pub longest: Option<Duration>,
    pub modules: Option<Modules>,
    /// Modules in addition to those of `modules`, or of the parent.
    pub more_modules: BTreeSet<String>,
    /// Modules that are denied in addition to those of the parent.
    pub denied: BTreeSet<String>,
    pub workspace: Option<WorkspaceAccess>,
    pub tools: Option<ToolAccess>,
    pub tool_globs: Option<Vec<String>>,
    pub shown_bytes: Option<usize>,
    pub review: Option<ReviewMode>,
    pub audit_must_hold: Option<bool>,
}

/// A mistake in the levels of the configuration, or in the name of a level.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LevelError {
    #[error("there is no isolation level {name:?}{hint}; there are {}", .known.join(", "))]
    Unknown { name: String, known: Vec<String>, hint: Nearest },
    #[error(
        "the isolation levels {} inherit from one another: let one of them inherit from {PRODUCTION}", .0.join(", ")
    )]
    Cycle(Vec<String>),
    #[error("the isolation level {level}: {problem}")]
    Wrong { level: String, problem: String },
    #[error("the isolation level {level}, tools: {problem}")]
    Tools { level: String, problem: PatternError },
}

/// All levels, by name.
#[derive(Clone, Debug)]
pub struct Levels(BTreeMap<String, Arc<Level>>);

impl Levels {
    /// The level of callers that were given none.
    pub const DEFAULT: &str = PRODUCTION;

    pub fn new(settings: BTreeMap<String, LevelSettings>) -> Result<Self, LevelError> {
        let builtin = builtin::by_name();
        let making = LevelBuilder { settings: &settings, builtin: &builtin };
        let names = builtin.keys().chain(settings.keys());
        let levels = names.map(|name| Ok((name.clone(), Arc::new(making.level(name)?))));
        Ok(Self(levels.collect::<Result<_, _>>()?))
    }

    pub fn get(&self, name: &str) -> Result<Arc<Level>, LevelError> {
        self.0.get(name).cloned().ok_or_else(|| unknown(name, self.names()))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> LevelError {
    let known: Vec<&str> = known.collect();
    LevelError::Unknown {
        name: name.to_owned(),
        hint: nearest(name, known.iter().copied()),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

struct LevelBuilder<'a> {
    settings: &'a BTreeMap<String, LevelSettings>,
    builtin: &'a BTreeMap<String, Level>,
}

impl LevelBuilder<'_> {
    /// Builds a level: follows its parents up to a builtin level, and applies all settings on the way
    /// back.
    fn level(&self, name: &str) -> Result<Level, LevelError> {
        let mut chain: Vec<(&str, &LevelSettings)> = Vec::new();
        let mut next = name;
        let root = loop {
            if chain.iter().any(|(known, _)| *known == next) {
                let names = chain.iter().map(|(name, _)| (*name).to_owned());
                return Err(LevelError::Cycle(names.collect()));
            }
            let Some((own, settings)) = self.settings.get_key_value(next) else { break next };
            chain.push((own, settings));
            let parent = settings.inherits.as_deref();
            match parent.filter(|parent| parent != own) {
                Some(parent) => next = parent,
                None if self.builtin.contains_key(own) => break own,
                None if parent.is_some() => return Err(LevelError::Cycle(vec![own.clone()])),
                None => next = PRODUCTION,
            }
        };
        let Some(root) = self.builtin.get(root) else {
            let known = self.builtin.keys().chain(self.settings.keys());
            return Err(unknown(root, known.map(String::as_str)));
        };
        let mut level = root.clone();
        for (name, settings) in chain.into_iter().rev() {
            level = settings.apply(level, name)?;
        }
        Ok(level)
    }
}

impl LevelSettings {
    fn apply(&self, parent: Level, name: &str) -> Result<Level, LevelError> {
        let mut limits = parent.limits;
        for limit in Limits::ALL.iter().filter(|limit| limit.is_in_levels()) {
            if let Some(amount) = self.limits.get(limit) {
                limit.set(&mut limits, amount);
            }
        }
        let mut modules = self.modules.clone().unwrap_or(parent.modules);
        if let Modules::Only(only) = &mut modules {
            only.extend(self.more_modules.iter().cloned());
        }
        let globs = self.tool_globs.as_ref().map(|globs| {
            globs.iter().map(|glob| Pattern::name(glob)).collect::<Result<Vec<_>, _>>()
        });
        let problem = |problem| LevelError::Tools { level: name.to_owned(), problem };
        let level = Level {
            name: name.to_owned(),
            // A default time above the longest one of the parent raises that as well.
            longest: self.longest.unwrap_or(parent.longest.max(limits.wall_time)),
            limits,
            modules,
            denied: &parent.denied | &self.denied,
            workspace: self.workspace.unwrap_or(parent.workspace),
            tools: self.tools.unwrap_or(parent.tools),
            tool_globs: globs.transpose().map_err(problem)?.or(parent.tool_globs),
            shown_bytes: self.shown_bytes.unwrap_or(parent.shown_bytes),
            review: self.review.unwrap_or(parent.review),
            audit_must_hold: self.audit_must_hold.unwrap_or(parent.audit_must_hold),
        };
        match mistake(&level) {
            Some(problem) => Err(LevelError::Wrong { level: level.name, problem }),
            None => Ok(level),
        }
    }
}

/// Describes what is wrong with the values of a level, if anything is.
fn mistake(level: &Level) -> Option<String> {
    let limits = &level.limits;
    let (min, max) = (Limits::MIN_MEMORY_BYTES, Limits::MAX_MEMORY_BYTES);
    if !(min..=max).contains(&limits.memory_bytes) {
        return Some(format!("memory is from {} to {}", bytes(min), bytes(max)));
    }
    if limits.wall_time.is_zero() || limits.cpu_time.is_zero() {
        return Some("a program needs some time: give it a second at least".to_owned());
    }
    if level.longest < limits.wall_time {
        let (longest, given) = (seconds(level.longest), seconds(limits.wall_time));
        return Some(format!(
            "programs have {given}, and a caller may ask for {longest} at most: raise the one or lower the other"
        ));
    }
    (limits.calls_in_flight == 0)
        .then(|| "one call at least has to be in flight; tools = none forbids calls".to_owned())
}
