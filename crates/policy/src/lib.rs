//! The policy: which tools a program and its caller may use, where data may go, how often, and within
//! which limits.
//!
//! Nothing here does IO, waits, or looks at a clock. The broker asks before each call, and the answer
//! is final: rules do not depend on what a program says about itself.
//!
//! | file | subject |
//! |---|---|
//! | `ask` | the question before a call, and the answer |
//! | `always` | the rule that is written for "always allow" |
//! | `settings` | the rules as the configuration has them, and what can be wrong with them |
//! | `decide` | the compiled rules, and their decisions |
//! | `pattern` | names with `*` and `?` in them |
//! | `matcher` | conditions on the arguments of a call |
//! | `flow` | where data that a run has read may not go |
//! | `quota` | how often, and how much |
//! | `meter`, `window` | how much of the quotas is used |
//! | `level`, `modules` | an isolation level: limits and rights under one name |
//! | `levels`, `builtin`, `table` | all isolation levels: the builtin ones, and those of the configuration |
//! | `amounts` | times and sizes in units that people read |

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
