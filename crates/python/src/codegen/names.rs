//! Translates the names that servers use to names that Python can write.
//!
//! Only this module may sanitise a name. The results depend on the set of names only, never on their
//! order, so that a program written today runs against the same servers tomorrow.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use narrows_model::ToolName;

use super::reserved;

/// The length of a class prefix, which is repeated in every class, so that a long one would multiply.
/// Longer than any name that clients accept.
const MAX_PREFIX: usize = 128;

/// The Python names of one server's tools, by the names that the server uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNames {
    by_raw: BTreeMap<String, ToolName>,
    raw_by_python: HashMap<String, String>,
}

impl ToolNames {
    pub fn new<'a>(raw: impl IntoIterator<Item = &'a str>) -> Self {
        let assigned = assign(raw, tool_base);
        let mut prefixes = class_prefixes(assigned.values());
        let raw_by_python =
            assigned.iter().map(|(raw, python)| (python.clone(), raw.clone())).collect();
        let by_raw = assigned
            .into_iter()
            .map(|(raw, python)| {
                let class_prefix = prefixes.remove(&python).unwrap_or_default();
                (raw, ToolName { python, class_prefix })
            })
            .collect();
        Self { by_raw, raw_by_python }
    }

    /// Returns the Python names of a tool.
    pub fn get(&self, raw: &str) -> Option<&ToolName> {
        self.by_raw.get(raw)
    }

    /// Returns the raw name of the tool behind a Python name.
    pub fn raw(&self, python: &str) -> Option<&str> {
        self.raw_by_python.get(python).map(String::as_str)
    }

    /// Returns the raw names and their Python names, sorted by the raw name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ToolName)> {
        self.by_raw.iter().map(|(raw, name)| (raw.as_str(), name))
    }
}

/// Returns the Python module of each server.
pub fn module_names<'a>(servers: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, String> {
    assign(servers, module_base)
}

/// Returns the Python parameter of each JSON property of one tool.
pub fn parameter_names<'a>(
    properties: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, String> {
    assign(properties, parameter_base)
}

/// Makes the name of a class from words: `read_file` and `content` become `ReadFile` and `Content`.
pub(super) fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for word in words(name).split('_') {
        let mut chars = word.chars();
        if let Some(first) = chars.next() {
            camel.push(first.to_ascii_uppercase());
            camel.push_str(chars.as_str());
        }
    }
    camel
}

/// Gives each raw name the Python name that `base` makes of it, with the next free number if that is
/// taken. A name that needs no change stays as it is, whatever the others are.
fn assign<'a>(
    raw: impl IntoIterator<Item = &'a str>,
    base: fn(&str) -> String,
) -> BTreeMap<String, String> {
    let bases: BTreeMap<&str, String> = raw.into_iter().map(|name| (name, base(name))).collect();
    let (exact, changed): (Vec<_>, Vec<_>) =
        bases.into_iter().partition(|(raw, base)| *raw == base.as_str());

    let mut taken: HashSet<String> = exact.iter().map(|(_, base)| base.clone()).collect();
    let mut assigned: BTreeMap<String, String> =
        exact.into_iter().map(|(raw, base)| (raw.to_owned(), base)).collect();
    // Without the last number of each base, many names of one base would take quadratic time.
    let mut next: HashMap<String, usize> = HashMap::new();
    for (raw, base) in changed {
        let number = next.entry(base.clone()).or_insert(1);
        let mut python = base.clone();
        while !taken.insert(python.clone()) {
            *number += 1;
            let separator = if base.ends_with('_') { "" } else { "_" };
            python = format!("{base}{separator}{number}");
        }
        assigned.insert(raw.to_owned(), python);
    }
    assigned
}

fn tool_base(raw: &str) -> String {
    // Names with an underscore in front belong to the module itself.
    let name = words(raw);
    let name = name.trim_start_matches('_');
    let name = match name.bytes().next() {
        None => "tool".to_owned(),
        Some(b'0'..=b'9') => format!("tool_{name}"),
        Some(_) => name.to_owned(),
    };
    if reserved::is_keyword(&name) || reserved::is_module_name(&name) {
        return name + "_";
    }
    name
}

