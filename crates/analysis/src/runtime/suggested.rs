//! Adds calls that work to errors: each is tried with the tables at hand before it is suggested.

use std::time::Duration;

use crate::{
    aliases::{Understood, understand},
    error::{AnalysisError, Result},
    kind::AnalysisType,
    ops,
    suggestion::Call,
    work::AnalysisContext,
};

/// How long all tries together may take; a call that takes longer counts as one that works.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the error with the first of its suggested calls that works, or with none.
pub(super) async fn suggested(
    work: &AnalysisContext,
    kind: AnalysisType,
    error: AnalysisError,
) -> AnalysisError {
    let AnalysisError::Parameter { parameter, reason, suggestion } = error else { return error };
    if suggestion.is_empty() {
        return AnalysisError::parameter(parameter, reason);
    }
    let fresh = work.fresh();
    let Ok(rows) = fresh.main().await else {
        return AnalysisError::Parameter { parameter, reason, suggestion };
    };
    let mut calls = suggestion.filled(rows.schema(), work.tables());
    // The type may have been asked for by the name of another one.
    for call in &mut calls {
        call.analysis_type.get_or_insert_with(|| kind.name().to_owned());
    }
    let working = async {
        for call in &calls {
            if works(&work.fresh(), kind, call).await.is_ok() {
                return Some(call);
            }
        }
        None
    };
    let call = match tokio::time::timeout(PATIENCE, working).await {
        Ok(call) => call,
        Err(_) => calls.first(),
    };
    let reason = call.map_or(reason.clone(), |call| format!("{reason}{call}"));
    AnalysisError::parameter(parameter, reason)
}

async fn works(work: &AnalysisContext, kind: AnalysisType, call: &Call) -> Result<()> {
    let name = call.analysis_type.as_deref().unwrap_or(kind.name());
    let Understood { kind, parameters, refusal, .. } = understand(name, call.parameters.clone())?;
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    if let Some(frame) = ops::run(work, kind, &parameters).await?.frame {
        work.collect(frame.limit(0, Some(1))?).await?;
    }
    Ok(())
}
