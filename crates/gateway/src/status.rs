//! The status of the servers of running gateways, which `narrows servers status` reads in another
//! process.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use narrows_engine::broker::Broker;
use narrows_system::{apart, private_file};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{AppDirs, create_private};

const INTERVAL: Duration = Duration::from_secs(1);

/// The status file of one gateway.
#[derive(Clone, Debug)]
pub(crate) struct StatusFile(PathBuf);

/// The contents of a status file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GatewayStatus {
    pub(crate) process_id: u32,
    pub(crate) servers: Vec<Value>,
}

pub(crate) fn directory(places: &AppDirs) -> PathBuf {
    places.cache.join("gateways")
}

impl StatusFile {
    pub(crate) fn new(places: &AppDirs) -> Self {
        Self(directory(places).join(format!("{}.json", std::process::id())))
    }

    /// Writes the status of the servers whenever it changes, as long as the gateway runs.
    pub(crate) async fn keep(self, broker: Broker) {
        let mut last = String::new();
        loop {
            let servers = broker.fleet().statuses();
            let servers = servers.iter().filter_map(|status| serde_json::to_value(status).ok());
            let status =
                GatewayStatus { process_id: std::process::id(), servers: servers.collect() };
            let text = serde_json::to_string(&status).unwrap_or_default();
            if text != last {
                // A failure is ignored: only the reader of the status would miss it.
                let _ = apart(|| write(&self.0, &text));
                last = text;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        private_file::make_dir(directory)?;
    }
    let next = path.with_extension("next");
    let _ = std::fs::remove_file(&next);
    create_private(&next, text, None)?;
    std::fs::rename(next, path)
}

/// Returns the status of all gateways that run now, and removes the files of dead ones.
pub(crate) fn running(places: &AppDirs) -> Vec<GatewayStatus> {
    let Ok(entries) = std::fs::read_dir(directory(places)) else { return Vec::new() };
    let mut running = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "json") {
            // The directory of requests to a gateway; see `control`.
            let process = path.file_name().and_then(|name| name.to_str()?.parse().ok());
            if process.is_some_and(|process| !is_alive(process)) {
                let _ = std::fs::remove_dir_all(&path);
            }
            continue;
        }
        let Ok(text) = std::fs::read(&path) else { continue };
        match serde_json::from_slice::<GatewayStatus>(&text) {
            Ok(status) if is_alive(status.process_id) => running.push(status),
            _ => drop(std::fs::remove_file(&path)),
        }
    }
    running
}

/// Tells whether a process is alive; true on systems where this cannot be known.
pub(crate) fn is_alive(process: u32) -> bool {
    if cfg!(target_os = "linux") { Path::new(&format!("/proc/{process}")).exists() } else { true }
}
