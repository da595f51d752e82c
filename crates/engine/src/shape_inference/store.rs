//! The shapes of all tools, which are learnt from calls and kept between two starts.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use narrows_model::ToolId;
use serde_json::Value;

use super::{
    file::{self, LearntTool, LearntTools, MAX_TOOLS, ShapeFile},
    shape::Shape,
};

/// The least time between two writes of changed types, so that a thousand calls in a loop do not write
/// a thousand times.
const SAVE_CHANGES_EVERY: Duration = Duration::from_secs(1);
/// The least time between two writes if only numbers of calls have changed.
const SAVE_COUNTS_EVERY: Duration = Duration::from_secs(60);

/// The shape that was observed in the results of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObservedShape {
    /// The number of results that it was learnt from.
    pub(crate) calls: u64,
    pub(crate) shape: Shape,
    /// The shape as JSON schema.
    pub(crate) schema: Value,
}

/// The shapes of all tools.
#[derive(Debug)]
pub(crate) struct ObservedShapes {
    /// The directory of the files; `None` if nothing is kept on disk.
    dir: Option<PathBuf>,
    servers: Mutex<HashMap<String, Arc<Server>>>,
}

/// The tools of one server.
#[derive(Debug)]
struct Server {
    file: Option<ShapeFile>,
    state: Mutex<ShapesState>,
    /// Held while the file is written. The state is not locked then, so that readers do not wait for
    /// the disk.
    saving: Mutex<()>,
}

#[derive(Debug, Default)]
struct ShapesState {
    /// Whether there is a file to write to.
    is_kept: bool,
    known: HashMap<String, KnownShape>,
    /// The shapes that were learnt since the last write.
    pending: LearntTools,
    /// Whether a type has changed since the last write.
    changed: bool,
    saved: Option<Instant>,
}

#[derive(Debug)]
struct KnownShape {
    fingerprint: u64,
    shape: Arc<ObservedShape>,
}

impl ObservedShapes {
    /// Creates a store over a directory. Files are read when they are first needed.
    pub(crate) fn open(dir: Option<PathBuf>) -> Self {
        Self { dir, servers: Mutex::default() }
    }

    /// Returns the shape of a tool with this definition, if one was learnt.
    pub(crate) fn get(&self, tool: &ToolId, fingerprint: u64) -> Option<Arc<ObservedShape>> {
        let server = self.server(&tool.server);
        let state = locked(&server.state);
        let known = state.known.get(&tool.tool)?;
        (known.fingerprint == fingerprint).then(|| known.shape.clone())
    }

    /// Learns from a result, without writing to disk; see [`Self::save_due`].
    pub(crate) fn learn(&self, tool: &ToolId, fingerprint: u64, value: &Value) {
        let learnt = LearntTool { fingerprint, calls: 1, shape: Shape::of(value) };
        let server = self.server(&tool.server);
        locked(&server.state).add(&tool.tool, learnt);
    }

    /// Writes shapes that are due: new and changed types, and at longer intervals the numbers of calls.
    /// Mostly there are none, and this returns quickly.
    pub(crate) fn save_due(&self) {
        self.save(ShapesState::is_due);
    }

    /// Writes everything that is not yet on disk. To be called before the process ends.
    pub(crate) fn flush(&self) {
        self.save(|_| true);
    }

    fn save(&self, wanted: impl Fn(&ShapesState) -> bool) {
        let servers = locked(&self.servers);
        let all: Vec<_> =
            servers.iter().map(|(name, server)| (name.clone(), server.clone())).collect();
        drop(servers);
        for (name, server) in all {
            let is_wanted = wanted(&locked(&server.state));
            if is_wanted {
                server.save(&name);
            }
        }
    }

    fn server(&self, name: &str) -> Arc<Server> {
        let mut servers = locked(&self.servers);
        if let Some(server) = servers.get(name) {
            return server.clone();
        }
        let file = self.dir.as_ref().map(|dir| ShapeFile::new(dir, name));
        let server = Arc::new(Server::open(file));
        servers.insert(name.to_owned(), server.clone());
        server
    }
}

impl Server {
    fn open(file: Option<ShapeFile>) -> Self {
        let mut state = ShapesState { is_kept: file.is_some(), ..ShapesState::default() };
        state.adopt(file.as_ref().map(ShapeFile::load).unwrap_or_default());
        Self { file, state: Mutex::new(state), saving: Mutex::default() }
    }

