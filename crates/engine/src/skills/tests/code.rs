//! The analysis of code before a skill is saved.

use super::super::{Analysed, SkillError, ToolReference};

fn refusal(name: &str, code: &str) -> String {
    Analysed::of(name, code).unwrap_err().to_string()
}

fn tools(code: &str) -> Vec<(String, u32, bool)> {
    let code = format!("{code}\ndef x(): pass\n");
    let uses = Analysed::of("x", &code).unwrap().tools;
    uses.into_iter().map(|ToolReference { tool, line, dynamic }| (tool, line, dynamic)).collect()
}

fn skills(code: &str) -> Vec<String> {
    Analysed::of("x", &format!("{code}\ndef x(): pass\n")).unwrap().skills
}

#[test]
fn a_skill_with_all_there_is() {
    let code = r#"
"""Leads."""
from servers.crm import list_leads
from skills import score
import skills.names

async def filter_high_risk(leads: list[dict], limit: int = 10) -> list[dict]:
    """Keeps the leads
    with a high risk.

    More words.
    """
    more = await list_leads(limit=limit)
    return [lead for lead in leads + more if score(lead) > 0.5][:limit]

async def test_it_keeps_the_risky_ones():
    assert await filter_high_risk([]) == []

def test_it_is_there():
    assert filter_high_risk

def helper(): ...
"#;
    let skill = Analysed::of("filter_high_risk", code).unwrap();
    assert_eq!(
        skill.signature,
        "async filter_high_risk(leads: list[dict], limit: int = 10) -> list[dict]"
    );
    assert_eq!(skill.doc.as_deref(), Some("Keeps the leads with a high risk."));
    assert_eq!(skill.description(), "Keeps the leads with a high risk.");
    assert_eq!(skill.skills, ["names", "score"]);
    assert_eq!(skill.tests, ["test_it_keeps_the_risky_ones", "test_it_is_there"]);
    let expected = ToolReference { tool: "crm.list_leads".to_owned(), line: 3, dynamic: false };
    assert_eq!(skill.tools, [expected]);
}

#[test]
fn signatures_are_what_a_caller_has_to_know() {
    for (code, signature) in [
        ("def x(): pass", "x()"),
        (
            "def x(a, b=1, /, c: int = 2, *rest: str, d, e=None, **more): pass",
            "x(a, b=1, /, c: int = 2, *rest: str, d, e=None, **more)",
        ),
        ("def x(*, a): pass", "x(*, a)"),
        ("def x(a=[\n1,\n2]): pass", "x(a=...)"),
        ("def x(a='é', b: 'dict[str, int]' = {}): pass", "x(a='é', b: 'dict[str, int]' = {})"),
        ("class x:\n  def __init__(self, a, b=2): pass", "class x(a, b=2)"),
        ("class x(dict): pass", "class x"),
        ("x = lambda a, *b: a", "x(a, *b)"),
        ("x: dict[str, int] = {}", "x: dict[str, int]"),
        ("a, (x, *b) = f()", "x"),
        ("try:\n  def x(a): pass\nexcept Exception:\n  pass", "x(a)"),
        ("if a:\n  def x(a): pass\nelse:\n  def x(b): pass", "x(b)"),
    ] {
        assert_eq!(Analysed::of("x", code).unwrap().signature, signature, "{code}");
    }
}

#[test]
fn a_description_is_found_somewhere() {
    let said = |code: &str| Analysed::of("top_leads", code).unwrap().description();
    assert_eq!(said("'''Of the module.'''\ndef top_leads(): pass"), "Of the module.");
    assert_eq!(said("def top_leads():\n  '''Its own.'''"), "Its own.");
    assert_eq!(said("top_leads = 1"), "top leads");
    assert_eq!(said("def top_leads():\n  '''  '''"), "top leads");
    let long = said(&format!("def top_leads():\n  '''{}'''", "é".repeat(2_000)));
    assert_eq!(long.chars().count(), 501);
}

