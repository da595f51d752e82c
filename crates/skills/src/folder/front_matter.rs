//! The front matter of a `SKILL.md`: YAML between two lines of three dashes.

use std::collections::BTreeMap;

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use thiserror::Error;

/// The size of front matter. The longest in use has a few hundred bytes; the limit also bounds what
/// YAML can expand a short text to (aliases of aliases, lists of lists).
const MAX_BYTES: usize = 8 << 10;
/// The depth of front matter. Nothing in it is nested, and the parser works by recursion, so that deep
/// YAML could exhaust the stack.
const MAX_DEPTH: usize = 64;

/// The reason for which front matter cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FrontMatterError {
    #[error("it has to start with front matter: ---, then name: and description:, then ---")]
    Missing,
    #[error("the front matter has more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("the front matter is nested too deeply")]
    TooDeep,
    #[error("line {line}: the front matter is not YAML: {reason}; quote texts that have a colon")]
    Yaml { line: usize, reason: String },
    #[error("the front matter needs {0}: as text")]
    Field(&'static str),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) license: Option<String>,
    /// Other information of the author, by key.
    pub(crate) metadata: BTreeMap<String, String>,
}

/// Splits a text into its front matter and its body. Unknown fields are for other programs.
pub(crate) fn split(text: &str) -> Result<(FrontMatter, &str), FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err(FrontMatterError::Missing);
    }
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let front = read(&text[first.len()..end])?;
            return Ok((front, text[end + line.len()..].trim_start_matches(['\r', '\n'])));
        }
        end += line.len();
    }
    Err(FrontMatterError::Missing)
}

fn read(yaml: &str) -> Result<FrontMatter, FrontMatterError> {
    if yaml.len() > MAX_BYTES {
        return Err(FrontMatterError::TooLarge);
    }
    // Each level of a block needs a column of its own, so the indentation bounds the depth.
    let is_deep = |line: &str| {
        line.len() - line.trim_start_matches([' ', '\t', '-', '?', ':']).len() > MAX_DEPTH
    };
    if yaml.lines().any(is_deep) {
        return Err(FrontMatterError::TooDeep);
    }
    let documents = MarkedYaml::load_from_str(yaml).map_err(|error| FrontMatterError::Yaml {
        // The line in the file, whose first line is the dashes.
        line: error.marker().line() + 1,
        reason: error.info().to_owned(),
    })?;
    let root = documents.first().map(|document| &document.data);
    let Some(YamlData::Mapping(fields)) = root else {
        return Err(FrontMatterError::Missing);
    };
    let field = |wanted: &str| {
        let found = fields.iter().find(|(key, _)| text(key).as_deref() == Some(wanted));
        found.map(|(_, value)| value)
    };
    let required = |wanted: &'static str| {
        let value = field(wanted).and_then(text).map(|value| value.trim().to_owned());
        value.filter(|value| !value.is_empty()).ok_or(FrontMatterError::Field(wanted))
    };
    let metadata = match field("metadata").map(|value| &value.data) {
        Some(YamlData::Mapping(entries)) => {
            entries.iter().filter_map(|(key, value)| Some((text(key)?, text(value)?))).collect()
        }
        _ => BTreeMap::new(),
    };
    Ok(FrontMatter {
        name: required("name")?,
        description: required("description")?,
        license: field("license").and_then(text),
        metadata,
    })
}

fn text(yaml: &MarkedYaml<'_>) -> Option<String> {
    match &yaml.data {
        YamlData::Value(Scalar::String(text)) => Some(text.clone().into_owned()),
        YamlData::Value(Scalar::Boolean(value)) => Some(value.to_string()),
        YamlData::Value(Scalar::Integer(number)) => Some(number.to_string()),
        // Debug formatting keeps the fraction: `1.0` stays `1.0`.
        YamlData::Value(Scalar::FloatingPoint(number)) => {
            Some(format!("{:?}", number.into_inner()))
        }
        YamlData::Representation(text, ..) => Some(text.clone().into_owned()),
        YamlData::Tagged(_, inner) => text(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn front_matter_and_body_are_parted() {
        let text = "\u{feff}---\r\nname: pdf-processing\r\ndescription: >\n  Reads\n  PDFs.\n\
                    license: MIT\nallowed-tools: Read\nmetadata:\n  version: 1.0\n  author: x\n  list: [1]\n---\n\n# Body\n---\nmore\n";
        let (front, body) = split(text).unwrap();
        assert_eq!(front.name, "pdf-processing");
        assert_eq!(front.description, "Reads PDFs.");
        assert_eq!(front.license.as_deref(), Some("MIT"));
        let metadata: Vec<(&str, &str)> =
            front.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(metadata, [("author", "x"), ("version", "1.0")]);
        assert_eq!(body, "# Body\n---\nmore\n");
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (text, said) in [
            ("# No front matter", "has to start with front matter"),
            ("---\nname: a\n", "has to start with front matter"),
            ("---\n- a\n---\n", "has to start with front matter"),
            ("---\nname: a\n---\n", "needs description: as text"),
            ("---\nname: ''\ndescription: b\n---\n", "needs name: as text"),
            ("---\nname: [a]\ndescription: b\n---\n", "needs name: as text"),
            ("---\nname: a\ndescription: b: c\n---\n", "line 3: the front matter is not YAML"),
        ] {
            let error = split(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_billion_laughs_are_not_laughed() {
        let mut bomb = "name: a\ndescription: b\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb += &format!("a{level}: &a{level} [{aliases}]\n");
        }
        let error = split(&format!("---\n{bomb}---\n")).unwrap_err();
        assert!(matches!(error, FrontMatterError::Yaml { .. }), "{error}");
        // The control: a single alias is accepted.
        let plain = "---\nname: &n a\ndescription: *n\n---\n";
        assert_eq!(split(plain).unwrap().0.description, "a");
    }

    #[test]
    fn nesting_does_not_exhaust_the_stack() {
        let of = |yaml: String| split(&format!("---\n{yaml}\n---\n")).unwrap_err();
        assert_eq!(of("- ".repeat(4_000)), FrontMatterError::TooDeep);
        assert_eq!(of("? ".repeat(4_000)), FrontMatterError::TooDeep);
        let stairs: String = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        assert_eq!(of(stairs), FrontMatterError::TooDeep);
        for open in ["[", "{", "{a: [", "[[a]: "] {
            let error = of(open.repeat(8_000 / open.len()));
            assert!(matches!(error, FrontMatterError::Yaml { .. }), "{open}: {error}");
        }
        for mixed in ["- &a ", "- !t ", "? - ", "- ? ", "- a: "] {
            let _ = split(&format!("---\n{}\n---\n", mixed.repeat(8_000 / mixed.len())));
        }
        assert_eq!(of("x".repeat(10_000)), FrontMatterError::TooLarge);
    }
}
