//! Python for the tools of MCP servers: names, types, wrappers and stubs.
//!
//! The input is the JSON definition that a server sent, the output is Python source. Nothing here does
//! IO, and nothing here trusts that JSON: a schema that makes no sense becomes `Any`, and one that is
//! too large is cut short.
//!
//! | file | subject |
//! |---|---|
//! | `names` | from raw names to Python names, the only owner of that translation |
//! | `reserved` | names that generated code needs for itself |
//! | `literal` | JSON values and text as Python source |
//! | `types` | Python type expressions |
//! | `classes` | the `TypedDict`s of a tool |
//! | `shape` | the properties of an object, in whichever way its schema lists them |
//! | `schema` | from JSON schema to types |
//! | `excerpt` | excerpts of texts that are too long |
//! | `deprecation` | deprecated tools |
//! | `notes` | descriptions and constraints in few words |
//! | `definition` | the definition of a tool, parsed once for every renderer |
//! | `calling` | the parameters of a tool's function, for code that checks calls |
//! | `wrapper` | the Python that runs in the sandbox |
//! | `signature` | the short text that a model reads |
//! | `example` | an example call, as a model would write it |
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
