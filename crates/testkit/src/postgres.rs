//! A PostgreSQL server of the tests' own, on a Unix socket in a directory of its own.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::chown,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::skip;

/// PostgreSQL refuses to run as root; Debian's package makes this user for it.
const USER: &str = "postgres";

const PATIENCE: Duration = Duration::from_secs(60);

/// The script that makes the server, then starts and stops it as it is told. It sees its input end
/// however the test process ends, also by SIGKILL; then it ends the server and removes the directory.
///
/// Its arguments are the directory, where the programs are, and how to become the server's user.
/// Nobody needs a password but `locked`, for tests of passwords.
const KEEPER: &str = r#"
trap '' INT TERM HUP
directory=$1 programs=$2 data=$1/data; shift 2
exec 2>"$directory/log"
start() {
    "$@" "$programs/postgres" -D "$data" -k "$directory" -h '' \
        -c fsync=off -c max_connections=200 >&2 & server=$!
}
stop() {
    # Once is not enough: a server that is just starting does not hear it.
    while kill -QUIT "$server"; do sleep 0.1; done &
    wait "$server"
}
"$@" "$programs/initdb" -U postgres -E UTF8 --locale C --no-sync -D "$data" >&2 </dev/null
printf 'local all locked scram-sha-256\nlocal all all trust\n' >"$data/pg_hba.conf"
start "$@"
while read -r order; do
    case $order in start) start "$@" ;; stop) stop ;; esac
    echo done
done
stop
rm -rf "$directory"
"#;

/// A running server. It ends when this is dropped, or when the process ends.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    directory: PathBuf,
    keeper: Child,
    answers: BufReader<std::process::ChildStdout>,
    databases: AtomicUsize,
}

impl Postgres {
    /// Returns the server that all tests of this process share. If there is no PostgreSQL, the
    /// current test is skipped.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        let programs = programs_or_skip()?;
        Some(SHARED.get_or_init(|| Self::start_with(programs)))
    }

    /// Starts a server for one test, which may stop it. If there is no PostgreSQL, the current test
    /// is skipped.
    pub fn start() -> Option<Self> {
        programs_or_skip().map(Self::start_with)
    }

    /// Tells whether there is no PostgreSQL, and skips the current test if so. For tests that start
    /// the server in another thread than their own, where nobody knows their name.
    pub fn is_missing() -> bool {
        programs_or_skip().is_none()
    }

    fn start_with(programs: PathBuf) -> Self {
        let directory = tempfile::Builder::new().prefix("pg").tempdir().unwrap().keep();
        let owner = owner();
        if let Some((user, group)) = owner {
            chown(&directory, Some(user), Some(group)).unwrap();
        }
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .args([&directory, &programs])
            .args(becoming(owner))
            .current_dir(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(keeper.stdout.take().unwrap());
        let databases = AtomicUsize::new(0);
        let server = Self { programs, directory, keeper, answers, databases };
        server.wait();
        server
    }

    /// Creates a new, empty database and returns its URL.
    pub fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("postgres", &format!("CREATE DATABASE {name}")).unwrap();
        self.url(USER, &name)
    }

    /// Returns the URL of a database for a user. `user:password` is a user too.
    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@localhost/{database}?host={}", self.directory.display())
    }

    /// Runs SQL by the server's own client, and returns what it prints.
    pub fn run(&self, database: &str, sql: &str) -> Result<String, String> {
        let output = Command::new(self.programs.join("psql"))
            .args(["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", database])
            .arg("-h")
            .arg(&self.directory)
            .args(["-c", sql])
            .output()
            .unwrap();
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Ends the server as a crash would.
    pub fn stop(&mut self) {
        self.order("stop");
    }

    /// Starts the server again after that, with what it has on disk.
    pub fn start_again(&mut self) {
        self.order("start");
        self.wait();
    }

    fn order(&mut self, order: &str) {
        let mut orders = self.keeper.stdin.as_ref().unwrap();
        writeln!(orders, "{order}").unwrap();
        self.answers.read_line(&mut String::new()).unwrap();
    }

    /// Waits until the server answers.
    fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = self.run("postgres", "SELECT 1") {
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "PostgreSQL does not start: {error}\n{}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // It has done its work, or was ended with us.
        let _ = self.keeper.wait();
    }
}

fn programs_or_skip() -> Option<PathBuf> {
    let found = programs();
    if found.is_none() {
        skip("the server of PostgreSQL", "install it (Debian: the package postgresql)");
    }
    found
}

/// Returns where the programs of the newest PostgreSQL are.
fn programs() -> Option<PathBuf> {
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|entry| entry.path()).max_by_key(version);
    let asked = || {
        let output = Command::new("pg_config").arg("--bindir").output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    };
    let is_there = |programs: &PathBuf| programs.join("initdb").exists();
    newest.map(|version| version.join("bin")).filter(is_there).or_else(asked).filter(is_there)
}

/// Returns the user and group that the server runs as, if they are not ours.
fn owner() -> Option<(u32, u32)> {
    let id = |args: &[&str]| {
        let output = Command::new("id").args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        said.trim().parse().unwrap_or_else(|_| panic!("there is no user {USER}"))
    };
    (id(&["-u"]) == 0).then(|| (id(&["-u", USER]), id(&["-g", USER])))
}

/// Returns what has to stand before a program so that it runs as the user.
fn becoming(owner: Option<(u32, u32)>) -> Vec<String> {
    let Some((user, group)) = owner else { return Vec::new() };
    let [user, group] = [format!("--reuid={user}"), format!("--regid={group}")];
    vec!["setpriv".to_owned(), user, group, "--clear-groups".to_owned()]
}
