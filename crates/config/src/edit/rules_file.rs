//! The rules of `[policy]` in the configuration: reloaded when the file changes, and extended when a
//! person answers "always allow".

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use toml_edit::DocumentMut;

use super::{ConfigEdit, EditError, rules::preview};
use crate::{
    files::read_text,
    settings::{Config, ConfigError},
    syntax::Syntax,
};
use narrows_policy::{AlwaysRule, PolicySettings};

/// The configuration file, of which only the rules are read and extended.
#[derive(Debug)]
pub struct RulesFile {
    path: PathBuf,
    /// The stamp of the file when it was last read.
    seen: Mutex<Option<FileStamp>>,
}

/// The metadata that changes when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// The inode, which differs when another file takes its place.
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
    /// Remembers the present state of a file whose rules were just read.
    pub fn new(path: PathBuf) -> Self {
        let seen = Mutex::new(FileStamp::of(&path));
        Self { path, seen }
    }

    fn read(&self) -> Result<PolicySettings, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: self.path.clone(), source };
        let text = read_text(&self.path).map_err(unreadable)?;
        Ok(Config::parse(&text, &self.path)?.safety.policy)
    }

    /// Returns all rules, or why they cannot be read, if the file has changed since it was last read.
    pub fn changed(&self) -> Option<Result<PolicySettings, ConfigError>> {
        // If the file is gone, the rules that were read last still hold.
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
    pub fn preview(&self, always: &AlwaysRule) -> Option<String> {
        let text = read_text(&self.path).unwrap_or_default();
        if Config::syntax(&text, &self.path) == Syntax::Json {
            return None;
        }
        let document: DocumentMut = text.parse().ok()?;
        Some(preview(&document, &always.rule))
    }

    /// Returns the path of the file, for people.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a rule at the place where it takes effect.
    pub fn add(&self, always: &AlwaysRule) -> Result<(), EditError> {
        let mut edit = ConfigEdit::open(&self.path)?;
        edit.add_rule(always)?;
        edit.save()
    }
}

#[cfg(test)]
mod tests {
    use narrows_policy::Reason;

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

    /// Adds a rule, and returns the file with the preview that was shown before.
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
