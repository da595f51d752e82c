//! What was found, and where.

use ruff_text_size::{TextRange, TextSize};

/// A mistake in a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    pub message: String,
}

/// Enough to mend a program; the next check tells what is left. It also bounds the time for a
/// program that is made of mistakes.
const MOST_FINDINGS: usize = 20;

/// Findings of one program, as they are made.
#[derive(Debug)]
pub(super) struct Findings<'a> {
    code: &'a str,
    line_starts: Vec<usize>,
    found: Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(code: &'a str) -> Self {
        let bytes = code.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let line_starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { code, line_starts, found: Vec::new() }
    }

    /// Nothing more is looked for.
    pub(super) fn are_enough(&self) -> bool {
        self.found.len() >= MOST_FINDINGS
    }

    pub(super) fn add(&mut self, at: TextSize, message: String) {
        let at = at.to_usize();
        let line = self.line_starts.partition_point(|start| *start <= at).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or_default();
        let before = self.code.get(start..at).unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let column = number(before.chars().count() + 1);
        self.found.push(Finding { line: number(line), column, message });
    }

    /// The text of a part of the program.
    pub(super) fn text(&self, range: TextRange) -> &'a str {
        self.code.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }

    /// All of them in the order of the program, each once.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        self.found.sort();
        self.found.dedup();
        self.found
    }
}
