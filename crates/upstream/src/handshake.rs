//! How a connection begins, whatever the wire: what it needs, what is tried, and why it was not opened.

use std::time::Duration;

use rmcp::{
    RoleClient,
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode, RunningService},
};
use thiserror::Error;
use tokio::sync::broadcast;

use crate::{
    error::{asks_for_login, chain, needed_scope, root},
    handler::{Handler, ServerChange},
    login::LoginStore,
    logs::{server_history::ServerHistory, server_log::ServerLogs},
    messages::budget::Budget,
    protocol::ProtocolGeneration,
    stdio::child_reaper::ChildReaper,
};

/// A connection whose handshake is done, as rmcp runs it.
pub(crate) type Service = RunningService<RoleClient, Handler>;

/// Why a connection could not be opened.
#[derive(Debug, Error)]
pub(crate) enum OpenError {
    #[error("{0}")]
    Setting(String),
    /// A setting names a variable that is not there.
    #[error("{0}")]
    UnsetVariable(String),
    /// The command cannot be started; the text names it.
    #[error("{0}")]
    Spawn(String),
    /// The command does not exist; the text names it.
    #[error("{0}")]
    NoCommand(String),
    #[error("a login is needed")]
    LoginNeeded,
    #[error("its login does not have the scope {0:?}")]
    ScopeNeeded(String),
    /// The server refused, or did not follow the protocol.
    #[error("{0}")]
    Handshake(String),
    /// The server is gone, or cannot be reached.
    #[error("{0}")]
    Ended(String),
    /// Like [`Self::Ended`], and the server may lack a variable that the gateway has and does not pass
    /// on.
    #[error("{0}")]
    WithheldVariable(String),
    #[error("it did not answer within {} s{}", .after.as_secs_f64(), .said.as_ref().map(|said| format!("; its last words were: {said}")).unwrap_or_default())]
    Silent { after: Duration, said: Option<String> },
}

impl OpenError {
    /// Returns the reason for a person, with the address that was tried unless the reason names it.
    pub(crate) fn at(&self, address: &str) -> String {
        let reason = self.to_string();
        match self {
            Self::Handshake(_)
            | Self::Ended(_)
            | Self::WithheldVariable(_)
            | Self::Silent { .. }
                if !reason.contains(address) =>
            {
                format!("{address}: {reason}")
            }
            _ => reason,
        }
    }

    /// Removes secrets from the reason.
    pub(crate) fn clean(self, history: &ServerHistory) -> Self {
        match self {
            Self::Setting(reason) => Self::Setting(history.clean(&reason)),
            Self::UnsetVariable(reason) => Self::UnsetVariable(history.clean(&reason)),
            Self::NoCommand(reason) => Self::NoCommand(history.clean(&reason)),
            Self::Spawn(reason) => Self::Spawn(history.clean(&reason)),
            Self::Handshake(reason) => Self::Handshake(history.clean(&reason)),
            Self::Ended(reason) => Self::Ended(history.clean(&reason)),
            other => other,
        }
    }
}

/// The dependencies of a connection beside the server's specification.
#[derive(Clone)]
pub(crate) struct ConnectionDeps {
    pub(crate) guard: ChildReaper,
    pub(crate) logins: LoginStore,
    pub(crate) changes: broadcast::Sender<ServerChange>,
    /// The logs of what servers print.
    pub(crate) logs: ServerLogs,
    /// The memory for the messages of all servers.
    pub(crate) budget: Budget,
}

pub(crate) fn lifecycle(era: ProtocolGeneration) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match era {
        ProtocolGeneration::Unknown => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
        ProtocolGeneration::Initialize => ClientLifecycleMode::Initialize,
        ProtocolGeneration::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

pub(crate) fn refused(error: &ClientInitializeError, history: Option<&ServerHistory>) -> OpenError {
    if error.is_authorization_required() || asks_for_login(root(error)) {
        return OpenError::LoginNeeded;
    }
    if let Some(scope) = needed_scope(root(error)) {
        return OpenError::ScopeNeeded(scope);
    }
    let reason = chain(root(error));
    let said = history.and_then(|history| history.last_problem().or_else(|| history.last_stderr()));
    OpenError::Handshake(said.map_or(reason.clone(), |said| format!("{reason}; {said}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_told_once_and_only_where_it_was_tried() {
        let at = |error: OpenError| error.at("https://a.example/mcp");
        assert_eq!(at(OpenError::Handshake("HTTP 500".into())), "https://a.example/mcp: HTTP 500");
        let named = "cannot connect to https://a.example/mcp: refused";
        assert_eq!(at(OpenError::Ended(named.into())), named);
        assert_eq!(at(OpenError::Setting("its url is missing".into())), "its url is missing");
    }
}
