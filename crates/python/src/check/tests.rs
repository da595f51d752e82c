//! Programs and the findings in them.

use std::collections::HashSet;

use narrows_model::{Nearest, nearest, there_are};
use serde_json::{Value, json};

use super::{
    ByFullName, CheckFinding, Checked, GivenVariables, KnownParameter, KnownTool, KnownTools,
};
use crate::{ParsedProgram, SourceTree};

mod hostile;
mod unbound;

fn check<'k>(code: &str, given: GivenVariables<'k>, known: &'k dyn KnownTools) -> Checked {
    let tree = SourceTree::new(code);
    super::check(&ParsedProgram::new(&tree), given, known)
}

/// A catalog of two servers, and one whose tools are not known yet.
struct Example;

fn parameter(name: &str, required: bool, schema: Value) -> KnownParameter {
    let python = if name == "from" { "from_" } else { name };
    KnownParameter { python: python.into(), raw: name.into(), required, schema }
}

fn issue() -> Value {
    json!({"type": "object", "properties": {
        "number": {"type": "integer"},
        "title": {"type": "string"},
        "created_at": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "user": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
    }})
}

fn github(name: &str) -> Option<KnownTool> {
    let user = json!({"type": "object", "properties": {"login": {"type": "string"}, "name": {}}});
    let defs = json!({"User": user, "Issue": issue()});
    let text = || json!({"type": "string"});
    let (parameters, returns) = match name {
        "create_issue" => (
            vec![
                parameter("owner", true, text()),
                parameter("repo", true, text()),
                parameter("title", true, text()),
                parameter("from", false, text()),
                parameter("state", false, json!({"type": "string", "enum": ["open", "closed"]})),
                parameter("count", false, json!({"type": ["integer", "null"]})),
                parameter("labels", false, json!({"type": "array"})),
            ],
            Some(json!({"$ref": "#/$defs/Issue", "$defs": defs})),
        ),
        "list_issues" => (
            vec![parameter("page", false, json!({"type": "integer"}))],
            Some(json!({"type": "array", "items": {"$ref": "#/$defs/Issue"}, "$defs": defs})),
        ),
        "search" => (
            vec![parameter("query", true, text())],
            Some(json!({"type": "object", "additionalProperties": false, "$defs": defs,
                "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/Issue"}},
                "total_count": {"type": "integer"}}})),
        ),
        "get_user" => (vec![parameter("filter", true, json!({"type": "object"}))], None),
        "ping" => (vec![], None),
        _ => return None,
    };
    Some(KnownTool { name: name.into(), parameters, returns, ..KnownTool::default() })
}

impl KnownTools for Example {
    fn servers(&self) -> Vec<String> {
        ["github", "notes", "sleeping"].map(str::to_owned).to_vec()
    }

