//! The text of a program, and its syntax tree.

use std::sync::OnceLock;

use ruff_python_ast::{ModModule, Stmt};
use ruff_python_parser::{Parsed, parse_module};
use ruff_text_size::{TextRange, TextSize};

use super::{SyntaxFault, is_too_deep};

/// The text of a program, which is parsed once, when its tree is first asked for.
#[derive(Debug)]
pub struct SourceTree {
    text: String,
    module: OnceLock<Result<Parsed<ModModule>, SyntaxFault>>,
}

impl SourceTree {
    pub fn new(source: &str) -> Self {
        let text = source.strip_prefix('\u{feff}').unwrap_or(source).to_owned();
        Self { text, module: OnceLock::new() }
    }

    /// Returns the text, without the byte order mark that files may begin with.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the range of the whole text.
    pub(crate) fn range(&self) -> TextRange {
        TextRange::up_to(TextSize::try_from(self.text.len()).unwrap_or_default())
    }

    /// Returns the statements of the program, or the reason for which it does not parse.
    pub fn body(&self) -> Result<&[Stmt], &SyntaxFault> {
        let parse = || {
            if is_too_deep(&self.text) {
                return Err(SyntaxFault::TooDeep);
            }
            parse_module(&self.text).map_err(SyntaxFault::from)
        };
        self.module.get_or_init(parse).as_ref().map(|parsed| parsed.suite().as_slice())
    }
}
