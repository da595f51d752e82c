//! The built-in functions that every program has without a server: SQL, analyses, files, skills. A
//! search for tools finds these too, behind tools that fit better.

use std::sync::{Arc, OnceLock};

use narrows_search::{Document, Index, Segment, Selection};
use serde_json::Value;

/// The most abilities among the tools that a search finds.
const MAX_FOUND: usize = 2;
/// The second must score at least this share of the first; otherwise it matched by chance.
const MIN_SHARE: f32 = 0.6;

/// A built-in function, or a group of them.
#[derive(Debug)]
pub(crate) struct Ability {
    /// The name that programs use.
    pub(crate) name: &'static str,
    /// The other names that belong to it.
    also: &'static [&'static str],
    /// An example of its use.
    pub(crate) call: &'static str,
    /// A summary of what it does.
    pub(crate) summary: &'static str,
    /// Synonyms that a search matches and that are not shown.
    words: &'static str,
    /// The JSON schemas of its parameters and result, for programs that read the schemas of tools.
    input: &'static str,
    output: &'static str,
}

/// All abilities. `surroundings.py` in the guest has the same names.
const ABILITIES: [Ability; 9] = [
    Ability {
        name: "sql",
        also: &[],
        call: r#"await sql("select city, sum(price) as total from t group by 1", t=rows_or_file)"#,
        summary: "SQL over lists of dicts, CSV, JSON and Parquet files of the workspace, and \
                  {\"tool\": ..., \"arguments\": ...}; gives a list of dicts",
        words: "query tables dataframe pandas join group aggregate csv spreadsheet data",
        input: r#"{"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"], "additionalProperties": true}"#,
        output: r#"{"type": "array", "items": {"type": "object"}}"#,
    },
    Ability {
        name: "analyze",
        also: &[],
        call: r#"await analyze("aggregate", rows_or_file, group_by="city", aggregations={"price": ["mean", "max"]})"#,
        summary: "figures of a table: filter, aggregate, transform, validate, describe, percentiles, \
                  time_series, correlation, covariance, test",
        words: "analyse analysis compute statistics numbers figures csv data numpy pandas scipy dataframe summary histogram \
                distribution outliers mean median quantile profile trend growth rows columns table",
        input: r#"{"type": "object", "properties": {"analysis_type": {"type": "string"}, "data": {}, "parameters": {"type": "object"}}, "required": ["analysis_type"], "additionalProperties": true}"#,
        output: r#"{"type": "object"}"#,
    },
    Ability {
        name: "write_file",
        also: &["delete_file"],
        call: r#"write_file("report.md", text_bytes_or_json)"#,
        summary: "saves a file in the workspace (/workspace), where later programs find it",
        words: "store keep output workspace",
        input: r#"{"type": "object", "properties": {"path": {"type": "string"}, "content": {}}, "required": ["path", "content"]}"#,
        output: r#"{"type": "object", "properties": {"path": {"type": "string"}, "bytes": {"type": "integer"}}}"#,
    },
    Ability {
        name: "read_file",
        also: &["list_files"],
        call: r#"read_file("report.md"); list_files("**/*.csv")"#,
        summary: "reads and lists files of the workspace (/workspace)",
        words: "load open workspace",
        input: r#"{"type": "object", "properties": {"path": {"type": "string"}, "binary": {"type": "boolean"}, "offset": {"type": "integer"}, "limit": {"type": "integer"}}, "required": ["path"]}"#,
        output: r#"{"type": "string"}"#,
    },
    Ability {
        name: "save_skill",
        also: &["load_skill", "list_skills"],
        call: r#"save_skill("double", "def double(n):\n    return n * 2"), later: from skills import double"#,
        summary: "saves a function for later programs and sessions",
        words: "remember reuse code between calls conversations snippet library",
        input: r#"{"type": "object", "properties": {"name": {"type": "string"}, "code": {"type": "string"}, "description": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["name", "code"]}"#,
        output: r#"{"type": "object"}"#,
    },
    Ability {
        name: "session_id",
        also: &[],
        call: r#"execute_code with {"session_id": "any name"}"#,
        summary: "keeps variables from one call of execute_code to the next",
        words: "remember state session between calls persist continue",
        input: r#"{"type": "object", "properties": {"session_id": {"type": "string"}}, "required": ["session_id"]}"#,
        output: r#"{}"#,
    },
    Ability {
        name: "shared",
        also: &["board", "boards"],
        call: r#"shared["key"] = value; board("name").post(message)"#,
        summary: "values and messages that last, for all agents of a namespace",
        words: "remember store persist key value memory between agents coordinate",
        input: r#"{"type": "object", "properties": {"key": {"type": "string"}, "value": {}}, "required": ["key"]}"#,
        output: r#"{}"#,
    },
    Ability {
        name: "display",
        also: &[],
        call: "display(image_of_a_tool_or_path)",
        summary: "shows an image, sound or file to the caller",
        words: "render picture chart screenshot",
        input: r#"{"type": "object", "properties": {"thing": {}, "mime_type": {"type": "string"}}, "required": ["thing"]}"#,
        output: r#"{"type": "null"}"#,
    },
    Ability {
        name: "sanitize_pii",
        also: &["restore_pii"],
        call: "sanitize_pii(text_or_data)",
        summary: "puts tokens in the place of personal data",
        words: "redact anonymize mask privacy",
        input: r#"{"type": "object", "properties": {"value": {}}, "required": ["value"]}"#,
        output: r#"{}"#,
    },
];