    fn save(&self, name: &str) {
        let Some(file) = &self.file else { return };
        let saving = locked(&self.saving);
        let pending = locked(&self.state).take_pending();
        if pending.is_empty() {
            return;
        }
        let kept = file.add(&pending);
        let mut state = locked(&self.state);
        match kept {
            Ok(tools) => state.adopt(tools),
            Err(error) => {
                // The write is tried again later; until then the shapes are only in memory.
                tracing::warn!(server = name, %error, "the shapes of a server's results could not be written");
                state.put_back(pending);
            }
        }
        drop(saving);
    }
}

impl ShapesState {
    fn add(&mut self, tool: &str, learnt: LearntTool) {
        let is_full = self.known.len() >= MAX_TOOLS;
        match self.known.get_mut(tool) {
            Some(known) => self.changed |= known.add(learnt.clone()),
            None if is_full => return,
            None => {
                self.known.insert(tool.to_owned(), KnownShape::from(learnt.clone()));
                self.changed = true;
            }
        }
        if self.is_kept {
            file::add(&mut self.pending, tool, learnt);
        }
    }

    fn is_due(&self) -> bool {
        let since = self.saved.map(|saved| saved.elapsed());
        !self.pending.is_empty() && is_due(self.changed, since)
    }

    fn take_pending(&mut self) -> LearntTools {
        self.changed = false;
        self.saved = Some(Instant::now());
        std::mem::take(&mut self.pending)
    }

    fn put_back(&mut self, pending: LearntTools) {
        let later = std::mem::replace(&mut self.pending, pending);
        for (tool, learnt) in later {
            file::add(&mut self.pending, &tool, learnt);
        }
    }

    /// Takes over the content of the file, to which other processes may have added. What was learnt
    /// during the write is added to it.
    fn adopt(&mut self, tools: LearntTools) {
        self.known =
            tools.into_iter().map(|(name, learnt)| (name, KnownShape::from(learnt))).collect();
        for (name, learnt) in &self.pending {
            match self.known.get_mut(name) {
                Some(known) => {
                    known.add(learnt.clone());
                }
                None => {
                    self.known.insert(name.clone(), KnownShape::from(learnt.clone()));
                }
            }
        }
    }
}

impl KnownShape {
    /// Adds what was learnt later, and tells whether the type has changed.
    fn add(&mut self, later: LearntTool) -> bool {
        if later.fingerprint != self.fingerprint {
            *self = Self::from(later);
            return true;
        }
        let known = Arc::make_mut(&mut self.shape);
        known.calls = known.calls.saturating_add(later.calls);
        known.shape.merge(later.shape);
        known.shape.settle();
        let schema = known.shape.schema();
        let has_changed = schema != known.schema;
        known.schema = schema;
        has_changed
    }
}

impl From<LearntTool> for KnownShape {
    fn from(LearntTool { fingerprint, calls, shape }: LearntTool) -> Self {
        let schema = shape.schema();
        Self { fingerprint, shape: Arc::new(ObservedShape { calls, shape, schema }) }
    }
}

