//! The catalog between two starts: one file a server, so that a client is answered before any
//! server has started.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use narrows_model::{Connection, ServerSpec, fingerprint::fingerprint};
use narrows_system::private_file::{self, Durability};
use serde::{Deserialize, Serialize};

use super::Listing;

/// Files of another version are ignored, and written again.
const VERSION: u32 = 1;
/// A listing that is older is used, and looked up again in the background.
const FRESH_FOR: Duration = Duration::from_secs(24 * 3600);

/// A directory of listings.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct CacheEntry {
    version: u32,
    /// The fingerprint of the settings that decide which server it is.
    fingerprint: u64,
    listing: Listing,
}

/// A listing that was kept, and whether it is recent.
pub(super) struct CachedListing {
    pub(super) listing: Listing,
    pub(super) is_fresh: bool,
}

impl Cache {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    fn path(&self, server: &str) -> PathBuf {
        self.dir.join(format!("{server}.json"))
    }

    /// Loads what was kept of a server. A missing or broken file is not an error: the server is asked.
    pub(super) fn load(&self, spec: &ServerSpec) -> Option<CachedListing> {
        let path = self.path(&spec.name);
        let entry: CacheEntry = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        if entry.version != VERSION || entry.fingerprint != fingerprint_of(spec) {
            return None;
        }
        let written = std::fs::metadata(&path).and_then(|data| data.modified()).ok();
        let age = written.and_then(|time| SystemTime::now().duration_since(time).ok());
        let is_fresh = age.is_some_and(|age| age < FRESH_FOR);
        Some(CachedListing { listing: entry.listing, is_fresh })
    }

    pub(super) fn save(&self, spec: &ServerSpec, listing: Listing) {
        let entry = CacheEntry { version: VERSION, fingerprint: fingerprint_of(spec), listing };
        let written = serde_json::to_vec(&entry)
            .map_err(std::io::Error::from)
            .and_then(|text| private_file::write(&self.path(&spec.name), &text, Durability::Cache));
        if let Err(error) = written {
            // Without a cache the next start is slower, and nothing else.
            tracing::warn!(server = spec.name, %error, "the tool list of a server could not be written to the cache");
        }
    }
}

/// Returns a fingerprint of the settings that decide which server it is. Values of secrets do not.
fn fingerprint_of(spec: &ServerSpec) -> u64 {
    match &spec.connection {
        Connection::Stdio(stdio) => {
            let args = stdio.args.iter().map(|arg| arg.as_written());
            let cwd = stdio.cwd.iter().filter_map(|cwd| cwd.to_str());
            let env = stdio.env.keys().chain(&stdio.inherit_env).map(String::as_str);
            fingerprint([stdio.command.as_written()].into_iter().chain(args).chain(cwd).chain(env))
        }
        Connection::Http(http) => {
            let headers = http.headers.keys().map(String::as_str);
            fingerprint([http.url.as_written()].into_iter().chain(headers))
        }
    }
}
