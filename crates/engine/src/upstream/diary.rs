//! What went wrong with a server lately, in bounded memory and without its secrets.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::redact::Redactor;

const MOST_LINES: usize = 40;
const LONGEST_LINE: usize = 500;

/// Notes about one run of a server. Clones write into the same book.
#[derive(Clone, Debug)]
pub(super) struct Diary(Arc<Book>);

#[derive(Debug)]
struct Book {
    redactor: Redactor,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    stderr: VecDeque<String>,
    problem: Option<String>,
    noisy_lines: u64,
}

impl Diary {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self(Arc::new(Book { redactor, pages: Mutex::default() }))
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, Pages> {
        self.0.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line that the child wrote to its standard error.
    pub(super) fn stderr(&self, line: &str) {
        let line = self.clean(line);
        if line.is_empty() {
            return;
        }
        let mut pages = self.pages();
        if pages.stderr.len() == MOST_LINES {
            pages.stderr.pop_front();
        }
        pages.stderr.push_back(line);
    }

    /// A line on standard output that is no message.
    pub(super) fn noise(&self, start: String) {
        let count = {
            let mut pages = self.pages();
            pages.noisy_lines += 1;
            pages.noisy_lines
        };
        if count == 1 {
            self.problem(format!("it prints what is no JSON-RPC on its standard output: {start}"));
        }
    }

    /// Something that the status should show.
    pub(super) fn problem(&self, problem: String) {
        let problem = self.clean(&problem);
        tracing::debug!(%problem, "upstream");
        self.pages().problem = Some(problem);
    }

    pub(super) fn last_problem(&self) -> Option<String> {
        self.pages().problem.clone()
    }

    /// The end of what it wrote to standard error, for a person.
    pub(super) fn last_words(&self) -> Option<String> {
        let pages = self.pages();
        let words: Vec<&str> = pages.stderr.iter().rev().take(5).map(String::as_str).collect();
        let words: Vec<&str> = words.into_iter().rev().collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    /// Without secrets, control characters and length.
    pub(super) fn clean(&self, text: &str) -> String {
        let text: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
        let text = self.0.redactor.hide(text.trim());
        let end = text.floor_char_boundary(LONGEST_LINE);
        if end < text.len() { format!("{}…", &text[..end]) } else { text }
    }
}
