//! The sources that skills are installed from: files, directories, git and the web.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use narrows_skills::{
    Fetched, FetchedSkill, Fetcher, Registry, SkillSource, SourceError, WebError,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use super::{
    super::PythonReader,
    package::{key, packed},
};

const FRONT: &str = "---\nname: read-pdf\ndescription: Reads PDFs.\n---\nDo it.\n";

fn fetcher() -> Fetcher {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Fetcher::new(reqwest::Client::builder().no_proxy(), Arc::new(PythonReader)).unwrap()
}

async fn fetch(text: &str, wanted: Option<&str>) -> Result<Vec<Fetched>, SourceError> {
    fetcher().fetch(&SkillSource::parse(text)?, wanted).await
}

async fn names(text: &str, wanted: Option<&str>) -> Vec<String> {
    let found = fetch(text, wanted).await.unwrap();
    found.iter().map(|one| one.name().to_owned()).collect()
}

async fn refusal(text: &str, wanted: Option<&str>) -> String {
    fetch(text, wanted).await.unwrap_err().to_string()
}

fn write(dir: &Path, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// Creates a directory with skills of all kinds.
fn mixed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "one.skill.json", packed("one", "def one(): pass", 1).to_bytes());
    write(dir.path(), "two.py", "def two(): pass");
    write(dir.path(), "setup.py", "print('no skill')");
    write(dir.path(), "skills/read-pdf/SKILL.md", FRONT);
    write(dir.path(), ".hidden/three.skill.json", packed("three", "three = 1", 1).to_bytes());
    write(dir.path(), "README.md", "Skills.");
    dir
}

#[tokio::test]
async fn files_are_taken_for_what_they_are() {
    let dir = mixed();
    let at = |path: &str| dir.path().join(path).display().to_string();
    assert_eq!(names(&at("one.skill.json"), None).await, ["one"]);
    assert_eq!(names(&at("two.py"), None).await, ["two"]);
    assert_eq!(names(&at("skills/read-pdf/SKILL.md"), None).await, ["read_pdf"]);
    assert_eq!(names(&format!("file://{}", at("two.py")), None).await, ["two"]);
    let found = fetch(&at("two.py"), None).await.unwrap();
    assert_eq!(found[0].from, at("two.py"));
    assert!(
        matches!(&found[0].skill, FetchedSkill::Package(package) if package.code() == "def two(): pass")
    );
    assert!(refusal(&at("setup.py"), None).await.contains("must define setup"));
    assert!(refusal(&at("README.md"), None).await.contains("cannot be a skill"));
    assert!(refusal(&at("absent"), None).await.contains("there is no file or directory"));
    write(dir.path(), "bad.skill.json", "{}");
    assert!(refusal(&at("bad.skill.json"), None).await.contains("this is no skill package"));
}

#[tokio::test]
async fn directories_have_skills_of_all_kinds() {
    let dir = mixed();
    let root = dir.path().display().to_string();
    assert_eq!(names(&root, None).await, ["one", "read_pdf", "two"]);
    assert_eq!(names(&root, Some("two")).await, ["two"]);
    assert_eq!(names(&root, Some("one@1")).await, ["one"]);
    assert_eq!(names(&root, Some("read-pdf")).await, ["read_pdf"]);
    assert_eq!(names(&format!("{root}/skills/read-pdf"), None).await, ["read_pdf"]);
    let said = refusal(&root, Some("read_pdfs")).await;
    assert!(
        said.contains("has no skill read_pdfs; did you mean read_pdf?; it has one, "),
        "{said}"
    );
    assert!(refusal(&root, Some("one@2")).await.contains("has no skill one@2"));
    // What is broken is told, unless another one is wanted.
    write(dir.path(), "bad.skill.json", "{}");
    assert!(refusal(&root, None).await.contains("bad.skill.json: this is no skill package"));
    assert_eq!(names(&root, Some("two")).await, ["two"]);
    let empty = tempfile::tempdir().unwrap();
    let said = refusal(&empty.path().display().to_string(), None).await;
    assert!(said.contains("has no skills"), "{said}");
}

#[tokio::test]
async fn a_registry_on_disk_is_one_by_its_index() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display().to_string();
    let registry = Registry::new(dir.path());
    registry.publish(&packed("a", "def a(): pass", 1)).unwrap();
    assert_eq!(names(&root, None).await, ["a"]);
    registry.publish(&packed("a", "def a(): return 2", 2)).unwrap();
    registry.publish(&packed("b", "def b(): pass", 1)).unwrap();
    assert!(refusal(&root, None).await.contains("registry of 2 skills: say which"));
    for (wanted, version) in [("a", 2), ("a@1", 1)] {
        let found = fetch(&format!("{root}/index.json"), Some(wanted)).await.unwrap();
        let FetchedSkill::Package(package) = &found[0].skill else { panic!() };
        assert_eq!(package.manifest().version, version);
    }
    // Others have an `index.json` too.
    let other = mixed();
    write(other.path(), "index.json", "{\"pages\": []}");
    assert_eq!(names(&other.path().display().to_string(), Some("two")).await, ["two"]);
}

