//! The end of commands that call tools, whether they were interrupted or not.

use narrows_engine::{Engine, state::Agent};

use crate::{
    app::{self, FLUSH_TIME},
    printer::Printer,
};

/// Waits for calls that may change something, ends the servers, and writes what was learnt and the
/// audit. Returns a message if a part of the audit could not be written.
pub(crate) async fn finish(engine: &Engine, agent: &Agent, printer: Printer) -> Option<String> {
    let broker = engine.discovery().broker();
    // Before the servers end, and before the audit is awaited, because it records how these calls ended.
    if broker.writes_in_flight() > 0 {
        printer.note("a call that may change something is let end (interrupt again to leave now)");
        app::unless_interrupted(broker.finish_writes()).await;
    }
    broker.fleet().shut_down().await;
    engine.discovery().flush(FLUSH_TIME);
    if let Err(error) = agent.keep_tokens().await {
        printer.note(error);
    }
    let lost_audit = agent.unwritten().await;
    agent.close().await;
    lost_audit
}