    fn tools(&self, module: &str) -> Option<Vec<String>> {
        let names: &[&str] = match module {
            "github" => &["create_issue", "list_issues", "search", "get_user", "ping"],
            "notes" => &["add", "read"],
            _ => return None,
        };
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn tool(&self, module: &str, name: &str) -> Option<KnownTool> {
        match (module, name) {
            ("github", name) => github(name),
            ("notes", "add") => Some(KnownTool {
                name: "add".into(),
                parameters: vec![parameter("text", true, json!({"type": "string"}))],
                open: true,
                ..KnownTool::default()
            }),
            ("notes", "read") => Some(KnownTool {
                name: "read".into(),
                closed: true,
                parameters: vec![parameter("from", true, json!({"type": "string"}))],
                returns: Some(issue()),
                observed: true,
                ..KnownTool::default()
            }),
            _ => None,
        }
    }

    fn suggest(&self, module: &str, name: &str) -> String {
        let names = self.tools(module).unwrap_or_default();
        let known = || names.iter().map(String::as_str);
        match nearest(name, known()) {
            Nearest(near) if near.is_empty() => there_are(known()),
            nearest => nearest.to_string(),
        }
    }

    fn by_full_name(&self, name: &str) -> ByFullName {
        let mut parts = name.split("__").skip(1);
        let (Some(server), Some(tool)) = (parts.next(), parts.next()) else {
            return ByFullName::NotKnown;
        };
        match (self.tool(server, tool), self.tools(server)) {
            (Some(tool), _) => ByFullName::Tool(Box::new(tool)),
            (None, Some(_)) => ByFullName::Wrong,
            (None, None) => ByFullName::NotKnown,
        }
    }

    fn why_wrong(&self, name: &str) -> String {
        let mut parts = name.split("__").skip(1);
        let (server, tool) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        format!("{server} has no tool '{tool}'")
    }
}

/// The imports with which most programs start.
const IMPORTS: &str = "import asyncio, servers, client; from servers.github import create_issue, \
                       list_issues, search, get_user, ping; from servers import notes as n\n";

fn found(program: &str) -> Vec<CheckFinding> {
    let mut found =
        check(&format!("{IMPORTS}{program}"), GivenVariables::Unknown, &Example).findings;
    found.iter_mut().for_each(|finding| finding.line -= 1);
    found
}

/// Checks that each program has exactly this one mistake, at this place.
fn expect(table: &[(&str, (u32, u32), &str)]) {
    for (program, (line, column), message) in table {
        let expected =
            CheckFinding { line: *line, column: *column, message: (*message).to_owned() };
        assert_eq!(found(program), [expected], "{program}");
    }
}

fn expect_nothing(programs: &[&str]) {
    for program in programs {
        assert_eq!(found(program), [], "{program}");
    }
}

#[test]
fn names_that_do_not_exist_are_told_with_the_nearest() {
    expect(&[
        (
            "from servers.github import creat_issue",
            (1, 28),
            "github has no tool 'creat_issue'; did you mean create_issue?",
        ),
        (
            "from servers.github import (\n    search,\n    lst_issues as l,\n)",
            (3, 5),
            "github has no tool 'lst_issues'; did you mean list_issues?",
        ),
        ("from servers.githb import x", (1, 6), "there is no server 'githb'; did you mean github?"),
        ("import servers.githb as g", (1, 8), "there is no server 'githb'; did you mean github?"),
        ("from servers import ntes", (1, 21), "there is no server 'ntes'; did you mean notes?"),
        (
            "from servers import weather",
            (1, 21),
            "there is no server 'weather'; there are github, notes, sleeping",
        ),
        (
            "await servers.github.serch(query='é')",
            (1, 22),
            "github has no tool 'serch'; did you mean search?",
        ),
        (
            "def f():\n    import servers.github as gh\n    return gh.create_isue",
            (3, 15),
            "github has no tool 'create_isue'; did you mean create_issue?",
        ),
        (
            "g = servers.github\nprint(g.xyz)",
            (2, 9),
            "github has no tool 'xyz'; there are create_issue, list_issues, search, get_user, ping",
        ),
        (
            "await servers.gitub.search(query='x')",
            (1, 15),
            "there is no server 'gitub'; did you mean github?",
        ),
        (
            "await client.call_mcp_tool('mcp__github__serch', {})",
            (1, 28),
            "github has no tool 'serch'",
        ),
    ]);
}

#[test]
fn names_that_may_exist_are_left_alone() {
    expect_nothing(&[
        "from servers.sleeping import anything\nawait anything(x=1)['y']",
        "await servers.sleeping.anything(1, 2, 3)",
        "from servers.github import ToolError, CreateIssueResult, Any",
        "from servers.github import *\ncreat_issue()",
        "servers.github.__name__, servers.__path__, dir(servers.github)",
        "getattr(servers.github, 'creat_issue')",
        "await n.add(text='fresh')\nfrom servers.notes import fresh\nawait fresh()",
        "try:\n    from servers.github import creat_issue\nexcept ImportError:\n    pass",
        "if flag:\n    from servers.github import creat_issue",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from servers.githb import x",
        "servers = object()\nservers.nothing",
        "def f(servers):\n    return servers.nothing",
        "class A:\n    servers = None\n    x = servers.nothing",
        "servers.github.mine = 1\nservers.github.mine",
        "from other.servers import x\nfrom .others import y\nfrom serversx import z\nimport github",
        "from client import call_mcp_tool as call\nawait call(name, {})\nawait call('mcp__sleeping__x', {})",
        "if 'creat_issue' in dir(servers.github):\n    servers.github.creat_issue()",
        "exec('x = 1')\nservers.githb",
        "import sys\nsys.modules['servers'] = 1\nservers.githb",
    ]);
}

#[test]
fn arguments_that_do_not_fit_are_told() {
    expect(&[
        (
            "await create_issue(owner='o', repo='r', titel='t')",
            (1, 41),
            "create_issue() has no parameter 'titel'; did you mean 'title'?",
        ),
        (
            "await create_issue(owner='o', repo='r', title='t', xyz=1)",
            (1, 52),
            "create_issue() has no parameter 'xyz' (it takes owner, repo, title, from_, state, count, labels)",
        ),
        ("await create_issue(title='t')", (1, 7), "create_issue() needs owner, repo"),
        ("await create_issue('o', 'r')", (1, 7), "create_issue() needs title"),
        ("await create_issue('o')", (1, 7), "create_issue() needs repo, title"),
        ("await create_issue({'title': x})", (1, 7), "create_issue() needs owner, repo"),
        ("await create_issue({})", (1, 7), "create_issue() needs owner, repo, title"),
        (
            "await create_issue('o', 'r', 't', owner=x)",
            (1, 35),
            "create_issue() gets 'owner' twice",
        ),
        (
            "await create_issue({'owner': 'o', 'repo': 'r', 'title': 't', 'staet': 'open'})",
            (1, 62),
            "create_issue() has no parameter 'staet'; did you mean 'state'?",
        ),
        (
            "await create_issue(owner='o', **{'from': 'x'}, titel=1)",
            (1, 48),
            "create_issue() has no parameter 'titel'; did you mean 'title'?",
        ),
        ("await ping(1)", (1, 7), "ping() takes 0 arguments, 1 were given (it takes none)"),
        (
            "await list_issues(1, 2)",
            (1, 7),
            "list_issues() takes 1 arguments, 2 were given (it takes page)",
        ),
        ("await list_issues(page='2')", (1, 24), "list_issues(): 'page' is '2', expected integer"),
        ("await list_issues(page=2.5)", (1, 24), "list_issues(): 'page' is 2.5, expected integer"),
        ("await list_issues([1])", (1, 19), "list_issues(): 'page' is [1], expected integer"),
        ("await search(query=None)", (1, 20), "search(): 'query' is None, expected string"),
        (
            "await create_issue(o, r, t, count=True)",
            (1, 35),
            "create_issue(): 'count' is True, expected integer or null",
        ),
        (
            "await create_issue(o, r, t, state='opn')",
            (1, 35),
            "create_issue(): 'state' is 'opn', expected one of \"open\", \"closed\"; did you mean open?",
        ),
        (
            "await create_issue(o, r, t, labels=f'{x}')",
            (1, 36),
            "create_issue(): 'labels' is f'{x}', expected array",
        ),
        ("await n.add(txt='x')", (1, 7), "add() needs text"),
        (
            "await client.call_mcp_tool('mcp__notes__read', {'from_': 'x'})",
            (1, 49),
            "read() has no parameter 'from_'; did you mean 'from'?",
        ),
        ("await client.call_mcp_tool('mcp__notes__add')", (1, 7), "add() needs text"),
        (
            "await client.call_mcp_tool('mcp__notes__add', {'x': 1}, y=2)",
            (1, 7),
            "add() needs text",
        ),
        (
            "pages = await asyncio.gather(*[list_issues(pge=i) for i in range(3)])",
            (1, 44),
            "list_issues() has no parameter 'pge'; did you mean 'page'?",
        ),
    ]);
}

#[test]
fn arguments_that_may_fit_are_left_alone() {
    expect_nothing(&[
        "await create_issue('o', 'r', 't', 'me', 'open', 1, [])",
        "await create_issue(owner='o', repo='r', title='t', from_='x', count=None, state=None)",
        "await create_issue({'owner': 'o', 'repo': 'r', 'title': 't', 'from': 'x'})",
        "await create_issue(given)\nawait create_issue(given())\nawait create_issue(given['x'])",
        "await create_issue(*args)\nawait create_issue(**more)\nawait create_issue('o', *args)",
        "await create_issue({**defaults, 'title': 't'})",
        "await create_issue({key: 1})",
        "await create_issue({**defaults, 'x': 1})",
        "await get_user({'login': 'x'})",
        "await n.add({'text': 't', 'other': 1})\nawait n.add(text='t', other=1)",
        "await n.read({'from': 'x'})\nawait n.read('x')",
        "await list_issues(page=2.0)\nawait list_issues(page=-1)\nawait list_issues(page=x)",
        "await search(query='a' + b)\nawait search(query=str(1))\nawait search('a' 'b')",
        "await client.call_mcp_tool('mcp__github__list_issues', {'unlisted': 1})",
        "await client.call_mcp_tool('mcp__notes__add', given)",
        "await client.call_mcp_tool('mcp__notes__add', **given)",
        "await client.call_mcp_tool('mcp__notes__add', None, text='x')",
        "def create_issue(**x): ...\ncreate_issue(titel=1)",
        "create_issue = print\ncreate_issue(titel=1)",
        "create = create_issue\ncreate = print\ncreate(titel=1)",
        "def f(search):\n    search(1, 2, 3)",
        "for search in []:\n    search(1, 2, 3)",
        "def f():\n    global search\n    search = print\nsearch(1, 2, 3)",
        "def f():\n    search = 1\n    def g():\n        nonlocal search\n        search(1, 2, 3)",
        "try:\n    await search(x=1)\nexcept TypeError:\n    pass",
        "from contextlib import suppress\nwith suppress(TypeError):\n    await search(x=1)",
        "async def go():\n    await search(x=1)\ntry:\n    await go()\nexcept TypeError:\n    pass",
        "async def a():\n    await search(x=1)\nasync def b():\n    await a()\ntry:\n    await b()\nexcept Exception:\n    pass",
        "async def safe(c):\n    try:\n        return await c\n    except TypeError:\n        pass\nawait safe(search(x=1))",
        "r = await asyncio.gather(search(x=1), return_exceptions=True)",
        "t = asyncio.create_task(search(x=1))\ntry:\n    await t\nexcept TypeError:\n    pass",
        "async def a():\n    async def b():\n        await search(x=1)\n    await b()\ntry:\n    await a()\nexcept TypeError:\n    pass",
        "@retry\nasync def go():\n    await search(x=1)",
    ]);
}

#[test]
fn calls_that_nobody_awaits_are_told() {
    let of = |name: &str| format!("{name}() is not awaited: write await {name}(...)");
    for (program, at, name) in [
        ("ping()", (1, 1), "ping"),
        ("def f():\n    servers.github.ping()", (2, 5), "ping"),
        ("x = list_issues()\nprint(x[0])", (2, 7), "list_issues"),
        ("print(search(query='x')['items'])", (1, 7), "search"),
        ("for i in list_issues():\n    pass", (1, 10), "list_issues"),
        ("[i for i in list_issues()]", (1, 13), "list_issues"),
        ("search(query='x').get('items')", (1, 1), "search"),
        ("client.call_mcp_tool('mcp__github__ping')", (1, 1), "ping"),
    ] {
        expect(&[(program, at, &of(name))]);
    }
    expect_nothing(&[
        "t = asyncio.create_task(ping())\nawait t",
        "calls = [ping(), ping()]\nawait asyncio.gather(*calls)",
        "call = ping()\nawait call",
        "call = ping()\ncall.close()",
        "def f():\n    return ping()\nawait f()",
        "asyncio.run(ping())",
        "tasks = []\ntasks.append(ping())",
        "f = lambda: ping()\nawait f()",
    ]);
}

#[test]
fn misspelt_fields_are_told_with_the_right_name() {
    for program in [
        "x = await list_issues()\nprint(x[0][@'titel'])",
        "x = await list_issues()\nfor i in x:\n    print(i[@'titel'])",
        "x = await list_issues()\nprint([i[@'titel'] for i in x])",
        "x = await list_issues()\nprint(sum(len(i[@'titel']) for i in x if i))",
        "x = await list_issues()\nprint({i[@'titel']: i for i in x})",
        "x = await list_issues()\nx.sort(key=lambda i: i[@'titel'])",
        "x = await list_issues()\nprint(sorted(x, key=lambda i: i[@'titel'])[:3])",
        "x = await list_issues()\nprint(max(x, key=lambda i: i['number'])[@'titel'])",
        "x = await list_issues()\nprint(list(filter(lambda i: i[@'titel'], x)))",
        "x = await list_issues()\nprint(f\"{x[-1][@'titel']}\")",
        "x = await list_issues()\nprint(x[1:][0][@'titel'])",
        "x = await list_issues()\ny = x[0]\nz = y\nprint(z.get(@'titel'))",
        "x = await list_issues()\nfor k, i in enumerate(x):\n    print(i[@'titel'])",
        "x = await list_issues()\nfor a, b in zip(x, x):\n    print(b[@'titel'])",
        "x = await list_issues()\ny = [i for i in x if i['number']]\nprint(y[0][@'titel'])",
        "x = await list_issues()\ny = next((i for i in x), None)\nprint(y[@'titel'])",
        "x: list = await list_issues()\nfor i in x or []:\n    print(i.get(@'titel', ''))",
        "print((await list_issues())[0][@'titel'])",
        "if (x := await list_issues()):\n    print(x[0][@'titel'])",
        "a, b = await asyncio.gather(ping(), list_issues())\nprint(b[0][@'titel'])",
        "x = await asyncio.gather(*(list_issues(page=p) for p in range(3)))\nprint([i[@'titel'] for p in x for i in p])",
        "x = [await list_issues(page=p) for p in range(3)]\nprint(x[0][0][@'titel'])",
        "c = [list_issues(page=p) for p in range(3)]\nx = await asyncio.gather(*c)\nprint(x[0][0][@'titel'])",
        "t = asyncio.create_task(list_issues())\nx = await t\nprint(x[0][@'titel'])",
        "async with asyncio.TaskGroup() as g:\n    t = g.create_task(list_issues())\nprint(t.result()[0][@'titel'])",
        "x = await asyncio.wait_for(list_issues(), 3)\nprint(x[0][@'titel'])",
        "async def f():\n    x = await list_issues()\n    return [i[@'titel'] for i in x]\nawait f()",
        "x = await list_issues()\ndef f():\n    return x[0][@'titel']",
        "for p in range(3):\n    x = await list_issues(page=p)\n    print(x[0][@'titel'])",
        "while True:\n    x = await list_issues()\n    if x[0][@'titel']:\n        break",
        "x = await client.call_mcp_tool('mcp__github__list_issues', {})\nprint(x[0][@'titel'])",
        "x = await list_issues()\nx[0]['new'] = 1\nprint(x[0][@'titel'])",
        "x = await list_issues()\nseen = {}\nfor i in x:\n    seen[i['number']] = i[@'titel']",
    ] {
        let (before, _) = program.split_once('@').unwrap();
        let line = u32::try_from(before.matches('\n').count() + 1).unwrap();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let at = (line, u32::try_from(column).unwrap());
        let message = "the result of list_issues has no field 'titel'; did you mean 'title'?";
        expect(&[(&program.replace('@', ""), at, message)]);
    }
    expect(&[
        (
            "x = await search(query='x')\nprint(x['itens'])",
            (2, 9),
            "the result of search has no field 'itens'; did you mean 'items'?",
        ),
        (
            "x = await search(query='x')\nfor i in x['items']:\n    print(i['user']['nam'])",
            (3, 21),
            "the result of search has no field 'nam'; did you mean 'name'?",
        ),
        (
            "x = await search(query='x')\nprint(x['count'])",
            (2, 9),
            "the result of search has no field 'count'; did you mean 'total_count'?",
        ),
        (
            "x = await n.read('me')\nprint(x['createdAt'])",
            (2, 9),
            "the result of read has no field 'createdAt'; did you mean 'created_at'? (observed)",
        ),
        (
            "x = await create_issue('o', 'r', 't')\nprint(x.title, x.items, x.raw)",
            (2, 9),
            "x is a dict: write x[\"title\"]",
        ),
        (
            "for i in await list_issues():\n    print(i.user.login)",
            (2, 13),
            "i is a dict: write i[\"user\"]",
        ),
        (
            "x = await list_issues()\nprint(x.title)",
            (2, 9),
            "x is a list of dicts: write x[0][\"title\"], or go through it with for",
        ),
    ]);
}

#[test]
fn fields_that_may_be_there_are_left_alone() {
    const RESULT: &str = "x = await list_issues()\ni = x[0]\n";
    let programs = [
        "i['title'], i['user']['login'], i.get('number'), x[0]['labels'][0]",
        "i['updated_at'], i['weather'], i['user']['email']",
        "i['titel'] = 1\ni['titel']",
        "i.update(titel=1)\ni['titel']",
        "i.update({'titel': 1})\ni['titel']",
        "i.update(other)\ni['titel']",
        "i.setdefault('titel', 1)\ni['titel']",
        "i |= other\ni['titel']",
        "for k in other:\n    i[k] = 1\ni['titel']",
        "def fill(r, k):\n    r[k] = 1\nfill(i, 'titel')\ni['titel']",
        "if 'titel' in i:\n    i['titel']",
        "del i['titel']",
        "x.append({'titel': 1})\nx[-1]['titel']",
        "i.get('titel') or i.get('name')",
        "i.get('titel', i.get('title'))",
        "t = i.get('titel')\nif t is None:\n    t = i.get('title')",
        "i['titel'] if i else 1\ni = 2",
        "try:\n    i['titel']\nexcept KeyError:\n    pass",
        "if isinstance(i, dict):\n    i['titel']",
        "match i:\n    case {'titel': t}:\n        i['titel']",
        "i.pop('titel', None)",
        "def f(i):\n    return i['titel']",
        "[i['titel'] for i in other]",
        "(lambda i: i['titel'])({})",
        "y = {**i}\ny['titel']",
        "y = dict(i)\ny['titel']",
        "y = [{'titel': k['title']} for k in x]\ny[0]['titel']",
        "x[i]['titel'] if False else x\nx = 1",
        "import json\ny = json.loads(i['title'])\ny['titel']",
        "x.index(i), x.count(i), i.items(), i.keys(), i.raw, x.raw",
        "def safe(f):\n    try:\n        return f()\n    except KeyError:\n        pass\nsafe(lambda: i['titel'])",
        "def f(t: i['titel']) -> i['titel']: ...",
        "x['titel']",
        "i.other",
    ];
    for program in programs {
        expect_nothing(&[&format!("{RESULT}{program}")]);
    }
    expect_nothing(&[
        // It may be a variable that the program was given.
        "if fresh:\n    x = await list_issues()\nx[0]['titel']",
        "x[0]['titel']\nx = await list_issues()",
        "for x in await list_issues():\n    pass\nx['titel']",
        "x = await list_issues() if fresh else other\nx[0]['titel']",
        "x = await n.read('me')\nx['label'], x['titles'], x['nam'], x['nunber_of']",
        "x = await ping()\nx['anything'].whatever",
        "a, *b = await asyncio.gather(ping(), list_issues())\nb[0]['titel']",
        "r = await asyncio.gather(list_issues(), return_exceptions=True)\nr[0][0]['titel']",
    ]);
}

#[test]
fn whatever_is_written_nothing_breaks() {
    let many = 20_000;
    for program in [
        "(".repeat(many),
        "x = ".repeat(many),
        format!("x{}", "['a']".repeat(many)),
        format!("x{}", "['a']".repeat(300)),
        format!("{}1", "lambda: ".repeat(350)),
        (0..many).map(|n| format!("a{} = a{n}\n", n + 1)).collect(),
        (0..many).rev().map(|n| format!("a{} = a{n}\n", n + 1)).collect(),
        "def f(:\n\0\u{feff}é".to_owned(),
        "await search(query='x'".to_owned(),
        "x = x = [x for x in x]\nx[0]['a']".to_owned(),
        "a = b\nb = a\na['x']".to_owned(),
        "(x := x)['a']".to_owned(),
        "async def f(): [await f() async for x in y]".to_owned(),
        "from . import servers\nfrom servers import (a)\nimport servers.\n".to_owned(),
        "\r\r\n\rawait servers.githb\r".to_owned(),
        format!("x{}['a']", ".b()".repeat(150)),
        format!("x{}['a']", "[0].get('b')".repeat(80)),
        format!("import servers.{}", "ab".repeat(many)),
        format!("servers.github.{0}\nawait search({0}=1)", "ab".repeat(many)),
        format!("await create_issue(o, r, t, state='{}')", "ab".repeat(many)),
    ] {
        found(&program);
    }
    assert_eq!(found("\r\r\n\rservers.githb")[0].line, 4);
    let mistakes: String = (0..2_000).map(|n| format!("servers.github.a{n}\n")).collect();
    assert_eq!(found(&mistakes).len(), 20);
    let none = HashSet::new();
    let names = GivenVariables::Names(&none);
    assert_eq!(check(&"#".repeat(1 << 20), names, &Example), Checked::default());
    let checked = check(&format!("\u{feff}{IMPORTS}servers.githb"), names, &Example);
    assert_eq!(checked.findings[0].line, 2);
}

fn names(program: &str) -> (Vec<String>, Vec<&'static str>) {
    let checked = check(program, GivenVariables::Names(&HashSet::from(["user_id"])), &Example);
    let messages = checked.findings.into_iter().map(|finding| finding.message).collect();
    (messages, checked.implied.into_iter().collect())
}

#[test]
fn names_that_nothing_binds_are_told_with_what_to_do() {
    for (program, message) in [
        ("print(totl)\ntotal = 1", "`totl` is not defined; did you mean total?"),
        ("enumrate([1])", "`enumrate` is not defined; did you mean enumerate?"),
        ("def f():\n    return missing_thing\nf()", "`missing_thing` is not defined"),
        ("[x for x in rows_of_it]", "`rows_of_it` is not defined"),
        ("class A:\n    n = 1\n    def f(self):\n        return n", "`n` is not defined"),
        ("f'{absent_value:>10}'", "`absent_value` is not defined"),
        ("Counter('aab')", "`Counter` is not defined; add `from collections import Counter`"),
        (
            "await mcp__github__ping()",
            "`mcp__github__ping` is not defined; add `from servers.github import ping`, and call \
             ping(...)",
        ),
        ("github.ping()", "`github` is not defined; add `from servers import github`"),
        (
            "f = list_issues\nawait f()",
            "`list_issues` is not defined; add `from servers.github import list_issues`",
        ),
        (
            "await tools.list_issues()",
            "`tools` is not defined; tools are called by their server, `await \
             servers.github.TOOL(...)`, and search_tools(\"...\") finds them; the servers are github, \
             notes, sleeping",
        ),
        ("print(row)", "`row` is not defined"),
        ("print(string.title())", "`string` is not defined; add `import string`"),
        ("numbers = [1]\nprint(sum(number))", "`number` is not defined; did you mean numbers?"),
        (
            "pd.DataFrame([])",
            "`pd` is not defined; there is no pandas here; use `await sql(...)`, `await analyze(...)` \
             or plain Python",
        ),
    ] {
        assert_eq!(names(program).0, [message], "{program}");
    }
}

#[test]
fn tools_are_reached_without_an_import_and_looked_at_all_the_same() {
    for (program, message) in [
        (
            "await servers.github.serch(query='x')",
            "github has no tool 'serch'; did you mean search?",
        ),
        ("await servers.github.search()", "search() needs query"),
        (
            "await call_mcp_tool('mcp__github__list_issues', {'page': 'x'})",
            "list_issues(): 'page' is 'x', expected integer",
        ),
        ("print(servers.github.ping())", "ping() is not awaited: write await ping(...)"),
        ("from ..servers.github import serch", "github has no tool 'serch'; did you mean search?"),
        (
            "from servers.github.search import search",
            "search is a function: write `from servers.github import search`",
        ),
        (
            "await call_mcp_tool(tool_name='mcp__github__search', input={'qery': 'x'}, type=dict)",
            "search() needs query",
        ),
        ("await call_mcp_tool(name='mcp__github__serch')", "github has no tool 'serch'"),
    ] {
        assert_eq!(names(program), (vec![message.to_owned()], vec![]), "{program}");
    }
    for program in [
        "await servers.github.ping()\nawait call_mcp_tool('mcp__github__ping')",
        "await call_mcp_tool(tool_name='mcp__github__search', input={'query': 'x'}, type=dict)",
        "await call_mcp_tool('mcp__github__search', arguments={'query': 'x'}, expected_type=dict)",
        "from ...client import call_mcp_tool\nawait call_mcp_tool('mcp__github__ping')",
        "print(search_tools('issues'), await search_tools('issues'), list_servers())",
        "get_tool_definition('github.ping')",
    ] {
        assert_eq!(names(program), (vec![], vec![]), "{program}");
    }
    // A variable of that name hides the package, and an earlier program may have bound one.
    let servers = HashSet::from(["servers"]);
    let given = GivenVariables::Names(&servers);
    assert_eq!(check("servers.github.serch()", given, &Example), Checked::default());
    assert_eq!(
        check("servers.github.serch()", GivenVariables::Unknown, &Example),
        Checked::default()
    );
}

#[test]
fn calls_that_are_looked_at_before_they_are_awaited_are_told() {
    for program in [
        "print(list_issues())",
        "x = list_issues()\nprint('of', len(x))",
        "result = sorted(list_issues())",
        "import json\njson.dumps(list_issues())",
    ] {
        let program = format!("from servers.github import list_issues\n{program}");
        let message = "list_issues() is not awaited: write await list_issues(...)";
        assert_eq!(names(&program).0, [message], "{program}");
    }
    for program in ["print(await list_issues())", "list_issues_of = print\nlist_issues_of(1)"] {
        let program = format!("from servers.github import list_issues\n{program}");
        assert_eq!(names(&program).0, Vec::<String>::new(), "{program}");
    }
}

#[test]
fn what_gives_its_value_at_once_is_not_awaited() {
    for (program, name) in [
        ("text = await read_file('a.txt')", "read_file"),
        ("await print('x')", "print"),
        ("async def f():\n    return await len([1])", "len"),
        ("await display('a.png')", "display"),
    ] {
        let message = format!("{name}() gives its value at once: remove the `await`");
        assert_eq!(names(program).0, [message], "{program}");
    }
    for program in [
        "await sql('select 1')",
        "await analyze('describe', 'a.csv')",
        "await write_file('a', 'b')\nawait list_files()\nawait save_skill('a', 'b')",
        "async def read_file(path):\n    return path\nawait read_file('a')",
        "try:\n    await read_file('a')\nexcept TypeError:\n    pass",
    ] {
        assert_eq!(names(program).0, Vec::<String>::new(), "{program}");
    }
}

#[test]
fn names_that_are_bound_somewhere_or_handled_are_left_alone() {
    for program in [
        "print(user_id, len([1]), ToolError, __name__, _)",
        "try:\n    found\nexcept NameError:\n    found = None",
        "exec(load_skill('x'))\nresult = from_the_skill(1)",
        "globals()['made'] = 1\nmade",
        "from os.path import *\njoin('a', 'b')",
        "for i in range(3):\n    last = i\nprint(i, last)",
        "if user_id:\n    a = 1\nprint(a)",
        "def f():\n    global made\n    made = 1\nf()\nmade",
        "with open('x') as file:\n    file.read()",
        "match user_id:\n    case {'a': found, **rest}:\n        print(found, rest)",
        "import os.path as p, json\np.join('a'); json.dumps(1)",
        "print([y := 1], y)\ndel y",
        "def f(a, *b, c=1, **d):\n    return lambda e: (a, b, c, d, e)",
        "x: int\ntype Alias = list[int]\nprint(Alias)",
        "async def f():\n    async for i in g(): print(i)\nasync def g():\n    yield 1\nawait f()",
    ] {
        assert_eq!(names(program), (vec![], vec![]), "{program}");
    }
}

#[test]
fn a_tool_of_one_server_needs_no_import_and_is_looked_at_all_the_same() {
    let checked = |program: &str| check(program, GivenVariables::Names(&HashSet::new()), &Example);
    let found = checked("rows = await list_issues({'page': 1})\nprint(rows[0]['title'])");
    assert_eq!(found.findings, []);
    let tools: Vec<_> = found.tools.iter().map(|(tool, of)| (tool.as_str(), of.as_str())).collect();
    assert_eq!(tools, [("list_issues", "github")]);
    for (program, message) in [
        ("await search()", "search() needs query"),
        ("print(ping())", "ping() is not awaited: write await ping(...)"),
        ("await anything()", "`anything` is not defined"),
    ] {
        assert_eq!(names(program).0, [message], "{program}");
    }
    // A binding of the name counts, also one of an earlier program of the session.
    assert!(checked("def ping(): pass\nping()").tools.is_empty());
    assert!(check("await ping()", GivenVariables::Unknown, &Example).tools.is_empty());
    assert!(
        check("await ping()", GivenVariables::Names(&HashSet::from(["ping"])), &Example)
            .tools
            .is_empty()
    );
}

#[test]
fn a_tool_of_two_servers_is_told_with_both() {
    struct Twice;
    impl KnownTools for Twice {
        fn servers(&self) -> Vec<String> {
            vec!["one".into(), "two".into()]
        }

        fn tools(&self, _module: &str) -> Option<Vec<String>> {
            Some(vec!["get_weather".into()])
        }

        fn tool(&self, _module: &str, _name: &str) -> Option<KnownTool> {
            None
        }

        fn suggest(&self, _module: &str, _name: &str) -> String {
            String::new()
        }

        fn by_full_name(&self, _name: &str) -> ByFullName {
            ByFullName::NotKnown
        }

        fn why_wrong(&self, _name: &str) -> String {
            String::new()
        }
    }
    let found = check("await get_weather({})", GivenVariables::Names(&HashSet::new()), &Twice);
    assert!(found.tools.is_empty());
    assert_eq!(
        found.findings[0].message,
        "`get_weather` is not defined; it is a tool of one and two: add `from servers.one import \
         get_weather`, or that of another"
    );
}

#[test]
fn names_that_are_read_before_they_are_bound_are_told_before_tools_are_called() {
    for (program, name, line) in [
        ("await servers.github.ping()\nprint(total)\ntotal = 1", "total", 3),
        ("while not found:\n    found = await servers.github.ping()", "found", 2),
        ("rows = [f(x) for x in items]\nf = str\nitems = []", "items", 3),
        ("count += 1", "count", 1),
        ("helper()\ndef helper(): pass", "helper", 2),
        ("x = f'{name}'\nname = 1", "name", 2),
    ] {
        let message =
            format!("`{name}` is not defined here; it is bound in line {line}, bind it before");
        assert_eq!(names(program).0, [message], "{program}");
    }
    for program in [
        "def f():\n    return total\ntotal = 1\nf()",
        "for i in range(2):\n    if i:\n        print(last)\n    last = i",
        "if user_id:\n    a = 1\nprint(a)\na = 2",
        "try:\n    found\nexcept NameError:\n    found = 1",
        "print(user_id)\nuser_id = 1",
        "print(json.dumps(1))\nimport json",
        "x = y if user_id else 0\ny = 1",
        "ok = user_id or later\nlater = 1",
        "print((n := 1) + n)\nn = 2",
        "def f():\n    global made\n    made = 1\nf()\nprint(made)\nmade = 2",
        "import sys\nsys.exit()\nprint(a)\na = 1",
        "handlers = lambda: later\nlater = 1",
        "from os.path import *\njoin('a')\njoin = 1",
    ] {
        assert_eq!(names(program).0, Vec::<String>::new(), "{program}");
    }
    // An earlier program of the session may have bound it.
    assert_eq!(check("print(a)\na = 1", GivenVariables::Unknown, &Example).findings, []);
}

#[test]
fn modules_that_were_not_imported_are_told() {
    let program = "print(json.dumps({'a': math.pi}))\nimport re\nre.match('a', 'b')\n\
                   def f(json): return json";
    assert_eq!(names(program), (vec![], vec!["json", "math"]));
    assert_eq!(names("json = 1\njson"), (vec![], vec![]));
}
