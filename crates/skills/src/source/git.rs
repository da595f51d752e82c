//! Clones a repository with the system's `git`, such that nothing of the repository runs: no hooks, no
//! submodules, no filters, no links, no prompts.

use std::{
    fmt::{self, Display},
    path::Path,
    process::Stdio,
    time::Duration,
};

use reqwest::Url;
use tempfile::TempDir;
use thiserror::Error;
use tokio::process::Command;

use narrows_system::private_file;

use super::web;

/// The time for a shallow clone.
const PATIENCE: Duration = Duration::from_secs(120);
/// Settings that keep git from running programs of the repository's choice, and from leaving the
/// directory by links or submodules.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "submodule.recurse=false",
];
/// Environment variables that would make git work elsewhere.
const ELSEWHERE: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_TEMPLATE_DIR",
    "GIT_NAMESPACE",
];
/// How much of git's output an error message shows.
const MAX_SAID_LEN: usize = 500;

/// The reason for which a repository was not cloned.
#[derive(Debug, Error)]
pub enum GitError {
    #[error("{0} is no git URL that is used here: it starts with https://, ssh:// or file://")]
    Url(String),
    #[error("git cannot be started: {0}; install git, or give a directory that has the files")]
    NotStarted(std::io::Error),
    #[error("{url} cannot be cloned: {said}")]
    Failed { url: String, said: String },
    #[error("{url} takes longer than {} seconds to clone", PATIENCE.as_secs())]
    TooLong { url: String },
}

/// The URL of a repository, by a protocol that is safe to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitUrl(Url);

impl GitUrl {
    /// Parses `https://…`, `ssh://…`, `file://…`, or `user@host:path`.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let unknown = || GitError::Url(web::without_secrets(text));
        let spelt_out = match text.split_once(':') {
            // Git's short form of ssh.
            Some((login, path)) if !text.contains("://") && login.contains('@') => {
                format!("ssh://{login}/{}", path.trim_start_matches('/'))
            }
            _ => text.to_owned(),
        };
        let url = Url::parse(&spelt_out).map_err(|_| unknown())?;
        let host = url.host_str().unwrap_or_default();
        let is_fine = match url.scheme() {
            // A host that starts with a dash would be an option of ssh.
            "https" | "ssh" => !host.is_empty() && !host.starts_with('-'),
            "file" => host.is_empty(),
            _ => false,
        };
        if is_fine && !url.username().starts_with('-') { Ok(Self(url)) } else { Err(unknown()) }
    }

    /// Returns the URL of a repository on this machine.
    pub(crate) fn of_directory(dir: &Path) -> Result<Self, GitError> {
        let unknown = || GitError::Url(dir.display().to_string());
        let dir = dir.canonicalize().map_err(|_| unknown())?;
        Url::from_directory_path(dir).map(Self).map_err(|()| unknown())
    }

    /// Clones the newest state of the repository into a directory that is removed when it is dropped.
    pub(crate) async fn cloned(&self) -> Result<TempDir, GitError> {
        let dir = private_file::temporary_dir().map_err(GitError::NotStarted)?;
        let mut command = self.command(dir.path());
        let output = tokio::time::timeout(PATIENCE, command.output()).await;
        let output = output.map_err(|_| GitError::TooLong { url: self.to_string() })?;
        let output = output.map_err(GitError::NotStarted)?;
        if output.status.success() {
            return Ok(dir);
        }
        Err(GitError::Failed { url: self.to_string(), said: self.said(&output.stderr) })
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new("git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(["clone", "--quiet", "--depth", "1", "--single-branch", "--no-tags"])
            .args(["--no-recurse-submodules", "--template="])
            .arg("--")
            .arg(self.0.as_str())
            .arg(dir)
            .env("GIT_ALLOW_PROTOCOL", "https:ssh:file")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "true")
            .env("SSH_ASKPASS", "true")
            .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        for variable in ELSEWHERE {
            command.env_remove(variable);
        }
        command
    }

    /// Returns the end of git's output, without the login of the URL.
    fn said(&self, stderr: &[u8]) -> String {
        let text = String::from_utf8_lossy(stderr).replace(self.0.as_str(), &self.to_string());
        let text = match self.0.password() {
            Some(password) => text.replace(password, "…"),
            None => text,
        };
        let plain: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
        let lines: Vec<&str> =
            plain.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = lines.join("; ");
        let skipped = said.chars().count().saturating_sub(MAX_SAID_LEN);
        said.chars().skip(skipped).collect()
    }
}

impl Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&web::shown(&self.0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    #[cfg(unix)]
    use std::{fs, path::PathBuf};

    use super::*;

    #[cfg(unix)]
    fn run(command: &mut std::process::Command) {
        let output = command.output().expect("these tests need git");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A repository, a template with a hook, and the file that the hook writes.
    #[cfg(unix)]
    fn repository_and_hook(dir: &Path) -> (PathBuf, PathBuf, PathBuf) {
        let (repository, template, ran) = (dir.join("r"), dir.join("t"), dir.join("ran"));
        fs::create_dir_all(template.join("hooks")).unwrap();
        let hook = template.join("hooks/post-checkout");
        fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        run(std::process::Command::new("git").args(["init", "--quiet"]).arg(&repository));
        let mut commit = std::process::Command::new("git");
        commit.arg("-C").arg(&repository).args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
        ]);
        run(commit.args(["commit", "--quiet", "--allow-empty", "-m", "first"]));
        (repository, template, ran)
    }

    #[tokio::test]
    #[cfg(unix)]
    async fn no_hook_runs_whatever_the_user_has_configured() {
        let dir = tempfile::tempdir().unwrap();
        let (repository, template, ran) = repository_and_hook(dir.path());
        let configured = [
            ("GIT_CONFIG_COUNT", Path::new("1")),
            ("GIT_CONFIG_KEY_0", Path::new("init.templateDir")),
            ("GIT_CONFIG_VALUE_0", &template),
        ];
        // The control: the hook runs in a plain clone.
        let mut plain = std::process::Command::new("git");
        run(plain
            .args(["clone", "--quiet"])
            .args([&repository, &dir.path().join("c")])
            .envs(configured));
        assert!(ran.exists());
        fs::remove_file(&ran).unwrap();

        let url = GitUrl::of_directory(&repository).unwrap();
        let target = dir.path().join("d");
        let status = url.command(&target).envs(configured).status().await.unwrap();
        assert!(status.success() && target.join(".git").is_dir());
        assert!(!ran.exists());
    }

    #[tokio::test]
    async fn a_protocol_that_slipped_through_is_refused_by_git_too() {
        let dir = tempfile::tempdir().unwrap();
        let slipped = GitUrl(Url::parse("http://127.0.0.1:9/x.git").unwrap());
        let output = slipped.command(&dir.path().join("d")).output().await.unwrap();
        let said = slipped.said(&output.stderr);
        assert!(said.contains("transport 'http' not allowed"), "{said}");
    }

    #[test]
    fn what_git_says_has_no_login_in_it() {
        let url = GitUrl::parse("https://user:s3cret@host.example/a.git").unwrap();
        let said =
            url.said(b"fatal: 'https://user:s3cret@host.example/a.git': \x1b[31ms3cret\n\nno\n");
        assert_eq!(said, "fatal: 'https://host.example/a.git': [31m…; no");
    }
}
