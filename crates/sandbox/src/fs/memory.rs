//! `/tmp`: a small tree of files in the host's memory that ends with the run.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use narrows_model::LimitKind;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::{
    files::{EntryKind, Stat},
    quota::Quota,
};

const MAX_FILES: u64 = 1_000;

/// All entries by their path below `/tmp`. The root itself is not among them.
#[derive(Debug)]
pub(super) struct MemoryTree {
    entries: BTreeMap<String, Node>,
    quota: Arc<Quota>,
    next_id: AtomicU64,
}

#[derive(Debug)]
enum Node {
    Folder { id: u64, made: SystemTime },
    File(Arc<MemoryFile>),
}

/// A file; it stays as long as a descriptor refers to it, and so does its share of the quota.
#[derive(Debug)]
pub(super) struct MemoryFile {
    id: u64,
    content: Mutex<MemoryContent>,
    quota: Arc<Quota>,
}

#[derive(Debug)]
struct MemoryContent {
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl MemoryTree {
    pub(super) fn new(max_bytes: u64) -> Self {
        let names = (LimitKind::TmpBytes, LimitKind::TmpBytes);
        Self {
            entries: BTreeMap::new(),
            quota: Arc::new(Quota::new(max_bytes, MAX_FILES, names)),
            next_id: AtomicU64::new(1),
        }
    }

    pub(super) fn refusal(&self) -> Option<LimitKind> {
        self.quota.refusal()
    }

    pub(super) fn stat(&self, path: &str) -> Result<Stat, ErrorCode> {
        if path.is_empty() {
            return Ok(Stat::folder(0, None));
        }
        match self.entries.get(path).ok_or(ErrorCode::NoEntry)? {
            Node::Folder { id, made } => Ok(Stat::folder(u128::from(*id), Some(*made))),
            Node::File(file) => Ok(file.stat()),
        }
    }

    pub(super) fn file(&self, path: &str) -> Result<Arc<MemoryFile>, ErrorCode> {
        match self.entries.get(path) {
            Some(Node::File(file)) => Ok(file.clone()),
            Some(Node::Folder { .. }) => Err(ErrorCode::IsDirectory),
            None if path.is_empty() => Err(ErrorCode::IsDirectory),
            None => Err(ErrorCode::NoEntry),
        }
    }

    pub(super) fn create_file(&mut self, path: &str) -> Result<Arc<MemoryFile>, ErrorCode> {
        self.check_new(path)?;
        self.quota.take_file()?;
        let file = Arc::new(MemoryFile {
            id: self.new_id(),
            content: Mutex::new(MemoryContent { bytes: Vec::new(), modified: SystemTime::now() }),
            quota: self.quota.clone(),
        });
        self.entries.insert(path.to_owned(), Node::File(file.clone()));
        Ok(file)
    }

    pub(super) fn create_folder(&mut self, path: &str) -> Result<(), ErrorCode> {
        self.check_new(path)?;
        self.quota.take_file()?;
        let folder = Node::Folder { id: self.new_id(), made: SystemTime::now() };
        self.entries.insert(path.to_owned(), folder);
        Ok(())
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<(EntryKind, String)>, ErrorCode> {
        if self.stat(path)?.kind != EntryKind::Folder {
            return Err(ErrorCode::NotDirectory);
        }
        let children = self.below(path).filter_map(|(key, node)| {
            let name = &key[prefix_length(path)..];
            let kind = match node {
                Node::Folder { .. } => EntryKind::Folder,
                Node::File(_) => EntryKind::File,
            };
            (!name.contains('/')).then(|| (kind, name.to_owned()))
        });
        Ok(children.collect())
    }

    pub(super) fn remove_file(&mut self, path: &str) -> Result<(), ErrorCode> {
        self.file(path)?;
        self.entries.remove(path);
        Ok(())
    }

    pub(super) fn remove_folder(&mut self, path: &str) -> Result<(), ErrorCode> {
        if path.is_empty() {
            return Err(ErrorCode::Busy);
        }
        if !self.list(path)?.is_empty() {
            return Err(ErrorCode::NotEmpty);
        }
        self.entries.remove(path);
        self.quota.give_file();
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), ErrorCode> {
        let moved = self.stat(from)?.kind;
        if from.is_empty() || to.is_empty() {
            return Err(ErrorCode::Busy);
        }
        if from == to {
            return Ok(());
        }
        if to.starts_with(&format!("{from}/")) {
            return Err(ErrorCode::Invalid);
        }
        match (moved, self.stat(to).map(|stat| stat.kind)) {
            (_, Err(_)) => self.check_new(to)?,
            (EntryKind::Folder, Ok(EntryKind::Folder)) => self.remove_folder(to)?,
            (EntryKind::Folder, Ok(_)) => return Err(ErrorCode::NotDirectory),
            (_, Ok(EntryKind::Folder)) => return Err(ErrorCode::IsDirectory),
            (_, Ok(_)) => self.remove_file(to)?,
        }
        let mut names: Vec<String> = self.below(from).map(|(key, _)| key.clone()).collect();
        names.push(from.to_owned());
        for name in names {
            if let Some(node) = self.entries.remove(&name) {
                self.entries.insert(format!("{to}{}", &name[from.len()..]), node);
            }
        }
        Ok(())
    }

    fn below(&self, path: &str) -> impl Iterator<Item = (&String, &Node)> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        self.entries.range(prefix.clone()..).take_while(move |(key, _)| key.starts_with(&prefix))
    }

    /// Checks that a new entry has a folder to be in and a name that is free.
    fn check_new(&self, path: &str) -> Result<(), ErrorCode> {
        if self.stat(path).is_ok() {
            return Err(ErrorCode::Exist);
        }
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        match self.stat(parent)?.kind {
            EntryKind::Folder => Ok(()),
            _ => Err(ErrorCode::NotDirectory),
        }
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

fn prefix_length(path: &str) -> usize {
    if path.is_empty() { 0 } else { path.len() + 1 }
}

impl MemoryFile {
    fn content(&self) -> MutexGuard<'_, MemoryContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stat(&self) -> Stat {
        let content = self.content();
        Stat {
            kind: EntryKind::File,
            size: content.bytes.len() as u64,
            modified: Some(content.modified),
            accessed: None,
            identity: u128::from(self.id),
        }
    }

    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let content = self.content();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.bytes.len());
        let count = buffer.len().min(content.bytes.len() - start);
        buffer[..count].copy_from_slice(&content.bytes[start..start + count]);
        count
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), ErrorCode> {
        let mut content = self.content();
        let end = offset.checked_add(bytes.len() as u64).ok_or(ErrorCode::FileTooLarge)?;
        if end > content.bytes.len() as u64 {
            self.resize(&mut content, end)?;
        }
        let start = offset as usize;
        content.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        content.modified = SystemTime::now();
        Ok(())
    }

    pub(super) fn append(&self, bytes: &[u8]) -> Result<(), ErrorCode> {
        let end = self.content().bytes.len() as u64;
        self.write_at(bytes, end)
    }

    pub(super) fn set_size(&self, size: u64) -> Result<(), ErrorCode> {
        self.resize(&mut self.content(), size)
    }

    pub(super) fn set_modified(&self, time: SystemTime) {
        self.content().modified = time;
    }

    fn resize(&self, content: &mut MemoryContent, size: u64) -> Result<(), ErrorCode> {
        let before = content.bytes.len() as u64;
        if size > before {
            self.quota.take_bytes(size - before)?;
        }
        content.bytes.resize(usize::try_from(size).map_err(|_| ErrorCode::FileTooLarge)?, 0);
        if size < before {
            content.bytes.shrink_to_fit();
            self.quota.give_bytes(before - size);
        }
        content.modified = SystemTime::now();
        Ok(())
    }
}

/// Gives the quota back now, and not when the file is unlinked: a program could hold the descriptor and
/// fill memory for nothing.
impl Drop for MemoryFile {
    fn drop(&mut self) {
        let bytes = self.content().bytes.len() as u64;
        self.quota.give_bytes(bytes);
        self.quota.give_file();
    }
}
