//! The one place that writes to the terminal.
//!
//! | file | subject |
//! |---|---|
//! | `color` | whether output is coloured, and what colours mean |
//! | `escape` | makes visible what a terminal would obey |
//! | `table` | columns on a terminal, fields elsewhere |

mod color;
mod escape;
mod table;

use std::{
    borrow::Cow,
    io::{self, BufRead, IsTerminal, Write},
    sync::{Mutex, PoisonError},
};

use clap::builder::StyledStr;
use narrows_model::OutputStream;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use escape::{Notation, escaped, escaped_but_colors, is_visible};
use table::Layout;

pub(crate) use color::{ColorWhen, Style};
pub(crate) use table::{Cell, Column, Table};

/// The output of commands. On a terminal, control characters in text from outside are made visible
/// instead of obeyed; elsewhere output has no colour and is the same every time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    stdout: Stream,
    stderr: Stream,
    /// Cancelled when the reader of standard output has gone away, after which nothing more is written.
    closed: &'static CancellationToken,
    /// The state of the terminal's current line.
    line: &'static Mutex<TerminalLine>,
}

/// The state of the line in which the terminal's cursor is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TerminalLine {
    #[default]
    Empty,
    /// The line has text that must stay.
    Begun,
    /// The line has a status, which other text replaces.
    Status,
}

impl TerminalLine {
    const ERASE: &str = "\r\x1b[2K";

    /// Makes room for a text. Returns whether there is a status to be erased.
    fn give_way(&mut self, text: &[u8]) -> bool {
        let had_status = *self == Self::Status;
        *self = if text.ends_with(b"\n") { Self::Empty } else { Self::Begun };
        had_status
    }

    /// Shows or removes a status. Returns whether anything changes: text that was begun stays.
    fn set_status(&mut self, is_there: bool) -> bool {
        let changes = match *self {
            Self::Begun => false,
            Self::Empty => is_there,
            Self::Status => true,
        };
        if changes {
            *self = if is_there { Self::Status } else { Self::Empty };
        }
        changes
    }
}

/// The properties of a standard stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    is_terminal: bool,
    is_colored: bool,
}

impl Stream {
    fn new(is_terminal: bool, color: ColorWhen) -> Self {
        let is_colored = color.decide(is_terminal, |name| std::env::var(name).ok());
        Self { is_terminal, is_colored }
    }

    /// Returns text from outside as it can be written to this stream.
    fn visible<'t>(&self, text: &'t str, notation: Notation) -> Cow<'t, str> {
        if self.is_terminal { escaped(text, notation) } else { Cow::Borrowed(text) }
    }
}

impl Printer {
    pub(crate) fn new(color: ColorWhen) -> Self {
        Self {
            stdout: Stream::new(io::stdout().is_terminal(), color),
            stderr: Stream::new(io::stderr().is_terminal(), color),
            // One for each process, which so can be copied to wherever something is printed.
            closed: Box::leak(Box::default()),
            line: Box::leak(Box::default()),
        }
    }

