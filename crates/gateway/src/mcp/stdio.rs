//! The gateway as a child process of its client.

use std::{
    collections::HashSet,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use narrows_system::apart;
use rmcp::{
    RoleServer, ServiceExt,
    model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{Notify, mpsc::UnboundedReceiver},
};
use tokio_util::sync::CancellationToken;

use super::{
    ClientConnection, Gateway,
    connected_client::ClientTransport,
    lines::{CheckedLines, Refusal},
    request_ids::id_in_use,
};

/// How long answers to the last requests may take after the client has closed our standard input. No new
/// calls are begun for it in this time. Clients kill a server that stays for more than two seconds.
const LEAVING_TIME: Duration = Duration::from_millis(1_500);
const _: () = assert!(LEAVING_TIME.as_millis() < 2_000);

/// Serves one client until it closes our standard input, or until we are told to stop.
pub(crate) async fn serve(gateway: Arc<Gateway>, stop: CancellationToken) -> anyhow::Result<()> {
    let session = ClientConnection::new(Arc::clone(&gateway));
    let (reader, writer) = streams();
    let left = session.left();
    let (reader, refused) = CheckedLines::new(EofReader { reader, left: left.clone() });
    let transport = DrainingTransport {
        is_large: reader.is_large(),
        inner: AsyncRwTransport::new_server(reader, writer),
        refused,
        begun: false,
        ended: false,
        pending: Arc::default(),
    };
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
            running.service().log_client(ClientTransport::Stdio, None, running.peer());
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

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens standard input and output so that no message is handed to another thread and back, if the
/// client gave us pipes or, as Node does, sockets.
fn streams() -> (Reader, Writer) {
    #[cfg(unix)]
    if let Some((reader, writer)) = sockets() {
        return (Box::new(reader), Box::new(writer));
    }
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    (Box::new(reader), Box::new(writer))
}

/// Returns standard input and output if both are sockets of this process alone.
#[cfg(unix)]
fn sockets() -> Option<(UnixStream, UnixStream)> {
    use std::os::{fd::AsFd, unix::fs::MetadataExt};

    let number = |stream: &dyn AsFd| {
        let file = std::fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
        file.metadata().ok().map(|data| data.ino())
    };
    let (input, output) = (std::io::stdin(), std::io::stdout());
    // If stderr is the same socket, it must stay in blocking mode: logs are written by code that expects
    // it.
    if number(&output)? == number(&std::io::stderr())? {
        return None;
    }
    let socket = |stream: &dyn AsFd| {
        let socket =
            std::os::unix::net::UnixStream::from(stream.as_fd().try_clone_to_owned().ok()?);
        // Fails for everything else than a Unix socket.
        socket.local_addr().ok()?;
        Some(socket)
    };
    let (reader, writer) = (socket(&input)?, socket(&output)?);
    reader.set_nonblocking(true).ok()?;
    writer.set_nonblocking(true).ok()?;
    Some((UnixStream::from_std(reader).ok()?, UnixStream::from_std(writer).ok()?))
}

/// A transport that works around four limits of rmcp:
/// - Before the first request, it ignores messages such as the cancellation of a probe, which rmcp takes
///   for a broken handshake.
/// - It reports the end of input only when all requests are answered: rmcp sends no notifications or
///   questions after the end, so that work which waits for an answer to one would wait for ever.
/// - It answers requests that [`CheckedLines`] has refused, which rmcp never sees.
/// - It refuses a second request with the id of one that is under way.
struct DrainingTransport<T> {
    inner: T,
    /// Whether the message that is read next takes long to be parsed.
    is_large: Arc<AtomicBool>,
    /// Requests that were not parsed.
    refused: UnboundedReceiver<Refusal>,
    begun: bool,
    ended: bool,
    pending: Arc<PendingRequests>,
}

/// Requests without an answer yet, and answers that are on their way.
#[derive(Default)]
struct PendingRequests {
    state: Mutex<PendingState>,
    changed: Notify,
}

#[derive(Default)]
struct PendingState {
    /// The ids in use. Whoever reads an answer may use its id again at once, so it is free before the
    /// answer is written.
    ids: HashSet<RequestId>,
    /// Answers that are being written.
    sending: usize,
}

/// An answer on its way. Dropping it says that it has been written, or never will be.
struct AnswerGuard(Arc<PendingRequests>);

impl PendingRequests {
    fn state(&self) -> MutexGuard<'_, PendingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request, and tells whether its id is new.
    fn begin(&self, id: RequestId) -> bool {
        self.state().ids.insert(id)
    }

    /// Frees the id of a request that is about to be answered.
    fn answer(self: &Arc<Self>, id: &RequestId) -> AnswerGuard {
        let mut state = self.state();
        state.ids.remove(id);
        state.sending += 1;
        AnswerGuard(Arc::clone(self))
    }

    /// Forgets a request that gets no answer.
    fn forget(&self, id: &RequestId) {
        self.state().ids.remove(id);
        self.changed.notify_waiters();
    }

    async fn all_answered(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state();
                if state.ids.is_empty() && state.sending == 0 {
                    return;
                }
            }
            changed.await;
        }
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.state().sending -= 1;
        self.0.changed.notify_waiters();
    }
}

