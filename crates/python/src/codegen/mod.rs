//! Python for the tools of MCP servers: names, types, wrappers and stubs.
//!
//! A tool comes in as the JSON its server sent and goes out as Python source. Nothing
//! here does IO, and nothing here trusts that JSON: a schema that makes no sense becomes
//! `Any`, and one that is too large is cut short.
//!
//! | file | subject |
//! |---|---|
//! | `names` | from raw names to Python names, the only owner of that translation |
//! | `reserved` | names that generated code needs for itself |
//! | `literal` | JSON values and text as Python source |
//! | `types` | Python type expressions |
//! | `classes` | the `TypedDict`s of a tool |
//! | `shape` | which properties an object has, however its schema says so |
//! | `schema` | from JSON schema to types |
//! | `excerpt` | the useful part of a text that is too long |
//! | `deprecation` | tools that should no longer be used |
//! | `notes` | what descriptions and constraints say |
//! | `definition` | a whole tool, read once for every renderer |
//! | `calling` | how a tool is called, for those who check calls |
//! | `wrapper` | the Python that runs in the sandbox |
//! | `signature` | the short text that a model reads |
//! | `example` | one call, as a model would write it |
//! | `stub` | the `.pyi` that a type checker reads |

mod calling;
mod classes;
mod definition;
mod deprecation;
mod example;
mod excerpt;
mod literal;
mod names;
mod notes;
mod reserved;
mod schema;
mod shape;
mod signature;
mod stub;
mod types;
mod wrapper;

pub use calling::{CallParameter, Calling};
pub use definition::Observation;
pub use definition::{is_wrapped, unwrapped};
pub use deprecation::Deprecation;
pub use example::example;
pub use names::{ToolName, ToolNames, module_names, parameter_names};
pub use notes::summary_line;
pub use signature::signature;
pub use stub::{StubTool, stub};
pub use wrapper::{PREAMBLE, ToolCode};
