//! The findings of the check.

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

/// The result of the check of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Mistakes that would make the program fail.
    pub findings: Vec<CheckFinding>,
    /// Modules that the program uses without importing them, and that every program has.
    pub implied: BTreeSet<&'static str>,
    /// Other modules of the standard library that it uses without importing them. The runtime has to
    /// provide them.
    pub library: BTreeSet<&'static str>,
    /// Tools that the program calls without importing them, each with the only module that has it.
    pub tools: BTreeMap<String, String>,
}

/// How many findings are reported: enough to mend a program, and the next check tells the rest. It also
/// bounds the time for a program that is made of mistakes.
const MAX_FINDINGS: usize = 20;
/// How many names are compared with all known tools or fields, to tell whether they are misspelt. It
/// bounds the time for a program that is made of names of its own.
const MAX_COMPARED: usize = 200;

/// The findings of one program, while they are collected.
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

    /// Counts a comparison of a name with all known ones, and tells whether it may still be made.
    pub(crate) fn may_compare(&mut self) -> bool {
        self.compared += 1;
        self.compared <= MAX_COMPARED
    }

    /// Tells whether there are so many findings that the check can end.
    pub(crate) fn are_enough(&self) -> bool {
        self.found.len() >= MAX_FINDINGS
    }

    pub(crate) fn add(&mut self, at: TextSize, message: String) {
        let line = self.lines.line(at);
        let before = self.code.get(self.lines.start(line)..at.to_usize()).unwrap_or_default();
        let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
        self.found.push(CheckFinding { line, column, message });
    }

    /// Returns the number of the line at an offset.
    pub(crate) fn line(&self, at: TextSize) -> u32 {
        self.lines.line(at)
    }

    /// Returns the text of a part of the program.
    pub(crate) fn text(&self, range: TextRange) -> &'a str {
        self.code.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }

    /// Tells whether the program has a string literal of exactly this text.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        ['"', '\''].iter().any(|quote| self.code.contains(&format!("{quote}{text}{quote}")))
    }

    /// Returns all findings in the order of the program, without duplicates.
    pub(crate) fn finish(mut self) -> Vec<CheckFinding> {
        self.found.sort();
        self.found.dedup();
        self.found
    }
}
