//! Skills as files: a file that was written is read, and one that was tampered with is refused.

use narrows_skills::{KeyFile, ManifestDetails, Package, PackageError, Pin, Recording, Signed};
use narrows_testkit::Chance;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::PythonReader;

const CODE: &str = "from servers.github import list_issues\nfrom skills import score\n\n\
    async def top(limit: int = 3) -> list:\n    '''The top issues.'''\n    \
    return sorted(await list_issues(), key=score)[:limit]\n\n\
    async def test_top():\n    assert await top(1) == [1]\n";

pub(super) fn key() -> (TempDir, KeyFile) {
    let dir = tempfile::tempdir().unwrap();
    let key = KeyFile::open_or_create(&dir.path().join("skills.key")).unwrap();
    (dir, key)
}

pub(super) fn packed(name: &str, code: &str, version: i64) -> Package {
    let about = ManifestDetails { version, ..ManifestDetails::default() };
    Package::new(name, code, about, &[], Recording::default(), &PythonReader).unwrap()
}

fn full() -> Package {
    let about = ManifestDetails {
        version: 2,
        description: "Finds the top issues".to_owned(),
        tags: vec!["github".to_owned(), "issues".to_owned()],
        author: "an author".to_owned(),
        created_at: "2026-01-01T00:00:00Z".to_owned(),
    };
    let pin = Pin::of("github.list_issues", &json!({"inputSchema": {"type": "object"}}));
    let tests: Recording = serde_json::from_value(json!([
        {"tool": "github.list_issues", "arguments": {"x": 0.1}, "result": [1, 2.5, 1e300, 5.0e-324, 0.30000000000000004]}
    ]))
    .unwrap();
    Package::new("top", CODE, about, &[pin], tests, &PythonReader).unwrap()
}

/// Returns the file after `edit`, without a new signature.
fn edited(package: &Package, edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut file: Value = serde_json::from_slice(&package.to_bytes()).unwrap();
    edit(&mut file);
    file.to_string().into_bytes()
}

