//! Logs of what servers printed and what went wrong with them, in a file for each, for a person to read
//! later. The lines come without the secrets of the configuration: a
//! [`ServerHistory`](super::server_history::ServerHistory) writes them. What else looks like a secret
//! or personal data is not written either.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use chrono::{SecondsFormat, Utc};
use narrows_pii::Scanner;
use narrows_system::private_file;
use serde::Serialize;

/// A log is rotated when it has this size, and the one before it is deleted: a server that prints
/// without end would fill the disk.
const MAX_BYTES: u64 = 512 << 10;

/// How many lines of a server are kept within [`LINES_TIME`]. One that prints all the time would write
/// to the disk all the time.
const MAX_LINES: u32 = 2000;
const LINES_TIME: Duration = Duration::from_secs(10);

/// The writer of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    /// The gateway: that the server started, and what went wrong.
    Narrows,
    Stdout,
    Stderr,
}

impl LogSource {
    const ALL: [Self; 3] = [Self::Narrows, Self::Stdout, Self::Stderr];

    fn word(self) -> &'static str {
        match self {
            Self::Narrows => "narrows",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// When it was written, in RFC 3339.
    pub time: String,
    pub source: LogSource,
    pub text: String,
}

impl std::fmt::Display for LogLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:7} {}", self.time, self.source.word(), self.text)
    }
}

impl LogLine {
    fn parse(line: &str) -> Option<Self> {
        let (time, rest) = line.split_once(' ')?;
        let source = LogSource::ALL.into_iter().find(|source| rest.starts_with(source.word()))?;
        let text = rest.get(8..).unwrap_or_default().to_owned();
        Some(Self { time: time.to_owned(), source, text })
    }
}

/// The directory of all logs.
#[derive(Clone, Debug)]
pub struct ServerLogs(Option<(PathBuf, Arc<Scanner>)>);

impl ServerLogs {
    /// Keeps logs in a directory, and hides in them what the scanner finds.
    pub fn new(directory: PathBuf, scanner: Scanner) -> Self {
        Self(Some((directory, Arc::new(scanner))))
    }

    /// Keeps nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns the log file of a server. Names of servers are valid names of files.
    pub fn path(&self, server: &str) -> Option<PathBuf> {
        self.0.as_ref().map(|(directory, _)| directory.join(format!("{server}.log")))
    }

