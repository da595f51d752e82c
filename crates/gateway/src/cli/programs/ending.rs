//! How commands that call tools end, whether they were interrupted or not.

use narrows_engine::{Engine, state::Agent};

use crate::{
    app::{self, FLUSH_TIME},
    printer::Printer,
};

/// Lets calls end that may change something, ends the servers, and writes down what was learnt and
/// what is in the audit. Returns what of the audit could not be written.
pub(crate) async fn finish(engine: &Engine, agent: &Agent, printer: Printer) -> Option<String> {
    let broker = engine.discovery().broker();
    // Before their servers end, and before the audit is waited for: it has what becomes of them.
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
