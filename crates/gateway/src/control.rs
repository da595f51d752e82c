//! Requests of other processes to a running gateway: files in a private directory, where the gateway
//! looks for requests and leaves its answers.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use narrows_engine::broker::Broker;
use narrows_system::private_file;
use narrows_upstream::Status;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    config::{AppDirs, create_private},
    secret, status,
};

/// How often a gateway looks for requests.
const INTERVAL: Duration = Duration::from_millis(500);
/// How often [`ask`] looks for the answer.
const ANSWER_INTERVAL: Duration = Duration::from_millis(50);

/// A request to a running gateway.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(crate) enum ControlRequest {
    /// Ends a server and starts it again.
    Restart { server: String },
}

/// The answer to a [`ControlRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ControlReply {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The server as it is now.
    pub(crate) status: Option<Value>,
}

/// The directory in which a gateway looks for requests. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct RequestDirectory(PathBuf);

impl RequestDirectory {
    /// Makes the directory of this process. A gateway without one works, but cannot be asked anything.
    pub(crate) fn create(places: &AppDirs) -> io::Result<Self> {
        let path = directory(places, std::process::id());
        // An earlier process with the same id may have left its directory.
        let _ = fs::remove_dir_all(&path);
        // The directory is private, because whoever can write into it can end servers.
        private_file::make_dir(&path)?;
        Ok(Self(path))
    }

    /// Answers requests for as long as the gateway runs.
    pub(crate) async fn serve(self, broker: Broker) {
        loop {
            for (path, request) in take_requests(&self.0) {
                let broker = broker.clone();
                tokio::spawn(async move {
                    let answer = answer(request, &broker).await;
                    let text = serde_json::to_string(&answer).unwrap_or_default();
                    // Whoever asked may be gone.
                    let _ = create_private(&path.with_extension("answer"), &text, None);
                });
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

impl Drop for RequestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn directory(places: &AppDirs, process_id: u32) -> PathBuf {
    status::directory(places).join(process_id.to_string())
}

fn take_requests(directory: &Path) -> Vec<(PathBuf, ControlRequest)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let requests = paths.filter(|path| path.extension().is_some_and(|end| end == "request"));
    let taken = requests.filter_map(|path| {
        let text = fs::read(&path).ok()?;
        fs::remove_file(&path).ok()?;
        Some((path, serde_json::from_slice(&text).ok()?))
    });
    taken.collect()
}

async fn answer(request: ControlRequest, broker: &Broker) -> ControlReply {
    let ControlRequest::Restart { server } = request;
    let error = broker.fleet().restart(&server).await.err().map(|error| error.to_string());
    let status: Option<Status> = broker.fleet().status(&server);
    ControlReply { error, status: status.and_then(|status| serde_json::to_value(status).ok()) }
}

/// Sends a request to a running gateway, and waits for its answer.
pub(crate) async fn ask(
    places: &AppDirs,
    process_id: u32,
    request: &ControlRequest,
    max_wait: Duration,
) -> anyhow::Result<ControlReply> {
    let directory = directory(places, process_id);
    if !directory.is_dir() {
        bail!("it takes no requests, as it is of an older version; start it again");
    }
    let path = directory.join(format!("{}.request", secret::random_hex()?));
    let text = serde_json::to_string(request)?;
    create_private(&path, &text, None).context("it cannot be asked")?;
    let answered = tokio::time::timeout(max_wait, wait_for_answer(&path, process_id)).await;
    let _ = fs::remove_file(&path);
    match answered {
        Ok(answer) => answer,
        Err(_) => bail!("it did not answer within {} s", max_wait.as_secs()),
    }
}

async fn wait_for_answer(request: &Path, process_id: u32) -> anyhow::Result<ControlReply> {
    let path = request.with_extension("answer");
    loop {
        match fs::read(&path) {
            Ok(text) => {
                let _ = fs::remove_file(&path);
                return serde_json::from_slice(&text).context("its answer is malformed");
            }
            Err(_) if !status::is_alive(process_id) => bail!("it ended meanwhile"),
            Err(_) => tokio::time::sleep(ANSWER_INTERVAL).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gateway_that_takes_no_requests_is_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let places = AppDirs::below(home.path());
        let request = ControlRequest::Restart { server: "s".to_owned() };
        let told = ask(&places, 1, &request, Duration::from_secs(600)).await.unwrap_err();
        assert!(told.to_string().contains("start it again"), "{told}");
    }

    #[tokio::test]
    async fn what_is_no_request_is_passed_over_and_the_directory_is_private() {
        let home = tempfile::tempdir().unwrap();
        let places = AppDirs::below(home.path());
        let requests = RequestDirectory::create(&places).unwrap();
        let path = requests.0.clone();
        fs::write(path.join("a.request"), "junk").unwrap();
        fs::write(path.join("b"), "other").unwrap();
        fs::write(path.join("c.request"), r#"{"action":"restart","server":"s"}"#).unwrap();
        let [(_, ControlRequest::Restart { server })] = take_requests(&path).try_into().unwrap();
        assert_eq!(server, "s");
        assert!(take_requests(&path).is_empty());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        }
        drop(requests);
        assert!(!path.exists());
    }
}