#[test]
fn tools_are_found_however_they_are_named() {
    for (code, expected) in [
        (
            "from servers.github import create_issue, list_issues as li",
            vec![("github.create_issue", 1, false), ("github.list_issues", 1, false)],
        ),
        (
            "from servers import github\ndef f():\n  return github.create_issue(a=1)",
            vec![("github.create_issue", 3, false)],
        ),
        (
            "from servers import github as gh\nf = gh.create_issue.__doc__",
            vec![("github.create_issue", 2, false)],
        ),
        ("servers.github.create_issue()", vec![("github.create_issue", 1, false)]),
        ("def f(servers):\n  return servers.github.create_issue()", vec![]),
        ("servers = [1]\nprint(servers[0])", vec![]),
        (
            "import servers.github\nservers.github.create_issue()",
            vec![("github.create_issue", 2, false)],
        ),
        (
            "import servers.github as gh\ngh.a(); gh.b(gh.c)",
            vec![("github.a", 2, false), ("github.b", 2, false), ("github.c", 2, false)],
        ),
        ("import servers\nservers.github.a()", vec![("github.a", 2, false)]),
        (
            "from client import call_mcp_tool\ncall_mcp_tool('mcp__github__create_issue', {})",
            vec![("github.create_issue", 2, false)],
        ),
        (
            "import client as c\nc.call_mcp_tool('github.create_issue')",
            vec![("github.create_issue", 2, false)],
        ),
        (
            "from client import call_mcp_tool as t\nt('servers.github.' 'a', {'b': t('b')})",
            vec![("github.a", 2, false), ("b", 2, false)],
        ),
        ("call_mcp_tool('mcp__my-server__do__it')", vec![("my-server.do__it", 1, false)]),
        ("def f():\n  from servers.github import a", vec![("github.a", 2, false)]),
        ("from servers.github import *", vec![("github.*", 1, true)]),
        ("from servers import *", vec![("*", 1, true)]),
        ("from servers import github\nf(github)", vec![("github.*", 2, true)]),
        ("from servers import github\ngetattr(github, name)", vec![("github.*", 2, true)]),
        ("import servers\ngetattr(servers, name)", vec![("*", 2, true)]),
        ("import servers\nservers.__dict__", vec![("*", 2, true)]),
        ("from client import call_mcp_tool\ncall_mcp_tool(name)", vec![("*", 2, true)]),
        ("from client import call_mcp_tool\nf = call_mcp_tool", vec![("*", 2, true)]),
        ("import client\nvars(client)", vec![("*", 2, true)]),
        ("exec(code)", vec![("*", 1, true)]),
        ("import builtins\nbuiltins.eval(code)", vec![("*", 2, true)]),
        ("__import__(name)", vec![("*", 1, true)]),
        (
            "import importlib\nimportlib.import_module('servers.github')",
            vec![("github.*", 2, true)],
        ),
        ("from importlib import import_module as i\ni(name)", vec![("*", 2, true)]),
        ("import sys\nsys.modules['servers']", vec![("*", 2, true)]),
        ("import _narrows.calls", vec![("*", 1, true)]),
        ("from _narrows import calls", vec![("*", 1, true)]),
    ] {
        let found = tools(code);
        let found: Vec<(&str, u32, bool)> =
            found.iter().map(|(tool, line, dynamic)| (tool.as_str(), *line, *dynamic)).collect();
        assert_eq!(found, expected, "{code}");
    }
}

#[test]
fn code_that_calls_no_tool_names_none() {
    for code in [
        "import json, re, sys\nre.compile('x'); json.loads('1'); sys.path",
        "import importlib\nimportlib.import_module('json')",
        "from servers import github",
        "from client import call_mcp_tool, ToolError\ntry: pass\nexcept ToolError: pass",
        "'servers.github.create_issue'",
        "class A:\n  def servers(self): return self.servers.github.create_issue",
    ] {
        assert_eq!(tools(code), [], "{code}");
    }
}

#[test]
fn skills_are_found_however_they_are_imported() {
    for (code, expected) in [
        ("from skills import a, b as c", vec!["a", "b"]),
        ("import skills.a", vec!["a"]),
        ("import skills\nskills.a()", vec!["a"]),
        ("from skills.a import helper", vec!["a"]),
        ("from . import a", vec!["a"]),
        ("from .a import helper", vec!["a"]),
        ("def f():\n  from skills import a", vec!["a"]),
        ("import importlib\nimportlib.import_module('skills.a')", vec!["a"]),
        ("import skills", vec![]),
        ("from myskills import a", vec![]),
    ] {
        assert_eq!(skills(code), expected, "{code}");
    }
}

