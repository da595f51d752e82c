//! Edits `narrows.toml`: adds and removes servers, adds rules, and leaves the rest as the user wrote it.

use std::{
    io,
    path::{Path, PathBuf},
};

use narrows_model::nearest;
use narrows_system::private_file;
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use super::{EditError, rules, server_table::server_table};
use crate::{
    files::{self, DirectoryLock, read_text},
    settings::{Config, ConfigError, ServerEntry},
    syntax::Syntax,
};
use narrows_policy::AlwaysRule;

/// The treatment of an existing server with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    Replace,
}

/// Whether a server is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enabled {
    Yes,
    No,
}

/// A pending change of a `narrows.toml`. Nothing is written before [`ConfigEdit::save`].
#[derive(Debug)]
pub struct ConfigEdit {
    path: PathBuf,
    /// The text that the change starts from; none if there is no file.
    before: Option<String>,
    document: DocumentMut,
    _lock: DirectoryLock,
}

impl ConfigEdit {
    /// Starts a change, under the lock on the directory. A missing file is created when the change is
    /// saved.
    pub fn open(path: &Path) -> Result<Self, EditError> {
        let failed = |source| EditError::Write { path: path.to_owned(), source };
        if let Some(directory) = path.parent() {
            private_file::make_dir(directory).map_err(failed)?;
        }
        let lock = DirectoryLock::of(path).map_err(failed)?;
        let before = read(path)?;
        let text = before.as_deref().unwrap_or_default();
        if Config::syntax(text, path) == Syntax::Json {
            return Err(EditError::Json { path: path.to_owned() });
        }
        // A file with mistakes should be corrected before it is extended.
        Config::parse(text, path)?;
        let document = text.parse().unwrap_or_default();
        Ok(Self { path: path.to_owned(), before, document, _lock: lock })
    }

    /// Returns the configuration as it would be read after the change.
    pub fn config(&self) -> Result<Config, EditError> {
        Ok(Config::parse(&self.document.to_string(), &self.path)?)
    }

    pub fn add(&mut self, server: &ServerEntry, existing: Existing) -> Result<(), EditError> {
        let there = self.servers().is_some_and(|servers| servers.contains_key(&server.name));
        if there && existing == Existing::Refuse {
            return Err(EditError::Exists { name: server.name.clone() });
        }
        let first = self.document.as_table().is_empty();
        let mut table = server_table(server);
        table.decor_mut().set_prefix(if first { "" } else { "\n" });
        let servers = self.document.entry("servers").or_insert_with(|| {
            let mut servers = Table::new();
            // An empty `[servers]` before its tables is not written.
            servers.set_implicit(true);
            Item::Table(servers)
        });
        let Some(servers) = servers.as_table_like_mut() else { return Ok(()) };
        match servers.get_mut(&server.name) {
            // The new table keeps the place of the old one, and the comments before it.
            Some(Item::Table(old)) => {
                table.set_position(old.position());
                if let Some(prefix) = old.decor().prefix() {
                    table.decor_mut().set_prefix(prefix.clone());
                }
                *old = table;
            }
            _ => {
                servers.insert(&server.name, Item::Table(table));
            }
        }
        Ok(())
    }

    /// Switches a server on or off, and tells whether that changed anything.
    pub fn set_enabled(&mut self, name: &str, enabled: Enabled) -> Result<bool, EditError> {
        let servers = self.servers_mut();
        let server = servers.and_then(|servers| servers.get_mut(name)?.as_table_like_mut());
        let Some(server) = server else { return Err(self.unknown(name)) };
        let is_off = server.get("enabled").and_then(Item::as_bool) == Some(false);
        match (enabled, server.get_mut("enabled").and_then(Item::as_value_mut)) {
            // `enabled = true` is the default.
            (Enabled::Yes, _) => drop(server.remove("enabled")),
            // The value keeps its place, and the comment beside it.
            (Enabled::No, Some(value)) => {
                let decor = value.decor().clone();
                *value = Value::from(false);
                *value.decor_mut() = decor;
            }
            (Enabled::No, None) => drop(server.insert("enabled", toml_edit::value(false))),
        }
        Ok(is_off == (enabled == Enabled::Yes))
    }

    fn unknown(&self, name: &str) -> EditError {
        let names = self.servers().into_iter().flat_map(|servers| servers.iter());
        let names: Vec<_> = names.map(|(name, _)| name.to_owned()).collect();
        let near = nearest(name, names.iter().map(String::as_str));
        EditError::Unknown { name: name.to_owned(), near }
    }

    /// Adds the rule of an "always allow", at the place where it takes effect.
    pub fn add_rule(&mut self, rule: &AlwaysRule) -> Result<(), EditError> {
        rules::insert(&mut self.document, rule)
    }

    pub fn remove(&mut self, name: &str) -> Result<(), EditError> {
        let removed = self.servers_mut().and_then(|servers| servers.remove(name));
        let Some(removed) = removed else { return Err(self.unknown(name)) };
        if let Item::Table(removed) = removed {
            self.keep_detached_comments(&removed);
        }
        Ok(())
    }

