//! The gateway as a child process of its client.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use rmcp::{
    RoleServer, ServiceExt,
    model::{ClientRequest, JsonRpcMessage},
    service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::{Gateway, Session};

/// A client that closes our standard input leaves. What it asked for last is answered if that
/// takes no longer than this: clients kill those who stay for more than two seconds.
const LEAVING_TIME: Duration = Duration::from_millis(1_500);

/// Serves one client until it closes our standard input, or until we are told to stop.
pub(crate) async fn serve(gateway: Arc<Gateway>, stop: CancellationToken) -> anyhow::Result<()> {
    let session = Session::new(Arc::clone(&gateway));
    let (reader, writer) = rmcp::transport::stdio();
    let left = CancellationToken::new();
    let reader = Watched { reader, left: left.clone() };
    let transport = Patient { inner: AsyncRwTransport::new_server(reader, writer), begun: false };
    let end = stop.child_token();
    let ending = end.clone();
    tokio::spawn(async move {
        left.cancelled().await;
        tokio::time::sleep(LEAVING_TIME).await;
        ending.cancel();
    });
    let started = session.serve_with_ct(transport, end);
    // The client is answered first; servers and sandbox get ready beside it.
    gateway.warm_up();
    match started.await {
        Ok(running) => {
            running.waiting().await?;
            Ok(())
        }
        // A client that leaves before it has said anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// A transport that ignores what cannot be meant for us before the client has asked for anything,
/// such as the cancellation of a probe. rmcp takes it for a broken handshake.
struct Patient<T> {
    inner: T,
    begun: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Patient<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            match &message {
                JsonRpcMessage::Request(request) => {
                    // After a probe the client may still begin in the older way.
                    self.begun |= !matches!(request.request, ClientRequest::DiscoverRequest(_));
                    return Some(message);
                }
                _ if self.begun => return Some(message),
                _ => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// A reader that tells when it has come to the end.
struct Watched<R> {
    reader: R,
    left: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.reader).poll_read(context, buffer);
        if let Poll::Ready(read) = &polled
            && (read.is_err() || buffer.filled().len() == before)
        {
            self.left.cancel();
        }
        polled
    }
}
