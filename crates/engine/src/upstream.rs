//! The client side of MCP, which is `narrows-upstream`.

pub use narrows_upstream::{
    ANSWER_BYTES, Caller, ChildReaper, Fleet, Health, Held, LogFollower, LogLine, LogSource, Login,
    LoginError, LoginStore, MAX_QUESTIONS, NoCaller, Progress, ProtocolGeneration, ServerChange,
    ServerLogs, StartProblem, Status, UpstreamChange, UpstreamError, UpstreamReply, client_builder,
};

#[cfg(test)]
pub(crate) mod tests;
