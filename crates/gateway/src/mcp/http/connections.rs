//! Connections: how many there are, from where, and how long they may be quiet.
//!
//! A connection without a request costs its sender nothing, so whoever opens many must not keep others
//! out: there are only so many, fewer than there are file descriptors; those on which nothing happens are
//! closed after a while, and at once where another one needs the place. If all are busy, a few more are
//! taken on which `/health` answers and everything else is told to come back.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
};
use hyper::{
    Request,
    body::{Frame, Incoming, SizeHint},
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::config::HttpLimits;

/// How long a connection may be idle, or send headers slowly, if none of its requests had a key.
const STRANGER_IDLE_TIME: Duration = Duration::from_secs(10);
/// The same for clients with a key, which keep connections open for their next request.
const CLIENT_IDLE_TIME: Duration = Duration::from_secs(120);
/// How long a client may leave sent data unread, or be gone without closing its connection.
#[cfg(target_os = "linux")]
const UNREAD_TIME: Duration = Duration::from_secs(60);
/// The largest headers of a request. Stops strangers from filling our memory: anybody can send headers,
/// on as many connections as there are.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// How long a connection that is closed may take to send the rest of its answer.
const CLOSING_TIME: Duration = Duration::from_secs(1);
/// How long connections may take to end when the server does.
const STOPPING_TIME: Duration = Duration::from_secs(5);
/// How long the server pauses after the system refused to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections beyond the limit, on which only `/health` answers.
const MAX_SPARE: usize = 16;
/// The part of all file descriptors, as a divisor, that is left for files, the store and servers' pipes.
const DESCRIPTORS_FOR_OTHERS: u64 = 4;

/// One open connection.
#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    /// Where it comes from; see [`network`].
    network: IpAddr,
    /// Whether it is beyond the limit, so that only `/health` answers on it.
    is_spare: bool,
    is_trusted: AtomicBool,
    activity: Mutex<Activity>,
    /// Cancelled when another connection gets its place.
    end: CancellationToken,
}

#[derive(Debug)]
struct Activity {
    /// The number of requests whose answers are not complete.
    requests: usize,
    since: Instant,
}

impl Connection {
    pub(super) fn is_spare(&self) -> bool {
        self.is_spare
    }

    /// Marks the connection as one whose client showed a valid key.
    pub(super) fn set_trusted(&self) {
        self.is_trusted.store(true, Ordering::Relaxed);
    }

