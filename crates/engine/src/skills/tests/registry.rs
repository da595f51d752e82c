//! Registries: what is published is found, by several publishers at once, and nothing outside.

use narrows_skills::{Index, Package, Registry, RegistryError};
use serde_json::{Value, json};

use super::{
    super::PythonReader,
    package::{key, packed},
};

fn skill(name: &str, version: i64) -> Package {
    packed(name, &format!("def {name}():\n  '''Does {name} in version {version}.'''\n"), version)
}

#[test]
fn what_is_published_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (_key_dir, key) = key();
    let registry = Registry::new(dir.path().join("registry"));
    registry.publish(&skill("a", 1)).unwrap();
    registry.publish(&skill("a", 3)).unwrap();
    registry.publish(&skill("a", 2)).unwrap();
    let path = registry.publish(&skill("b", 1).sign(&key, &PythonReader).unwrap()).unwrap();
    assert!(path.ends_with("registry/skills/b/1.skill.json"));

    let index = registry.index().unwrap();
    let entry = index.entry("a").unwrap();
    assert_eq!((entry.version, entry.versions.as_slice()), (3, &[1, 2, 3][..]));
    assert_eq!(entry.description, "Does a in version 3.");
    assert_eq!(entry.file, "skills/a/3.skill.json");
    assert_eq!(entry.key, None);
    assert_eq!(index.entry("b").unwrap().key, Some(key.fingerprint()));
    assert_eq!(registry.package("a", &PythonReader).unwrap().1, skill("a", 3));
    assert_eq!(registry.package("a@1", &PythonReader).unwrap().1, skill("a", 1));
    let said = |wanted: &str| registry.package(wanted, &PythonReader).unwrap_err().to_string();
    assert!(said("a@7").contains("no version 7 of a, but 1, 2, 3"));
    assert!(said("a@../../x").contains("no version 0 of a"));
    assert!(said("bb").contains("no skill \"bb\""));
    assert!(said("../a").contains("no skill"));
}

#[test]
#[cfg(unix)]
fn a_web_server_can_read_what_is_published() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = Registry::new(dir.path()).publish(&skill("a", 1)).unwrap();
    for path in [path, dir.path().join("index.json")] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o444, 0o444, "{path:?}");
    }
}