    /// Tells whether standard output is a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        self.stdout.is_terminal
    }

    /// Tells whether standard error is coloured.
    pub(crate) fn colors_errors(self) -> bool {
        self.stderr.is_colored
    }

    /// Tells whether nobody reads standard output any more, as after `| head -1`.
    pub(crate) fn is_closed(self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits until nobody reads standard output any more.
    pub(crate) async fn closed(self) {
        self.closed.cancelled().await;
    }

    /// Writes a line of a command's result.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        self.write(&format!("{}\n", self.stdout.visible(text.as_ref(), Notation::Text)));
    }

    /// Writes a line whose parts have styles.
    pub(crate) fn spans(self, spans: &[(Style, &str)]) {
        let mut line = String::new();
        for (style, text) in spans {
            let text = self.stdout.visible(text, Notation::Text);
            style.paint(&text, self.stdout.is_colored, &mut line);
        }
        line.push('\n');
        self.write(&line);
    }

    /// Writes help of the command line, which has its own styles.
    pub(crate) fn help(self, text: &StyledStr) {
        let text = if self.stdout.is_colored { text.ansi().to_string() } else { text.to_string() };
        self.write(&format!("{}\n", text.trim_end()));
    }

    /// Writes a table: aligned columns on a terminal, elsewhere fields with tabs between them.
    pub(crate) fn table(self, table: &Table) {
        match self.stdout {
            Stream { is_terminal: false, is_colored: false } => {
                self.rows(table, Layout::Fields);
            }
            _ => self.report(table),
        }
    }

    /// Writes a table that is part of a report, with aligned columns and its head everywhere.
    pub(crate) fn report(self, table: &Table) {
        let Stream { is_terminal, is_colored } = self.stdout;
        self.rows(table, Layout::Aligned { width: terminal_width(is_terminal), is_colored });
    }

    fn rows(self, table: &Table, layout: Layout) {
        let lines: String = table.lines(layout).iter().map(|line| format!("{line}\n")).collect();
        self.write(&lines);
    }

    /// Writes a result for other programs.
    pub(crate) fn json(self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.write(&format!("{}\n", self.stdout.visible(&text, Notation::Json))),
            Err(error) => self.error(format!("the result cannot be shown as JSON: {error}")),
        }
    }

    /// Writes output of a program as it arrives.
    pub(crate) fn output(self, stream: OutputStream, text: &str) {
        match stream {
            OutputStream::Stdout => self.write(&self.stdout.visible(text, Notation::Text)),
            OutputStream::Stderr => {
                let text = self.stderr.visible(text, Notation::Text);
                let _ = self.put(self.stderr, io::stderr(), text.as_bytes());
            }
        }
    }

    /// Writes a file unchanged, or what a terminal can show of it. Unlike [`Self::line`], it reports
    /// whether all of it was written.
    pub(crate) fn bytes(self, bytes: &[u8]) -> io::Result<()> {
        if !self.stdout.is_terminal {
            return self.write_all(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.write_all(escaped(&text, Notation::Text).as_bytes())
    }

    /// Replaces the status line, or removes it. Does nothing where somebody has begun a line, which
    /// would be lost. For terminals only.
    pub(crate) fn status(self, text: Option<&str>) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.set_status(text.is_some()) {
            return;
        }
        let text = escaped(text.unwrap_or_default(), Notation::Text);
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "{}{text}", TerminalLine::ERASE).and_then(|()| stderr.flush());
    }

    /// Writes to a stream, and keeps track of the line if it is a terminal.
    fn put(self, stream: Stream, mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
        // What waits for a reader elsewhere must not have the terminal wait.
        let mut line =
            stream.is_terminal.then(|| self.line.lock().unwrap_or_else(PoisonError::into_inner));
        let line = line.as_mut().filter(|_| !bytes.is_empty());
        if line.is_some_and(|line| line.give_way(bytes)) {
            let _ = io::stderr().write_all(TerminalLine::ERASE.as_bytes());
        }
        out.write_all(bytes).and_then(|()| out.flush())
    }

    /// Writes a question and reads its answer, whose line break ends the terminal's line.
    fn answer_to(self, question: &str) -> io::Result<String> {
        // Held from the question to its answer, which so is not taken for that of another one.
        // Standard error is free meanwhile: whoever is interrupted still has something to say.
        let mut stdin = io::stdin().lock();
        let question = self.stderr.visible(question, Notation::Text);
        self.put(self.stderr, io::stderr(), question.as_bytes())?;
        let mut answer = String::new();
        stdin.read_line(&mut answer)?;
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = TerminalLine::Empty;
        Ok(answer)
    }

    /// Writes a line of the log, which has its colours already.
    pub(crate) fn log(self, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        let text = match self.stderr {
            Stream { is_terminal: false, .. } => text,
            Stream { is_colored: true, .. } => escaped_but_colors(&text).into(),
            Stream { is_colored: false, .. } => escaped(&text, Notation::Text).into_owned().into(),
        };
        self.put(self.stderr, io::stderr(), text.as_bytes())
    }

    /// Tells whether a text can be written to standard error unchanged.
    pub(crate) fn is_plain(self, text: &str) -> bool {
        !self.stderr.is_terminal || is_visible(text)
    }

    /// Writes a note beside the result to standard error.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        self.aside("note", Style::Dim, text.as_ref());
    }

    pub(crate) fn error(self, text: impl AsRef<str>) {
        self.aside("error", Style::Bad, text.as_ref());
    }

    /// Asks the person at the terminal a yes or no question; `None` if standard input is not a terminal.
    pub(crate) fn ask(self, question: &str) -> io::Result<Option<bool>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let answer = self.answer_to(&format!("{question} [y/N] "))?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }

    /// Asks the person at the terminal for one of these words; `None` without a terminal, or if the
    /// answer is another word. The first letter suffices, and yes stands for the first word.
    pub(crate) fn choose<'w>(
        self,
        question: &str,
        words: &'w [String],
    ) -> io::Result<Option<&'w str>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let listed = words.iter().map(|word| {
            let (first, rest) = word.split_at(word.floor_char_boundary(1));
            format!("[{first}]{rest}")
        });
        let listed = listed.collect::<Vec<_>>().join(", ");
        let answer = self.answer_to(&format!("{question}\n{listed}: "))?;
        let answer = answer.trim().to_lowercase();
        let is_meant =
            |word: &&String| **word == answer || answer.len() == 1 && word.starts_with(&answer);
        Ok(match answer.as_str() {
            "y" | "yes" => words.first(),
            _ => words.iter().find(is_meant),
        }
        .map(String::as_str))
    }

    fn aside(self, label: &str, style: Style, text: &str) {
        // A reader that has gone away needs no further messages.
        if self.is_closed() {
            return;
        }
        let mut line = String::new();
        style.paint(&format!("{label}:"), self.stderr.is_colored, &mut line);
        let text = self.stderr.visible(text, Notation::Text);
        let _ = self.put(self.stderr, io::stderr(), format!("{line} {text}\n").as_bytes());
    }

    /// Writes text to standard output. Errors are ignored: there is nobody to tell.
    fn write(self, text: &str) {
        let _ = self.write_all(text.as_bytes());
    }

    /// Writes to standard output. A reader that goes away is not an error: it has what it wants.
    fn write_all(self, bytes: &[u8]) -> io::Result<()> {
        if self.is_closed() {
            return Ok(());
        }
        match self.put(self.stdout, io::stdout(), bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.cancel();
                Ok(())
            }
            written => written,
        }
    }
}

/// Returns the width of standard output in columns: from COLUMNS, or from the terminal itself.
fn terminal_width(is_terminal: bool) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = said.or_else(|| window_width().filter(|_| is_terminal));
    width.filter(|width| *width > 0)
}

#[cfg(unix)]
fn window_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn window_width() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_gives_way_to_all_else_and_takes_no_line_that_was_begun() {
        let mut line = TerminalLine::default();
        assert!(!line.set_status(false), "there is none to take back");
        assert!(line.set_status(true) && line.set_status(true));
        assert!(line.give_way(b"what a program prints\n"));
        assert!(!line.give_way(b"half a line"));
        assert!(!line.set_status(true) && !line.set_status(false));
        assert!(!line.give_way(b"the rest\n"));
        assert!(line.set_status(true) && line.set_status(false));
        assert_eq!(line, TerminalLine::Empty);
    }
}
