//! The settings for safety: `[pii]`, `[policy]`, `[isolation]`, `[review]`, `[audit]`.

use narrows_model::{LimitSpec, Limits, Template};
use narrows_pii::{Custom, CustomPattern, Urls};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use super::limits;
use crate::syntax::Section;
use narrows_policy::{
    Action, DataOrigin, FlowRule, LevelSettings, Matcher, Modules, PolicySettings, Quota,
    RevealRule, ReviewMode, Rule, ToolAccess, WorkspaceAccess,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MODES: [(&str, PiiMode); 3] =
    [("boundary", PiiMode::Boundary), ("strict", PiiMode::Strict), ("off", PiiMode::Off)];
const URLS: [(&str, Urls); 2] = [("credentials", Urls::WithCredentials), ("all", Urls::All)];
const CONTENTS: [(&str, AuditedContents); 2] =
    [("hashes", AuditedContents::Hashes), ("protected", AuditedContents::Protected)];

/// The settings for safety. The engine has defaults for those that are not set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SafetyConfig {
    pub pii: PiiConfig,
    pub policy: PolicySettings,
    /// The isolation level of callers without one of their own.
    pub level: Option<String>,
    pub levels: BTreeMap<String, LevelSettings>,
    pub review: ReviewConfig,
    pub audit: AuditConfig,
    pub key: KeyPlace,
}

/// `[pii]`: the personal data that tokens replace, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PiiConfig {
    pub mode: Option<PiiMode>,
    /// How long the vault keeps a value after it last occurred.
    pub keep: Option<Duration>,
    /// The country of telephone numbers without an international prefix.
    pub region: Option<String>,
    pub urls: Option<Urls>,
    pub kinds: BTreeMap<String, KindConfig>,
    pub custom: Vec<Custom>,
    /// The principals that may ask for the values behind tokens.
    pub restorers: BTreeSet<String>,
}

/// The extent to which tokens replace personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiiMode {
    Boundary,
    Strict,
    Off,
}

/// The settings of one kind of personal data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindConfig {
    pub on: Option<bool>,
    /// How many of its last characters stay as they are.
    pub keep_last: Option<usize>,
}

/// `[review]`: the rules, modules and names that are allowed or denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewConfig {
    pub allow: BTreeSet<String>,
    pub deny: BTreeSet<String>,
}

/// `[audit]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditConfig {
    pub contents: Option<AuditedContents>,
    /// The age at which entries are removed.
    pub age: Option<Duration>,
    /// The size of all entries; above it, the oldest are removed.
    pub bytes: Option<u64>,
}

/// The form in which the audit log records arguments and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditedContents {
    Hashes,
    Protected,
}

/// The place of the vault's key, beside the environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyPlace {
    /// The key file; one in the data directory if neither this nor a command is set.
    pub file: Option<PathBuf>,
    /// A program that prints the key, such as that of the system's keyring.
    pub command: Vec<Template>,
}

impl SafetyConfig {
    pub(crate) fn read(file: &mut Section<'_>, directory: &Path) -> Self {
        let mut safety = Self::default();
        if let Some(mut section) = file.section("pii") {
            safety.read_pii(&mut section, directory);
            section.finish();
        }
        if let Some(mut section) = file.section("policy") {
            safety.read_policy(&mut section);
            section.finish();
        }
        if let Some(mut section) = file.section("isolation") {
            safety.level = section.string("level");
            section.entries("levels", |name, level| {
                safety.levels.insert(name.to_owned(), read_level(level));
            });
            section.finish();
        }
        if let Some(mut section) = file.section("review") {
            safety.review.allow = section.strings("allow").into_iter().collect();
            safety.review.deny = section.strings("deny").into_iter().collect();
            section.finish();
        }
        if let Some(mut section) = file.section("audit") {
            safety.audit.contents = section.choice("contents", &CONTENTS);
            safety.audit.age = section.count("keep_days", 1..=36_500).map(|days| days * DAY);
            safety.audit.bytes = section
                .count("keep_mb", 1..=10_000_000)
                .map(|megabytes| u64::from(megabytes) << 20);
            section.finish();
        }
        safety
    }