fn module_base(raw: &str) -> String {
    let name = words(raw);
    let name = if name.starts_with("__") { name.trim_matches('_') } else { &name };
    escape(name, "server")
}

fn parameter_base(raw: &str) -> String {
    let name = words(raw);
    // Two underscores in front are mangled when the call stands in a class.
    let name = if name.starts_with("__") { &name[1..] } else { &name };
    escape(if name.starts_with("__") { name.trim_start_matches('_') } else { name }, "arg")
}

/// Changes only names that Python itself refuses: parameters named `type` or `list` hide nothing that
/// their function needs.
fn escape(name: &str, empty: &str) -> String {
    match name.bytes().next() {
        None => empty.to_owned(),
        Some(b'0'..=b'9') => format!("_{name}"),
        Some(_) if reserved::is_keyword(name) => format!("{name}_"),
        Some(_) => name.to_owned(),
    }
}

/// Keeps the letters, digits and underscores of a name. Other characters between them become one
/// underscore, and those around them are removed: `$filter[name]` becomes `filter_name`. Letters
/// beyond ASCII are written by number, which keeps different names different.
fn words(raw: &str) -> String {
    let mut name = String::with_capacity(raw.len());
    let mut gap = false;
    for c in raw.chars() {
        let kept = c.is_ascii_alphanumeric() || c == '_';
        if !kept && !c.is_alphanumeric() {
            gap = true;
            continue;
        }
        if gap && !name.is_empty() && !name.ends_with('_') && c != '_' {
            name.push('_');
        }
        gap = false;
        if kept {
            name.push(c);
        } else {
            name.push_str(&format!("u{:04x}", u32::from(c)));
        }
    }
    name
}

/// Returns a class prefix for each Python name, such that none is the beginning of another prefix or
/// of a tool's name. Prefixes that would be get an underscore, which camel case never has: `get_user`
/// next to `get_user_result` has the classes `GetUser_…`.
fn class_prefixes<'a>(pythons: impl Iterator<Item = &'a String>) -> HashMap<String, String> {
    let pythons: BTreeSet<&str> = pythons.map(String::as_str).collect();
    let camels: Vec<(String, String)> = {
        // `a_b` and `aB` are the same in camel case, so they are numbered like other names.
        let mut next: HashMap<String, usize> = HashMap::new();
        let mut taken = HashSet::new();
        pythons
            .iter()
            .map(|python| {
                let mut base = camel_case(python);
                base.truncate(MAX_PREFIX);
                let number = next.entry(base.clone()).or_insert(1);
                let mut camel = base.clone();
                while !taken.insert(camel.clone()) {
                    *number += 1;
                    camel = format!("{base}{number}");
                }
                ((*python).to_owned(), camel)
            })
            .collect()
    };
    let mut starts: BTreeSet<String> = camels.iter().map(|(_, camel)| camel.clone()).collect();
    starts.extend(pythons.iter().map(|python| (*python).to_owned()));
    camels
        .into_iter()
        .map(|(python, mut prefix)| {
            while is_extended(&starts, &prefix) {
                prefix.push('_');
            }
            (python, prefix)
        })
        .collect()
}

