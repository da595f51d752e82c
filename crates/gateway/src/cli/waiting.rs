//! A status line that tells the person at the terminal what a command waits for.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use narrows_engine::broker::Broker;
use narrows_upstream::Health;

use crate::printer::Printer;

/// How long a wait stays silent.
const QUIET_TIME: Duration = Duration::from_millis(400);
/// How often the line is updated.
const INTERVAL: Duration = Duration::from_millis(200);
/// The most names that the line lists.
const MAX_NAMES: usize = 3;
/// The longest line. Terminals would wrap a longer one, which then could not be erased.
const MAX_LETTERS: usize = 78;

/// A line on standard error that is erased when there is nothing left to wait for. Nothing is written if
/// standard error is not a terminal.
#[derive(Debug)]
pub(crate) struct WaitingLine<'a> {
    awaited: Awaited<'a>,
    /// Since when there is something to wait for.
    since: Option<Instant>,
    printer: Printer,
    is_terminal: bool,
    shown: Option<String>,
}

/// The servers that are waited for.
#[derive(Debug)]
enum Awaited<'a> {
    Names(Vec<String>),
    /// All servers that are just starting, because something needs them.
    Starts(&'a Broker),
}

impl<'a> WaitingLine<'a> {
    pub(crate) fn new(names: &[String], printer: Printer) -> Self {
        Self::of(Awaited::Names(names.to_vec()), Some(Instant::now()), printer)
    }

    /// Makes the line for work that starts servers when it needs them.
    pub(crate) fn for_servers(broker: &'a Broker, printer: Printer) -> Self {
        Self::of(Awaited::Starts(broker), None, printer)
    }

    fn of(awaited: Awaited<'a>, since: Option<Instant>, printer: Printer) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { awaited, since, printer, is_terminal, shown: None }
    }

    /// Shows the line while the work takes long, and erases it when the work is done.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    self.clear();
                    return done;
                }
                () = tokio::time::sleep(INTERVAL), if self.is_terminal => self.show(),
            }
        }
    }

    /// Removes a name from those that are waited for.
    pub(crate) fn is_done(&mut self, name: &str) {
        if let Awaited::Names(names) = &mut self.awaited {
            names.retain(|other| other != name);
        }
    }

    fn show(&mut self) {
        let starting;
        let names = match &self.awaited {
            Awaited::Names(names) => names,
            Awaited::Starts(broker) => {
                starting = starting_servers(broker);
                &starting
            }
        };
        if names.is_empty() {
            self.since = None;
            return self.clear();
        }
        let elapsed = self.since.get_or_insert_with(Instant::now).elapsed();
        let line = Some(line(names, elapsed)).filter(|_| elapsed >= QUIET_TIME);
        if line.is_some() && line != self.shown {
            self.printer.status(line.as_deref());
            self.shown = line;
        }
    }

    fn clear(&mut self) {
        if self.shown.take().is_some() {
            self.printer.status(None);
        }
    }
}

/// Erases the line, also when the command is given up.
impl Drop for WaitingLine<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn starting_servers(broker: &Broker) -> Vec<String> {
    let statuses = broker.fleet().statuses().into_iter();
    let starting = statuses.filter(|status| status.health == Health::Starting);
    starting.map(|status| status.server).collect()
}

fn line(names: &[String], elapsed: Duration) -> String {
    let shown = names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let line = format!("waiting for {shown}{more} ({} s)", elapsed.as_secs());
    match line.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(names: &[&str], seconds: u64) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        line(&names, Duration::from_secs(seconds))
    }

    #[test]
    fn what_is_waited_for_is_named_in_one_line() {
        assert_eq!(line_of(&["a", "b"], 7), "waiting for a, b (7 s)");
        assert_eq!(line_of(&["a", "b", "c", "d", "e"], 7), "waiting for a, b, c and 2 more (7 s)");
        let long = "n".repeat(64);
        let line = line_of(&[&long, &long], 7);
        assert_eq!(line.chars().count(), MAX_LETTERS + 1, "{line}");
    }
}
