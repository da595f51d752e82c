//! The table of limits, and the messages about limits that were reached.

use super::*;

#[test]
fn a_limit_names_itself_and_its_value() {
    let limits = Limits::default();
    let shown = |kind| LimitHit::of(kind, &limits).to_string();
    assert_eq!(shown(LimitKind::WallTime), "wall time limit of 30 s");
    assert_eq!(shown(LimitKind::Memory), "memory limit of 512 MB");
    assert_eq!(shown(LimitKind::Output), "output limit of 16 MB");
    assert_eq!(shown(LimitKind::ToolCalls), "limit of 1000 tool calls");
    assert_eq!(shown(LimitKind::Stack), "stack limit of 64 MB");
    assert_eq!(shown(LimitKind::WorkspaceBytes), "workspace limit of 1 GB");
    assert_eq!(shown(LimitKind::WorkspaceFiles), "workspace limit of 10000 files");
    let limits = Limits { tmp_bytes: 1536, wall_time: Duration::from_millis(700), ..limits };
    assert_eq!(LimitHit::of(LimitKind::TmpBytes, &limits).to_string(), "/tmp limit of 1.5 KB");
    let hit = LimitHit::of(LimitKind::WallTime, &limits);
    assert_eq!((hit.to_string().as_str(), hit.value), ("wall time limit of 0.7 s", 0.7));
}

#[test]
fn what_is_said_of_a_limit_fits_together() {
    for (place, spec) in Limits::ALL.iter().enumerate() {
        assert_eq!(Limits::spec(spec.kind).unwrap().name, spec.name, "two have one kind");
        assert!(spec.reached.contains("{}") && !spec.advice.is_empty(), "{}", spec.name);
        let default = spec.amount_of(&Limits::default());
        let (min, max) = (spec.amount(*spec.range().start()), spec.amount(*spec.range().end()));
        assert!((min..=max).contains(&default), "{}: {default}", spec.name);
        // It is read where it is set, and changes no other.
        let mut limits = Limits::default();
        spec.set(&mut limits, default + 1);
        for other in Limits::ALL {
            let expected = other.amount_of(&Limits::default()) + u64::from(other.kind == spec.kind);
            assert_eq!(other.amount_of(&limits), expected, "{} and {}", spec.name, other.name);
        }
        // A key is read once for all limits that it sets.
        let same = |other: &&LimitSpec| other.key == spec.key;
        let apart = Limits::ALL[..place].iter().rev().skip_while(same).any(|other| same(&other));
        assert!(!apart, "{} stands apart from another of its key", spec.name);
    }
}
