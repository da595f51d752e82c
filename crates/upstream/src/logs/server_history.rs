//! What went wrong with a server lately, in bounded memory and without its secrets.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use narrows_model::cut;

use crate::logs::{
    redact::Redactor,
    server_log::{LogSource, ServerLog},
};

const MAX_LINES: usize = 40;
const MAX_LINE_LEN: usize = 500;

/// The latest output and the last problem of one run of a server. Clones share their entries.
#[derive(Clone, Debug)]
pub(crate) struct ServerHistory(Arc<HistoryInner>);

#[derive(Debug)]
struct HistoryInner {
    redactor: Redactor,
    log: ServerLog,
    pages: Mutex<RecentEntries>,
}

#[derive(Debug, Default)]
struct RecentEntries {
    /// The last lines that it printed, on standard error and, where they are not messages, on standard
    /// output.
    printed: VecDeque<String>,
    problem: Option<String>,
    noisy_lines: u64,
}

impl ServerHistory {
    pub(crate) fn new(redactor: Redactor, log: ServerLog) -> Self {
        Self(Arc::new(HistoryInner { redactor, log, pages: Mutex::default() }))
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, RecentEntries> {
        self.0.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a line that the child wrote to its standard error.
    pub(crate) fn stderr(&self, line: &str) {
        self.printed(LogSource::Stderr, line);
    }

    /// Keeps a line on standard output that is no message.
    pub(crate) fn noise(&self, start: &str) {
        self.printed(LogSource::Stdout, start);
        let count = {
            let mut pages = self.pages();
            pages.noisy_lines += 1;
            pages.noisy_lines
        };
        if count == 1 {
            self.problem(format!("it prints what is no JSON-RPC on its standard output: {start}"));
        }
    }

    fn printed(&self, source: LogSource, line: &str) {
        let line = self.clean(line);
        if line.is_empty() {
            return;
        }
        self.0.log.write(source, &line);
        let mut pages = self.pages();
        if pages.printed.len() == MAX_LINES {
            pages.printed.pop_front();
        }
        pages.printed.push_back(line);
    }

    /// Writes an event of the server's life into its log.
    pub(crate) fn event(&self, text: &str) {
        self.0.log.write(LogSource::Narrows, &self.clean(text));
    }

    /// Records a problem, which the server's status shows.
    pub(crate) fn problem(&self, problem: String) {
        let problem = self.clean(&problem);
        self.pages().problem = Some(problem);
    }

    pub(crate) fn last_problem(&self) -> Option<String> {
        self.pages().problem.clone()
    }

    /// Returns the last lines that the server printed, for a person.
    pub(crate) fn last_stderr(&self) -> Option<String> {
        let pages = self.pages();
        let words: Vec<&str> = pages.printed.iter().rev().take(5).map(String::as_str).collect();
        let words: Vec<&str> = words.into_iter().rev().collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    /// Removes secrets and control characters, and cuts what is too long.
    pub(crate) fn clean(&self, text: &str) -> String {
        let text: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
        let text = self.0.redactor.hide(text.trim());
        if text.len() > MAX_LINE_LEN {
            format!("{}…", cut::head(&text, MAX_LINE_LEN))
        } else {
            text
        }
    }
}