fn is_due(changed: bool, since: Option<Duration>) -> bool {
    let every = if changed { SAVE_CHANGES_EVERY } else { SAVE_COUNTS_EVERY };
    // The first write is due at once.
    since.is_none_or(|since| since >= every)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> ToolId {
        ToolId::new("github", name)
    }

    fn open(dir: &Path) -> ObservedShapes {
        ObservedShapes::open(Some(dir.to_owned()))
    }

    fn schema(observed: &ObservedShapes, name: &str) -> Option<(u64, Value)> {
        observed.get(&tool(name), 1).map(|shape| (shape.calls, shape.schema.clone()))
    }

    #[test]
    fn what_was_learnt_survives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let observed = open(dir.path());
        assert_eq!(schema(&observed, "list"), None);
        observed.learn(&tool("list"), 1, &json!({"a": 1}));
        observed.learn(&tool("list"), 1, &json!({"a": 2}));
        observed.flush();
        let kept = schema(&observed, "list");
        assert_eq!(kept.as_ref().unwrap().0, 2);
        assert_eq!(schema(&open(dir.path()), "list"), kept);
    }

    #[test]
    fn a_new_type_is_kept_without_a_flush() {
        let dir = tempfile::tempdir().unwrap();
        let observed = open(dir.path());
        observed.learn(&tool("list"), 1, &json!([1]));
        assert_eq!(schema(&open(dir.path()), "list"), None);
        observed.save_due();
        assert_eq!(schema(&open(dir.path()), "list").unwrap().0, 1);
        let second = Some(Duration::from_secs(1));
        let minute = Some(Duration::from_secs(60));
        assert!(is_due(true, None) && is_due(true, second) && is_due(false, minute));
        assert!(!is_due(false, second) && !is_due(true, Some(Duration::from_millis(999))));
    }

    #[test]
    fn it_is_dropped_when_the_definition_changes() {
        let dir = tempfile::tempdir().unwrap();
        let observed = open(dir.path());
        observed.learn(&tool("list"), 1, &json!({"old": 1}));
        assert_eq!(observed.get(&tool("list"), 2), None);
        observed.learn(&tool("list"), 2, &json!({"new": 1}));
        observed.flush();
        for observed in [observed, open(dir.path())] {
            assert_eq!(observed.get(&tool("list"), 1), None);
            let shape = observed.get(&tool("list"), 2).unwrap();
            assert_eq!((shape.calls, shape.schema["required"].clone()), (1, json!(["new"])));
        }
    }

    #[test]
    fn two_processes_add_up() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (open(dir.path()), open(dir.path()));
        // Both have read the file before either writes.
        assert_eq!((schema(&one, "list"), schema(&two, "list")), (None, None));
        for n in 0..10 {
            one.learn(&tool("list"), 1, &json!({"a": n}));
            two.learn(&tool("list"), 1, &json!({"a": "text", "b": n}));
            two.learn(&tool("other"), 1, &json!(n));
        }
        one.flush();
        two.flush();
        one.learn(&tool("list"), 1, &json!({"a": 1}));
        one.flush();
        let (calls, schema_of_list) = schema(&open(dir.path()), "list").unwrap();
        assert_eq!(calls, 21);
        assert_eq!(schema_of_list["properties"]["a"], json!({"type": ["integer", "string"]}));
        assert_eq!(schema(&one, "list"), Some((calls, schema_of_list)));
        assert_eq!(schema(&one, "other").unwrap().0, 10);
    }

    #[test]
    fn threads_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let observed = open(dir.path());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let observed = &observed;
                scope.spawn(move || {
                    for n in 0..50 {
                        let name = format!("field_{}", char::from(b'a' + thread));
                        observed.learn(&tool("list"), 1, &json!({name: n}));
                        if n % 10 == 0 {
                            observed.flush();
                        }
                    }
                });
            }
        });
        observed.flush();
        let (calls, kept) = schema(&open(dir.path()), "list").unwrap();
        assert_eq!(calls, 200);
        assert_eq!(kept["properties"].as_object().unwrap().len(), 4);
        assert_eq!(schema(&observed, "list"), Some((calls, kept)));
    }

    #[test]
    fn a_file_that_makes_no_sense_is_replaced() {
        let huge = " ".repeat(5 * 1024 * 1024);
        let foreign = r#"{"version": 99, "tools": {}}"#;
        for content in ["", "{", "null", foreign, &huge] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("github.json"), content).unwrap();
            let observed = open(dir.path());
            assert_eq!(schema(&observed, "list"), None);
            observed.learn(&tool("list"), 1, &json!(1));
            observed.save_due();
            assert_eq!(schema(&open(dir.path()), "list").unwrap().0, 1);
        }
    }

    #[test]
    fn what_cannot_be_written_is_known_and_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let blocked = dir.path().join("observed");
        std::fs::write(&blocked, "").unwrap();
        let observed = open(&blocked);
        observed.learn(&tool("list"), 1, &json!(1));
        observed.save_due();
        observed.learn(&tool("list"), 1, &json!(2));
        assert_eq!(schema(&observed, "list").unwrap().0, 2);
        std::fs::remove_file(&blocked).unwrap();
        observed.flush();
        assert_eq!(schema(&open(&blocked), "list").unwrap().0, 2);
    }

    #[test]
    fn without_a_directory_it_is_in_memory() {
        let observed = ObservedShapes::open(None);
        observed.learn(&tool("list"), 1, &json!(1));
        observed.flush();
        assert_eq!(schema(&observed, "list"), Some((1, json!({"type": "integer"}))));
    }

    #[test]
    #[cfg(unix)]
    fn only_the_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("observed");
        let observed = open(&inner);
        observed.learn(&tool("list"), 1, &json!(1));
        observed.save_due();
        for (path, mode) in [("", 0o700), ("github.json", 0o600), ("github.lock", 0o600)] {
            let data = std::fs::metadata(inner.join(path)).unwrap();
            assert_eq!(data.permissions().mode() & 0o777, mode, "{path}");
        }
    }
}