#[tokio::test]
#[cfg(unix)]
async fn links_of_a_directory_are_not_followed() {
    let secret = mixed();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "own.py", "def own(): pass");
    std::os::unix::fs::symlink(secret.path().join("two.py"), dir.path().join("two.py")).unwrap();
    std::os::unix::fs::symlink(secret.path(), dir.path().join("up")).unwrap();
    assert_eq!(names(&dir.path().join("up").display().to_string(), Some("two")).await, ["two"]);
    assert_eq!(names(&dir.path().display().to_string(), None).await, ["own"]);
}

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .current_dir(dir)
        .output()
        .expect("these tests need git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_repository_is_cloned_and_its_links_are_not_followed() {
    let dir = mixed();
    git(dir.path(), &["init", "--quiet"]);
    write(dir.path(), ".gitattributes", "*.py filter=lfs\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let linked = write(elsewhere.path(), "linked.py", "def linked(): pass");
    assert_eq!(names(&linked.display().to_string(), None).await, ["linked"]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(&linked, dir.path().join("linked.py")).unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "--quiet", "-m", "skills"]);
    // A checkout is a directory.
    assert_eq!(names(&dir.path().display().to_string(), Some("two")).await, ["two"]);

    let bare = tempfile::tempdir().unwrap();
    let repository = bare.path().join("skills.git");
    git(dir.path(), &["clone", "--quiet", "--bare", ".", repository.to_str().unwrap()]);
    let path = repository.display();
    for source in [format!("git+file://{path}"), format!("file://{path}"), path.to_string()] {
        let mut found = fetch(&source, None).await.unwrap();
        found.sort_by(|a, b| a.name().cmp(b.name()));
        let names: Vec<&str> = found.iter().map(Fetched::name).collect();
        assert_eq!(names, ["one", "read_pdf", "two"], "{source}");
        let from = &found[1].from;
        assert!(from.starts_with("git+file://") && from.ends_with("#skills/read-pdf"), "{from}");
    }
    let said = refusal(&format!("git+file://{path}-absent"), None).await;
    assert!(said.contains("cannot be cloned: "), "{said}");
}

#[test]
fn only_protocols_that_are_safe_are_git_urls() {
    let said = |text: &str| match SkillSource::parse(text) {
        Ok(SkillSource::Git(url)) => url.to_string(),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    };
    for (text, url) in [
        ("git+https://host.example/a/b", "https://host.example/a/b"),
        ("https://host.example/a/b.git", "https://host.example/a/b.git"),
        ("https://user:s3cret@host.example/b.git", "https://host.example/b.git"),
        ("ssh://git@host.example/b", "ssh://host.example/b"),
        ("git@host.example:a/b.git", "ssh://host.example/a/b.git"),
    ] {
        assert_eq!(said(text), url, "{text}");
    }
    for text in [
        "git+http://host.example/b",
        "http://host.example/b.git",
        "git+git://host.example/b",
        "git+ext::sh -c touch% x",
        "ext::sh -c x.git",
        "git+--upload-pack=x",
        "git+-oProxyCommand=x",
        "ssh://-oProxyCommand=x/b.git",
        "git+ssh://-oProxyCommand@host.example/b",
        "-u@host.example:b.git",
        "git+fd::3",
        "git+file://host.example/b",
        "git+/etc",
        "git+https://",
    ] {
        assert!(!matches!(SkillSource::parse(text), Ok(SkillSource::Git(_))), "{text}");
    }
    assert!(!said("git+http://u:s3cret@host.example/b").contains("s3cret"));
}

/// Starts a server on this machine that answers each path with a status, a header and a body.
struct Site {
    base: String,
    task: JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Answer = (u16, String, Vec<u8>);

async fn site(answers: impl Fn(&str) -> HashMap<String, Answer>) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answers = Arc::new(answers(&base));
    let task = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let answers = Arc::clone(&answers);
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    let mut part = [0; 1024];
                    match socket.read(&mut part).await {
                        Ok(0) | Err(_) => return,
                        Ok(read) => request.extend_from_slice(&part[..read]),
                    }
                }
                let text = String::from_utf8_lossy(&request);
                let path = text.split(' ').nth(1).unwrap_or_default();
                let missing = (404, String::new(), Vec::new());
                let (status, header, body) = answers.get(path).unwrap_or(&missing);
                let head = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n{header}\r\n",
                    body.len()
                );
                let _ = socket.write_all(head.as_bytes()).await;
                let _ = socket.write_all(body).await;
            });
        }
    });
    Site { base, task }
}

fn ok(body: Vec<u8>) -> Answer {
    (200, String::new(), body)
}

fn redirect(to: &str) -> Answer {
    (302, format!("location: {to}\r\n"), Vec::new())
}

