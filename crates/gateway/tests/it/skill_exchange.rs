//! Skills on their way from one user to another: in files, folders, git repositories, registries.
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::real::{self, PATIENCE, Running, Site, git, lines, says, text};

const DOUBLE: &str = r#"
def double(n: int) -> int:
    """Doubles a number."""
    return n * 2

def test_double():
    assert double(2) == 4
"#;
const QUADRUPLE: &str = r#"
from skills import double

def quadruple(n):
    """Four times a number."""
    return double(double(n))
"#;
const TEN: &str = "from skills import double\nresult = double(5)";

/// What `narrows skills` says to the user whose data is in this directory.
fn skills(site: &Site, user: &str, arguments: &[&str]) -> Output {
    site.says(&[&["--data-dir", user, "skills"], arguments].concat())
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

#[track_caller]
fn refused(output: &Output, parts: &[&str]) {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    says(&text(&output.stderr).into(), parts);
}

/// A user with skills, whose data is in `author`.
fn author(kept: &[(&str, &str)]) -> Option<Site> {
    let site = Site::new()?;
    kept.iter().for_each(|(name, code)| save(&site, name, code));
    Some(site)
}

#[track_caller]
fn save(site: &Site, name: &str, code: &str) {
    fs::write(site.path(&format!("{name}.py")), code).unwrap();
    done(&skills(site, "author", &["save", &format!("{name}.py"), "--tags", "math"]));
}

/// What a program of this user results in.
#[track_caller]
fn run(site: &Site, user: &str, code: &str) -> Value {
    real::succeeded(site.json(&["--data-dir", user, "run", "--json", "-c", code]))
}

fn names(site: &Site, user: &str) -> Vec<String> {
    let listed = site.json(&["--data-dir", user, "skills", "list", "--json"]);
    let skills = listed["skills"].as_array().unwrap();
    skills.iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
}

fn package(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

// One file.

#[test]
fn a_file_carries_a_skill_to_another_user() {
    let Some(site) = author(&[("double", DOUBLE)]) else { return };
    let fingerprint = done(&skills(&site, "author", &["key"]));
    let said = done(&skills(&site, "author", &["export", "double"]));
    says(&said.into(), &["double.skill.json", "signed by", fingerprint.trim()]);
    let manifest = &package(&site.path("double.skill.json"))["manifest"];
    assert_eq!(manifest["tests"], json!(["test_double"]));

    let said = done(&skills(&site, "user", &["install", "double.skill.json", "--yes"]));
    says(&said.into(), &["installed double version 1", fingerprint.trim(), "calls no tools"]);
    assert_eq!(run(&site, "user", TEN), 10);
    says(&done(&skills(&site, "user", &["test"])).into(), &["ok    double: test_double"]);
    let show = ["--data-dir", "user", "skills", "show", "double", "--json"];
    assert_eq!(site.json(&show)["tags"], json!(["math"]));
    // The key is the author's alone.
    assert_ne!(done(&skills(&site, "user", &["key"])), fingerprint);
    let key = fs::metadata(site.path("author/skills-key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
}

#[test]
fn a_bundle_brings_the_skills_that_it_needs() {
    let Some(site) = author(&[("double", DOUBLE), ("quadruple", QUADRUPLE)]) else { return };
    done(&skills(&site, "author", &["export", "quadruple", "-o", "one.skill.json"]));
    done(&skills(&site, "author", &["export", "quadruple", "--bundle", "-o", "all.skill.json"]));
    let said = done(&skills(&site, "user", &["install", "one.skill.json", "--yes"]));
    says(&said.into(), &["needs the skills double, which are not in it"]);
    assert_eq!(names(&site, "user"), ["quadruple"]);
    let installed =
        site.json(&["--data-dir", "user", "skills", "install", "all.skill.json", "-y", "--json"]);
    assert_eq!(installed["installed"][0]["name"], "double");
    assert_eq!(run(&site, "user", "from skills import quadruple\nresult = quadruple(2)"), 8);
}

#[test]
fn nothing_is_installed_unless_somebody_agrees() {
    let Some(site) = Site::with(&["time"]) else { return };
    let now = "from servers.time import get_current_time\n\nasync def now():\n    \
               \"\"\"The time in UTC.\"\"\"\n    return await get_current_time(timezone=\"UTC\")\n";
    save(&site, "now", now);
    done(&skills(&site, "author", &["export", "now"]));
    let asked = skills(&site, "user", &["install", "now.skill.json"]);
    refused(&asked, &["may call time.get_current_time", "nobody is there to ask", "--yes"]);
    assert_eq!(names(&site, "user"), [""; 0]);
    done(&skills(&site, "user", &["install", "now.skill.json", "--yes"]));
    assert_eq!(names(&site, "user"), ["now"]);
}

#[test]
fn a_file_that_was_tampered_with_is_refused() {
    let Some(site) = author(&[("double", DOUBLE)]) else { return };
    done(&skills(&site, "author", &["export", "double"]));
    done(&skills(&site, "author", &["export", "double", "--unsigned", "-o", "plain.skill.json"]));
    done(&skills(&site, "other", &["install", "plain.skill.json", "--yes"]));
    done(&skills(&site, "other", &["export", "double", "-o", "other.skill.json"]));
    let [signed, plain, other] =
        ["double", "plain", "other"].map(|name| package(&site.path(&format!("{name}.skill.json"))));
    let evil = json!("def double(n):\n    return 666\n\ndef test_double():\n    pass\n");
    let changed = |package: &Value, at: &str, value: &Value| {
        let mut package = package.clone();
        *package.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = value.clone();
        package
    };
    let does_not_match = "signature does not match";
    for (package, said) in [
        (changed(&signed, "/code", &evil), does_not_match),
        (changed(&signed, "/manifest/description", &json!("Better.")), does_not_match),
        (changed(&signed, "/manifest/version", &json!(9)), does_not_match),
        (changed(&signed, "/signature/key", &other["signature"]["key"]), does_not_match),
        (changed(&signed, "/signature/value", &other["signature"]["value"]), does_not_match),
        (changed(&plain, "/code", &evil), "hash"),
        (changed(&plain, "/manifest/name", &json!("doubel")), "doubel"),
        (changed(&plain, "/manifest/name", &json!("../double")), "../double"),
        (changed(&plain, "/format", &json!("narrows-skill/9")), "narrows-skill/9"),
    ] {
        fs::write(site.path("bad.skill.json"), package.to_string()).unwrap();
        refused(&skills(&site, "user", &["install", "bad.skill.json", "--yes"]), &[said]);
    }
    let bytes = fs::read(site.path("double.skill.json")).unwrap();
    fs::write(site.path("bad.skill.json"), &bytes[..bytes.len() / 2]).unwrap();
    refused(&skills(&site, "user", &["install", "bad.skill.json", "--yes"]), &["bad.skill.json"]);
    assert_eq!(names(&site, "user"), [""; 0]);
    let audit = site.json(&["--data-dir", "user", "audit", "search", "--json"]);
    assert_eq!(audit["entries"], json!([]), "nothing was written");

    // As it was, it is taken, whatever the layout.
    fs::write(site.path("good.skill.json"), signed.to_string()).unwrap();
    done(&skills(&site, "user", &["install", "good.skill.json", "--yes"]));
    assert_eq!(run(&site, "user", TEN), 10);
}

/// What it may call is what a person agrees to.
#[test]
fn a_file_that_hides_a_tool_it_calls_is_refused() {
    let Some(site) = author(&[]) else { return };
    save(
        &site,
        "wipe",
        "from servers.disk import erase\n\nasync def wipe():\n    return await erase()\n",
    );
    done(&skills(&site, "author", &["export", "wipe", "--unsigned"]));
    let file = site.path("wipe.skill.json");
    let mut hiding = package(&file);
    assert_eq!(hiding["manifest"]["tools"][0]["tool"], "disk.erase");
    hiding["manifest"]["tools"] = json!([]);
    fs::write(site.path("bad.skill.json"), hiding.to_string()).unwrap();
    refused(&skills(&site, "user", &["install", "bad.skill.json", "--yes"]), &["disk.erase"]);
    let said = done(&skills(&site, "user", &["install", "wipe.skill.json", "--yes"]));
    says(&said.into(), &["may call disk.erase", "not signed"]);
}

// Directories, git repositories, folders of other tools.

#[test]
fn a_directory_of_files_is_installed_all_or_by_name() {
    let Some(site) = author(&[("double", DOUBLE), ("quadruple", QUADRUPLE)]) else { return };
    fs::create_dir(site.path("shelf")).unwrap();
    for name in ["double", "quadruple"] {
        let file = format!("shelf/{name}.skill.json");
        done(&skills(&site, "author", &["export", name, "-o", &file]));
    }
    done(&skills(&site, "one", &["install", "shelf", "double", "--yes"]));
    assert_eq!(names(&site, "one"), ["double"]);
    done(&skills(&site, "all", &["install", "shelf", "--yes"]));
    assert_eq!(names(&site, "all"), ["double", "quadruple"]);
    refused(&skills(&site, "one", &["install", "shelf", "doubel", "--yes"]), &["doubel", "double"]);
    refused(&skills(&site, "one", &["install", "nowhere", "--yes"]), &["nowhere"]);
}

#[test]
fn a_git_repository_is_installed_from_its_checkout_and_its_url() {
    let Some(site) = author(&[("double", DOUBLE)]) else { return };
    let repository = site.path("repository");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    done(&skills(&site, "author", &["export", "double", "-o", "repository/double.skill.json"]));
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-qm", "A skill"]);
    let url = format!("git+file://{}", repository.display());
    for (user, source) in [("by-path", "repository"), ("by-url", &url)] {
        let said = done(&skills(&site, user, &["install", source, "--yes"]));
        says(&said.into(), &["installed double version 1"]);
        assert_eq!(run(&site, user, TEN), 10);
    }
    let nowhere = format!("git+file://{}", site.path("nowhere").display());
    refused(&skills(&site, "by-url", &["install", &nowhere, "--yes"]), &["nowhere"]);
    // An option is no address.
    refused(&skills(&site, "by-url", &["install", "git+--upload-pack=touch evil", "--yes"]), &[]);
    assert!(!site.path("evil").exists());
}

const NOTES: &str = r#"---
name: meeting-notes
description: How to write notes of a meeting.
license: MIT
---

# Notes

Begin with the decisions.
"#;

#[test]
fn skills_go_to_other_tools_and_come_from_them_as_folders() {
    let Some(site) = author(&[("double", DOUBLE)]) else { return };
    done(&skills(&site, "author", &["export", "double", "--folder", "folders"]));
    let front = fs::read_to_string(site.path("folders/double/SKILL.md")).unwrap();
    assert!(
        front.starts_with("---\nname: double\n") && front.contains("Doubles a number."),
        "{front}"
    );
    assert_eq!(fs::read_to_string(site.path("folders/double/scripts/double.py")).unwrap(), DOUBLE);
    done(&skills(&site, "user", &["install", "folders/double", "--yes"]));
    assert_eq!(run(&site, "user", TEN), 10);
    let update = || skills(&site, "user", &["update", "double", "--yes"]);
    says(&done(&update()).into(), &["double is up to date"]);
    let script = site.path("folders/double/scripts/double.py");
    fs::write(script, DOUBLE.replace("n * 2", "2 * n")).unwrap();
    says(&done(&update()).into(), &["installed double version 2"]);

    // One that was written for another tool, with instructions and a file to read.
    let notes = site.path("folders/meeting-notes");
    fs::create_dir_all(notes.join("references")).unwrap();
    fs::write(notes.join("SKILL.md"), NOTES).unwrap();
    fs::write(notes.join("references/form.md"), "Who, when, what.\n").unwrap();
    done(&skills(&site, "user", &["install", "folders", "meeting-notes", "--yes"]));
    let read = "from skills import meeting_notes as notes\n\
                result = [notes(), notes('references/form.md')]";
    let read = run(&site, "user", read);
    says(&read[0], &["Begin with the decisions."]);
    says(&read[1], &["Who, when, what."]);
    let found =
        site.json(&["--data-dir", "user", "skills", "list", "notes of a meeting", "--json"]);
    assert_eq!(found["skills"][0]["name"], "meeting_notes");

    fs::write(notes.join("SKILL.md"), "no front matter").unwrap();
    refused(&skills(&site, "third", &["install", "folders/meeting-notes", "--yes"]), &["SKILL.md"]);
    assert_eq!(names(&site, "third"), [""; 0]);
}

// Registries.

/// Serves a directory as any static host does.
struct Host {
    url: String,
    _process: Running,
}

impl Host {
    fn of(site: &Site, directory: &str) -> Self {
        let mut command = site.command("python3");
        command.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"]);
        command.arg(site.path(directory)).stderr(Stdio::null());
        let mut process = Running(command.spawn().unwrap());
        let first = lines(process.0.stdout.take().unwrap()).recv_timeout(PATIENCE).unwrap();
        let port = first.split(" port ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        Self { url: format!("http://127.0.0.1:{port}/"), _process: process }
    }
}

fn publish(site: &Site, name: &str) {
    let said = done(&skills(site, "author", &["publish", name, "--registry", "registry"]));
    says(&said.into(), &["published registry/skills"]);
}

#[test]
fn a_registry_is_searched_and_installed_from_as_directory_and_over_http() {
    let Some(site) = author(&[("double", DOUBLE), ("quadruple", QUADRUPLE)]) else { return };
    publish(&site, "double");
    publish(&site, "quadruple");
    let host = Host::of(&site, "registry");
    for (user, registry) in [("by-path", "registry"), ("by-url", host.url.as_str())] {
        let found = skills(&site, user, &["search", "doubles", "--registry", registry]);
        says(&done(&found).into(), &["double@1", "Doubles a number."]);
        let all = ["--data-dir", user, "skills", "search", "--registry", registry, "--json"];
        assert_eq!(site.json(&all)["skills"].as_array().unwrap().len(), 2);
        done(&skills(&site, user, &["install", registry, "double", "--yes"]));
        assert_eq!(run(&site, user, TEN), 10);
        let unknown = skills(&site, user, &["install", registry, "doubel", "--yes"]);
        refused(&unknown, &["doubel", "did you mean double?"]);
    }
    // By its name alone, when the configuration says where.
    site.configure(&format!("[skills]\nregistry = {}\n", json!(host.url)));
    says(&done(&skills(&site, "named", &["search", "four times"])).into(), &["quadruple@1"]);
    done(&skills(&site, "named", &["install", "double", "--yes"]));
    assert_eq!(run(&site, "named", TEN), 10);
    let file = format!("{}skills/double/1.skill.json", host.url);
    done(&skills(&site, "by-file", &["install", &file, "--yes"]));
    assert_eq!(names(&site, "by-file"), ["double"]);
    // What is not encrypted comes from this machine only.
    let far = skills(&site, "by-file", &["install", "http://skills.invalid/x.skill.json", "--yes"]);
    refused(&far, &["https://"]);
}

#[test]
fn a_version_is_published_once() {
    let Some(site) = author(&[("double", DOUBLE)]) else { return };
    publish(&site, "double");
    publish(&site, "double");
    // Another author's first version is another one.
    fs::write(site.path("double.py"), DOUBLE.replace("n * 2", "n + n")).unwrap();
    done(&skills(&site, "other", &["save", "double.py"]));
    let again = skills(&site, "other", &["publish", "double", "--registry", "registry"]);
    refused(&again, &["double", "1"]);
    done(&skills(&site, "user", &["install", "registry", "double", "--yes"]));
    let code = done(&skills(&site, "user", &["show", "double"]));
    assert_eq!(code.trim(), DOUBLE.trim());
}

#[test]
fn a_registry_that_lies_is_refused() {
    let Some(site) = author(&[("double", DOUBLE)]) else { return };
    publish(&site, "double");
    fs::write(site.path("secret.skill.json"), "{}").unwrap();
    let index = site.path("registry/index.json");
    let right = package(&index);
    let lie = |at: &str, value: Value| {
        let mut index_now = right.clone();
        index_now["skills"][0][at] = value;
        fs::write(&index, index_now.to_string()).unwrap();
        skills(&site, "user", &["install", "registry", "double", "--yes"])
    };
    refused(&lie("file", json!("../secret.skill.json")), &["its file elsewhere"]);
    refused(&lie("file", json!("/etc/passwd")), &["its file elsewhere"]);
    refused(&lie("hash", json!("00".repeat(32))), &["double"]);
    assert_eq!(names(&site, "user"), [""; 0]);
    fs::write(&index, right.to_string()).unwrap();
    done(&skills(&site, "user", &["install", "registry", "double", "--yes"]));
}

#[test]
fn update_installs_what_is_newer_and_tells_of_another_signer() {
    let Some(site) = author(&[("double", DOUBLE), ("quadruple", QUADRUPLE)]) else { return };
    publish(&site, "double");
    publish(&site, "quadruple");
    done(&skills(&site, "user", &["install", "registry", "double", "quadruple", "--yes"]));
    says(
        &done(&skills(&site, "user", &["update"])).into(),
        &["double is up to date", "quadruple is up to date"],
    );

    save(&site, "double", &DOUBLE.replace("n * 2", "n * 2 + 0"));
    publish(&site, "double");
    refused(&skills(&site, "user", &["update"]), &["double version 2", "nobody is there to ask"]);
    let said = done(&skills(&site, "user", &["update", "--yes"]));
    says(&said.into(), &["installed double version 2", "quadruple is up to date"]);

    // A key that is lost, or somebody else.
    let first = done(&skills(&site, "author", &["key"]));
    fs::remove_file(site.path("author/skills-key")).unwrap();
    let second = done(&skills(&site, "author", &["key"]));
    save(&site, "double", &DOUBLE.replace("n * 2", "2 * n"));
    publish(&site, "double");
    let signers = [first.trim(), second.trim()].map(|key| format!("signed by {key}"));
    let told = format!("was {}, and is {} now", signers[0], signers[1]);
    refused(&skills(&site, "user", &["update", "double", "--yes"]), &[&told, "not updated"]);
    let code = done(&skills(&site, "user", &["show", "double"]));
    assert!(!code.contains("2 * n"), "{code}");
    // Somebody who knows that it is right says so by installing it.
    done(&skills(&site, "user", &["install", "registry", "double", "--yes"]));
    let code = done(&skills(&site, "user", &["show", "double"]));
    assert!(code.contains("2 * n"), "{code}");
    refused(&skills(&site, "user", &["update", "mine", "--yes"]), &["mine", "not installed"]);
}
