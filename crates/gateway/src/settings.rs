//! Converts the configuration into the settings of each part. What the configuration leaves open stays
//! at the part's default.

use narrows_analysis::Settings as AnalysisSettings;
use narrows_engine::{
    safety::{AuditContents, Mode, SafetySettings},
    state::SessionSettings,
};
use narrows_model::{LimitScope, Limits};
use narrows_policy::Levels;
use narrows_upstream::ANSWER_BYTES;

use crate::config::{
    AnalysisConfig, AuditedContents, Config, PiiConfig, PiiMode, SafetyConfig, SessionsConfig,
};

/// Returns the settings of safety: policy, isolation levels and personal data.
pub(crate) fn safety(config: &Config) -> SafetySettings {
    let SafetyConfig { pii, policy, level, levels, review, audit, key: _ } = config.safety.clone();
    let mut settings = SafetySettings { policy, levels, ..SafetySettings::default() };
    set(&mut settings.level, level);
    settings.review.allow = review.allow;
    settings.review.deny = review.deny;
    set(&mut settings.audit.contents, audit.contents.map(contents));
    settings.audit.age = audit.age;
    settings.audit.bytes = audit.bytes;
    set_pii(&mut settings, pii);
    // `[limits]` are those of the level that everybody has who has no other.
    let limits = &config.limits;
    let own = settings.levels.entry(Levels::DEFAULT.to_owned()).or_default();
    for limit in Limits::ALL.iter().filter(|limit| limit.scope == LimitScope::Both) {
        own.limits.set_default(limit, limit.amount_of(limits));
    }
    let agents = config.keeping.agents.iter();
    settings.levels_of = agents
        .filter_map(|agent| Some((agent.principal.name.clone(), agent.isolation.clone()?)))
        .collect();
    settings
}

fn set_pii(settings: &mut SafetySettings, config: PiiConfig) {
    set(&mut settings.mode, config.mode.map(mode));
    set(&mut settings.keep, config.keep);
    settings.restorers = config.restorers;
    let pii = &mut settings.pii;
    pii.region = config.region.or(pii.region.take());
    set(&mut pii.urls, config.urls);
    for (name, said) in config.kinds {
        let kind = pii.kinds.entry(name).or_default();
        set(&mut kind.on, said.on);
        set(&mut kind.keep_last, said.keep_last);
    }
    pii.custom.extend(config.custom);
}

fn mode(mode: PiiMode) -> Mode {
    match mode {
        PiiMode::Boundary => Mode::Boundary,
        PiiMode::Strict => Mode::Strict,
        PiiMode::Off => Mode::Off,
    }
}

fn contents(contents: AuditedContents) -> AuditContents {
    match contents {
        AuditedContents::Hashes => AuditContents::Hashes,
        AuditedContents::Protected => AuditContents::Protected,
    }
}

/// Returns how long sessions last, and how many are in memory.
pub(crate) fn sessions(config: &SessionsConfig) -> SessionSettings {
    let mut settings = SessionSettings::default();
    set(&mut settings.max_live, config.live);
    set(&mut settings.idle, config.idle);
    set(&mut settings.memory_bytes, config.memory_bytes);
    set(&mut settings.age, config.age);
    settings
}

/// Returns what one analysis may use.
pub(crate) fn analysis(config: &AnalysisConfig) -> AnalysisSettings {
    let mut settings = AnalysisSettings::default();
    set(&mut settings.time, config.time);
    set(&mut settings.memory_bytes, config.memory_bytes);
    set(&mut settings.disk_bytes, config.disk_bytes);
    set(&mut settings.threads, config.threads);
    settings
}

/// Returns how much memory the large answers of all servers may take together.
pub(crate) fn answer_bytes(config: &Config) -> u64 {
    config.answer_bytes.unwrap_or(ANSWER_BYTES)
}