    /// Writes the file, unless it was changed in the meantime.
    pub fn save(self) -> Result<(), EditError> {
        self.config()?;
        if read(&self.path)? != self.before {
            return Err(EditError::Changed { path: self.path });
        }
        let text = self.document.to_string();
        files::replace(&self.path, &text)
            .map_err(|source| EditError::Write { path: self.path, source })
    }

    fn servers(&self) -> Option<&dyn TableLike> {
        self.document.get("servers")?.as_table_like()
    }

    fn servers_mut(&mut self) -> Option<&mut dyn TableLike> {
        self.document.get_mut("servers")?.as_table_like_mut()
    }

    /// Keeps comments that a blank line separates from a removed table, and moves them to the next one:
    /// they are about the file, such as its header.
    fn keep_detached_comments(&mut self, removed: &Table) {
        let prefix = removed.decor().prefix().and_then(|prefix| prefix.as_str());
        let Some((kept, _)) = prefix.and_then(|prefix| prefix.rsplit_once("\n\n")) else { return };
        if kept.trim().is_empty() {
            return;
        }
        let root = self.document.as_table_mut();
        let next = removed.position().and_then(|position| next_position(root, position));
        if let Some(next) = next.and_then(|position| table_at(root, position)) {
            let own = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or("\n");
            let both = format!("{kept}\n{own}");
            next.decor_mut().set_prefix(both);
        } else {
            let trailing = self.document.trailing().as_str().unwrap_or_default().to_owned();
            self.document.set_trailing(format!("{kept}\n{trailing}"));
        }
    }
}

fn read(path: &Path) -> Result<Option<String>, EditError> {
    match read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }.into()),
    }
}

/// Returns the position of the first table after `after`.
fn next_position(table: &Table, after: isize) -> Option<isize> {
    let inner = table.iter().filter_map(|(_, item)| item.as_table());
    inner
        .flat_map(|table| [table.position(), next_position(table, after)])
        .flatten()
        .filter(|position| *position > after)
        .min()
}

