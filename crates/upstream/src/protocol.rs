//! The generations of the protocol.

use serde::{Deserialize, Serialize};

/// Which generation of the protocol a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolGeneration {
    /// Not known yet: both are tried.
    #[default]
    Unknown,
    /// Up to 2025-11-25: `initialize`, sessions, requests in both directions.
    Initialize,
    /// From 2026-07-28 on: `server/discover`, self-contained requests.
    Discover,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Listings of earlier versions are read again.
    #[test]
    fn what_is_kept_of_a_generation_stays_the_same() {
        let all = [
            ProtocolGeneration::Unknown,
            ProtocolGeneration::Initialize,
            ProtocolGeneration::Discover,
        ];
        assert_eq!(
            serde_json::to_value(all).unwrap(),
            json!(["unknown", "initialize", "discover"])
        );
    }
}
