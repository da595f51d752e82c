//! Names with `*` (anything) and `?` (one character) in them.

use std::fmt;

use regex::{Regex, RegexBuilder};
use thiserror::Error;

/// Longer than any name; stops a configuration that takes minutes to read.
const MAX_LEN: usize = 512;

/// Why something is no pattern.
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

/// A pattern or a regular expression, ready to be used.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// A pattern over any text. Fits only the whole of it, and every letter as it is written.
    pub fn glob(text: &str) -> Result<Self, PatternError> {
        Self::compile(text, text, Case::Counts)
    }

    /// A pattern over the names of tools and kinds: upper or lower case, and `-` for `_`, make no
    /// difference, because programs see other spellings than servers have.
    pub(super) fn name(text: &str) -> Result<Self, PatternError> {
        if let Some(odd) = text.chars().find(|c| "[]{}!\\".contains(*c) || c.is_whitespace()) {
            return Err(PatternError::Unknown(text.to_owned(), odd));
        }
        Self::compile(text, &plain(text, true), Case::Ignored)
    }

    /// A regular expression, which fits wherever it is found unless it has `^` and `$`. Takes
    /// time in proportion to the text, whatever the expression.
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
                // Several in a row are one, and cost as much.
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

/// The regex crate draws its errors over several lines; the last one says what is wrong.
fn last_line(error: &regex::Error) -> String {
    let said = error.to_string();
    said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// A name with `_` for all that Python cannot write.
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

/// Patterns of which one has to fit. None at all fit everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Of tools or kinds.
    pub(super) fn names(texts: &[String]) -> Result<Self, PatternError> {
        Ok(Self(texts.iter().map(|text| Pattern::name(text)).collect::<Result<_, _>>()?))
    }

    /// Of principals.
    pub(super) fn exact(texts: &[String]) -> Result<Self, PatternError> {
        Ok(Self(texts.iter().map(|text| Pattern::glob(text)).collect::<Result<_, _>>()?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn fit(&self, text: &str) -> bool {
        self.is_empty() || self.0.iter().any(|pattern| pattern.fits(text))
    }

    /// Whether one of them fits the name of a kind.
    pub(super) fn fit_kind(&self, kind: &str) -> bool {
        self.fit(&plain(kind, true))
    }

    /// Whether one of them fits `server.tool`, or the server alone.
    pub(super) fn fit_tool(&self, tool: &Spelled) -> bool {
        self.is_empty() || any_fits_tool(&self.0, tool)
    }
}

/// Whether one of several patterns of names fits `server.tool`, or the server alone.
pub(super) fn any_fits_tool(patterns: &[Pattern], tool: &Spelled) -> bool {
    patterns.iter().any(|pattern| tool.0.iter().any(|text| pattern.fits(text)))
}

/// Whether all tools that one pattern of names fits are surely fitted by another.
pub(super) fn includes(wide: &Pattern, narrow: &Pattern) -> bool {
    let text = plain(&narrow.text, true);
    let is_plain = |text: &str| !text.contains(['*', '?']);
    let server = text.split_once('.').map_or(text.as_str(), |(server, _)| server);
    let is_server = server == text && is_plain(server);
    wide == narrow
        || is_plain(server) && wide.fits(server)
        // `?` is one character, and would take a `*` for one.
        || !wide.text.contains('?') && (wide.fits(&text) || is_server && wide.fits(&format!("{text}.*")))
}

/// The ways to write a tool that a pattern may mean, made once for all patterns.
#[derive(Debug)]
pub(super) struct Spelled(Vec<String>);

impl Spelled {
    /// The server alone, and the tool of it. A dot in the name of one of them is an underscore in
    /// Python.
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
