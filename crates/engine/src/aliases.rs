//! The names that models give to parameters of our own tools: `tool_name` for `name`, `max_results` for
//! `limit`. One table for all tools, over MCP and in programs. The functions of the guest have the same in
//! `parameters.py`; a test compares both.

use narrows_model::{clipped_name, nearest, there_are};
use serde_json::{Map, Value};

/// The most unknown arguments that are named in notes: a request has room for a million.
const MAX_TOLD: usize = 5;

type ParameterAliases = (&'static str, &'static [&'static str]);

const CODE: &[ParameterAliases] = &[
    (
        "code",
        &[
            "python",
            "source",
            "script",
            "program",
            "py",
            "python_code",
            "input",
            "content",
            "text",
            "body",
        ],
    ),
    ("context", &["variables", "vars", "inputs", "globals"]),
    ("timeout", &["timeout_seconds", "timeout_s", "max_seconds"]),
    ("session_id", &["session", "sessionId", "session_name"]),
    ("isolation", &["isolation_level"]),
];
const SEARCH: &[ParameterAliases] = &[
    ("query", &["q", "text", "search", "search_query", "keywords", "keyword"]),
    ("detail_level", &["detail", "detailLevel", "details", "level"]),
    ("limit", LIMITS),
    ("server", SERVERS),
    ("category", &["categories"]),
];
const DEFINITION: &[ParameterAliases] = &[
    ("name", &["tool_name", "toolName", "tool", "tool_id", "full_name", "id"]),
    ("server", SERVERS),
    ("category", &["categories"]),
    ("raw", &["json", "as_json"]),
];
const SAVE_SKILL: &[ParameterAliases] = &[
    ("name", &["skill_name", "skillName", "skill"]),
    ("code", &["source", "python", "content", "body"]),
    ("description", &["desc", "summary"]),
    ("tags", &["labels", "keywords"]),
];
const LOAD_SKILL: &[ParameterAliases] = &[("name", &["skill_name", "skillName", "skill"])];
const LIST_SKILLS: &[ParameterAliases] =
    &[("query", &["q", "search", "filter"]), ("limit", LIMITS)];
const WRITE_FILE: &[ParameterAliases] =
    &[("path", PATHS), ("content", &["contents", "text", "data", "body"])];
const READ_FILE: &[ParameterAliases] =
    &[("path", PATHS), ("offset", &["start"]), ("limit", &["length", "max_bytes", "size"])];
const LIST_FILES: &[ParameterAliases] =
    &[("pattern", &["glob", "path", "directory", "folder", "dir", "filter"]), ("limit", LIMITS)];
const PRIVACY: &[ParameterAliases] =
    &[("text", &["content", "input", "message", "string"]), ("data", &["value", "json", "object"])];
const ANALYSIS: &[ParameterAliases] = &[
    ("analysis_type", &["type", "analysis", "operation", "analysisType"]),
    ("source", &["file", "path", "filename"]),
    ("data", &["rows", "records", "dataset"]),
    ("parameters", &["params", "options", "arguments"]),
];

const LIMITS: &[&str] = &["max_results", "maxResults", "top_k", "k", "n", "count", "max"];
const SERVERS: &[&str] = &["server_name", "serverName", "mcp_server"];
const PATHS: &[&str] = &["file", "filename", "file_name", "file_path", "filepath", "name"];

fn parameters(tool: &str) -> &'static [ParameterAliases] {
    match tool {
        "execute_code" | "execute_python" => CODE,
        "search_tools" => SEARCH,
        "get_tool_definition" => DEFINITION,
        "save_skill" => SAVE_SKILL,
        "load_skill" => LOAD_SKILL,
        "list_skills" => LIST_SKILLS,
        "write_workspace_file" => WRITE_FILE,
        "read_workspace_file" => READ_FILE,
        "list_workspace_files" => LIST_FILES,
        "sanitize_pii" | "restore_pii" => PRIVACY,
        "execute_analysis" => ANALYSIS,
        _ => &[],
    }
}

/// Renames parameters to their right names, and returns a note for each. A parameter that is already
/// there is not replaced.
pub fn rename(tool: &str, arguments: &mut Map<String, Value>) -> Vec<String> {
    let mut renamed = Vec::new();
    for (name, aliases) in parameters(tool) {
        if arguments.contains_key(*name) {
            continue;
        }
        let mut meant = aliases.iter().filter(|alias| !is_column(alias, arguments.get(**alias)));
        let found = meant.find(|alias| arguments.contains_key(**alias));
        let found = found.and_then(|alias| Some((alias, arguments.remove(*alias)?)));
        if let Some((alias, value)) = found {
            arguments.insert((*name).to_owned(), value);
            renamed.push(format!("{alias:?} was taken for {name:?}"));
        }
    }
    renamed
}

/// Tells whether an alias such as `rows` holds the name of a column: a pivot has a parameter of that
/// name.
fn is_column(alias: &str, value: Option<&Value>) -> bool {
    matches!(alias, "rows" | "records") && value.is_some_and(Value::is_string)
}

/// Removes unknown arguments, and returns notes about the first of them with similar names.
pub fn take_unknown(tool: &str, arguments: &mut Map<String, Value>) -> Vec<String> {
    let known = parameters(tool);
    let is_known = |name: &str| known.iter().any(|(parameter, _)| *parameter == name);
    let mut unknown = Vec::new();
    let mut more = 0;
    for name in arguments.keys().filter(|name| !is_known(name)) {
        if unknown.len() < MAX_TOLD {
            unknown.push(ignored(tool, name));
        } else {
            more += 1;
        }
    }
    match more {
        0 => {}
        1 => unknown.push(format!("1 more argument is no parameter of {tool}, and was ignored")),
        more => unknown
            .push(format!("{more} more arguments are no parameters of {tool}, and were ignored")),
    }
    arguments.retain(|name, _| is_known(name));
    unknown
}

/// Writes the note that an argument was ignored, with the parameter that may be meant.
fn ignored(tool: &str, name: &str) -> String {
    let known = parameters(tool);
    let shown = clipped_name(name);
    if let Some((meant, _)) = known.iter().find(|(_, aliases)| aliases.contains(&name)) {
        return format!("{shown:?} was ignored: {meant:?} is there too, and means the same");
    }
    let names = || known.iter().map(|(name, _)| *name);
    let near = nearest(name, names());
    let hint = if near.0.is_empty() { there_are(names()) } else { near.to_string() };
    format!("{shown:?} is no parameter of {tool}, and was ignored{hint}")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use ruff_python_ast::Expr;
    use serde_json::json;

    use super::*;

    #[test]
    fn other_names_are_understood_and_right_ones_are_kept() {
        for (tool, given, meant) in [
            ("get_tool_definition", json!({"tool_name": "a.b"}), json!({"name": "a.b"})),
            ("search_tools", json!({"q": "x", "top_k": 3}), json!({"query": "x", "limit": 3})),
            ("search_tools", json!({"level": "full"}), json!({"detail_level": "full"})),
            ("execute_code", json!({"script": "1"}), json!({"code": "1"})),
            ("read_workspace_file", json!({"file_path": "a"}), json!({"path": "a"})),
            ("search_tools", json!({"query": "x", "q": "y"}), json!({"query": "x", "q": "y"})),
            ("get_execution_stats", json!({"q": "y"}), json!({"q": "y"})),
            ("list_workspace_files", json!({"folder": "a"}), json!({"pattern": "a"})),
            ("execute_analysis", json!({"dataset": "a.csv"}), json!({"data": "a.csv"})),
            ("execute_analysis", json!({"rows": [{"a": 1}]}), json!({"data": [{"a": 1}]})),
            ("execute_analysis", json!({"rows": "region"}), json!({"rows": "region"})),
        ] {
            let Value::Object(mut arguments) = given else { panic!() };
            let before = Value::Object(arguments.clone());
            let corrections = rename(tool, &mut arguments);
            assert_eq!(corrections.is_empty(), before == meant, "{tool}: {corrections:?}");
            assert_eq!(Value::Object(arguments), meant, "{tool}");
        }
    }

    #[test]
    fn what_is_no_parameter_is_taken_out_and_the_right_name_is_told() {
        for (tool, given, told) in [
            (
                "search_tools",
                "qeury",
                r#""qeury" is no parameter of search_tools, and was ignored; did you mean query?"#,
            ),
            (
                "search_tools",
                "verbose",
                r#""verbose" is no parameter of search_tools, and was ignored; there are query, detail_level, limit, server, category"#,
            ),
            ("search_tools", "q", r#""q" was ignored: "query" is there too, and means the same"#),
            (
                "get_execution_stats",
                "since",
                r#""since" is no parameter of get_execution_stats, and was ignored; there are none"#,
            ),
        ] {
            let mut arguments = Map::from_iter([(given.to_owned(), json!(1))]);
            assert_eq!(take_unknown(tool, &mut arguments), [told]);
            assert!(arguments.is_empty());
        }
        let many = |count| (0..count).map(|number| (format!("wrong{number}"), json!(1))).collect();
        for (count, more) in [
            (6, "1 more argument is no parameter of search_tools, and was ignored"),
            (450_000, "449995 more arguments are no parameters of search_tools, and were ignored"),
        ] {
            let mut arguments: Map<String, Value> = many(count);
            let notes = take_unknown("search_tools", &mut arguments);
            assert!(notes[4].starts_with("\"wrong4\" is no parameter"), "{notes:?}");
            assert_eq!((notes.len(), notes[5].as_str()), (6, more));
            assert!(arguments.is_empty());
        }
        let mut right = Map::from_iter([("query".to_owned(), json!("x"))]);
        assert!(take_unknown("search_tools", &mut right).is_empty() && right.len() == 1);
    }

    type Aliases = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

    /// The aliases of the guest: of each function, the other names of its parameters.
    fn guest() -> Aliases {
        let source = include_str!("../../../guest/python/_narrows/parameters.py");
        let parsed = ruff_python_parser::parse_module(source).unwrap();
        let assigned: BTreeMap<&str, &Expr> = parsed
            .suite()
            .iter()
            .filter_map(|stmt| stmt.as_assign_stmt())
            .filter_map(|it| Some((it.targets[0].as_name_expr()?.id.as_str(), &*it.value)))
            .collect();
        let text = |expr: &Expr| expr.as_string_literal_expr().unwrap().value.to_str().to_owned();
        let entries = |expr: &Expr| -> Vec<(String, Expr)> {
            let items = expr.as_dict_expr().unwrap().items.iter();
            items.map(|it| (text(it.key.as_ref().unwrap()), it.value.clone())).collect()
        };
        let names = |expr: Expr| -> BTreeSet<String> {
            let tuple = match &expr {
                Expr::Name(name) => assigned[name.id.as_str()],
                tuple => tuple,
            };
            tuple.as_tuple_expr().unwrap().elts.iter().map(text).collect()
        };
        let parameters = |expr: Expr| -> BTreeMap<String, BTreeSet<String>> {
            entries(&expr).into_iter().map(|(name, aliases)| (name, names(aliases))).collect()
        };
        let functions = entries(assigned["_ALIASES"]).into_iter();
        functions.map(|(function, of)| (function, parameters(of))).collect()
    }

    fn host(tool: &str) -> BTreeMap<String, BTreeSet<String>> {
        let owned = |aliases: &[&str]| aliases.iter().map(ToString::to_string).collect();
        let known = parameters(tool).iter();
        known.map(|(name, aliases)| ((*name).to_owned(), owned(aliases))).collect()
    }

    #[test]
    fn programs_and_clients_have_the_same_aliases() {
        let guest = guest();
        for (function, tool) in [
            ("search_tools", "search_tools"),
            ("get_tool_definition", "get_tool_definition"),
            ("read_file", "read_workspace_file"),
            ("write_file", "write_workspace_file"),
            ("list_files", "list_workspace_files"),
            ("save_skill", "save_skill"),
            ("load_skill", "load_skill"),
            ("list_skills", "list_skills"),
            ("analyze", "execute_analysis"),
        ] {
            let mut known = host(tool);
            if function == "list_files" {
                // It gives a list, which a program cuts itself.
                known.remove("limit");
            }
            known.retain(|_, aliases| !aliases.is_empty());
            assert_eq!(guest[function], known, "{function}");
        }
        assert_eq!(
            guest["delete_file"],
            guest["read_file"].clone().into_iter().filter(|(name, _)| name == "path").collect()
        );
        // Programs have one value, which is text or anything else.
        for function in ["sanitize_pii", "restore_pii"] {
            let mut all: BTreeSet<String> = host(function).into_values().flatten().collect();
            all.extend(host(function).into_keys());
            all.remove("value");
            assert_eq!(guest[function], BTreeMap::from([("value".to_owned(), all)]));
        }
    }

    #[test]
    fn no_alias_is_the_name_of_another_parameter() {
        let tools = [
            "execute_code",
            "search_tools",
            "get_tool_definition",
            "save_skill",
            "load_skill",
            "list_skills",
            "write_workspace_file",
            "read_workspace_file",
            "list_workspace_files",
            "sanitize_pii",
            "execute_analysis",
        ];
        for tool in tools {
            let parameters = parameters(tool);
            assert!(!parameters.is_empty(), "{tool}");
            let aliases: Vec<&str> =
                parameters.iter().flat_map(|(_, aliases)| *aliases).copied().collect();
            for (name, _) in parameters {
                assert!(!aliases.contains(name), "{tool}: {name}");
            }
            let mut once = aliases.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), aliases.len(), "{tool}");
        }
    }
}
