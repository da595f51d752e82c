//! The rules of `[policy]` in the configuration: read again when the file changes, and extended by one
//! that a person wants for good.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use narrows_engine::policy::{AlwaysRule, PolicySettings, Rule};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{Config, ConfigEdit, ConfigError, Syntax, edit::EditError, read_text};

/// The configuration file, as the place of rules.
#[derive(Debug)]
pub(crate) struct RulesFile {
    path: PathBuf,
    /// What the file was like when it was last read.
    seen: Mutex<Option<FileStamp>>,
}

/// What changes when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// A file that takes another's place has another number.
    number: u64,
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = 0;
        Some(Self { modified: about.modified().ok(), bytes: about.len(), number })
    }
}

impl RulesFile {
    /// The rules of this file, which were just read.
    pub(crate) fn new(path: PathBuf) -> Self {
        let seen = Mutex::new(FileStamp::of(&path));
        Self { path, seen }
    }

    fn read(&self) -> Result<PolicySettings, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: self.path.clone(), source };
        let text = read_text(&self.path).map_err(unreadable)?;
        Ok(Config::parse(&text, &self.path)?.safety.policy)
    }

    /// Returns all rules, if the file has changed since they were last read, or why they cannot be read.
    pub(crate) fn changed(&self) -> Option<Result<PolicySettings, ConfigError>> {
        // A file that is gone has no new rules: those that there were still hold.
        let now = FileStamp::of(&self.path)?;
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if *seen == Some(now) {
                return None;
            }
            *seen = Some(now);
        }
        Some(self.read())
    }

    /// Returns the text that [`RulesFile::add`] would write, or none if the file cannot be changed.
    pub(crate) fn preview(&self, always: &AlwaysRule) -> Option<String> {
        let text = read_text(&self.path).unwrap_or_default();
        if Config::syntax(&text, &self.path) == Syntax::Json {
            return None;
        }
        let document: DocumentMut = text.parse().ok()?;
        Some(preview(&document, &always.rule))
    }

    /// Returns the path of the file, for people.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a rule, where it has to stand.
    pub(crate) fn add(&self, always: &AlwaysRule) -> Result<(), EditError> {
        let mut edit = ConfigEdit::open(&self.path)?;
        edit.add_rule(always)?;
        edit.save()
    }
}

/// The text that a rule becomes in a document.
fn preview(document: &DocumentMut, rule: &Rule) -> String {
    if is_inline(document) {
        return format!("{}\n", inline(rule));
    }
    let mut rules = ArrayOfTables::new();
    rules.push(table(rule));
    let mut policy = Table::new();
    policy.set_implicit(true);
    policy.insert("rules", Item::ArrayOfTables(rules));
    let mut document = DocumentMut::new();
    document.insert("policy", Item::Table(policy));
    document.to_string()
}

/// Whether the rules of a document are written in one line, or would have to be.
fn is_inline(document: &DocumentMut) -> bool {
    let Some(policy) = document.get("policy") else { return false };
    let rules = policy.as_table_like().and_then(|policy| policy.get("rules"));
    rules.map_or(policy.is_inline_table(), Item::is_value)
}

/// Puts a rule into a document, before the one that it has to come before.
pub(super) fn insert(document: &mut DocumentMut, always: &AlwaysRule) -> Result<(), EditError> {
    let (is_first, in_line) = (document.as_table().is_empty(), is_inline(document));
    let policy = document.entry("policy").or_insert_with(|| {
        let mut policy = Table::new();
        // `[policy]` alone says nothing.
        policy.set_implicit(true);
        Item::Table(policy)
    });
    let Some(policy) = policy.as_table_like_mut() else { return Ok(()) };
    let empty = || match in_line {
        true => Item::Value(Array::new().into()),
        false => Item::ArrayOfTables(ArrayOfTables::new()),
    };
    match policy.entry("rules").or_insert_with(empty) {
        Item::ArrayOfTables(rules) => {
            let tables = rules.iter().map(|table| table as &dyn TableLike);
            let index = place(tables, always)?;
            let mut table = table(&always.rule);
            table.decor_mut().set_prefix(if is_first { "" } else { "\n" });
            match rules.get_mut(index) {
                Some(next) => {
                    // Of two tables at one position the first stays the first.
                    table.set_position(next.position());
                    let prefix = next.decor().prefix().and_then(|prefix| prefix.as_str());
                    if prefix.is_none_or(|prefix| !prefix.starts_with('\n')) {
                        let prefix = format!("\n{}", prefix.unwrap_or_default());
                        next.decor_mut().set_prefix(prefix);
                        table.decor_mut().set_prefix("");
                    }
                    rules.insert(index, table);
                }
                None => rules.push(table),
            }
        }
        Item::Value(Value::Array(rules)) => {
            let tables = rules.iter().filter_map(Value::as_inline_table);
            let index = place(tables.map(|table| table as &dyn TableLike), always)?;
            rules.insert(index, inline(&always.rule));
        }
        _ => {}
    }
    Ok(())
}

/// Where among the rules one has to stand.
fn place<'a>(
    rules: impl Iterator<Item = &'a dyn TableLike>,
    always: &AlwaysRule,
) -> Result<usize, EditError> {
    let names: Vec<Option<&str>> =
        rules.map(|rule| rule.get("name").and_then(Item::as_str)).collect();
    match &always.before {
        None => Ok(names.len()),
        Some(before) => {
            let index = names.iter().position(|name| *name == Some(before.as_str()));
            index.ok_or_else(|| EditError::NoRule { name: before.clone() })
        }
    }
}

