//! Typical programs of agents.

use std::path::Path;

use super::*;

/// The findings in ordinary programs that are right: file, rule, severity.
const RIGHT: [(&str, &str, Severity); 1] =
    [("ast_safe_calculator.py", "dynamic-code", Severity::Danger)];

#[test]
fn ordinary_programs_raise_no_alarm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandbox/tests/corpus");
    let mut seen = Vec::new();
    let mut programs = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "py") {
            continue;
        }
        programs += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let code = std::fs::read_to_string(&path).unwrap();
        let mut found = findings(&code);
        found.retain(|one| one.severity > Severity::Note);
        seen.extend(
            found.iter().map(|one| (name.clone(), one.rule, one.severity, one.to_string())),
        );
    }
    assert!(programs > 50, "the corpus has only {programs} programs");
    let is_right = |(name, rule, severity, _): &&(String, &str, Severity, String)| {
        RIGHT.contains(&(name.as_str(), rule, *severity))
    };
    let wrong: Vec<_> = seen.iter().filter(|one| !is_right(one)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
