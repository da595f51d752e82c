//! The tools of the gateway itself: one file for each, with its definition, its arguments and what it
//! does. A new one is such a file, and a line in [`OwnTool::ALL`].
//!
//! | file | subject |
//! |---|---|
//! | `own_tool` | what a tool is, which there are, and the way that every call of one takes |
//! | `result` | what tools give, and the type that says it was protected |
//! | `code_request`, `outcome` | what the tools that run programs take and give |
//! | `text_or_data` | what those for personal data take and give |

mod code_request;
mod execute_analysis;
mod execute_code;
mod execute_python;
mod get_execution_stats;
mod get_tool_definition;
mod list_skills;
mod list_workspace_files;
mod load_skill;
mod outcome;
mod own_tool;
mod read_workspace_file;
mod restore_pii;
mod result;
mod sanitize_pii;
mod save_skill;
mod search_tools;
mod text_or_data;
mod write_workspace_file;

use own_tool::{Purpose, ToolRequest};

pub(crate) use own_tool::surface_text;
pub(super) use own_tool::{OwnTool, own_tools};
pub(super) use result::failure;