#[test]
fn what_is_no_skill_is_refused_with_the_reason() {
    for (code, said) in [
        (
            "def top_lead(): pass\nclass Other: pass\n_hidden = 1",
            "the code must define top_leads at its top level (def, async def, class or assignment); \
          it defines top_lead, Other; did you mean top_lead?",
        ),
        ("", "it defines nothing"),
        ("def f():\n  def top_leads(): pass", "it defines f"),
        ("from other import top_leads", "it defines nothing"),
        ("def top_leads(:\n  pass", "does not parse: line 1: "),
        ("x = 1\n\ndef top_leads()\n  pass", "line 3: expected ':'"),
        ("def top_leads():\npass", "line 2: expected an indented block"),
        ("x = 1\n  y = 2", "line 2: unexpected indent"),
        ("x = 1\nawait f()", "line 2 of top_leads: await outside of a function"),
        ("async for x in y: pass", "await outside of a function"),
        ("async with x: pass", "await outside of a function"),
        ("x = [y async for y in z]", "await outside of a function"),
        ("@f(await g())\ndef top_leads(): pass", "await outside of a function"),
        ("def top_leads(x=await f()): pass", "await outside of a function"),
        ("def top_leads():\n  await f()", "line 2: 'await' outside async function"),
        ("async def f():\n  def top_leads(): await g()", "line 2: 'await' outside async function"),
        ("return 1", "line 1: 'return' outside function"),
        ("class A:\n  yield 1", "line 2: 'yield' outside function"),
        ("for x in y: pass\nelse: break", "'break' outside loop"),
        ("while x:\n  def f(): continue", "'continue' not properly in loop"),
        ("from skills import *\ndef top_leads(): pass", "name the skills that it needs"),
        ("x = 1\ny = '\0'", "line 2: source code cannot contain null bytes"),
    ] {
        let error = refusal("top_leads", code);
        assert!(error.contains(said), "{code:?}: {error}");
    }
    assert!(refusal("pdf-processing", "x = 1").contains("try pdf_processing"));
}

#[test]
fn waiting_where_python_takes_it_is_fine() {
    for code in [
        "async def x():\n  return [y async for y in z if await y]",
        "async def x():\n  async with a, b:\n    async for c in d: await c",
        "def x():\n  return (await y for y in z)",
        "def x():\n  async def inner(): await y\n  return inner",
        "for a in b:\n  if a: continue\n  while c: break\ndef x(): yield 1",
    ] {
        Analysed::of("x", code).unwrap_or_else(|error| panic!("{code}: {error}"));
    }
}

#[test]
fn code_made_to_exhaust_us_is_refused() {
    let deep = format!("x = {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    assert_eq!(Analysed::of("x", &deep), Err(SkillError::TooDeep { name: "x".to_owned() }));
    let large = format!("x = 1 # {}", "x".repeat(1 << 20));
    assert!(refusal("x", &large).contains("has 1048584 bytes: a skill has at most 1048576"));
    // As many names and calls as there is room for take little time.
    let many = "from servers.a import b\nb(); f = b\n".repeat(20_000) + "x = 1";
    assert_eq!(Analysed::of("x", &many).unwrap().tools.len(), 1);
    // A name that may mean thousands of tools may mean any, wherever it is used.
    let bound: String = (0..5_000).map(|n| format!("from servers.a import t{n} as t\n")).collect();
    let any = bound + &"t(t)\n".repeat(20_000) + "x = 1";
    let tools = Analysed::of("x", &any).unwrap().tools;
    assert_eq!(tools.len(), 5_001);
    assert!(tools.iter().any(|used| used.tool == "*" && used.dynamic));
    let names: String = (0..60_000).map(|n| format!("v{n} = 1\n")).collect();
    assert!(refusal("x", &names).contains("more"));
}

#[test]
fn tools_that_show_only_when_it_runs_are_not_named() {
    let code =
        "from servers.github import create_issue, absent\nfrom servers.x import *\ndef f(): pass";
    let skill = Analysed::of("f", code).unwrap();
    let named: Vec<&str> = skill.named_tools().collect();
    assert_eq!(named, ["github.create_issue", "github.absent"]);
    assert!(skill.tools.iter().any(|used| used.tool == "x.*"), "{:?}", skill.tools);
}