    fn is_trusted(&self) -> bool {
        self.is_trusted.load(Ordering::Relaxed)
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_since(&self) -> Option<Instant> {
        let activity = self.activity();
        (activity.requests == 0).then_some(activity.since)
    }

    fn max_idle_time(&self) -> Duration {
        if self.is_trusted() { CLIENT_IDLE_TIME } else { STRANGER_IDLE_TIME }
    }

    /// Waits until the connection was idle for too long.
    async fn expired(&self) {
        loop {
            let rest = match self.idle_since() {
                Some(since) => self.max_idle_time().saturating_sub(since.elapsed()),
                None => STRANGER_IDLE_TIME,
            };
            if rest.is_zero() {
                return;
            }
            tokio::time::sleep(rest).await;
        }
    }
}

/// A request on a connection, until its answer is complete.
struct Busy(Arc<Connection>);

impl Busy {
    fn new(connection: &Arc<Connection>) -> Self {
        connection.activity().requests += 1;
        Self(Arc::clone(connection))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.requests -= 1;
        activity.since = Instant::now();
    }
}

/// The body of an answer. The connection counts as busy until it is dropped.
struct AnswerBody {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// All open connections.
pub(super) struct Connections {
    max: usize,
    max_per_network: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last_number: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

impl Connections {
    /// Makes the register of connections. `descriptors` is how many files this process can have open,
    /// which lowers the limit.
    pub(super) fn new(limits: &HttpLimits, descriptors: Option<u64>) -> Arc<Self> {
        let wanted = limits.max_connections as usize;
        let possible = descriptors.map_or(wanted, |all| {
            let possible = all - all / DESCRIPTORS_FOR_OTHERS;
            usize::try_from(possible).unwrap_or(wanted).saturating_sub(MAX_SPARE).max(1)
        });
        if possible < wanted {
            tracing::warn!(
                max_connections = possible,
                "http.max_connections is lowered, as this process may open few files; raise its \
                 limit (ulimit -n)"
            );
        }
        Arc::new(Self {
            max: wanted.min(possible),
            max_per_network: limits.max_connections_per_address as usize,
            open: Mutex::default(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts and serves connections until `stop` is cancelled, then waits a moment for their end.
    pub(super) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        app: Router,
        stop: CancellationToken,
    ) {
        let (running, mut all_ended) = mpsc::channel::<()>(1);
        while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    self.open().close_idle(|_| true);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            set_options(&stream);
            let connection = self.admit(peer.ip());
            let (connections, app) = (Arc::clone(&self), app.clone());
            let (stop, running) = (stop.clone(), running.clone());
            tokio::spawn(async move {
                serve_connection(stream, Arc::clone(&connection), app, stop).await;
                connections.open().connections.remove(&connection.number);
                drop(running);
            });
        }
        drop((listener, running));
        let _ = timeout(STOPPING_TIME, all_ended.recv()).await;
    }

    /// Registers a new connection. If all places are taken, an idle connection is closed for it; if none
    /// is idle, the new one becomes a spare.
    fn admit(&self, peer: IpAddr) -> Arc<Connection> {
        let network = network(peer);
        let mut open = self.open();
        let (mut all, mut of_network, mut spare) = (0, 0, 0);
        for other in open.connections.values() {
            if other.is_spare {
                spare += 1;
            } else {
                all += 1;
                of_network += usize::from(other.network == network);
            }
        }
        let has_place = if of_network >= self.max_per_network {
            open.close_idle(|other| !other.is_spare && other.network == network)
        } else {
            all < self.max || open.close_idle(|other| !other.is_spare)
        };
        if !has_place && spare >= MAX_SPARE {
            open.close_oldest_spare();
        }
        open.last_number += 1;
        let connection = Arc::new(Connection {
            number: open.last_number,
            network,
            is_spare: !has_place,
            is_trusted: AtomicBool::new(false),
            activity: Mutex::new(Activity { requests: 0, since: Instant::now() }),
            end: CancellationToken::new(),
        });
        open.connections.insert(connection.number, Arc::clone(&connection));
        connection
    }
}

impl Open {
    /// Closes the connection that was idle for longest, strangers' before clients'. Returns false if
    /// none is idle.
    fn close_idle(&mut self, may_close: impl Fn(&Connection) -> bool) -> bool {
        let candidates = self.connections.values().filter(|connection| may_close(connection));
        let idle = candidates.filter_map(|connection| {
            Some((connection.is_trusted(), connection.idle_since()?, connection.number))
        });
        let Some((_, _, number)) = idle.min() else { return false };
        self.close(number);
        true
    }

    fn close_oldest_spare(&mut self) {
        let spare = self.connections.values().filter(|connection| connection.is_spare);
        if let Some(number) = spare.map(|connection| connection.number).min() {
            self.close(number);
        }
    }

    fn close(&mut self, number: u64) {
        if let Some(connection) = self.connections.remove(&number) {
            connection.end.cancel();
        }
    }
}

/// Returns the address that limits count by. An IPv6 address is reduced to its /64 network, because
/// whoever has one has all 2^64 addresses of it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address => address,
    }
}

fn set_options(stream: &TcpStream) {
    // An answer is several small writes; otherwise the second one waits 40 ms for the client's
    // acknowledgement of the first.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection does not take the option to send at once");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = end_if_unread(stream) {
        tracing::debug!(%error, "a connection does not take a limit for data that nobody reads");
    }
}

/// Sets socket options by which the system ends a connection whose other side reads nothing, or is gone.
#[cfg(target_os = "linux")]
fn end_if_unread(stream: &TcpStream) -> rustix::io::Result<()> {
    use rustix::net::sockopt;

    let milliseconds = u32::try_from(UNREAD_TIME.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, milliseconds)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, UNREAD_TIME)
}

/// Serves one connection until it ends, is idle for too long, or has to make room for another.
async fn serve_connection(
    stream: TcpStream,
    connection: Arc<Connection>,
    app: Router,
    stop: CancellationToken,
) {
    let app = TowerToHyperService::new(app);
    let on = Arc::clone(&connection);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let busy = Busy::new(&on);
        request.extensions_mut().insert(Arc::clone(&on));
        let answer = app.call(request);
        async move { answer.await.map(|answer| answer.map(|body| AnswerBody { body, _busy: busy })) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().max_buf_size(MAX_HEADER_BYTES);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let is_over = tokio::select! {
        ended = serving.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended with an error");
            }
            true
        }
        () = connection.end.cancelled() => !connection.is_trusted(),
        () = connection.expired() => !connection.is_trusted(),
        () = stop.cancelled() => false,
    };
    if is_over {
        return;
    }
    serving.as_mut().graceful_shutdown();
    let time = if stop.is_cancelled() { STOPPING_TIME } else { CLOSING_TIME };
    let _ = timeout(time, serving).await;
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn connections(max: u32, max_per_address: u32, descriptors: Option<u64>) -> Arc<Connections> {
        let limits = HttpLimits {
            max_connections: max,
            max_connections_per_address: max_per_address,
            ..HttpLimits::default()
        };
        Connections::new(&limits, descriptors)
    }

