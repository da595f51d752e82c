//! The gateway as a child process of its client.

use std::sync::Arc;

use rmcp::ServiceExt;
use tokio_util::sync::CancellationToken;

use super::{Gateway, Session};

/// Serves one client until it closes our standard input, or until we are told to stop.
pub(crate) async fn serve(gateway: Arc<Gateway>, stop: CancellationToken) -> anyhow::Result<()> {
    let session = Session::new(Arc::clone(&gateway));
    let started = session.serve_with_ct(rmcp::transport::stdio(), stop.child_token());
    // The client is answered first; servers and sandbox get ready beside it.
    gateway.warm_up();
    match started.await {
        Ok(running) => {
            running.waiting().await?;
            Ok(())
        }
        // A client that leaves before it has said anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(rmcp::service::ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
