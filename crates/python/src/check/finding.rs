//! What was found, and where.

use std::collections::{BTreeMap, BTreeSet};

use ruff_text_size::{TextRange, TextSize};

use crate::syntax::Lines;

/// A mistake in a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckFinding {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    pub message: String,
}

/// What is known of a program before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Mistakes that would make it fail.
    pub findings: Vec<CheckFinding>,
    /// Modules that it uses without importing them, and has all the same.
    pub implied: BTreeSet<&'static str>,
    /// Other modules of the library that it uses without importing them, and has to be given.
    pub library: BTreeSet<&'static str>,
    /// Tools that it calls without importing them, each with the one module that has it.
    pub tools: BTreeMap<String, String>,
}

/// Enough to mend a program; the next check tells what is left. It also bounds the time for a
/// program that is made of mistakes.
const MAX_FINDINGS: usize = 20;
/// How many names are compared with all that are known, of tools or of fields, to tell whether they are
/// misspelt. A program that is made of names of its own is not worth more time.
const MAX_COMPARED: usize = 200;

/// Findings of one program, as they are made.
#[derive(Debug)]
pub(crate) struct CheckFindings<'a> {
    code: &'a str,
    lines: Lines,
    found: Vec<CheckFinding>,
    compared: usize,
}

impl<'a> CheckFindings<'a> {
    pub(crate) fn new(code: &'a str) -> Self {
        Self { code, lines: Lines::of(code), found: Vec::new(), compared: 0 }
    }

    /// Whether one more name may be compared with all that are known.
    pub(crate) fn may_compare(&mut self) -> bool {
        self.compared += 1;
        self.compared <= MAX_COMPARED
    }

    /// Nothing more is looked for.
    pub(crate) fn are_enough(&self) -> bool {
        self.found.len() >= MAX_FINDINGS
    }

    pub(crate) fn add(&mut self, at: TextSize, message: String) {
        let line = self.lines.line(at);
        let before = self.code.get(self.lines.start(line)..at.to_usize()).unwrap_or_default();
        let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
        self.found.push(CheckFinding { line, column, message });
    }

    /// The number of a line.
    pub(crate) fn line(&self, at: TextSize) -> u32 {
        self.lines.line(at)
    }

    /// The text of a part of the program.
    pub(crate) fn text(&self, range: TextRange) -> &'a str {
        self.code.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }

    /// Whether the program has a text that is just this.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        ['"', '\''].iter().any(|quote| self.code.contains(&format!("{quote}{text}{quote}")))
    }

    /// All of them in the order of the program, each once.
    pub(crate) fn finish(mut self) -> Vec<CheckFinding> {
        self.found.sort();
        self.found.dedup();
        self.found
    }
}
