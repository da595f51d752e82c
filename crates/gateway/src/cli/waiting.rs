//! Says what a command waits for, to whoever sits before the terminal.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use crate::printer::Printer;

/// What takes less is not worth a word.
const QUIET_TIME: Duration = Duration::from_millis(400);
const INTERVAL: Duration = Duration::from_secs(1);
/// How many names are told.
const MAX_NAMES: usize = 3;
/// A longer line would be broken by terminals, and could not be taken back.
const MAX_LETTERS: usize = 78;

/// A line on standard error that is taken back when there is nothing to wait for. Where standard
/// error is no terminal, nothing is written.
#[derive(Debug)]
pub(crate) struct Waiting {
    names: Vec<String>,
    since: Instant,
    printer: Printer,
    is_terminal: bool,
    is_shown: bool,
}

impl Waiting {
    pub(crate) fn new(names: &[String], printer: Printer) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { names: names.to_vec(), since: Instant::now(), printer, is_terminal, is_shown: false }
    }

    /// Shows the line while something takes long, and takes it back before that is told.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        let mut pause = QUIET_TIME;
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    self.clear();
                    return done;
                }
                () = tokio::time::sleep(pause), if self.is_terminal => self.show(),
            }
            pause = INTERVAL;
        }
    }

    /// It is not waited for this one any more.
    pub(crate) fn is_done(&mut self, name: &str) {
        self.names.retain(|other| other != name);
    }

    fn show(&mut self) {
        if let Some(line) = line(&self.names, self.since.elapsed()) {
            self.is_shown = true;
            self.printer.status(Some(&line));
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            self.printer.status(None);
        }
    }
}

/// A command that is given up leaves no half line.
impl Drop for Waiting {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(names: &[String], elapsed: Duration) -> Option<String> {
    let shown = names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if names.is_empty() {
        return None;
    }
    let line = format!("waiting for {shown}{more} ({} s)", elapsed.as_secs());
    Some(match line.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(names: &[&str], seconds: u64) -> Option<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        line(&names, Duration::from_secs(seconds))
    }

    #[test]
    fn what_is_waited_for_is_named_in_one_line() {
        assert_eq!(line_of(&["a", "b"], 7).unwrap(), "waiting for a, b (7 s)");
        assert_eq!(
            line_of(&["a", "b", "c", "d", "e"], 7).unwrap(),
            "waiting for a, b, c and 2 more (7 s)"
        );
        assert_eq!(line_of(&[], 7), None);
        let long = "n".repeat(64);
        let line = line_of(&[&long, &long], 7).unwrap();
        assert_eq!(line.chars().count(), MAX_LETTERS + 1, "{line}");
    }
}