    fn read_pii(&mut self, section: &mut Section<'_>, directory: &Path) {
        self.pii.mode = section.choice("mode", &MODES);
        self.pii.keep = section.count("keep_days", 1..=36_500).map(|days| days * DAY);
        self.pii.region = section.string("region");
        self.pii.urls = section.choice("urls", &URLS);
        for kind in section.strings("kinds") {
            self.kind(&kind).on = Some(true);
        }
        for kind in section.strings("off") {
            self.kind(&kind).on = Some(false);
        }
        for (kind, letters) in section.counts("keep_last", 0..=8) {
            self.kind(&kind).keep_last = Some(letters as usize);
        }
        self.key = KeyPlace {
            file: section.string("key_file").map(|file| directory.join(file)),
            command: section.templates("key_command"),
        };
        if self.key.file.is_some() && !self.key.command.is_empty() {
            section.complain("key_command", "is there beside key_file; keep one of them");
        }
        self.pii.restorers = section.strings("restore").into_iter().collect();
        let custom = &mut self.pii.custom;
        section.entries("custom", |kind, section| {
            let pattern = match (section.string("regex"), section.strings("words")) {
                (Some(regex), words) if words.is_empty() => CustomPattern::Regex(regex),
                (None, words) if !words.is_empty() => CustomPattern::Words(words),
                _ => return section.complain_here("needs either regex or words"),
            };
            custom.push(Custom { kind: kind.to_owned(), pattern });
        });
        let exempt = &mut self.policy.exempt;
        section.each("exceptions", |section| {
            let tools = section.strings("tools");
            if tools.is_empty() {
                section.complain("tools", "is missing; say which, such as [\"crm.*\"]");
            }
            exempt.push(RevealRule { tools, kinds: section.strings("kinds"), allow: true });
        });
        let reveal = &mut self.policy.reveal;
        section.each("reveal", |section| {
            reveal.push(RevealRule {
                tools: section.strings("tools"),
                kinds: section.strings("kinds"),
                allow: section.boolean("allow").unwrap_or(true),
            });
        });
    }

    fn kind(&mut self, kind: &str) -> &mut KindConfig {
        self.pii.kinds.entry(kind.to_owned()).or_default()
    }

    fn read_policy(&mut self, section: &mut Section<'_>) {
        let policy = &mut self.policy;
        if let Some(action) = section.choice("destructive", &Action::WORDS) {
            policy.destructive = action;
        }
        section.each("rules", |section| {
            let Some(name) = section.named() else { return };
            let action = section.choice("action", &Action::WORDS);
            if action.is_none() && !section.has("action") {
                section.complain("action", "is missing; say allow, deny or confirm");
            }
            let mut rule = Rule::new(name, action.unwrap_or(Action::Deny));
            rule.principals = section.strings("principals");
            rule.tools = section.strings("tools");
            rule.read_only = section.boolean("read_only");
            rule.destructive = section.boolean("destructive");
            rule.why = section.string("why");
            for (path, wanted) in section.values("arguments") {
                match Matcher::read(&wanted) {
                    Ok(matcher) => {
                        rule.arguments.insert(path, matcher);
                    }
                    Err(problem) => section.complain("arguments", format!("{path}: {problem}")),
                }
            }
            policy.rules.push(rule);
        });
        for line in section.strings("flows") {
            match FlowRule::read(&line) {
                Ok(rule) => policy.flows.push(rule),
                Err(problem) => section.complain("flows", problem),
            }
        }
        section.each("flow", |section| {
            let Some(name) = section.named() else { return };
            let from = section.strings("from");
            let from = from.iter().map(|origin| DataOrigin::read(origin)).collect::<Result<_, _>>();
            let from = match from {
                Ok(from) => from,
                Err(problem) => return section.complain("from", problem.to_string()),
            };
            let to = section.strings("to");
            let action = section.choice("action", &Action::WORDS).unwrap_or(Action::Deny);
            policy.flows.push(FlowRule { name, from, to, action });
        });
        section.each("quotas", |section| {
            let Some(name) = section.named() else { return };
            let max = 1..=u32::MAX;
            policy.quotas.push(Quota {
                name,
                principals: section.strings("principals"),
                runs_per_minute: section.count("runs_per_minute", max.clone()),
                calls_per_run: section.count("calls_per_run", max.clone()).map(u64::from),
                calls_per_minute: section.counts("calls_per_minute", max.clone()),
                bytes_per_minute: section.count("bytes_per_minute", max).map(u64::from),
            });
        });
    }
}