fn refusal(package: &Package, edit: impl FnOnce(&mut Value)) -> String {
    Package::read(&edited(package, edit), &PythonReader).unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read() {
    let (_dir, key) = key();
    let plain = full();
    assert_eq!(plain.signed(), &Signed::No);
    assert_eq!(Package::read(&plain.to_bytes(), &PythonReader).unwrap(), plain);
    let signed = plain.sign(&key, &PythonReader).unwrap();
    assert_eq!(signed.signed(), &Signed::By(key.fingerprint()));
    let read = Package::read(&signed.to_bytes(), &PythonReader).unwrap();
    assert_eq!(read, signed);
    // And what was read can be handed on.
    assert_eq!(Package::read(&read.to_bytes(), &PythonReader).unwrap(), signed);

    let manifest = read.manifest();
    assert_eq!((manifest.name.as_str(), manifest.version), ("top", 2));
    assert_eq!(manifest.signature, "async top(limit: int = 3) -> list");
    assert_eq!(manifest.skills, ["score"]);
    assert_eq!(manifest.tests, ["test_top"]);
    assert_eq!(manifest.tools[0].tool, "github.list_issues");
    assert!(manifest.tools[0].hash.as_ref().is_some_and(|hash| hash.len() == 64));
    assert_eq!(read.code(), CODE);
    assert_eq!(read.missing_skills(), ["score"]);
}

#[test]
fn a_description_that_nobody_gave_is_that_of_the_code() {
    assert_eq!(packed("top", CODE, 1).manifest().description, "The top issues.");
}

#[test]
fn the_layout_of_a_file_and_fields_that_were_left_out_do_not_matter() {
    let (_dir, key) = key();
    let signed = full().sign(&key, &PythonReader).unwrap();
    let compact = edited(&signed, |_| {});
    assert_eq!(Package::read(&compact, &PythonReader).unwrap(), signed);
    // Someone else's tool may leave out what is empty.
    let lean = edited(&packed("a", "def a(): pass", 1), |file| {
        for field in ["tags", "tools", "skills", "tests", "author", "created_at"] {
            file["manifest"].as_object_mut().unwrap().shift_remove(field);
        }
    });
    let lean = Package::read(&lean, &PythonReader).unwrap().sign(&key, &PythonReader).unwrap();
    let handed_on = Package::read(&lean.to_bytes(), &PythonReader).unwrap();
    assert_eq!(handed_on.signed(), &Signed::By(key.fingerprint()));
}

#[test]
fn a_file_that_was_changed_after_signing_is_refused() {
    let (_dir, key) = key();
    let signed = full().sign(&key, &PythonReader).unwrap();
    let mismatch = "signature does not match";
    type Edit = fn(&mut Value);
    let edits: [Edit; 7] = [
        |file| file["manifest"]["description"] = json!("Harmless"),
        |file| file["manifest"]["version"] = json!(9),
        |file| file["manifest"]["tools"][0]["hash"] = json!("00"),
        |file| file["manifest"]["author"] = json!("another"),
        |file| file["tests"][0]["result"] = json!([]),
        |file| file["code"] = json!("def top(): pass"),
        |file| file["manifest"]["tags"] = json!([]),
    ];
    for edit in edits {
        let error = refusal(&signed, edit);
        assert!(error.contains(mismatch), "{error}");
    }
    // Without its signature the file is readable, and says so.
    let stripped = edited(&signed, |file| {
        file.as_object_mut().unwrap().shift_remove("signature");
    });
    assert_eq!(Package::read(&stripped, &PythonReader).unwrap().signed(), &Signed::No);
    let (_dir, other) = self::key();
    let again =
        Package::read(&stripped, &PythonReader).unwrap().sign(&other, &PythonReader).unwrap();
    assert_eq!(again.signed(), &Signed::By(other.fingerprint()));
    assert_ne!(again.signed(), signed.signed());
}

#[test]
fn a_manifest_that_does_not_fit_the_code_is_refused() {
    let package = full();
    let said = |edit: fn(&mut Value)| refusal(&package, edit);
    for (edit, expected) in [
        (
            (|file| file["code"] = json!("def top(): pass")) as fn(&mut Value),
            "the hash is not that of the code",
        ),
        (
            |file| file["manifest"]["tools"] = json!([]),
            "the code uses github.list_issues, which the manifest does not say",
        ),
        (|file| file["manifest"]["skills"] = json!([]), "imports the skill score, which"),
        (|file| file["manifest"]["tests"] = json!(["test_all"]), "names the test test_all, which"),
        (
            |file| file["manifest"]["signature"] = json!("top()"),
            "is called as \"top()\", but the code says",
        ),
        (|file| file["manifest"]["name"] = json!("bottom"), "must define bottom"),
        (|file| file["manifest"]["name"] = json!("../top"), "is not a Python identifier"),
        (|file| file["manifest"]["version"] = json!(0), "versions count from 1"),
        (|file| file["manifest"]["description"] = json!("\u{1b}[2J"), "control characters"),
        (|file| file["manifest"]["author"] = json!("\u{202e}rohtua"), "control characters"),
        (|file| file["manifest"]["more"] = json!(1), "unknown field `more`"),
        (|file| file["format"] = json!("narrows-skill/2"), "a newer Narrows may read it"),
        (|file| file["format"] = json!(1), "it names no format"),
        (
            |file| file["signature"] = json!({"algorithm": "none", "key": "", "value": ""}),
            "signed by \"none\"",
        ),
        (|file| file["extra"] = json!(1), "unknown field `extra`"),
    ] {
        let error = said(edit);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    // One that claims more is only careful.
    let careful = edited(&package, |file| {
        file["manifest"]["tools"].as_array_mut().unwrap().push(json!({"tool": "a.b"}));
    });
    assert!(Package::read(&careful, &PythonReader).is_ok());
}

#[test]
fn what_is_no_package_is_refused() {
    for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", b"{\"format\": \"narrows-skill/1\"}"]
    {
        assert!(
            matches!(Package::read(bytes, &PythonReader), Err(PackageError::NotPackage(_))),
            "{bytes:?}"
        );
    }
    assert_eq!(
        Package::read(&vec![b' '; (4 << 20) + 1], &PythonReader),
        Err(PackageError::TooLarge)
    );
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    assert!(matches!(Package::read(&deep, &PythonReader), Err(PackageError::NotPackage(_))));
    // Too large with its tests.
    let tests = json!([{"tool": "a.b", "result": "x".repeat(4 << 20)}]);
    let tests: Recording = serde_json::from_value(tests).unwrap();
    let about = ManifestDetails { version: 1, ..ManifestDetails::default() };
    let packed = Package::new("a", "def a(): pass", about, &[], tests, &PythonReader);
    assert_eq!(packed, Err(PackageError::TooLarge));
}

#[test]
fn mutated_files_never_verify_as_something_else() {
    let (_dir, key) = key();
    let signed = full()
        .with_bundle(vec![packed("score", "def score(x): return x", 1)], &PythonReader)
        .unwrap();
    let signed = signed.sign(&key, &PythonReader).unwrap();
    let bytes = signed.to_bytes();
    assert_eq!(Package::read(&bytes, &PythonReader).unwrap(), signed);
    let mut chance = Chance::new(42);
    let mut refused = 0;
    for _ in 0..1_000 {
        let mut mutated = bytes.clone();
        for _ in 0..=chance.below(3) {
            let at = chance.below(mutated.len());
            match chance.below(4) {
                0 => mutated[at] = u8::try_from(chance.below(256)).unwrap(),
                1 => _ = mutated.remove(at),
                2 => mutated.insert(at, u8::try_from(chance.below(128)).unwrap()),
                _ => mutated[at] ^= 1 << chance.below(8),
            }
        }
        match Package::read(&mutated, &PythonReader) {
            Err(_) => refused += 1,
            // Spaces between fields say nothing; everything else is as it was signed.
            Ok(read) => assert_eq!(read, signed),
        }
    }
    assert!(refused > 700, "{refused}");
}

#[test]
fn a_skill_comes_with_those_that_it_needs() {
    let (_dir, key) = key();
    let a = packed("a", "from skills import b, c\ndef a(): pass", 1);
    let b = packed("b", "from skills import c, elsewhere\ndef b(): pass", 1);
    let (_other_dir, other) = self::key();
    let c = packed("c", "def c(): pass", 3).sign(&other, &PythonReader).unwrap();
    let whole =
        a.with_bundle(vec![b, c], &PythonReader).unwrap().sign(&key, &PythonReader).unwrap();
    let read = Package::read(&whole.to_bytes(), &PythonReader).unwrap();
    let order: Vec<&str> =
        read.in_order().into_iter().map(|package| package.manifest().name.as_str()).collect();
    assert_eq!(order, ["c", "b", "a"]);
    assert_eq!(read.missing_skills(), ["elsewhere"]);
    // Who signed the file vouches for what has no signature of its own.
    assert_eq!(read.bundle()[0].signed(), &Signed::By(key.fingerprint()));
    assert_eq!(read.bundle()[1].signed(), &Signed::By(other.fingerprint()));
    // A change inside of the bundle is one of the file.
    let error = refusal(&whole, |file| file["bundle"][0]["manifest"]["author"] = json!("x"));
    assert!(error.contains("package of a is refused: its signature does not match"), "{error}");
}

#[test]
fn a_bundle_brings_nothing_else() {
    let a = || packed("a", "from skills import b\ndef a(): pass", 1);
    let b = || packed("b", "def b(): pass", 1);
    let stranger = packed("stranger", "def stranger(): pass", 1);
    let said = |bundle| a().with_bundle(bundle, &PythonReader).unwrap_err().to_string();
    assert!(said(vec![b(), stranger]).contains("nothing in it needs stranger"));
    assert!(said(vec![b(), b()]).contains("it has two skills b"));
    assert!(said(vec![a()]).contains("it has two skills a"));
    let circle = packed("b", "from skills import a\ndef b(): pass", 1);
    assert!(said(vec![circle]).contains("in a circle: a -> b -> a"));
    let nested = packed("b", "from skills import c\ndef b(): pass", 1)
        .with_bundle(vec![packed("c", "def c(): pass", 1)], &PythonReader)
        .unwrap();
    assert!(said(vec![nested]).contains("has a bundle of its own"));
    // A manifest cannot make a stranger needed: the code does.
    let mut file: Value =
        serde_json::from_slice(&a().with_bundle(vec![b()], &PythonReader).unwrap().to_bytes())
            .unwrap();
    let stranger = packed("stranger", "def stranger(): pass", 1).to_bytes();
    let stranger: Value = serde_json::from_slice(&stranger).unwrap();
    file["bundle"].as_array_mut().unwrap().push(stranger);
    file["manifest"]["skills"].as_array_mut().unwrap().push(json!("stranger"));
    let error = Package::read(file.to_string().as_bytes(), &PythonReader).unwrap_err().to_string();
    assert!(error.contains("nothing in it needs stranger"), "{error}");
    // A skill that imports itself is a circle too.
    let about = ManifestDetails { version: 1, ..ManifestDetails::default() };
    let own = "from skills import a\ndef a(): pass";
    let own = Package::new("a", own, about, &[], Recording::default(), &PythonReader).unwrap_err();
    assert!(own.to_string().contains("a -> a"), "{own}");
}
