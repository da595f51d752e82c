//! What a program and its caller may do: which tools, where data may go, how often, and within
//! which limits.
//!
//! Nothing here does IO, waits, or looks at a clock. The broker asks before each call, and what
//! it is told is final: rules do not depend on what a program says about itself.
//!
//! | file | subject |
//! |---|---|
//! | `ask` | what is asked before a call, and the answer |
//! | `always` | the rule for a tool that a person allows for good |
//! | `settings` | the rules as the configuration has them, and what can be wrong with them |
//! | `decide` | the rules, made ready, and what they decide |
//! | `pattern` | names with `*` and `?` in them |
//! | `matcher` | what the arguments of a call must be for a rule to fit |
//! | `flow` | what a run has read, and where that may not go |
//! | `quota` | how often, and how much |
//! | `meter`, `window` | what of that is used |
//! | `level`, `modules` | an isolation level: limits and rights under one name |
//! | `levels`, `builtin`, `table` | all of them: those that are always there, and those of the configuration |
//! | `amounts` | times and sizes, as people read them |

mod always;
mod amounts;
mod ask;
mod builtin;
mod decide;
mod flow;
mod level;
mod levels;
mod matcher;
mod meter;
mod modules;
mod pattern;
mod quota;
mod settings;
mod table;
mod window;

#[cfg(test)]
mod tests;

pub use always::AlwaysRule;
pub use ask::{Action, Ask, Decision, Denial, Hints, Reason};
pub use decide::Policy;
pub use flow::{DataOrigin, Flow, FlowFinding, FlowRule};
pub use level::{Level, ReviewMode, ToolAccess, WorkspaceAccess};
pub use levels::{LevelError, LevelSettings, Levels};
pub use matcher::Matcher;
pub use meter::{Exceeded, Meter};
pub use modules::Modules;
pub use pattern::{Pattern, PatternError};
pub use quota::Quota;
pub use settings::{PolicyError, PolicySettings, RevealRule, Rule};