fn read_level(section: &mut Section<'_>) -> LevelSettings {
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let limits = limits::read(section, LimitSpec::is_in_levels);
    let modules = match section.has("modules") {
        true => Some(Modules::Only(section.strings("modules").into_iter().collect())),
        false => {
            section.strings("modules");
            None
        }
    };
    let only_tools = section.has("only_tools");
    let tool_globs = section.strings("only_tools");
    LevelSettings {
        inherits: section.string("inherits"),
        limits,
        longest: section.count("longest", Limits::MIN_SECONDS..=Limits::MAX_SECONDS).map(seconds),
        modules,
        more_modules: section.strings("more_modules").into_iter().collect(),
        denied: section.strings("denied_modules").into_iter().collect(),
        workspace: section.choice("workspace", &WorkspaceAccess::WORDS),
        tools: section.choice("tools", &ToolAccess::WORDS),
        tool_globs: only_tools.then_some(tool_globs),
        shown_bytes: section.count("shown_kb", 1..=1_024).map(|kb| (kb as usize) << 10),
        review: section.choice("review", &ReviewMode::WORDS),
        audit_must_hold: section.boolean("audit_must_hold"),
    }
}

#[cfg(test)]
mod tests {
    use narrows_model::LimitKind;

    use super::*;
    use crate::{Config, ConfigError};

    fn parse(text: &str) -> Result<SafetyConfig, ConfigError> {
        Config::parse(text, Path::new("/etc/n/narrows.toml")).map(|config| config.safety)
    }

    #[test]
    fn all_of_the_reference_can_be_said() {
        let reference = include_str!("../../../../docs/CONFIGURATION.md");
        let mut blocks = reference.split("```toml\n").skip(1);
        let toml: String = blocks
            .by_ref()
            .filter_map(|block| block.split("```").next())
            // One of the two has to go.
            .map(|block| block.replace("key_file = \"vault-key\"            # or\n", ""))
            .collect();
        let SafetyConfig { pii, policy, levels, audit, key, .. } = parse(&toml).unwrap();
        assert_eq!(pii.mode, Some(PiiMode::Boundary));
        let on = ["PERSON", "IP", "PHONE"].map(|kind| pii.kinds[kind].on);
        assert_eq!(on, [Some(true), Some(true), Some(false)]);
        assert_eq!(pii.kinds.get("MAC"), None);
        assert_eq!(pii.kinds["CREDIT_CARD"], KindConfig { on: None, keep_last: Some(4) });
        assert_eq!(pii.custom.len(), 1);
        assert_eq!(key.command.len(), 4);
        assert_eq!((policy.exempt.len(), policy.reveal.len()), (1, 1));
        assert!(!policy.reveal[0].allow);
        let [rule] = &policy.rules[..] else { panic!("{policy:?}") };
        assert_eq!((rule.action, rule.arguments.len()), (Action::Confirm, 2));
        let flows: Vec<_> = policy.flows.iter().map(|flow| flow.action).collect();
        assert_eq!(flows, [Action::Deny, Action::Confirm, Action::Deny]);
        assert_eq!(policy.quotas[0].calls_per_minute["shop.*"], 30);
        let limits = &levels["reports"].limits;
        let set = |kind| limits.get(Limits::spec(kind).unwrap());
        assert_eq!(set(LimitKind::WallTime), Some(5_000_000_000));
        assert_eq!(set(LimitKind::CpuTime), Some(5_000_000_000));
        assert_eq!((set(LimitKind::Memory), set(LimitKind::Output)), (Some(128 << 20), None));
        assert_eq!(audit.age, Some(365 * DAY));
    }

    #[test]
    fn mistakes_are_told_with_the_key_and_the_right_word() {
        for (text, said) in [
            ("[pii]\nmode = \"strikt\"", "did you mean strict?"),
            ("[pii]\nmod = \"strict\"", "did you mean mode?"),
            ("[pii]\nkey_file = \"a\"\nkey_command = [\"b\"]", "keep one of them"),
            ("[pii.custom.A]\nregx = \"a\"", "did you mean regex?"),
            ("[pii.custom.A]\nregex = \"a\"\nwords = [\"b\"]", "either regex or words"),
            ("[[pii.exceptions]]\nkinds = [\"EMAIL\"]", "pii.exceptions[0].tools is missing"),
            ("[[policy.rules]]\naction = \"deny\"", "policy.rules[0].name is missing"),
            ("[[policy.rules]]\nname = \"a\"", "policy.rules[0].action is missing"),
            ("[[policy.rules]]\nname = \"a\"\naction = \"dney\"", "did you mean deny?"),
            ("[policy]\nrules = 5", "an array of tables"),
            ("[policy]\nflows = [\"mail to http\"]", "mail.* -> http.*"),
            ("[[policy.quotas]]\nname = \"a\"\nruns_per_minute = 0", "whole number"),
            ("[isolation.levels.a]\nworkspace = \"rw\"", "one of none, read, write"),
            ("[isolation.levels.a]\ntimeout = 500", "from 1 to 120"),
            ("[audit]\ncontents = \"all\"", "one of hashes, protected"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
