//! How packages use the reader of code, with a simple one for tests. The real one is tested in its own
//! crate.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::{Manifest, ManifestDetails, ManifestError, Package, PackageError, Recording};
use crate::{
    code::{CodeError, CodeReader, SkillCode},
    prose_skill::Texts,
};

/// A reader of lines such as `calls github.list` or `imports score`; any other line is an error.
#[derive(Debug)]
struct LineReader;

impl CodeReader for LineReader {
    fn read(&self, name: &str, code: &str) -> Result<SkillCode, CodeError> {
        let mut found = SkillCode {
            signature: format!("{name}()"),
            description: format!("does {name}"),
            tools: Vec::new(),
            skills: Vec::new(),
            tests: Vec::new(),
        };
        for line in code.lines() {
            match line.split_once(' ') {
                Some(("calls", tool)) => found.tools.push(tool.to_owned()),
                Some(("imports", skill)) => found.skills.push(skill.to_owned()),
                Some(("tests", test)) => found.tests.push(test.to_owned()),
                _ => return Err(CodeError::new(format!("{line:?} is no code"))),
            }
        }
        Ok(found)
    }

    fn texts(&self, _code: &str) -> Option<Texts> {
        None
    }
}

fn packed(name: &str, code: &str) -> Result<Package, PackageError> {
    let about = ManifestDetails { version: 1, ..ManifestDetails::default() };
    Package::new(name, code, about, &[], Recording::default(), &LineReader)
}

/// Returns why a package is refused after `edit` of its manifest.
fn refusal(package: &Package, edit: impl FnOnce(&mut Value)) -> Option<ManifestError> {
    let mut file: Value = serde_json::from_slice(&package.to_bytes()).unwrap();
    edit(&mut file["manifest"]);
    match Package::read(file.to_string().as_bytes(), &LineReader) {
        Ok(_) => None,
        Err(PackageError::Manifest { reason, .. }) => Some(reason),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_manifest_says_what_the_code_says() {
    let package = packed("top", "calls github.list\nimports score\ntests test_top").unwrap();
    let Manifest { signature, description, tools, skills, tests, .. } = package.manifest();
    assert_eq!((signature.as_str(), description.as_str()), ("top()", "does top"));
    assert_eq!((tools.len(), tools[0].tool.as_str()), (1, "github.list"));
    assert_eq!((skills, tests), (&vec!["score".to_owned()], &vec!["test_top".to_owned()]));
    assert_eq!(package.missing_skills(), ["score"]);
}

#[test]
fn what_a_manifest_hides_of_its_code_is_refused() {
    let package = packed("top", "calls github.list\nimports score").unwrap();
    let hidden = |key: &'static str| refusal(&package, move |manifest| manifest[key] = json!([]));
    assert_eq!(hidden("tools"), Some(ManifestError::Tools(vec!["github.list".to_owned()])));
    assert_eq!(hidden("skills"), Some(ManifestError::Skill("score".to_owned())));
    let other = refusal(&package, |manifest| manifest["signature"] = json!("top(x)"));
    assert!(matches!(other, Some(ManifestError::Signature { .. })), "{other:?}");
    let absent = refusal(&package, |manifest| manifest["tests"] = json!(["test_top"]));
    assert_eq!(absent, Some(ManifestError::Test("test_top".to_owned())));
    let odd = refusal(&package, |manifest| manifest["name"] = json!("../top"));
    assert!(matches!(odd, Some(ManifestError::Name(_))), "{odd:?}");
    // The control: a manifest that lists more than the code uses is only cautious.
    let careful = |manifest: &mut Value| {
        manifest["tools"].as_array_mut().unwrap().push(json!({"tool": "mail.send"}));
    };
    assert_eq!(refusal(&package, careful), None);
}

#[test]
fn code_that_cannot_be_read_is_no_package() {
    let error = packed("top", "runs away").unwrap_err();
    let reason = ManifestError::Code(CodeError::new("\"runs away\" is no code"));
    assert_eq!(error, PackageError::Manifest { name: "top".to_owned(), reason });
}

#[test]
fn skills_of_a_bundle_come_after_those_that_they_import() {
    let bundle = vec![packed("b", "imports c").unwrap(), packed("c", "calls x.y").unwrap()];
    let whole = packed("a", "imports b").unwrap().with_bundle(bundle, &LineReader).unwrap();
    let names: Vec<&str> =
        whole.in_order().into_iter().map(|one| one.manifest().name.as_str()).collect();
    assert_eq!(names, ["c", "b", "a"]);
    let circle = vec![packed("b", "imports a").unwrap()];
    let error = packed("a", "imports b").unwrap().with_bundle(circle, &LineReader).unwrap_err();
    assert!(matches!(error, PackageError::Cycle { .. }), "{error}");
}