fn set<T>(setting: &mut T, said: Option<T>) {
    if let Some(said) = said {
        *setting = said;
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use narrows_model::LimitKind;

    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse(text, Path::new("/etc/n/narrows.toml")).unwrap()
    }

    #[test]
    fn what_the_file_does_not_say_is_as_the_parts_have_it() {
        let config = parse("[limits]\ntimeout = 7");
        let SafetySettings { levels, .. } = safety(&config);
        let wall_time = Limits::spec(LimitKind::WallTime).unwrap();
        assert_eq!(levels[Levels::DEFAULT].limits.get(wall_time), Some(7_000_000_000));
        let settings = SafetySettings { levels, ..SafetySettings::default() };
        assert_eq!(safety(&config), settings);
        assert!(!settings.pii.kinds["MAC"].on, "the control: some kinds are off by themselves");
        assert_eq!(analysis(&config.analysis), AnalysisSettings::default());
        assert_eq!(answer_bytes(&config), ANSWER_BYTES);
        let SessionSettings { max_live, idle, memory_bytes, age } =
            sessions(&config.keeping.sessions);
        let standard = SessionSettings::default();
        assert_eq!((max_live, idle), (standard.max_live, standard.idle));
        assert_eq!((memory_bytes, age), (standard.memory_bytes, standard.age));
    }

    #[test]
    fn kinds_of_the_reference_are_on_and_off_as_it_says() {
        let reference = include_str!("../../../docs/CONFIGURATION.md");
        let blocks = reference.split("```toml\n").skip(1);
        let toml: String = blocks
            .filter_map(|block| block.split("```").next())
            // One of the two has to go.
            .map(|block| block.replace("key_file = \"vault-key\"            # or\n", ""))
            .collect();
        let safety = safety(&parse(&toml));
        let on = |kind: &str| safety.pii.kinds[kind].on;
        assert!(on("PERSON") && on("IP") && on("CREDIT_CARD") && !on("MAC") && !on("PHONE"));
        assert_eq!((safety.mode, safety.pii.keep_last("CREDIT_CARD")), (Mode::Boundary, 4));
    }

    #[test]
    fn what_the_file_says_goes_to_the_parts() {
        let config = parse(
            r#"
[pii]
mode = "strict"
keep_days = 2
region = "DE"
urls = "all"
kinds = ["PERSON", "CREDIT_CARD"]
off = ["PHONE"]
keep_last = { CREDIT_CARD = 4, MAC = 2 }
restore = ["ada"]

[pii.custom.TICKET]
words = ["T-1"]

[policy]
destructive = "deny"

[isolation]
level = "reports"

[isolation.levels.reports]
timeout = 5

[review]
allow = ["eval"]
deny = ["pickle"]

[audit]
contents = "protected"
keep_days = 3
keep_mb = 4

[sessions]
live = 4
idle = 90
memory_mb = 64
keep_days = 1

[analysis]
timeout = 11
memory_mb = 32
disk_mb = 5
threads = 3

[limits]
timeout = 9
answers_mb = 64

[agents.ada]
isolation = "reports"
"#,
        );
        let day = Duration::from_secs(24 * 60 * 60);
        let safety = safety(&config);
        assert_eq!((safety.mode, safety.keep), (Mode::Strict, 2 * day));
        let on = |kind: &str| safety.pii.kinds[kind].on;
        assert!(on("PERSON") && on("CREDIT_CARD") && !on("PHONE"));
        // How a kind is shown does not switch it on.
        assert!(!on("MAC") && !on("IP"));
        let keep_last = ["CREDIT_CARD", "MAC"].map(|kind| safety.pii.keep_last(kind));
        assert_eq!(keep_last, [4, 2]);
        assert_eq!(safety.pii.region.as_deref(), Some("DE"));
        assert_eq!(safety.pii.urls, narrows_pii::Urls::All);
        assert_eq!(safety.pii.custom[0].kind, "TICKET");
        assert!(safety.restorers.contains("ada"));
        assert_eq!(safety.policy, config.safety.policy);
        assert_ne!(safety.policy.destructive, SafetySettings::default().policy.destructive);
        assert_eq!((safety.level.as_str(), &*safety.levels_of["ada"]), ("reports", "reports"));
        let wall_time = Limits::spec(LimitKind::WallTime).unwrap();
        let timeout =
            |level: &str| safety.levels[level].limits.get(wall_time).map(Duration::from_nanos);
        assert_eq!(timeout("reports"), Some(Duration::from_secs(5)));
        assert_eq!(timeout(Levels::DEFAULT), Some(Duration::from_secs(9)));
        assert!(safety.review.allow.contains("eval") && safety.review.deny.contains("pickle"));
        assert_eq!(safety.audit.contents, AuditContents::Protected);
        assert_eq!((safety.audit.age, safety.audit.bytes), (Some(3 * day), Some(4 << 20)));
        let SessionSettings { max_live, idle, memory_bytes, age } =
            sessions(&config.keeping.sessions);
        assert_eq!((max_live, idle.as_secs(), memory_bytes, age), (4, 90, 64 << 20, day));
        let analysis = analysis(&config.analysis);
        assert_eq!((analysis.time.as_secs(), analysis.threads), (11, 3));
        assert_eq!((analysis.memory_bytes, analysis.disk_bytes), (32 << 20, 5 << 20));
        assert_eq!(answer_bytes(&config), 64 << 20);
    }
}