impl Ability {
    /// Returns the abilities that match a query, each with its score.
    pub(crate) fn search(query: &str) -> Vec<(&'static Self, f32)> {
        static INDEX: OnceLock<Index> = OnceLock::new();
        let index = INDEX.get_or_init(|| {
            let documents: Vec<Document> = ABILITIES.iter().map(Self::document).collect();
            Index::new(vec![Arc::new(Segment::new(&documents))])
        });
        let selection = Selection { limit: MAX_FOUND, ..Selection::default() };
        let hits = index.search(query, &selection);
        let min = hits.first().map_or(0.0, |best| best.score * MIN_SHARE);
        let hits = hits.into_iter().filter(|hit| hit.score >= min);
        hits.filter_map(|hit| Some((ABILITIES.get(hit.document)?, hit.score))).collect()
    }

    /// Returns the ability that has a name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ABILITIES.iter().find(|ability| ability.name == name || ability.also.contains(&name))
    }

    /// Writes what it does and an example of its use.
    pub(crate) fn definition(&self) -> String {
        format!("built in, needs no import: {}\n{}\n", self.summary, self.call)
    }

    /// Returns the JSON schema of its parameters.
    pub(crate) fn input_schema(&self) -> Value {
        serde_json::from_str(self.input).unwrap_or_default()
    }

    /// Returns the JSON schema of its result.
    pub(crate) fn output_schema(&self) -> Value {
        serde_json::from_str(self.output).unwrap_or_default()
    }

    fn document(&self) -> Document {
        Document {
            name: [&[self.name], self.also].concat().join(" "),
            description: format!("{}. {}", self.summary, self.words),
            ..Document::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_program_can_do_is_found_and_nothing_for_other_queries() {
        for (query, expected) in [
            ("analyse a CSV with SQL", "sql"),
            ("analyse a CSV with SQL", "analyze"),
            ("save a file", "write_file"),
            ("read a file of the workspace", "read_file"),
            ("remember between calls", "session_id"),
            ("save a function for later", "save_skill"),
            ("group rows of a table", "sql"),
            ("compute statistics", "analyze"),
            ("show an image", "display"),
            ("histogram", "analyze"),
            ("statistics of rows", "analyze"),
        ] {
            let found: Vec<&str> = Ability::search(query).iter().map(|(it, _)| it.name).collect();
            assert!(found.contains(&expected), "{query}: {found:?}");
        }
        for query in [
            "create an issue in a repository",
            "send a message to a channel",
            "current time in Tokyo",
            "list pull requests",
            "book a flight",
            "zxqv wvut",
        ] {
            let found: Vec<&str> = Ability::search(query).iter().map(|(it, _)| it.name).collect();
            assert!(found.is_empty(), "{query}: {found:?}");
        }
    }

    #[test]
    fn each_has_schemas_as_tools_have() {
        for ability in &ABILITIES {
            let (input, output) = (ability.input_schema(), ability.output_schema());
            assert_eq!(input["type"], "object", "{}", ability.name);
            assert!(output.is_object(), "{}", ability.name);
        }
    }

    #[test]
    fn one_is_found_by_any_of_its_names() {
        assert_eq!(Ability::named("list_files").map(|it| it.name), Some("read_file"));
        assert!(Ability::named("sql").is_some_and(|it| it.definition().contains("await sql(")));
        assert!(Ability::named("create_issue").is_none());
    }
}
