//! Generated Python against the tools of `tests/data`: it compiles, it runs, and type checkers agree.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use narrows_python::codegen::{
    PREAMBLE, StubTool, ToolCode, ToolNames, module_names, parameter_names, signature, stub,
};
use narrows_testkit::{Chance, Tools};
use serde_json::{Value, json};

/// A server of the catalog and its tools.
struct Server {
    name: String,
    tools: Vec<Value>,
}

impl Server {
    fn names(&self) -> ToolNames {
        ToolNames::new(self.tools.iter().map(raw_name))
    }

    fn stub(&self) -> String {
        let names = self.names();
        stub(self.tools.iter().map(|raw| StubTool { name: names.get(raw_name(raw)).unwrap(), raw }))
    }
}

fn raw_name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap()
}

fn catalog() -> Vec<Server> {
    let servers = narrows_testkit::catalog().into_iter();
    servers.map(|(name, tools)| Server { name, tools }).collect()
}

/// A Python that has mypy.
fn python_with_mypy() -> Option<PathBuf> {
    Tools::find().map(|tools| tools.python())
}

fn mypy(python: &Path, folder: &Path, arguments: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } = Command::new(python)
        .args(["-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.success(), text.into_owned())
}

/// Runs the sources of each server in a real interpreter and tells what `inspect` sees of
/// each function. No tool may define what another one has.
const INSPECT: &str = r#"
import inspect, json, sys, typing

def _tool(full_name, renamed={}):
    def decorate(function):
        function.full_name, function.renamed = full_name, renamed
        return function
    return decorate

seen = []
for server in json.load(open(sys.argv[1], encoding="utf-8")):
    fresh = {"_tool": _tool, "__name__": server["module"]}
    exec(compile(server["preamble"], "preamble", "exec"), fresh)
    known = set()
    for tool in server["tools"]:
        module = dict(fresh)
        exec(compile(tool["source"], tool["full_name"], "exec"), module)
        new = {name for name in module if module[name] is not fresh.get(name)} - {"__builtins__"}
        assert not new & known, f"{tool['full_name']} defines {new & known} again"
        assert not new & set(fresh), f"{tool['full_name']} hides {new & set(fresh)}"
        known |= new
        for name in new - {tool["python"]}:
            assert typing.is_typeddict(module[name]), name
            typing.get_type_hints(module[name], module)
        function = module[tool["python"]]
        typing.get_type_hints(function, module)
        assert inspect.iscoroutinefunction(function), tool
        assert function.full_name == tool["full_name"], tool
        parameters = []
        for parameter in inspect.signature(function).parameters.values():
            parameters.append({
                "raw": function.renamed.get(parameter.name, parameter.name),
                "kind": parameter.kind.name,
                "required": parameter.default is parameter.empty,
            })
        seen.append({
            "full_name": tool["full_name"],
            "parameters": parameters,
            "doc": function.__doc__ or "",
        })
json.dump(seen, sys.stdout)
"#;

fn inspect(servers: &[Server]) -> BTreeMap<String, Value> {
    let modules = module_names(servers.iter().map(|server| server.name.as_str()));
    let input: Vec<Value> = servers
        .iter()
        .map(|server| {
            let names = server.names();
            let tools: Vec<Value> = server
                .tools
                .iter()
                .map(|raw| {
                    let full_name = format!("mcp__{}__{}", server.name, raw_name(raw));
                    let code = ToolCode::new(&full_name, names.get(raw_name(raw)).unwrap(), raw, None);
                    json!({"full_name": full_name, "python": code.python_name, "source": code.source})
                })
                .collect();
            json!({"module": modules[&server.name], "preamble": PREAMBLE, "tools": tools})
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("inspect_sources.py");
    let sources = folder.path().join("sources.json");
    std::fs::write(&script, INSPECT).unwrap();
    std::fs::write(&sources, serde_json::to_vec(&input).unwrap()).unwrap();
    let output = Command::new("python3").arg(&script).arg(&sources).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    seen.into_iter().map(|tool| (tool["full_name"].as_str().unwrap().to_owned(), tool)).collect()
}

fn strings(value: &Value) -> BTreeSet<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn every_tool_runs_and_takes_what_its_schema_lists() {
    let servers = catalog();
    let seen = inspect(&servers);
    for server in &servers {
        for raw in &server.tools {
            let full_name = format!("mcp__{}__{}", server.name, raw_name(raw));
            let tool = &seen[&full_name];
            let parameters = tool["parameters"].as_array().unwrap();
            let named = |required: Option<bool>| -> BTreeSet<&str> {
                parameters
                    .iter()
                    .filter(|parameter| parameter["kind"] == "KEYWORD_ONLY")
                    .filter(|parameter| required.is_none_or(|r| parameter["required"] == r))
                    .map(|parameter| parameter["raw"].as_str().unwrap())
                    .collect()
            };
            let schema = &raw["inputSchema"];
            let required = strings(&schema["required"]);
            let listed = schema["properties"].as_object();
            let mut all: BTreeSet<&str> =
                listed.into_iter().flat_map(|map| map.keys().map(String::as_str)).collect();
            all.extend(&required);
            assert_eq!(named(None), all, "{full_name}");
            assert_eq!(named(Some(true)), required, "{full_name}");
            let open = parameters.iter().any(|parameter| parameter["kind"] == "VAR_KEYWORD");
            let additional = &schema["additionalProperties"];
            assert_eq!(
                open,
                listed.is_none() || additional.is_object() || additional == true,
                "{full_name}"
            );
            let doc = tool["doc"].as_str().unwrap();
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let description = words(raw["description"].as_str().unwrap_or_default());
            assert!(words(doc).starts_with(&description), "{full_name}: {doc}");
        }
    }
    assert_eq!(seen.len(), servers.iter().map(|server| server.tools.len()).sum::<usize>());
}

#[test]
fn stubs_of_all_servers_are_strictly_typed() {
    let Some(python) = python_with_mypy() else { return };
    let servers = catalog();
    let folder = tempfile::tempdir().unwrap();
    write_stubs(folder.path(), &servers.iter().collect::<Vec<_>>());
    let (accepted, text) = mypy(&python, folder.path(), &["servers"]);
    assert!(accepted, "{text}");
    assert!(text.contains(&format!("{} source files", servers.len() + 1)), "{text}");
}

/// A program for a type checker: what must be accepted, and lines that must not.
struct Consumer {
    right: &'static str,
    wrong: &'static [(&'static str, &'static str)],
}

/// Checks a consumer against the stubs in `folder`. Each wrong line must have its own
/// error, so that a stub that says `Any` everywhere cannot pass.
fn check_consumer(python: &Path, folder: &Path, consumer: &Consumer) {
    let (imports, right) = consumer.right.trim().split_once('\n').unwrap();
    std::fs::write(folder.join("right.py"), format!("{imports}\n{right}\n")).unwrap();
    let (accepted, text) = mypy(python, folder, &["right.py"]);
    assert!(accepted, "{text}");

    let mut program = format!("{imports}\nasync def wrong() -> None:\n");
    for (line, _) in consumer.wrong {
        program += &format!("    {line}\n");
    }
    std::fs::write(folder.join("wrong.py"), program).unwrap();
    let (accepted, text) = mypy(python, folder, &["wrong.py"]);
    assert!(!accepted, "{text}");
    for (at, (line, code)) in consumer.wrong.iter().enumerate() {
        let place = format!("wrong.py:{}: error:", at + 3);
        let found = text.lines().any(|l| l.starts_with(&place) && l.contains(code));
        assert!(found, "no [{code}] for `{line}` in:\n{text}");
    }
}

fn write_stubs(folder: &Path, servers: &[&Server]) {
    let package = folder.join("servers");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("__init__.pyi"), "").unwrap();
    let modules = module_names(servers.iter().map(|server| server.name.as_str()));
    for server in servers {
        let path = package.join(format!("{}.pyi", modules[&server.name]));
        std::fs::write(path, server.stub()).unwrap();
    }
}

#[test]
fn a_type_checker_tells_right_calls_of_tools_from_wrong_ones() {
    let Some(python) = python_with_mypy() else { return };
    let servers = catalog();
    let folder = tempfile::tempdir().unwrap();
    let used = ["magpie", "pantry", "quayside", "sundial"];
    let used: Vec<&Server> =
        servers.iter().filter(|server| used.contains(&server.name.as_str())).collect();
    write_stubs(folder.path(), &used);
    let consumer = Consumer {
        right: r#"
from servers import magpie, pantry, quayside, sundial
async def right(names: list[str]) -> str:
    await quayside.create_issue(owner="o", repo="r", title="t", labels=names, body=None)
    await quayside.create_issue({"owner": "o", "repo": "r", "title": "t", "milestone": 1})
    await quayside.list_issues(owner="o", repo="r", state="open")
    made = await magpie.link_things(links=[{"from": "a", "to": "b", "label": "c"}])
    await magpie.link_things({"links": made["links"]})
    graph = await magpie.recall_all()
    await pantry.rewrite_file(
        file="p", replacements=[{"find": "a", "replaceWith": "b"}], preview=True)
    await sundial.time_now(zone="UTC")
    return graph["things"][0]["facts"][0] + made["links"][0]["from"]
"#,
        wrong: &[
            (r#"await quayside.create_issue(owner="o", repo="r")"#, "call-overload"),
            (r#"await quayside.create_issue(owner="o", repo="r", title=1)"#, "call-overload"),
            (
                r#"await quayside.create_issue(owner="o", repo="r", title="t", x=1)"#,
                "call-overload",
            ),
            (r#"await quayside.create_issue("o", "r", "t")"#, "call-overload"),
            (r#"await quayside.create_issue({"owner": "o", "repo": "r"})"#, "call-overload"),
            (r#"await quayside.list_issues(owner="o", repo="r", state="odd")"#, "call-overload"),
            (r#"await magpie.link_things(links=[{"from": "a"}])"#, "typeddict-item"),
            (r#"await magpie.recall_all(1)"#, "call-arg"),
            (r#"(await magpie.recall_all())["nodes"]"#, "typeddict-item"),
            (r#"number: int = (await magpie.recall_all())["things"]"#, "assignment"),
            (r#"quayside.no_such_tool"#, "attr-defined"),
        ],
    };
    check_consumer(&python, folder.path(), &consumer);
}

/// A server of nothing but hard cases.
fn tricky() -> Server {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let string = json!({"type": "string"});
    let tool = |name: &str, input: Value| json!({"name": name, "inputSchema": input});
    let mut tools = vec![
        tool(
            "keywords",
            object(
                json!({"from": string, "class": string, "from_": string,
            "self": string, "type": {"type": "integer"}, "max-results": {"type": "integer"},
            "list": {"type": "array", "items": string}, "arguments": string}),
                json!(["from"]),
            ),
        ),
        tool("read-file", object(json!({"path": string}), json!(["path"]))),
        tool("read_file", object(json!({"path": string}), json!(["path"]))),
        tool("readFile", object(json!({"in": object(json!({"a": string}), json!([]))}), json!([]))),
        tool("list", object(json!({}), json!([]))),
        tool("str", object(json!({"str": string, "int": {"type": "integer"}}), json!([]))),
        tool("import", json!({})),
        tool(
            "not",
            object(json!({"required": object(json!({"x": string}), json!([]))}), json!([])),
        ),
        tool("ReadFileArguments", object(json!({"x": string}), json!([]))),
        tool("__init__", json!(null)),
        tool("_tool", json!(true)),
        tool(
            "open",
            json!({"type": "object", "properties": {"a": {"type": "integer"},
            "extra": string}, "additionalProperties": true}),
        ),
        tool("anything", json!({"type": "object"})),
        tool(
            "tree",
            json!({"type": "object", "required": ["root"], "properties": {
            "root": {"$ref": "#/$defs/node"}, "again": {"$ref": "#"}},
            "$defs": {"node": {"type": "object", "required": ["name"], "properties": {
                "name": string, "from": string,
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                "parent": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}}}),
        ),
        tool(
            "methods",
            object(
                json!({"keys": object(json!({"keys": string, "items": string,
            "get": {"type": "integer"}, "update": string, "copy": string, "Any": string,
            "__x": string}), json!(["keys"]))}),
                json!(["keys"]),
            ),
        ),
        tool(
            "defaults",
            object(
                json!({
                    "text": {"type": "string", "default": "a\"\\\n\u{0}"},
                    "odd": {"type": "string", "default": {"a": [1, null, true]}},
                    "null": {"type": "string", "default": null},
                    "type: ignore": {"type": "string", "description": "type: str\r\nnext line"},
                    "noted": object(json!({"a": {"type": "string", "description": "type: ignore[x]"}}),
                        json!([])),
                }),
                json!([]),
            ),
        ),
        tool(
            "values",
            object(
                json!({"quote": {"enum": ["\"", "\\", "\n", "'''", "a\u{202e}b"]},
            "mixed": {"enum": [1, true, null, "x", 2.5]}}),
                json!(["quote"]),
            ),
        ),
        tool("größe", object(json!({"größe": {"type": "integer"}, "中文": string}), json!([]))),
    ];
    let description = "quotes \"\"\" and \\N{not a name}\r\n\0 and 'x\" \"";
    tools.push(json!({"name": "described", "description": description, "inputSchema": {},
        "outputSchema": {"type": "object", "x-fastmcp-wrap-result": true, "required": ["result"],
            "properties": {"result": {"type": "array", "items": {"type": "integer"}}}}}));
    tools.push(json!({"name": "nothing"}));
    tools.push(json!({"name": "malformed", "description": 5, "inputSchema": {"properties": 1,
        "required": "x"}, "outputSchema": []}));
    Server { name: "tricky".to_owned(), tools }
}

#[test]
fn hard_cases_run() {
    let seen = inspect(&[tricky()]);
    assert_eq!(seen.len(), tricky().tools.len());
    let raw = |tool: &str| -> Vec<String> {
        let parameters = seen[&format!("mcp__tricky__{tool}")]["parameters"].as_array().unwrap();
        parameters.iter().map(|p| p["raw"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        raw("keywords"),
        ["from", "class", "from_", "self", "type", "max-results", "list", "arguments"]
    );
    assert_eq!(raw("open"), ["a", "extra", "extra_"]);
    assert_eq!(raw("anything"), ["extra"]);
    assert_eq!(raw("list"), [""; 0]);
    let doc = seen["mcp__tricky__described"]["doc"].as_str().unwrap();
    assert_eq!(doc.trim_end(), "quotes \"\"\" and \\N{not a name}\n    \0 and 'x\" \"");
}

#[test]
fn a_type_checker_tells_right_calls_of_hard_cases_from_wrong_ones() {
    let Some(python) = python_with_mypy() else { return };
    let folder = tempfile::tempdir().unwrap();
    write_stubs(folder.path(), &[&tricky()]);
    let (accepted, text) = mypy(&python, folder.path(), &["servers"]);
    assert!(accepted, "{text}");
    let consumer = Consumer {
        right: r#"
from servers import tricky
async def right() -> int:
    await tricky.keywords(from_2="a", class_="b", from_="c", type=1, max_results=2, list=["x"])
    await tricky.keywords({"from": "a", "class": "b", "max-results": 2})
    await tricky.read_file(path="p")
    await tricky.read_file_2(path="p")
    await tricky.list_()
    await tricky.open(a=1, whatever=[2])
    await tricky.open({"a": 1, "whatever": [2]})
    await tricky.anything(x=1)
    await tricky.anything({"x": 1})
    await tricky.tree(root={"name": "a", "children": [{"name": "b", "parent": None}]})
    await tricky.values(quote="\"", mixed=None)
    return (await tricky.described())[0]
"#,
        wrong: &[
            (r#"await tricky.keywords(class_="b")"#, "call-overload"),
            (r#"await tricky.keywords({"from_": "a"})"#, "call-overload"),
            (
                r#"await tricky.tree(root={"name": "a", "children": [{"nam": ""}]})"#,
                "call-overload",
            ),
            (r#"await tricky.open(a="one")"#, "call-overload"),
            (r#"await tricky.list_(x=1)"#, "call-arg"),
            (r#"await tricky.values(quote="q")"#, "call-overload"),
            (r#"text: str = (await tricky.described())[0]"#, "assignment"),
        ],
    };
    check_consumer(&python, folder.path(), &consumer);
}

/// Replaces one part of a value by something that does not belong there.
fn damage(value: &mut Value, chance: &mut Chance) {
    let children = match value {
        Value::Array(items) => items.len(),
        Value::Object(entries) => entries.len(),
        _ => 0,
    };
    if children > 0 && chance.below(8) > 0 {
        let at = chance.below(children);
        match value {
            Value::Array(items) => damage(&mut items[at], chance),
            Value::Object(entries) => {
                if chance.below(10) == 0 {
                    let key =
                        ["$ref", "from", "a-b", "properties", "type", "\0\"", "allOf", "list"];
                    let moved = entries.values().nth(at).unwrap().clone();
                    entries.insert(key[chance.below(key.len())].to_owned(), moved);
                } else {
                    damage(entries.values_mut().nth(at).unwrap(), chance);
                }
            }
            _ => {}
        }
        return;
    }
    let whole = value.clone();
    *value = match chance.below(14) {
        0 => json!(null),
        1 => json!(true),
        2 => json!(-1.5e300),
        3 => json!("\"\"\"\\\r\n\u{0}\u{2028}"),
        4 => json!([]),
        5 => json!({}),
        6 => json!({"$ref": "#"}),
        7 => json!({"$ref": "#/properties"}),
        8 => json!({"anyOf": [whole, {"type": "null"}, {"$ref": "#"}]}),
        9 => json!({"allOf": [whole, whole, {"$ref": "#"}]}),
        10 => json!([whole]),
        11 => json!({"type": ["object", "array"], "properties": {"from": whole}}),
        12 => json!({"enum": [whole, 1, true], "const": whole}),
        _ => json!({"items": whole, "default": whole, "nullable": true}),
    };
}

#[test]
fn damaged_definitions_still_give_python_that_runs_and_type_checks() {
    let mut chance = Chance::new(0x9e37_79b9_7f4a_7c15);
    let mut sound = tricky().tools;
    for server in catalog().iter_mut().step_by(3) {
        sound.extend(server.tools.drain(..).take(3));
    }
    let mut damaged = Server { name: "damaged".to_owned(), tools: Vec::new() };
    for number in 0..1_500 {
        let mut tool = sound[chance.below(sound.len())].clone();
        for part in ["inputSchema", "outputSchema", "description"] {
            if let Some(part) = tool.get_mut(part) {
                (0..=chance.below(6)).for_each(|_| damage(part, &mut chance));
            }
        }
        tool["name"] = json!(format!("{}-{}", raw_name(&tool), number % 700));
        damaged.tools.push(tool);
    }
    let names = damaged.names();
    // The same name twice is one tool, as it is for the catalog.
    damaged.tools.sort_by(|a, b| raw_name(a).cmp(raw_name(b)));
    damaged.tools.dedup_by(|a, b| raw_name(a) == raw_name(b));
    for tool in &damaged.tools {
        let text = signature(names.get(raw_name(tool)).unwrap(), tool, None);
        assert!(text.contains("async def "), "{text}");
    }
    let damaged = [damaged];
    assert_eq!(inspect(&damaged).len(), damaged[0].tools.len());

    let Some(python) = python_with_mypy() else { return };
    let folder = tempfile::tempdir().unwrap();
    write_stubs(folder.path(), &[&damaged[0]]);
    let (accepted, text) = mypy(&python, folder.path(), &["servers"]);
    assert!(accepted, "{text}");
}

#[test]
fn signatures_take_less_than_forty_percent_of_the_json() {
    let (mut short, mut long) = (0, 0);
    for server in &catalog() {
        let names = server.names();
        for tool in &server.tools {
            short += signature(names.get(raw_name(tool)).unwrap(), tool, None).len();
            long += tool.to_string().len();
        }
    }
    assert!(short * 100 < long * 40, "{short} of {long} bytes");
}

#[test]
fn no_name_is_a_keyword_of_the_interpreter() {
    let script = "import keyword; print(' '.join(keyword.kwlist))";
    let output = Command::new("python3").args(["-c", script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let keywords: BTreeSet<&str> = text.split_whitespace().collect();
    assert!(keywords.contains("while"), "{text}");
    let tools = ToolNames::new(keywords.iter().copied());
    assert!(tools.iter().all(|(_, name)| !keywords.contains(name.python.as_str())));
    for names in [module_names(keywords.clone()), parameter_names(keywords.clone())] {
        assert!(names.values().all(|name| !keywords.contains(name.as_str())), "{names:?}");
    }
}