#[tokio::test]
async fn packages_are_got_from_the_web() {
    let package = packed("a", "def a(): pass", 1);
    let site = site(|base| {
        HashMap::from([
            ("/a.skill.json".to_owned(), ok(package.to_bytes())),
            ("/moved.skill.json".to_owned(), redirect("/a.skill.json")),
            ("/loop.skill.json".to_owned(), redirect(&format!("{base}/loop.skill.json"))),
            ("/out.skill.json".to_owned(), redirect("http://host.example/a.skill.json")),
            ("/nowhere.skill.json".to_owned(), (302, String::new(), Vec::new())),
            ("/file.skill.json".to_owned(), redirect("file:///etc/hostname")),
            ("/large.skill.json".to_owned(), ok(vec![b' '; (4 << 20) + 1])),
            ("/bad.skill.json".to_owned(), ok(b"<html>".to_vec())),
        ])
    })
    .await;
    let at = |path: &str| format!("{}/{path}.skill.json", site.base);
    let found = fetch(&at("a"), None).await.unwrap();
    assert_eq!(
        found,
        [Fetched { skill: FetchedSkill::Package(Box::new(package.clone())), from: at("a") }]
    );
    assert_eq!(names(&at("moved"), Some("a")).await, ["a"]);
    for (path, said) in [
        ("loop", "redirects more than 5 times"),
        ("out", "http://host.example/a.skill.json is not encrypted: use https://"),
        ("nowhere", "redirects to nowhere"),
        ("file", "has no host"),
        ("large", "/large.skill.json has more than 4194304 bytes"),
        ("bad", "this is no skill package"),
        ("absent", "answers 404"),
    ] {
        let error = refusal(&at(path), None).await;
        assert!(error.contains(said), "{path}: {error}");
    }
    assert!(refusal(&at("a"), Some("b")).await.contains("has no skill b"));
    let secret = at("absent").replace("http://", "http://user:s3cret@") + "?token=s3cret";
    let error = refusal(&secret, None).await;
    assert!(error.contains("answers 404") && !error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_registry_is_served_by_any_static_host() {
    let dir = tempfile::tempdir().unwrap();
    let (_key_dir, key) = key();
    let registry = Registry::new(dir.path());
    registry.publish(&packed("a", "def a(): pass", 1)).unwrap();
    registry
        .publish(&packed("a", "def a(): return 2", 2).sign(&key, &PythonReader).unwrap())
        .unwrap();
    registry.publish(&packed("b", "def b(): pass", 1)).unwrap();
    let file = |path: &str| ok(fs::read(dir.path().join(path)).unwrap());
    let site = site(|_| {
        HashMap::from([
            ("/r/index.json".to_owned(), file("index.json")),
            ("/r/skills/a/1.skill.json".to_owned(), file("skills/a/1.skill.json")),
            ("/r/skills/a/2.skill.json".to_owned(), file("skills/a/2.skill.json")),
            // Not what the index says.
            ("/r/skills/b/1.skill.json".to_owned(), file("skills/a/2.skill.json")),
        ])
    })
    .await;
    for base in [format!("{}/r/", site.base), format!("{}/r/index.json", site.base)] {
        for (wanted, version) in [("a", 2), ("a@1", 1), ("a@2", 2)] {
            let found = fetch(&base, Some(wanted)).await.unwrap();
            let FetchedSkill::Package(package) = &found[0].skill else { panic!() };
            assert_eq!(package.manifest().version, version);
            assert_eq!(found[0].from, format!("{}/r/skills/a/{version}.skill.json", site.base));
        }
    }
    let base = format!("{}/r/", site.base);
    assert!(refusal(&base, Some("b")).await.contains("another name"));
    assert!(refusal(&base, None).await.contains("registry of 2 skills"));
    assert!(refusal(&base, Some("../../x")).await.contains("has no skill"));
    let SkillSource::Registry(url) = SkillSource::parse(&base).unwrap() else { panic!() };
    assert_eq!(fetcher().index(&url).await.unwrap().search("a")[0].name, "a");
}

#[test]
fn what_others_could_change_on_the_way_is_refused() {
    for text in
        ["http://host.example/a.skill.json", "http://127.0.0.1.host.example/", "http://10.0.0.1/"]
    {
        let error = SkillSource::parse(text).unwrap_err();
        assert!(matches!(error, SourceError::Web(WebError::NotEncrypted(_))), "{text}: {error}");
    }
    for text in [
        "https://host.example/",
        "http://localhost:8000/",
        "http://[::1]/index.json",
        "http://127.0.0.2/",
    ] {
        assert!(matches!(SkillSource::parse(text), Ok(SkillSource::Registry(_))), "{text}");
    }
    let unclear = SkillSource::parse("https://host.example/a").unwrap_err().to_string();
    assert!(unclear.contains("ends in .skill.json, that of a registry in /"), "{unclear}");
    assert!(SkillSource::parse("ftp://host.example/").is_err());
    assert!(SkillSource::parse("").is_err());
}
