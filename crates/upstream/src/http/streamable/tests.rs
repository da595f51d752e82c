//! Servers over HTTP that answer without end.

use narrows_model::{Connection, HttpSpec, ServerSpec};
use rmcp::model::PingRequest;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{http_client::client, login::LoginStore, messages::limits::MAX_MESSAGE_BYTES};

/// What a server answers.
#[derive(Clone, Copy)]
struct Answer {
    status: &'static str,
    kind: &'static str,
    start: &'static str,
    /// How much follows.
    bytes: usize,
}

/// Reads a request, and returns how much of the answer was taken.
async fn answer(stream: TcpStream, answer: Answer) -> usize {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut length = 0;
    while let Ok(Some(line)) = lines.next_line().await
        && !line.is_empty()
    {
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
    }
    lines.into_inner().read_exact(&mut vec![0; length]).await.unwrap();
    let Answer { status, kind, start, bytes } = answer;
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{start}");
    write.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent < bytes && write.write_all(&piece[..piece.len().min(bytes - sent)]).await.is_ok() {
        sent += piece.len();
    }
    sent
}

/// What a client gets for a request that is answered so, and how much of the answer it took.
async fn post(given: Answer) -> (Result<StreamableHttpPostResponse, HttpError>, JoinHandle<usize>) {
    post_from(given, Inbox::default()).await
}

async fn post_from(
    given: Answer,
    inbox: Inbox,
) -> (Result<StreamableHttpPostResponse, HttpError>, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        answer(stream, given).await
    });
    let spec = ServerSpec::new("s", Connection::Http(HttpSpec::default()));
    let logins = LoginStore::new("/nonexistent/logins".into());
    let bearer = Bearer::new(logins, &spec, &url.parse().unwrap()).await.unwrap();
    let alive = Arc::new(CancellationToken::new().drop_guard());
    let client = BoundedClient::new(client().unwrap(), Arc::new(bearer), inbox, alive);
    let request = ClientRequest::PingRequest(PingRequest::default());
    let message = ClientJsonRpcMessage::request(request, RequestId::Number(7));
    (client.post_message(url.into(), message, None, None, Headers::new()).await, serving)
}

fn json_of(response: StreamableHttpPostResponse) -> serde_json::Value {
    match response {
        StreamableHttpPostResponse::Json(message, _) => serde_json::to_value(message).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_body_without_end_is_not_read_and_whoever_asked_is_told() {
    let start = r#"{"jsonrpc":"2.0","id":7,"result":{"text":""#;
    let endless = Answer { status: "200 OK", kind: JSON, start, bytes: 1 << 30 };
    let (answered, serving) = post(endless).await;
    let told = json_of(answered.unwrap());
    assert_eq!(told["id"], 7);
    let reason = told["error"]["message"].as_str().unwrap();
    assert!(reason.contains("more than 32 MB") && reason.contains("ask for less"), "{reason}");
    let taken = serving.await.unwrap();
    assert!(taken < MAX_MESSAGE_BYTES * 2, "{taken}");

    // Control: an answer that ends.
    let start = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    let (answered, _) = post(Answer { start, bytes: 0, ..endless }).await;
    assert_eq!(json_of(answered.unwrap())["result"], serde_json::json!({}));
}

#[tokio::test]
async fn an_event_of_too_many_values_is_answered_with_an_error() {
    let text = format!("data: [{}]\n\n", "[],".repeat(1_000_001));
    let start: &'static str = Box::leak(text.into_boxed_str());
    let many = Answer { status: "200 OK", kind: EVENT_STREAM, start, bytes: 0 };
    let (answered, _) = post(many).await;
    let StreamableHttpPostResponse::Sse(mut events, _) = answered.unwrap() else { panic!() };
    let told = events.next().await.unwrap().unwrap().data.unwrap();
    assert!(told.contains("more than 2000000 JSON values") && told.contains("\"id\":7"), "{told}");
}

#[tokio::test]
async fn a_large_answer_in_an_event_is_not_left_to_rmcp_to_parse() {
    let event = async |bytes: usize, inbox: Inbox| {
        let text = "x".repeat(bytes);
        let result = format!("{{\"content\":[],\"structuredContent\":{{\"a\":\"{text}\"}}}}");
        let text = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{result}}}\n\n");
        let start: &'static str = Box::leak(text.into_boxed_str());
        let large = Answer { status: "200 OK", kind: EVENT_STREAM, start, bytes: 0 };
        let (answered, _) = post_from(large, inbox).await;
        let StreamableHttpPostResponse::Sse(mut events, _) = answered.unwrap() else { panic!() };
        events.next().await.unwrap().unwrap().data.unwrap()
    };
    let inbox = Inbox::default();
    let awaited = inbox.expect(RequestId::Number(7));
    let large = 4 * PARSED_AT_ONCE;
    let short: serde_json::Value =
        serde_json::from_str(&event(large, inbox.clone()).await).unwrap();
    assert_eq!(short, serde_json::json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    assert!(inbox.budget.used() > large as u64, "it takes memory until it was used");
    drop(awaited);
    assert_eq!(inbox.budget.used(), 0);
    // Control: what is small, and what nobody waits for, is handed on.
    let _awaited = inbox.expect(RequestId::Number(7));
    assert!(event(100, inbox.clone()).await.contains("xxx"));
    assert!(event(large, Inbox::default()).await.len() > large);
}

#[tokio::test]
async fn of_an_error_without_end_the_beginning_is_told() {
    let (kind, start) = ("text/plain", "no such page ");
    let failing = Answer { status: "404 Not Found", kind, start, bytes: 1 << 30 };
    let (answered, serving) = post(failing).await;
    let told = answered.unwrap_err().to_string();
    assert!(told.contains("HTTP 404 Not Found: no such page xxx"), "{}", &told[..100]);
    assert!(told.len() < MAX_ERROR_BYTES + 100, "{}", told.len());
    assert!(serving.await.unwrap() < MAX_MESSAGE_BYTES);
}

#[test]
fn the_scope_of_a_challenge_is_found_in_quotes_and_without() {
    assert_eq!(scope_of(r#"Bearer error="x", Scope="a b", y"#).as_deref(), Some("a b"));
    assert_eq!(scope_of("Bearer scope=a, y").as_deref(), Some("a"));
    assert_eq!(scope_of("Bearer scope=").as_deref(), None);
    assert_eq!(scope_of("Bearer").as_deref(), None);
}
