//! The reasons for which a program has no syntax tree.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{LexicalErrorType, ParseError, ParseErrorType};
use ruff_text_size::TextSize;

/// The reason for which a program has no syntax tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyntaxFault {
    /// It is nested too deeply to be looked at.
    TooDeep,
    /// It does not parse; the message is in the words of CPython.
    Invalid { at: TextSize, message: String },
}

impl From<ParseError> for SyntaxFault {
    fn from(error: ParseError) -> Self {
        let message = in_words_of_python(&error.error);
        Self::Invalid { at: error.location.start(), message }
    }
}

/// Returns the message for a parse error, for the mistakes that models make most in CPython's words.
fn in_words_of_python(error: &ParseErrorType) -> String {
    match error {
        ParseErrorType::UnexpectedIndentation => "unexpected indent".to_owned(),
        ParseErrorType::ExpectedToken { expected: TokenKind::Colon, .. } => {
            "expected ':'".to_owned()
        }
        ParseErrorType::ExpectedToken { expected: TokenKind::Indent, .. } => {
            "expected an indented block".to_owned()
        }
        ParseErrorType::OtherError(said) => lower(said),
        ParseErrorType::Lexical(LexicalErrorType::OtherError(said)) => lower(said),
        ParseErrorType::Lexical(LexicalErrorType::Eof) => "unexpected end of the code".to_owned(),
        other => format!("invalid syntax: {}", lower(&other.to_string())),
    }
}

/// Makes a message look like CPython's, which start in lower case and quote with apostrophes.
fn lower(said: &str) -> String {
    let mut chars = said.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect::<String>().replace('`', "'")
}
