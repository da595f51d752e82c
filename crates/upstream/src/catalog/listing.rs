//! What a server said of itself and its tools.

use rmcp::model::ServerCapabilities;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::ProtocolGeneration;

/// A server's tools, as it wrote them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    pub about: UpstreamInfo,
    pub tools: Vec<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamInfo {
    pub era: ProtocolGeneration,
    /// How the server calls itself.
    pub implementation: Option<String>,
    pub protocol: Option<String>,
    pub instructions: Option<String>,
    pub capabilities: ServerCapabilities,
}
