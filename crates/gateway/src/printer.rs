//! The one place that writes to the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use narrows_model::OutputStream;
use serde::Serialize;

/// Writes what commands have to say. A reader that goes away is no error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Printer;

impl Printer {
    /// A line of a command's result.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        let mut stdout = io::stdout().lock();
        let _ = writeln!(stdout, "{}", text.as_ref());
    }

    /// A result for other programs.
    pub(crate) fn json(self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.line(text),
            Err(error) => self.error(format!("the result cannot be shown as JSON: {error}")),
        }
    }

    /// What a program printed, as it comes.
    pub(crate) fn output(self, stream: OutputStream, text: &str) {
        match stream {
            OutputStream::Stdout => Self::write(io::stdout().lock(), text),
            OutputStream::Stderr => Self::write(io::stderr().lock(), text),
        }
    }

    /// A file as it is. Unlike with text, it matters whether all of it arrived.
    pub(crate) fn bytes(self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// Something beside the result that the user should know.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        self.aside("note", "2", text.as_ref());
    }

    pub(crate) fn error(self, text: impl AsRef<str>) {
        self.aside("error", "1;31", text.as_ref());
    }

    /// Asks whoever is at the terminal; `None` if nobody is.
    pub(crate) fn ask(self, question: &str) -> io::Result<Option<bool>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        // Held from the question to its answer, which so is not taken for that of another one.
        // Standard error is free meanwhile: whoever is interrupted still has something to say.
        let mut stdin = io::stdin().lock();
        let mut stderr = io::stderr();
        write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush())?;
        let mut answer = String::new();
        stdin.read_line(&mut answer)?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }

    fn aside(self, label: &str, style: &str, text: &str) {
        let mut stderr = io::stderr().lock();
        let _ = if stderr.is_terminal() {
            writeln!(stderr, "\x1b[{style}m{label}:\x1b[0m {text}")
        } else {
            writeln!(stderr, "{label}: {text}")
        };
    }

    fn write(mut stream: impl Write, text: &str) {
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.flush();
    }
}
