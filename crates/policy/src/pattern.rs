//! Names with `*` (anything) and `?` (one character) in them.

use std::fmt;

use regex::{Regex, RegexBuilder};
use thiserror::Error;

/// The length of a pattern. Longer than any name; stops a configuration that takes minutes to read.
const MAX_LEN: usize = 512;

/// The reason for which a text is not a pattern.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatternError {
    #[error("a pattern cannot be empty; * fits everything")]
    Empty,
    #[error("a pattern has at most {MAX_LEN} bytes, and this one has {0}")]
    TooLong(usize),
    #[error("{0:?} has {1:?} in it: only * and ? stand for others; write one pattern for each")]
    Unknown(String, char),
    #[error("{0:?} is no regular expression: {1}")]
    Regex(String, String),
}

/// A compiled pattern or regular expression.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern for any text. It fits only the whole text, and upper and lower case differ.
    pub fn glob(text: &str) -> Result<Self, PatternError> {
        Self::compile(text, text, Case::Counts)
    }

    /// Compiles a pattern for the names of tools and kinds: upper or lower case, and `-` for `_`, make
    /// no difference, because programs see other spellings than servers use.
    pub(super) fn name(text: &str) -> Result<Self, PatternError> {
        if let Some(odd) = text.chars().find(|c| "[]{}!\\".contains(*c) || c.is_whitespace()) {
            return Err(PatternError::Unknown(text.to_owned(), odd));
        }
        Self::compile(text, &plain(text, true), Case::Ignored)
    }

    /// Compiles a regular expression, which fits wherever it is found unless it has `^` and `$`.
    /// Matching takes time in proportion to the text, whatever the expression.
    pub fn regex(text: &str) -> Result<Self, PatternError> {
        check_length(text)?;
        let regex = RegexBuilder::new(text).size_limit(1 << 20).build();
        let regex = regex.map_err(|e| PatternError::Regex(text.to_owned(), last_line(&e)))?;
        Ok(Self { text: text.to_owned(), regex })
    }

    fn compile(text: &str, glob: &str, case: Case) -> Result<Self, PatternError> {
        check_length(text)?;
        let mut regex = String::from("^");
        for c in glob.chars() {
            match c {
                // Several stars in a row mean the same as one.
                '*' if regex.ends_with(".*") => {}
                '*' => regex.push_str(".*"),
                '?' => regex.push('.'),
                c => regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            }
        }
        regex.push('$');
        let mut builder = RegexBuilder::new(&regex);
        builder.dot_matches_new_line(true).case_insensitive(case == Case::Ignored);
        let regex = builder.build();
        let regex = regex.map_err(|e| PatternError::Regex(text.to_owned(), last_line(&e)))?;
        Ok(Self { text: text.to_owned(), regex })
    }

    pub fn fits(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Counts,
    Ignored,
}

fn check_length(text: &str) -> Result<(), PatternError> {
    match text.len() {
        0 => Err(PatternError::Empty),
        bytes if bytes > MAX_LEN => Err(PatternError::TooLong(bytes)),
        _ => Ok(()),
    }
}

/// Returns the last line of an error: the regex crate draws its errors over several lines, and the last
/// one says what is wrong.
fn last_line(error: &regex::Error) -> String {
    let said = error.to_string();
    said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Replaces every character by `_` that a Python name cannot have; wildcards stay.
fn plain(name: &str, keep_dots: bool) -> String {
    let kept = |c: char| c.is_alphanumeric() || "*?".contains(c) || c == '.' && keep_dots;
    name.chars().map(|c| if kept(c) { c } else { '_' }).collect()
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.regex.as_str() == other.regex.as_str()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

/// A list of patterns of which one has to fit. An empty list fits everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Compiles patterns of tools or kinds.
    pub(super) fn names(texts: &[String]) -> Result<Self, PatternError> {
        Ok(Self(texts.iter().map(|text| Pattern::name(text)).collect::<Result<_, _>>()?))
    }

    /// Compiles patterns of principals.
    pub(super) fn exact(texts: &[String]) -> Result<Self, PatternError> {
        Ok(Self(texts.iter().map(|text| Pattern::glob(text)).collect::<Result<_, _>>()?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn fit(&self, text: &str) -> bool {
        self.is_empty() || self.0.iter().any(|pattern| pattern.fits(text))
    }

    /// Tells whether one of the patterns fits the name of a kind.
    pub(super) fn fit_kind(&self, kind: &str) -> bool {
        self.fit(&plain(kind, true))
    }

    /// Tells whether one of the patterns fits `server.tool`, or the server alone.
    pub(super) fn fit_tool(&self, tool: &Spelled) -> bool {
        self.is_empty() || any_fits_tool(&self.0, tool)
    }
}

/// Tells whether one of several patterns of names fits `server.tool`, or the server alone.
pub(super) fn any_fits_tool(patterns: &[Pattern], tool: &Spelled) -> bool {
    patterns.iter().any(|pattern| tool.0.iter().any(|text| pattern.fits(text)))
}

/// Tells whether `wide` certainly fits all tools that `narrow` fits.
pub(super) fn includes(wide: &Pattern, narrow: &Pattern) -> bool {
    let text = plain(&narrow.text, true);
    let is_plain = |text: &str| !text.contains(['*', '?']);
    let server = text.split_once('.').map_or(text.as_str(), |(server, _)| server);
    let is_server = server == text && is_plain(server);
    wide == narrow
        || is_plain(server) && wide.fits(server)
        // `?` fits one character, and would fit the `*` of the other pattern.
        || !wide.text.contains('?') && (wide.fits(&text) || is_server && wide.fits(&format!("{text}.*")))
}

/// The spellings of a tool that a pattern may use, computed once for all patterns.
#[derive(Debug)]
pub(super) struct Spelled(Vec<String>);

impl Spelled {
    /// Collects the spellings of the server alone and of `server.tool`: as they are written, and as
    /// Python has them, with an underscore for each dot in a name.
    pub(super) fn new(server: &str, tool: &str) -> Self {
        let spelled = |dots| {
            let server = plain(server, dots);
            let whole = format!("{server}.{}", plain(tool, dots));
            [whole, server]
        };
        let (written, python) = (spelled(true), spelled(false));
        match written == python {
            true => Self(written.into()),
            false => Self(written.into_iter().chain(python).collect()),
        }
    }
}