fn is_extended(names: &BTreeSet<String>, prefix: &str) -> bool {
    let after = (std::ops::Bound::Excluded(prefix), std::ops::Bound::Unbounded);
    names.range::<str, _>(after).next().is_some_and(|next| next.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn python(names: &[&str], raw: &str) -> String {
        ToolNames::new(names.iter().copied()).get(raw).unwrap().python.clone()
    }

    #[test]
    fn tool_names_become_identifiers() {
        for (raw, expected) in [
            ("create_issue", "create_issue"),
            ("createIssue", "createIssue"),
            ("read-file", "read_file"),
            ("browser.tab/close", "browser_tab_close"),
            ("API-get-user", "API_get_user"),
            ("3d-model", "tool_3d_model"),
            ("import", "import_"),
            ("list", "list_"),
            ("type", "type_"),
            ("match", "match"),
            ("Any", "Any_"),
            ("ToolError", "ToolError_"),
            ("_tool", "tool"),
            ("__init__", "init__"),
            ("", "tool"),
            ("---", "tool"),
            ("中文", "u4e2du6587"),
            ("größe", "gru00f6u00dfe"),
        ] {
            assert_eq!(python(&[raw], raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_name_that_needs_no_change_keeps_it_and_the_others_stay_reachable() {
        let names = ["read-file", "read.file", "read_file", "read_file_2"];
        assert_eq!(python(&names, "read_file"), "read_file");
        assert_eq!(python(&names, "read_file_2"), "read_file_2");
        assert_eq!(python(&names, "read-file"), "read_file_3");
        assert_eq!(python(&names, "read.file"), "read_file_4");
        let tools = ToolNames::new(names);
        assert_eq!(tools.raw("read_file_3"), Some("read-file"));
        assert_eq!(tools.raw("absent"), None);
    }

    #[test]
    fn the_order_of_a_list_changes_no_name() {
        let mut names = vec!["a-b", "a.b", "a_b", "aB", "list", "list_", "a b", "A_b", "a-b"];
        let expected = ToolNames::new(names.iter().copied());
        names.reverse();
        assert_eq!(ToolNames::new(names.iter().copied()), expected);
        names.rotate_left(3);
        assert_eq!(ToolNames::new(names.iter().copied()), expected);
    }

    #[test]
    fn no_class_prefix_starts_another_name() {
        let names = ["get_user", "get_user_result", "GetUser_x", "getUser", "GetUserArguments"];
        let tools = ToolNames::new(names);
        let prefixes: Vec<&str> = tools.iter().map(|(_, n)| n.class_prefix.as_str()).collect();
        for (at, prefix) in prefixes.iter().enumerate() {
            for (other, name) in prefixes.iter().enumerate() {
                assert!(at == other || !name.starts_with(prefix), "{prefix} {name}");
            }
            for (_, name) in tools.iter() {
                assert!(
                    !name.python.starts_with(prefix) || name.python == *prefix,
                    "{prefix} {name:?}"
                );
            }
        }
        assert_eq!(ToolNames::new(["a_b"]).get("a_b").unwrap().class_prefix, "AB");
    }

    #[test]
    fn modules_are_identifiers_and_apart() {
        let modules =
            module_names(["my-server", "my_server", "7zip", "__init__", "class", "", "Ü"]);
        assert_eq!(modules["my_server"], "my_server");
        assert_eq!(modules["my-server"], "my_server_2");
        assert_eq!(modules["7zip"], "_7zip");
        assert_eq!(modules["__init__"], "init");
        assert_eq!(modules["class"], "class_");
        assert_eq!(modules[""], "server");
        assert_eq!(modules["Ü"], "u00dc");
    }

    #[test]
    fn parameters_change_only_where_python_needs_it() {
        let parameters = parameter_names([
            "from",
            "from_",
            "max-results",
            "type",
            "list",
            "self",
            "$filter",
            "a[b]",
            "1st",
            "__x",
            "_y",
            "____",
        ]);
        for (raw, expected) in [
            ("from_", "from_"),
            ("from", "from_2"),
            ("max-results", "max_results"),
            ("type", "type"),
            ("list", "list"),
            ("self", "self"),
            ("$filter", "filter"),
            ("a[b]", "a_b"),
            ("1st", "_1st"),
            ("__x", "_x"),
            ("_y", "_y"),
            ("____", "arg"),
        ] {
            assert_eq!(parameters[raw], expected, "{raw:?}");
        }
    }

    #[test]
    fn many_names_of_one_base_take_little_time() {
        let gaps = |n: usize| "-".repeat(n % 200 + 1);
        let ends = |n: usize| "!".repeat(n / 200);
        let names: Vec<String> = (0..20_000).map(|n| format!("a{}b{}", gaps(n), ends(n))).collect();
        let assigned = ToolNames::new(names.iter().map(String::as_str));
        assert_eq!(assigned.iter().count(), 20_000);
    }
}