fn table_at(table: &mut Table, position: isize) -> Option<&mut Table> {
    table.iter_mut().filter_map(|(_, item)| item.as_table_mut()).find_map(|inner| {
        if inner.position() == Some(position) { Some(inner) } else { table_at(inner, position) }
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use narrows_model::{Connection, HttpSpec, HttpTransport, StdioSpec};

    use super::*;

    const FILE: &str = "\
# My servers.
# Ask Ada before changing them.

# Issues and pull requests.
[servers.github]
command = \"npx\"   # from npm
args = [ \"-y\", \"server-github\" ]

# Files.
[servers.files]
command = 'mcp-files'

[limits]
timeout = 60 # long reports
# the end
";

    fn server(name: &str) -> ServerEntry {
        let spec = StdioSpec {
            command: "uvx".into(),
            args: vec!["mcp-server".into(), "it's \"quoted\"\n".into()],
            env: [("KEY".to_owned(), "${KEY}".into())].into(),
            inherit_env: vec!["AWS_*".to_owned()],
            cwd: Some("/srv".into()),
        };
        ServerEntry::new(name, Connection::Stdio(spec))
    }

    fn edit<T>(text: &str, change: impl FnOnce(&mut ConfigEdit) -> T) -> (T, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("narrows.toml");
        fs::write(&path, text).unwrap();
        let mut edit = ConfigEdit::open(&path).unwrap();
        let result = change(&mut edit);
        edit.save().unwrap();
        (result, fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn a_server_that_is_added_leaves_the_rest_as_it_is() {
        let (result, after) = edit(FILE, |edit| edit.add(&server("new"), Existing::Refuse));
        result.unwrap();
        let added = "
[servers.new]
command = \"uvx\"
args = [\"mcp-server\", \"\"\"
it's \"quoted\"
\"\"\"]
env = { KEY = \"${KEY}\" }
inherit_env = [\"AWS_*\"]
cwd = \"/srv\"
";
        assert_eq!(after.replace(added, ""), FILE, "{after}");
        assert_ne!(after, FILE);
    }

    #[test]
    fn a_server_that_is_removed_takes_its_own_comment_along() {
        let (result, after) = edit(FILE, |edit| edit.remove("github"));
        result.unwrap();
        let expected = "\
# My servers.
# Ask Ada before changing them.

# Files.
[servers.files]
command = 'mcp-files'

[limits]
timeout = 60 # long reports
# the end
";
        assert_eq!(after, expected);
    }

    #[test]
    fn the_last_server_leaves_the_header_of_the_file() {
        let (result, after) =
            edit("# Header.\n\n[servers.a]\nurl = \"https://a.example\"\n", |edit| {
                edit.remove("a")
            });
        result.unwrap();
        assert_eq!(after, "# Header.\n");
    }

    #[test]
    fn a_server_is_not_overwritten_unless_told() {
        let ((refused, replaced), after) = edit(FILE, |edit| {
            (
                edit.add(&server("github"), Existing::Refuse),
                edit.add(&server("github"), Existing::Replace),
            )
        });
        assert!(matches!(refused, Err(EditError::Exists { name }) if name == "github"));
        replaced.unwrap();
        assert!(
            after.contains("# Issues and pull requests.\n[servers.github]\ncommand = \"uvx\"\n")
        );
        assert!(!after.contains("npx"));
    }

    #[test]
    fn an_unknown_server_is_not_removed_and_has_a_suggestion() {
        let (result, after) = edit(FILE, |edit| edit.remove("gihtub"));
        let message = result.unwrap_err().to_string();
        assert_eq!(message, "there is no server gihtub; did you mean github?");
        assert_eq!(after, FILE);
    }

    #[test]
    fn a_server_is_switched_off_and_on_and_the_rest_stays() {
        let (changed, off) = edit(FILE, |edit| edit.set_enabled("github", Enabled::No));
        assert!(changed.unwrap());
        let line = "args = [ \"-y\", \"server-github\" ]\n";
        assert_eq!(off, FILE.replace(line, &format!("{line}enabled = false\n")));
        let (changed, again) = edit(&off, |edit| edit.set_enabled("github", Enabled::No));
        assert_eq!((changed.unwrap(), &again), (false, &off));
        let (changed, on) = edit(&off, |edit| edit.set_enabled("github", Enabled::Yes));
        assert_eq!((changed.unwrap(), on.as_str()), (true, FILE));
        let (changed, on) = edit(FILE, |edit| edit.set_enabled("github", Enabled::Yes));
        assert_eq!((changed.unwrap(), on.as_str()), (false, FILE));

        let text = "servers = { a = { command = \"x\", enabled = true } } # mine\n";
        let (changed, off) = edit(text, |edit| edit.set_enabled("a", Enabled::No));
        assert_eq!((changed.unwrap(), off), (true, text.replace("true", "false")));
        let (unknown, _) = edit(FILE, |edit| edit.set_enabled("gihtub", Enabled::No));
        let told = unknown.unwrap_err().to_string();
        assert_eq!(told, "there is no server gihtub; did you mean github?");
    }

    #[test]
    fn servers_in_one_line_can_be_changed_too() {
        let text = "servers = { a = { command = \"x\" } }\n";
        let (result, after) = edit(text, |edit| edit.add(&server("b"), Existing::Refuse));
        result.unwrap();
        let config = Config::parse(&after, Path::new("/x/narrows.toml")).unwrap();
        assert_eq!(config.servers.len(), 2, "{after}");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let http = HttpSpec {
            url: "https://mcp.example/mcp".into(),
            headers: [("X-Key".to_owned(), "${A}".into())].into(),
            transport: HttpTransport::Sse,
            oauth: narrows_model::OAuthSpec {
                client_id: Some("id".into()),
                client_secret: Some("${S}".into()),
                scopes: vec!["read".into()],
                redirect_port: Some(8123),
            },
        };
        let mut remote = ServerEntry::new("remote", Connection::Http(http));
        remote.expose = Some(narrows_model::Expose::Both);
        remote.start_timeout = Some(Duration::from_millis(2500));
        remote.call_timeout = Some(Duration::from_secs(90));
        let mut local = server("local");
        local.enabled = false;
        let (_, after) = edit("", |edit| {
            edit.add(&remote, Existing::Refuse).unwrap();
            edit.add(&local, Existing::Refuse).unwrap();
        });
        assert!(after.starts_with("[servers.remote]\n"), "{after}");
        let config = Config::parse(&after, Path::new("/x/narrows.toml")).unwrap();
        assert_eq!(config.servers, [remote.into_spec(&config.defaults)]);
        assert_eq!(config.disabled, [local.into_spec(&config.defaults)]);
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("narrows.toml");
        let mut edit = ConfigEdit::open(&path).unwrap();
        edit.add(&server("a"), Existing::Refuse).unwrap();
        fs::write(&path, "# by an editor\n").unwrap();
        assert!(matches!(edit.save(), Err(EditError::Changed { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "# by an editor\n");
    }

    #[cfg(unix)]
    #[test]
    fn two_changes_at_once_wait_for_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("narrows.toml");
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let path = path.clone();
                std::thread::spawn(move || {
                    let mut edit = ConfigEdit::open(&path).unwrap();
                    edit.add(&server(&format!("s{number}")), Existing::Refuse).unwrap();
                    edit.save().unwrap();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(Config::parse(&text, &path).unwrap().servers.len(), 8);
    }

    #[test]
    fn json_and_broken_files_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(&path, "{\"mcpServers\": {}}").unwrap();
        assert!(matches!(ConfigEdit::open(&path), Err(EditError::Json { .. })));
        let path = directory.path().join("narrows.toml");
        fs::write(&path, "nonsense = 1\n").unwrap();
        assert!(matches!(ConfigEdit::open(&path), Err(EditError::Config(_))));
    }
}