/// What a rule says that allows a tool for good, in the order of the reference.
fn entries(rule: &Rule) -> [(&'static str, Value); 4] {
    let array = |texts: &[String]| Value::Array(texts.iter().collect());
    [
        ("name", rule.name.as_str().into()),
        ("principals", array(&rule.principals)),
        ("tools", array(&rule.tools)),
        ("action", "allow".into()),
    ]
}

fn table(rule: &Rule) -> Table {
    entries(rule).into_iter().map(|(key, value)| (key, Item::Value(value))).collect()
}

fn inline(rule: &Rule) -> InlineTable {
    entries(rule).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use narrows_engine::policy::Reason;

    use super::*;

    const FILE: &str = "\
# My rules.

[policy]
destructive = \"confirm\"

# Nothing leaves the house.
[[policy.rules]]
name = \"no-mail-outside\"
tools = [\"mail.send\"]
arguments = { to = { not = \"*@mail.example\" } }
action = \"deny\"

# Ask Ada.
[[policy.rules]]
name = \"ask\"   # for all others
tools = [\"mail.*\"]
action = \"confirm\"

[servers.mail]
command = 'mail' # the end
";

    fn always(reason: Reason) -> AlwaysRule {
        AlwaysRule::new("local", "mail.send", &[reason], std::iter::empty()).unwrap()
    }

    /// The file after a rule was added, and the text that was shown before.
    fn added(text: &str, always: &AlwaysRule) -> (String, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("narrows.toml");
        fs::write(&path, text).unwrap();
        let file = RulesFile::new(path.clone());
        let shown = file.preview(always).unwrap();
        file.add(always).unwrap();
        (fs::read_to_string(&path).unwrap(), shown)
    }

    const WRITTEN: &str = "\
[[policy.rules]]
name = \"always-local-mail.send\"
principals = [\"local\"]
tools = [\"mail.send\"]
action = \"allow\"
";

    #[test]
    fn a_rule_stands_before_the_one_that_asks_and_after_those_that_deny() {
        let (after, shown) = added(FILE, &always(Reason::Rule("ask".into())));
        assert_eq!(shown, WRITTEN);
        let expected = FILE.replace("\n# Ask Ada.", &format!("\n{WRITTEN}\n# Ask Ada."));
        assert_eq!(after, expected);
        let rules = Config::parse(&after, Path::new("/narrows.toml")).unwrap();
        let rules = rules.safety.policy.rules;
        let names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, ["no-mail-outside", "always-local-mail.send", "ask"]);
    }

    #[test]
    fn a_rule_for_what_no_rule_fits_is_the_last() {
        let (after, _) = added(FILE, &always(Reason::Destructive));
        let expected = FILE.replace("\n[servers.mail]", &format!("\n{WRITTEN}\n[servers.mail]"));
        assert_eq!(after, expected);
    }

    #[test]
    fn the_first_rule_of_a_file_needs_nothing_before_it() {
        for (text, expected) in [
            ("", WRITTEN.to_owned()),
            ("# Mine.\n[policy]\n", format!("# Mine.\n[policy]\n\n{WRITTEN}")),
        ] {
            assert_eq!(added(text, &always(Reason::Destructive)).0, expected);
        }
        let text = "[[policy.rules]]\nname = \"ask\"\naction = \"confirm\"\n";
        let (after, _) = added(text, &always(Reason::Rule("ask".into())));
        assert_eq!(after, format!("{WRITTEN}\n{text}"));
    }

    #[test]
    fn rules_in_one_line_get_one_more() {
        let text = "policy = { rules = [{ name = \"ask\", action = \"confirm\" }] } # mine\n";
        let (after, shown) = added(text, &always(Reason::Rule("ask".into())));
        assert!(after.contains(shown.trim()), "{after}");
        assert!(after.ends_with("# mine\n"), "{after}");
        let config = Config::parse(&after, Path::new("/narrows.toml")).unwrap();
        assert_eq!(config.safety.policy.rules[0].tools, ["mail.send"]);
    }

    #[test]
    fn what_cannot_be_written_says_why_and_leaves_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("narrows.toml");
        fs::write(&path, FILE).unwrap();
        let file = RulesFile::new(path.clone());
        let error = file.add(&always(Reason::Rule("gone".into()))).unwrap_err().to_string();
        assert!(error.contains("\"gone\""), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), FILE);
        let json = directory.path().join("mcp.json");
        fs::write(&json, "{\"mcpServers\": {}}").unwrap();
        let file = RulesFile::new(json);
        assert_eq!(file.preview(&always(Reason::Destructive)), None);
        let error = file.add(&always(Reason::Destructive)).unwrap_err().to_string();
        assert!(error.contains("JSON"), "{error}");
    }

    #[test]
    fn rules_are_read_again_when_the_file_changes_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("narrows.toml");
        fs::write(&path, FILE).unwrap();
        let file = RulesFile::new(path.clone());
        assert!(file.changed().is_none());
        file.add(&always(Reason::Destructive)).unwrap();
        assert_eq!(file.changed().unwrap().unwrap().rules.len(), 3);
        assert!(file.changed().is_none());
        fs::write(&path, "[policy]\nrules = 5").unwrap();
        let error = file.changed().unwrap().unwrap_err().to_string();
        assert!(error.contains("rules"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(file.changed().is_none(), "a file that is gone changes nothing");
    }
}