    fn is_closed(connection: &Connection) -> bool {
        connection.end.is_cancelled()
    }

    #[test]
    fn idle_connections_make_room_strangers_first_and_busy_ones_never() {
        let connections = connections(3, 3, None);
        let (client, busy) = (connections.admit(HERE), connections.admit(HERE));
        client.set_trusted();
        let _request = Busy::new(&busy);
        let stranger = connections.admit(HERE);
        let first = connections.admit(HERE);
        assert!(is_closed(&stranger) && !is_closed(&client) && !first.is_spare());
        let _request = Busy::new(&first);
        let second = connections.admit(HERE);
        assert!(is_closed(&client) && !second.is_spare());
        let _request = Busy::new(&second);
        let spare = connections.admit(HERE);
        assert!(spare.is_spare() && !is_closed(&busy) && !is_closed(&first));
        // Those without a place make room for each other.
        for _ in 0..MAX_SPARE {
            assert!(!is_closed(&spare));
            assert!(connections.admit(HERE).is_spare());
        }
        assert!(is_closed(&spare) && !is_closed(&second));
    }

    #[test]
    fn one_address_takes_no_place_of_another() {
        let connections = connections(4, 2, None);
        let other = connections.admit(THERE);
        let own = [connections.admit(HERE), connections.admit(HERE), connections.admit(HERE)];
        assert!(is_closed(&own[0]) && !is_closed(&own[1]) && !is_closed(&other));
        let _requests = (Busy::new(&own[1]), Busy::new(&own[2]));
        assert!(connections.admit(HERE).is_spare());
        assert!(!is_closed(&other) && !connections.admit(THERE).is_spare());
    }

    #[test]
    fn there_are_fewer_connections_than_descriptors() {
        assert_eq!(connections(1000, 1, Some(1 << 16)).max, 1000);
        assert_eq!(connections(1000, 1, Some(1024)).max, 1024 - 256 - MAX_SPARE);
        assert_eq!(connections(1000, 1, Some(10)).max, 1);
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let parse = |text: &str| network(text.parse().unwrap());
        assert_eq!(parse("2001:db8::1"), parse("2001:db8::ffff:2"));
        assert_ne!(parse("2001:db8::1"), parse("2001:db8:0:1::1"));
        assert_eq!(parse("::ffff:192.0.2.1"), THERE);
    }

    #[tokio::test]
    async fn a_connection_expires_when_it_is_idle_and_not_while_it_is_busy() {
        let connection = connections(3, 3, None).admit(HERE);
        let is_expired = || connection.expired().now_or_never().is_some();
        let be_idle_for = |time| {
            connection.activity().since = Instant::now().checked_sub(time).unwrap();
        };
        assert!(!is_expired());
        let request = Busy::new(&connection);
        be_idle_for(STRANGER_IDLE_TIME);
        assert!(!is_expired());
        drop(request);
        assert!(!is_expired());
        be_idle_for(STRANGER_IDLE_TIME);
        assert!(is_expired());
        // Clients get longer.
        connection.set_trusted();
        assert!(!is_expired());
        be_idle_for(CLIENT_IDLE_TIME);
        assert!(is_expired());
    }
}