    /// Returns the last lines of a server's log, the oldest first.
    pub fn last_lines(&self, server: &str, count: usize) -> io::Result<Vec<LogLine>> {
        let mut lines = Vec::new();
        let Some(path) = self.path(server) else { return Ok(lines) };
        for path in [aside(&path), path] {
            match File::open(&path) {
                Ok(file) => lines.extend(read_lines(file)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        lines.drain(..lines.len().saturating_sub(count));
        Ok(lines)
    }

    /// Returns a reader of what is added to a server's log from now on.
    pub fn follow(&self, server: &str) -> LogFollower {
        let path = self.path(server).unwrap_or_default();
        let at = fs::metadata(&path).map_or(0, |found| found.len());
        LogFollower { path, at }
    }

    pub(crate) fn of(&self, server: &str) -> ServerLog {
        let writer = self.path(server).zip(self.0.as_ref()).map(|(path, (_, scanner))| {
            let allowance = LineBudget { since: Instant::now(), lines: 0, left_out: 0 };
            let scanner = Arc::clone(scanner);
            Arc::new(Mutex::new(Writer { path, file: None, allowance, scanner }))
        });
        ServerLog(writer)
    }
}

/// A reader of what is added to a log.
#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    at: u64,
}

impl LogFollower {
    /// Returns the lines that were added since the last time.
    pub fn new_lines(&mut self) -> io::Result<Vec<LogLine>> {
        use io::Seek;
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut lines = Vec::new();
        if file.metadata()?.len() < self.at {
            // The log was rotated meanwhile; the rest of the old one comes first.
            if let Ok(mut before) = File::open(aside(&self.path)) {
                before.seek(io::SeekFrom::Start(self.at))?;
                lines = read_lines(before)?;
            }
            self.at = 0;
        }
        file.seek(io::SeekFrom::Start(self.at))?;
        let mut text = Vec::new();
        file.take(MAX_BYTES * 2).read_to_end(&mut text)?;
        // A line that is being written is left for the next time.
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.at += end as u64;
        lines.extend(String::from_utf8_lossy(&text[..end]).lines().filter_map(LogLine::parse));
        Ok(lines)
    }
}

fn read_lines(file: File) -> io::Result<Vec<LogLine>> {
    let mut text = Vec::new();
    file.take(MAX_BYTES * 2).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(LogLine::parse).collect())
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// The log of one server, or none. If it cannot be written only its reader misses it: nothing else
/// stops for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerLog(Option<Arc<Mutex<Writer>>>);

#[derive(Debug)]
struct Writer {
    path: PathBuf,
    file: Option<File>,
    allowance: LineBudget,
    scanner: Arc<Scanner>,
}

/// How many lines may still be written.
#[derive(Debug)]
struct LineBudget {
    since: Instant,
    lines: u32,
    left_out: u64,
}

impl LineBudget {
    /// Takes one line, if one is left, and returns how many were left out before it.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let mut left_out = 0;
        if now.saturating_duration_since(self.since) >= LINES_TIME {
            left_out = self.left_out;
            *self = Self { since: now, lines: 0, left_out: 0 };
        }
        self.lines += 1;
        if self.lines > MAX_LINES {
            self.left_out += 1;
            return None;
        }
        Some(left_out)
    }
}

impl ServerLog {
    pub(crate) fn write(&self, source: LogSource, text: &str) {
        let Some(writer) = &self.0 else { return };
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let time = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
        let line = |source, text: &str| {
            let line = LogLine { time: time.clone(), source, text: text.to_owned() };
            format!("{line}\n")
        };
        let mut lines = String::new();
        if source != LogSource::Narrows {
            match writer.allowance.take(Instant::now()) {
                None => return,
                Some(0) => {}
                Some(left_out) => {
                    let text = format!("{left_out} lines of it were left out");
                    lines += &line(LogSource::Narrows, &text);
                }
            }
        }
        let text = hidden(&writer.scanner, text);
        lines.extend(text.lines().map(|text| line(source, text)));
        if writer.write(&lines).is_err() {
            writer.file = None;
        }
    }
}

impl Writer {
    /// Writes lines in one piece, so that those of several gateways do not mix.
    fn write(&mut self, lines: &str) -> io::Result<()> {
        let is_full = |file: &File| file.metadata().is_ok_and(|found| found.len() >= MAX_BYTES);
        if self.file.as_ref().is_none_or(is_full) {
            let mut file = open(&self.path)?;
            if is_full(&file) {
                fs::rename(&self.path, aside(&self.path))?;
                file = open(&self.path)?;
            }
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(lines.as_bytes()),
            None => Ok(()),
        }
    }
}

/// Replaces what the scanner finds in a text by the name of its kind.
fn hidden(scanner: &Scanner, text: &str) -> String {
    let (mut shown, mut at) = (String::with_capacity(text.len()), 0);
    for found in scanner.find(text, None) {
        shown.push_str(&text[at..found.range.start]);
        shown.push_str(&format!("[{}]", found.kind.as_str()));
        at = found.range.end;
    }
    shown.push_str(&text[at..]);
    shown
}

/// Opens a file that only its owner may read: what servers print is for nobody else.
fn open(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        private_file::make_dir(directory)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs_in(directory: PathBuf) -> ServerLogs {
        ServerLogs::new(directory, Scanner::new(&Default::default()).unwrap())
    }

    fn texts(lines: &[LogLine]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn lines_are_kept_in_a_private_file_and_the_last_are_read() {
        let home = tempfile::tempdir().unwrap();
        let logs = logs_in(home.path().join("logs"));
        assert_eq!(logs.last_lines("s", 10).unwrap(), []);
        let log = logs.of("s");
        log.write(LogSource::Narrows, "started");
        log.write(LogSource::Stderr, "  two\nlines");
        let lines = logs.last_lines("s", 2).unwrap();
        assert_eq!(texts(&lines), ["  two", "lines"]);
        assert_eq!(lines[1].source, LogSource::Stderr);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(logs.path("s").unwrap()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_server_that_prints_without_end_does_not_fill_the_disk() {
        let home = tempfile::tempdir().unwrap();
        let logs = logs_in(home.path().to_owned());
        // Two gateways at the same time.
        let both = [logs.of("s"), logs.of("s")];
        let mut follower = logs.follow("s");
        let (mut seen, text) = (0, "x".repeat(1000));
        for number in 0..3000 {
            both[number % 2].write(LogSource::Stdout, &format!("{number} {text}"));
            if number % 100 == 0 {
                seen += follower.new_lines().unwrap().len();
            }
        }
        seen += follower.new_lines().unwrap().len();
        assert_eq!(seen, 3000, "whoever follows misses none");
        let files = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap());
        let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
        assert!(bytes < 3 * MAX_BYTES, "{bytes}");
        let last = logs.last_lines("s", 1).unwrap();
        assert!(last[0].text.starts_with("2999 x"), "{last:?}");
    }

    #[test]
    fn lines_that_come_too_fast_are_counted_instead() {
        let start = Instant::now();
        let mut allowance = LineBudget { since: start, lines: 0, left_out: 0 };
        let taken = (0..MAX_LINES + 7).filter_map(|_| allowance.take(start)).count();
        assert_eq!(taken, MAX_LINES as usize);
        assert_eq!(allowance.take(start + LINES_TIME), Some(7));
        assert_eq!(allowance.take(start + LINES_TIME), Some(0));
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nobody() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        logs_in(file).of("s").write(LogSource::Stderr, "lost");
    }

    #[test]
    fn personal_data_and_secrets_that_nobody_configured_are_not_written() {
        let home = tempfile::tempdir().unwrap();
        let logs = logs_in(home.path().to_owned());
        logs.of("s").write(LogSource::Stderr, "looked up ada@example.com for you");
        let lines = logs.last_lines("s", 1).unwrap();
        assert_eq!(texts(&lines), ["looked up [EMAIL] for you"]);
    }
}