impl<T: Transport<RoleServer>> DrainingTransport<T> {
    /// Sends a refusal in the place of rmcp, while the next message is read.
    fn refuse(&mut self, refusal: TxJsonRpcMessage<RoleServer>) {
        // Not as an answer of ours: the first request with this id may have none yet. It is sent to its
        // end, though others may wait for this no longer.
        tokio::spawn(self.inner.send(refusal));
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for DrainingTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let answer = answers.map(|id| self.pending.answer(&id));
        let sending = self.inner.send(message);
        async move {
            let _answer = answer;
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while !self.ended {
            let received = tokio::select! {
                received = parsed_apart(&self.is_large, self.inner.receive()) => received,
                Some(refusal) = self.refused.recv() => {
                    self.refuse(refusal.into());
                    continue;
                }
            };
            let Some(message) = received else {
                self.ended = true;
                break;
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    // After a probe the client may still begin in the older way.
                    self.begun |= !matches!(request.request, ClientRequest::DiscoverRequest(_));
                    let is_new = self.pending.begin(request.id.clone());
                    if !is_new {
                        let id = request.id.clone();
                        self.refuse(JsonRpcMessage::error(id_in_use(&id), Some(id)));
                        continue;
                    }
                    return Some(message);
                }
                JsonRpcMessage::Notification(notification) if self.begun => {
                    // What is cancelled is not answered.
                    if let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.pending.forget(id);
                    }
                    return Some(message);
                }
                _ if self.begun => return Some(message),
                _ => {}
            }
        }
        self.pending.all_answered().await;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Waits for a message, which is parsed in one go when it is complete. If `is_large` says that this
/// takes long, it runs in [`apart`], which hands the other tasks of this thread over.
async fn parsed_apart<T>(is_large: &AtomicBool, receiving: impl Future<Output = T>) -> T {
    let mut receiving = pin!(receiving);
    poll_fn(|cx| {
        let mut receive = || receiving.as_mut().poll(cx);
        if is_large.load(Ordering::Acquire) { apart(receive) } else { receive() }
    })
    .await
}

/// A reader that cancels `left` at the end of its input.
struct EofReader<R> {
    reader: R,
    left: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for EofReader<R> {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;

    fn patient<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static>(
        reader: R,
        writer: W,
    ) -> DrainingTransport<AsyncRwTransport<RoleServer, CheckedLines<R>, W>> {
        let (reader, refused) = CheckedLines::new(reader);
        let is_large = reader.is_large();
        let inner = AsyncRwTransport::new_server(reader, writer);
        let pending = Arc::default();
        DrainingTransport { inner, is_large, refused, begun: true, ended: false, pending }
    }

    /// Whether another thread takes the only async thread over while a request is received.
    async fn leaves_thread(bytes: usize) -> bool {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, (begin, begun)) = (Arc::clone(&is_over), tokio::sync::oneshot::channel());
        let others = tokio::spawn(async move {
            let mut threads = HashSet::from([std::thread::current().id()]);
            let _ = begin.send(());
            while !over.load(Ordering::Acquire) {
                tokio::task::yield_now().await;
                threads.insert(std::thread::current().id());
            }
            threads.len() > 1
        });
        begun.await.unwrap();
        let received = tokio::spawn(async move {
            let text = "x".repeat(bytes);
            let request = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{{\"a\":\"{text}\"}}}}\n"
            );
            patient(request.as_bytes(), tokio::io::sink()).receive().await.is_some()
        });
        let received = received.await;
        is_over.store(true, Ordering::Release);
        assert!(received.unwrap());
        others.await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_large_request_leaves_the_async_thread_to_others() {
        let mut rounds = 0;
        while !leaves_thread(4 << 20).await {
            rounds += 1;
            assert!(rounds < 20, "it is parsed on the thread of all others");
        }
        // Control: a small one is parsed at once.
        assert!(!leaves_thread(100).await);
    }

    #[tokio::test]
    async fn a_request_with_too_many_values_is_answered_and_the_next_one_taken() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(far);
        let mut transport = patient(reader, writer);
        let (near_reader, mut near_writer) = tokio::io::split(near);
        let lists = vec!["[]"; 600_000].join(",");
        let many = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{{\"a\":[{lists}]}}}}\n"
        );
        let next = "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n";
        let writing = async {
            near_writer.write_all(many.as_bytes()).await.unwrap();
            near_writer.write_all(next.as_bytes()).await.unwrap();
        };
        let ((), received) = tokio::join!(writing, transport.receive());
        let Some(JsonRpcMessage::Request(request)) = received else { panic!("{received:?}") };
        assert_eq!(request.id, RequestId::Number(8));
        // Told while the next message is waited for.
        let mut answers = BufReader::new(near_reader).lines();
        let answer = tokio::select! {
            answer = answers.next_line() => answer.unwrap().unwrap(),
            received = transport.receive() => panic!("{received:?}"),
        };
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], 7);
        assert!(answer["error"]["message"].as_str().unwrap().contains("1000000 JSON values"));
    }
}
