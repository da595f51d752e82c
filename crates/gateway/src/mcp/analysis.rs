//! `execute_analysis`: an answer about rows that never pass through the model.

use std::sync::Arc;

use narrows_engine::{
    AnalyzeOptions, analysis::AnalysisRequest, compute::json_bytes, ledger::Tab, state::Agent,
};
use serde_json::{Map, Value};

use super::{answers::failed, client::Client, gateway::Gateway, protected::ClientResult};

pub(super) async fn execute(
    gateway: &Gateway,
    agent: &Agent,
    arguments: Map<String, Value>,
    client: Arc<Client>,
    tab: Arc<Tab>,
) -> ClientResult {
    let bytes = json_bytes(&arguments);
    let request = match agent.compute(bytes, || AnalysisRequest::read(arguments)).await {
        Ok(request) => request,
        Err(mistake) => return ClientResult::protect(failed(mistake), agent).await,
    };
    let options = AnalyzeOptions { stats: Some(tab), ..AnalyzeOptions::default() };
    match gateway.engine.analyze(agent, request, options, client).await {
        Ok(analyzed) => ClientResult::analyzed(analyzed),
        Err(refusal) => refusal.into(),
    }
}
