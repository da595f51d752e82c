//! Protects output that comes in pieces, when a value may be split between two of them.
//!
//! Nothing is found across lines, so whole lines can go out at once. What is held back is the
//! line that is still being written, and a private key until its end. Of a very long line the
//! beginning goes out too, at a place that no value reaches across; a piece of it is kept to give
//! context to what follows.

use memchr::{memchr, memrchr};

use crate::{
    detect::open_private_key,
    protect::{Tokens, replace},
    scanner::View,
};

/// A line longer than this goes out in parts.
const MAX_LINE_LEN: usize = 8 * 1024;
/// How much of the end of a long line stays: what is found there may look different once more of it is
/// known.
const UNSETTLED: usize = 1024;
/// How much of what went out of a line is kept as context.
const CONTEXT: usize = 256;
/// How much more has to come, after a part of a line could not go out, before it is tried again.
const PATIENCE: usize = 4 * 1024;
/// The most that is held back, even of a private key or a value that does not end.
const MAX_HELD: usize = 64 * 1024;

/// Output that comes in pieces, and what is held back of it.
#[derive(Debug, Default)]
pub struct Stream {
    /// The part of this line that went out already, and what is held back after it.
    held: String,
    sent: usize,
    /// Whether a private key has begun in what is held, and not ended.
    in_key: bool,
    /// How much of a line has to be there before a part of it is tried again.
    wait: usize,
}

impl Stream {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more text, and returns what can go out.
    pub fn push<'a>(
        &mut self,
        scanner: impl Into<View<'a>>,
        text: &str,
        tokens: &mut dyn Tokens,
    ) -> String {
        self.held.push_str(text);
        if self.in_key && self.held.len() < MAX_HELD && text.bytes().all(continues_key) {
            return String::new();
        }
        let view = scanner.into();
        let mut out = String::new();
        if self.in_key || memchr(b'\n', text.as_bytes()).is_some() {
            out.push_str(&self.whole_lines(view, tokens));
        }
        if !self.in_key && self.held.len() - self.sent >= self.wait.max(MAX_LINE_LEN) {
            out.push_str(&self.part_of_line(view, tokens));
        }
        out
    }

    /// Returns the rest, with tokens in it.
    pub fn finish<'a>(&mut self, scanner: impl Into<View<'a>>, tokens: &mut dyn Tokens) -> String {
        self.in_key = false;
        self.send(scanner.into(), self.held.len(), tokens)
    }

    fn whole_lines(&mut self, view: View<'_>, tokens: &mut dyn Tokens) -> String {
        let Some(end) = memrchr(b'\n', self.held.as_bytes()).map(|newline| newline + 1) else {
            return String::new();
        };
        let open = open_private_key(&self.held).filter(|start| self.held.len() - start < MAX_HELD);
        self.in_key = open.is_some();
        // The line that a key begins in goes out with the key.
        let end = open.map_or(end, |start| {
            memrchr(b'\n', &self.held.as_bytes()[..start]).map_or(0, |newline| newline + 1)
        });
        self.send(view, end.max(self.sent), tokens)
    }

    fn part_of_line(&mut self, view: View<'_>, tokens: &mut dyn Tokens) -> String {
        let full = self.held.len() - self.sent >= MAX_HELD;
        let mut cut = floor(&self.held, self.held.len() - if full { 0 } else { UNSETTLED });
        if !full {
            let settled = &self.held.as_bytes()[self.sent..cut];
            if let Some(space) = settled.iter().rposition(u8::is_ascii_whitespace) {
                cut = self.sent + space;
            }
            let found = view.find(&self.held, None);
            if let Some(across) =
                found.iter().find(|found| found.range.start < cut && cut < found.range.end)
            {
                cut = across.range.start.max(self.sent);
            }
        }
        let is_stuck = cut == self.sent;
        self.wait = if is_stuck { self.held.len() - self.sent + PATIENCE } else { 0 };
        self.send(view, cut, tokens)
    }

    /// Returns what is held up to `cut`, with tokens in it.
    fn send(&mut self, view: View<'_>, cut: usize, tokens: &mut dyn Tokens) -> String {
        // Searches all that is known, not only what is sent: a value is not taken for another because
        // its end is missing.
        let line_end =
            memrchr(b'\n', &self.held.as_bytes()[..cut]).map_or(0, |newline| newline + 1);
        let known = if line_end == cut { cut } else { self.held.len() };
        let mut found = view.find(&self.held[..known], None);
        found.retain(|found| found.range.end > self.sent && found.range.start < cut);
        for found in &mut found {
            found.range.start = found.range.start.max(self.sent) - self.sent;
            found.range.end = found.range.end.min(cut) - self.sent;
        }
        let out = replace(&self.held[self.sent..cut], &found, tokens).into_owned();
        let keep = floor(&self.held, cut.saturating_sub(CONTEXT)).max(line_end);
        self.held.drain(..keep);
        self.sent = cut - keep;
        out
    }
}

/// Returns the border of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Tells whether this byte may be a part of the body of a private key.
fn continues_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte)
}
