use std::{collections::BTreeSet, time::Duration};

use narrows_model::{LimitKind, LimitSettings, Limits};

use super::*;

fn levels(
    settings: impl IntoIterator<Item = (&'static str, LevelSettings)>,
) -> Result<Levels, LevelError> {
    Levels::new(settings.into_iter().map(|(name, settings)| (name.to_owned(), settings)).collect())
}

fn from(parent: &str) -> LevelSettings {
    LevelSettings { inherits: Some(parent.to_owned()), ..LevelSettings::default() }
}

fn with(limit: LimitKind, amount: u64) -> LevelSettings {
    LevelSettings { limits: [(limit, amount)].into_iter().collect(), ..LevelSettings::default() }
}

fn level(name: &str) -> Level {
    levels([]).unwrap().get(name).unwrap().as_ref().clone()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    texts(names).into_iter().collect()
}

fn more(level: &Level, module: &str) -> Modules {
    match &level.modules {
        Modules::Any => Modules::Any,
        Modules::Only(only) => Modules::Only(only | &set(&[module])),
    }
}

#[test]
fn the_default_is_production_with_the_limits_of_always() {
    assert_eq!(Levels::DEFAULT, "production");
    let production = level(Levels::DEFAULT);
    assert_eq!(production.limits, Limits::default());
    assert_eq!((production.longest, production.shown_bytes), (Duration::from_secs(120), 32 << 10));
}

#[test]
fn each_level_is_stricter_than_the_one_before() {
    let [development, production, hardened] = ["development", "production", "hardened"].map(level);
    for (stricter, looser) in
        [(&production, &development), (&hardened, &production), (&hardened, &development)]
    {
        assert_eq!(stricter.looser_than(looser), Vec::<&str>::new());
        assert_eq!(stricter.looser_than(stricter), Vec::<&str>::new());
        assert_ne!(looser.looser_than(stricter), Vec::<&str>::new());
    }
    assert_eq!(
        production.looser_than(&hardened),
        [
            "wall time",
            "CPU time",
            "longest time",
            "memory",
            "output",
            "result",
            "tool calls",
            "calls in flight",
            "temporary files",
            "modules",
            "workspace",
            "tools",
            "shown output",
            "review",
            "audit"
        ]
    );
}

/// A caller that may ask for stricter levels must not get more in any single respect.
#[test]
fn every_respect_alone_makes_a_level_looser() {
    let own = level("hardened");
    type Change = fn(&mut Level);
    let changes: [(&str, Change); 18] = [
        ("wall time", |level| level.limits.wall_time += Duration::from_nanos(1)),
        ("CPU time", |level| level.limits.cpu_time += Duration::from_nanos(1)),
        ("longest time", |level| level.longest += Duration::from_nanos(1)),
        ("memory", |level| level.limits.memory_bytes += 1),
        ("output", |level| level.limits.output_bytes += 1),
        ("result", |level| level.limits.result_bytes += 1),
        ("tool calls", |level| level.limits.tool_calls += 1),
        ("calls in flight", |level| level.limits.calls_in_flight += 1),
        ("temporary files", |level| level.limits.tmp_bytes += 1),
        ("modules", |level| level.modules = Modules::Any),
        ("modules", |level| level.modules = more(level, "os")),
        ("modules", |level| level.modules = more(level, "urllib")),
        ("workspace", |level| level.workspace = WorkspaceAccess::Write),
        ("tools", |level| level.tools = ToolAccess::All),
        ("shown output", |level| level.shown_bytes += 1),
        ("review", |level| level.review = ReviewMode::Warn),
        ("review", |level| level.review = ReviewMode::Off),
        ("audit", |level| level.audit_must_hold = false),
    ];
    for (respect, change) in changes {
        let mut other = own.clone();
        change(&mut other);
        assert_eq!(other.looser_than(&own), [respect]);
        assert_eq!(own.looser_than(&other), Vec::<&str>::new(), "{respect}");
    }
}

#[test]
fn denied_modules_count_with_their_parts() {
    let any = Level { denied: set(&["os.path"]), ..level("production") };
    assert!(
        any.allows_module("os") && !any.allows_module("os.path") && !any.allows_module("os.path.x")
    );
    assert_eq!(level("production").looser_than(&any), ["modules"]);
    let whole = Level { denied: set(&["os"]), ..any.clone() };
    assert_eq!(whole.looser_than(&any), Vec::<&str>::new());
    assert_eq!(any.looser_than(&whole), ["modules"]);
    let part = Level { modules: Modules::Only(set(&["os.path"])), denied: set(&[]), ..any.clone() };
    assert_eq!(part.looser_than(&whole), ["modules"]);
    let other = Level { modules: Modules::Only(set(&["json"])), denied: set(&[]), ..any };
    assert_eq!(other.looser_than(&whole), Vec::<&str>::new());
}

#[test]
fn the_tools_of_a_level_are_held_against_those_of_another() {
    let of = |globs: Option<&[&str]>| {
        let tool_globs = globs.map(texts);
        let settings = LevelSettings { tool_globs, ..LevelSettings::default() };
        levels([("x", settings)]).unwrap().get("x").unwrap()
    };
    for (mine, own, is_looser) in [
        (&["mail.send"][..], &["mail.*"][..], false),
        (&["mail.send"], &["mail"], false),
        (&["mail"], &["mail.*"], false),
        (&["mail.*"], &["mail"], false),
        (&["mail.send*"], &["mail.*"], false),
        (&["mail.*"], &["mail.send"], true),
        (&["mail*"], &["mail"], true),
        (&["*"], &["mail"], true),
        (&["mail.*"], &["mail.?"], true),
        (&["mail"], &["mail.?"], true),
        (&["mail.a?"], &["mail.a?"], false),
        (&["mail", "web"], &["mail"], true),
        (&["git-hub.x"], &["git_hub.*"], false),
        (&[], &["mail"], false),
        (&["mail"], &[], true),
    ] {
        let looser = of(Some(mine)).looser_than(&of(Some(own)));
        assert_eq!(looser.contains(&"tools"), is_looser, "{mine:?} {own:?}");
    }
    assert_eq!(of(None).looser_than(&of(Some(&["a"]))), ["tools"]);
    assert_eq!(of(Some(&["a"])).looser_than(&of(None)), Vec::<&str>::new());
}

#[test]
fn levels_inherit_through_others() {
    let limits = |kind, amount| LimitSettings::from_iter([(kind, amount)]);
    let team = LevelSettings {
        limits: limits(LimitKind::ToolCalls, 50),
        denied: set(&["re"]),
        ..from("strict")
    };
    let strict = LevelSettings {
        limits: limits(LimitKind::Memory, 128 << 20),
        more_modules: set(&["sqlite3"]),
        denied: set(&["random"]),
        ..from("hardened")
    };
    let levels =
        levels([("team", team), ("strict", strict), ("plain", LevelSettings::default())]).unwrap();
    let team = levels.get("team").unwrap();
    assert_eq!((team.limits.tool_calls, team.limits.memory_bytes), (50, 128 << 20));
    assert_eq!((team.review, team.name.as_str()), (ReviewMode::Block, "team"));
    for (module, allowed) in [
        ("sqlite3", true),
        ("json", true),
        ("re", false),
        ("random", false),
        ("os", false),
        ("servers.github", true),
    ] {
        assert_eq!(team.allows_module(module), allowed, "{module}");
    }
    let plain = levels.get("plain").unwrap();
    assert_eq!(plain.limits, Limits::default());
    assert_eq!(
        levels.names().collect::<Vec<_>>(),
        ["development", "hardened", "plain", "production", "strict", "team"]
    );
}

#[test]
fn a_level_that_is_always_there_can_be_changed_for_all_that_inherit_from_it() {
    let production = with(LimitKind::ToolCalls, 5);
    let levels = levels([("production", production), ("mine", LevelSettings::default())]).unwrap();
    for name in ["production", "mine"] {
        assert_eq!(levels.get(name).unwrap().limits.tool_calls, 5, "{name}");
    }
    assert_eq!(levels.get("hardened").unwrap().limits.tool_calls, 100);
}

/// All levels share the workspace.
#[test]
fn a_level_does_not_change_the_workspace() {
    let settings = with(LimitKind::WorkspaceFiles, 1);
    let levels = levels([("a", settings)]).unwrap();
    assert_eq!(levels.get("a").unwrap().limits, Limits::default());
}

#[test]
fn levels_that_cannot_be_are_explained() {
    let error =
        |settings: Vec<(&'static str, LevelSettings)>| levels(settings).unwrap_err().to_string();
    let empty = LevelSettings::default;
    for (settings, said) in [
        (vec![("a", from("b")), ("b", from("a"))], "inherit from one another"),
        (vec![("a", from("a"))], "inherit from one another"),
        (
            vec![("hardened", from("production")), ("production", from("hardened"))],
            "inherit from one another",
        ),
        (vec![("a", from("hardend"))], "did you mean hardened?"),
        (vec![("a", with(LimitKind::Memory, 1))], "memory is from 64 MB to 4 GB"),
        (vec![("a", with(LimitKind::WallTime, 0))], "some time"),
        (
            vec![("a", LevelSettings { longest: Some(Duration::from_secs(1)), ..empty() })],
            "programs have 30 s",
        ),
        (vec![("a", with(LimitKind::CallsInFlight, 0))], "in flight"),
        (
            vec![("a", LevelSettings { tool_globs: Some(texts(&["{a}"])), ..empty() })],
            "write one pattern",
        ),
    ] {
        let error = error(settings);
        assert!(error.contains(said), "{said}: {error}");
    }
    let error = levels([]).unwrap().get("prod").unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no isolation level \"prod\"; did you mean production?; there are development, hardened, production"
    );
    let own = with(LimitKind::WallTime, 300_000_000_000);
    assert_eq!(levels([("a", own)]).unwrap().get("a").unwrap().longest, Duration::from_secs(300));
}

#[test]
fn a_level_refuses_the_tools_that_it_does_not_allow() {
    let decision = |rules: Vec<Rule>, hints| decide(&super::policy(rules), "mail", "send", hints);
    let mut named = Rule::new("r", Action::Allow);
    named.tools = texts(&["mail.send"]);
    let anyone = Rule::new("r", Action::Allow);
    let hardened = level("hardened");
    let refuses =
        |level: &Level, rules, hints| level.refuses("mail", "send", hints, &decision(rules, hints));
    assert_eq!(refuses(&hardened, vec![], READS), None);
    assert_eq!(refuses(&hardened, vec![named.clone()], SILENT), None);
    // A rule for all tools does not name this one.
    for rules in [vec![], vec![anyone]] {
        let why = refuses(&hardened, rules, SILENT).unwrap();
        assert!(why.contains("hardened") && why.contains("just read"), "{why}");
    }
    let none = Level { tools: ToolAccess::None, ..hardened.clone() };
    assert!(refuses(&none, vec![named], READS).unwrap().contains("no calls"));
    let only = |glob: &str| Level {
        tool_globs: Some(vec![Pattern::name(glob).unwrap()]),
        ..level("production")
    };
    assert_eq!(refuses(&only("mail"), vec![], SILENT), None);
    assert!(refuses(&only("web.*"), vec![], SILENT).unwrap().contains("only some tools"));
    let empty = Level { tool_globs: Some(Vec::new()), ..level("production") };
    assert!(refuses(&empty, vec![], SILENT).is_some());
}

#[test]
fn the_table_shows_every_level_and_every_respect() {
    let table = Levels::table();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "| | `development` | `production` | `hardened` |");
    assert!(
        lines.iter().all(|line| line.matches(" |").count() == 4 || line.starts_with("|---")),
        "{table}"
    );
    for row in [
        "| wall time | 120 s | 30 s | 10 s |",
        "| memory | 2 GB | 512 MB | 256 MB |",
        "| shown to the model | 32 KB | 32 KB | 16 KB |",
        "| tool calls | 10000 | 1000 | 100 |",
        "| review | warns | warns | refuses what is dangerous, warns of the rest |",
    ] {
        assert!(lines.contains(&row), "{row}\n{table}");
    }
    assert!(table.contains("`servers`, `skills`, `client`, `tool_discovery`, `__future__`"));
}

#[test]
fn the_reference_has_the_levels_as_they_are() {
    let document = include_str!("../../../../docs/CONFIGURATION.md");
    assert!(document.contains(&Levels::table()), "put this there:\n{}", Levels::table());
}