#[test]
fn a_version_that_is_published_does_not_change() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::new(dir.path());
    let path = registry.publish(&skill("a", 1)).unwrap();
    let before = std::fs::read(&path).unwrap();
    // The same again is fine.
    registry.publish(&skill("a", 1)).unwrap();
    let other = packed("a", "def a(): return 'other'", 1);
    let error = registry.publish(&other).unwrap_err();
    assert!(matches!(error, RegistryError::Published { version: 1, .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(registry.package("a", &PythonReader).unwrap().1, skill("a", 1));
}

#[test]
fn publishers_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let registry = Registry::new(dir.path());
            scope.spawn(move || {
                for version in 1..=5 {
                    registry.publish(&skill(&format!("s{n}"), version)).unwrap();
                    registry.publish(&skill("shared", n * 5 + version)).unwrap();
                }
            });
        }
        // Whoever reads meanwhile sees a whole index.
        let registry = Registry::new(dir.path());
        for _ in 0..50 {
            match registry.index() {
                Ok(_) => {}
                Err(RegistryError::Io { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    let index = Registry::new(dir.path()).index().unwrap();
    assert_eq!(index.entries().len(), 9);
    for n in 0..8 {
        assert_eq!(index.entry(&format!("s{n}")).unwrap().versions, [1, 2, 3, 4, 5]);
    }
    assert_eq!(index.entry("shared").unwrap().versions, (1..=40).collect::<Vec<i64>>());
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_broken_index_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.json"), "{}").unwrap();
    let error = Registry::new(dir.path()).publish(&skill("a", 1)).unwrap_err();
    assert!(matches!(error, RegistryError::Index { .. }), "{error}");
    assert_eq!(std::fs::read(dir.path().join("index.json")).unwrap(), b"{}");
}

/// Returns an index with one entry, after `edit`.
fn index(edit: impl FnOnce(&mut Value)) -> String {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::new(dir.path());
    registry.publish(&skill("a", 1)).unwrap();
    let text = std::fs::read(dir.path().join("index.json")).unwrap();
    let mut index: Value = serde_json::from_slice(&text).unwrap();
    edit(&mut index);
    match Index::read(index.to_string().as_bytes()) {
        Ok(_) => "fine".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_index_cannot_point_elsewhere() {
    assert_eq!(index(|_| {}), "fine");
    for file in [
        "../../../etc/passwd",
        "/etc/passwd",
        "skills/a/../../../x.skill.json",
        "skills/b/1.skill.json",
        "skills\\a\\1.skill.json",
        "https://elsewhere.example/1.skill.json",
        "skills/a/1.skill.json\0",
        "",
    ] {
        let said = index(|index| index["skills"][0]["file"] = json!(file));
        assert!(said.contains("has its file elsewhere than skills/a/1.skill.json"), "{said}");
    }
    for name in ["../a", "a/b", "", "a\0", ".", "con.x", "_a"] {
        let said = index(|index| {
            index["skills"][0]["name"] = json!(name);
            index["skills"][0]["file"] = json!(format!("skills/{name}/1.skill.json"));
        });
        assert!(said.contains("has a name that no skill has"), "{name}: {said}");
    }
    let escape = index(|index| index["skills"][0]["description"] = json!("\u{1b}]0;x\u{7}"));
    assert!(escape.contains("control characters"), "{escape}");
    let twice = index(|index| {
        let entry = index["skills"][0].clone();
        index["skills"].as_array_mut().unwrap().push(entry);
    });
    assert!(twice.contains("is there twice"), "{twice}");
    let newer = index(|index| index["format"] = json!("narrows-registry/2"));
    assert!(newer.contains("a newer Narrows may read it"), "{newer}");
    let version = index(|index| index["skills"][0]["versions"] = json!([]));
    assert!(version.contains("not the latest of its versions"), "{version}");
    assert!(Index::read(b"[]").is_err());
}

#[test]
fn a_package_that_is_not_what_the_index_says_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_key_dir, key) = key();
    let registry = Registry::new(dir.path());
    let path = registry.publish(&skill("a", 1).sign(&key, &PythonReader).unwrap()).unwrap();
    assert!(registry.package("a", &PythonReader).is_ok());
    for (swapped, what) in [
        (packed("a", "def a(): return 'other'", 1), "another hash"),
        (skill("a", 2), "another version"),
        (skill("b", 1), "another name"),
        (skill("a", 1), "another key"),
    ] {
        std::fs::write(&path, swapped.to_bytes()).unwrap();
        let error = registry.package("a", &PythonReader).unwrap_err().to_string();
        assert!(error.contains(what), "{what}: {error}");
    }
    #[cfg(unix)]
    {
        let elsewhere = dir.path().join("elsewhere");
        std::fs::write(&elsewhere, skill("a", 1).sign(&key, &PythonReader).unwrap().to_bytes())
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let error = registry.package("a", &PythonReader).unwrap_err().to_string();
        assert!(error.contains("links are not followed"), "{error}");
    }
}

#[test]
fn the_best_skill_is_found_first() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::new(dir.path());
    for (name, doc) in [
        ("send_invoice", "Sends an invoice to a customer."),
        ("invoice", "Makes one."),
        ("weather", "Tells the weather; nothing about an invoice."),
        ("customers", "Lists all customers."),
    ] {
        let code = format!("def {name}():\n  '''{doc}'''\n");
        registry.publish(&packed(name, &code, 1)).unwrap();
    }
    let index = registry.index().unwrap();
    let found = |query: &str| -> Vec<&str> {
        index.search(query).into_iter().map(|entry| entry.name.as_str()).collect()
    };
    assert_eq!(found("invoice"), ["invoice", "send_invoice", "weather"]);
    assert_eq!(found("Send  INVOICE"), ["send_invoice", "invoice", "weather"]);
    assert_eq!(found("custom"), ["customers", "send_invoice"]);
    assert_eq!(found("zebra"), [""; 0]);
    assert_eq!(found(" "), ["customers", "invoice", "send_invoice", "weather"]);
}
