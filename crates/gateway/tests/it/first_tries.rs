//! Programs as models write them that have not read anything: each works, or its answer says what
//! makes the second try work. With `NARROWS_PRINT=1` they are printed, each with the answer to its first
//! try and to its second, for people to read.
#![cfg(unix)]

use std::io::Write;

use serde_json::{Value, json};

use crate::support::{
    real::{Site, Wire, repository, stdio, text},
    state::{Client, program, text_of},
};

/// What comes of a program.
enum Answer {
    /// Its result.
    Works(Value),
    /// What the answer says, and a second try that heeds it, with its result.
    Says(&'static str, &'static str, Value),
    /// An image.
    Shows,
}
use Answer::{Says, Shows, Works};

/// What every program finds in the workspace.
const SALES: &str = "region,amount\nnorth,3\nsouth,4\n";
const TITLE: &str = "from servers.github import get_issue\n\
                     result = (await get_issue(owner='o', repo='r'))['title']";

/// Ways to tools: names, imports, calls.
fn ways_to_tools() -> Vec<(&'static str, Answer)> {
    let bug = || json!("Bug");
    vec![
        (
            "issues = await servers.github.list_issues(owner='o', repo='r')\n\
             result = issues['issues'][0]['title']",
            Works(bug()),
        ),
        (
            "issue = await call_mcp_tool('mcp__github__get_issue', {'owner': 'o', 'repo': 'r'})\n\
             result = issue['title']",
            Works(bug()),
        ),
        ("result = search_tools('list issues')[0]['name']", Works(json!("list_issues"))),
        (
            "tools = await search_tools('list issues')\nresult = tools[0]['name']",
            Works(json!("list_issues")),
        ),
        (
            "result = [tool['name'] for tool in search_tools('analyse a CSV with SQL')][:2]",
            Works(json!(["sql", "analyze"])),
        ),
        ("import github", Says("from servers import github", TITLE, bug())),
        ("from github import get_issue", Says("from servers.github import TOOL", TITLE, bug())),
        ("from mcp import ClientSession", Says("from servers.NAME import TOOL", TITLE, bug())),
        (
            "result = await mcp__github__get_issue(owner='o', repo='r')",
            Says("from servers.github import get_issue", TITLE, bug()),
        ),
        ("result = (await get_issue(owner='o', repo='r'))['title']", Works(bug())),
        ("result = [name for name in servers]", Works(json!(["github"]))),
        (
            "issue = await servers['github'].get_issue(owner='o', repo='r')\nresult = issue['title']",
            Works(bug()),
        ),
        ("servers()", Says("list_servers() lists", "result = len(list_servers())", json!(1))),
        ("from tools import get_issue", Says("from servers.NAME import TOOL", TITLE, bug())),
        (
            "from servers.github.get_issue import get_issue",
            Says("write `from servers.github import get_issue`", TITLE, bug()),
        ),
        (
            "result = search_tools('list issues', detail='full')[0]['input_schema']['type']",
            Works(json!("object")),
        ),
        (
            "found = search_tools('analyse a CSV with SQL', detail_level='full')\n\
             result = [all('input_schema' in tool for tool in found),\n          \
             [server['name'] for server in search_tools('')]]",
            Works(json!([true, ["github"]])),
        ),
        ("from servers.github import get_isue", Says("did you mean get_issue?", TITLE, bug())),
        (
            "from servers.github import read_contents_of_file",
            Says(
                "did you mean get_file_contents?",
                "from servers.github import get_file_contents\n\
                 result = await get_file_contents(owner='o', repo='r', path='README.md')",
                json!("# Read me"),
            ),
        ),
    ]
}

/// What is awaited and what is not, and what a tool gives.
fn awaiting() -> Vec<(&'static str, Answer)> {
    let bug = || json!("Bug");
    vec![
        (
            "from servers.github import list_issues\n\
             print(len(list_issues(owner='o', repo='r')['issues']))",
            Says(
                "write await list_issues(...)",
                "from servers.github import list_issues\n\
                 result = len((await list_issues(owner='o', repo='r'))['issues'])",
                json!(1),
            ),
        ),
        (
            "from servers.github import get_issue\nresult = get_issue(owner='o', repo='r')",
            Says("write `await get_issue(...)`", TITLE, bug()),
        ),
        (
            "from servers.github import get_issue\nprint(get_issue(owner='o', repo='r'))",
            Says("write await get_issue(...)", TITLE, bug()),
        ),
        (
            "def main():\n    return await servers.github.get_issue(owner='o', repo='r')\nmain()",
            Says(
                "write `async def`",
                "async def main():\n    return await servers.github.get_issue(owner='o', repo='r')\n\
                 result = (await main())['title']",
                bug(),
            ),
        ),
        (
            "async def main():\n    issue = await servers.github.get_issue(owner='o', repo='r')\n    \
             print(json.dumps(issue['title']))\n\nif __name__ == '__main__':\n    asyncio.run(main())",
            Works(Value::Null),
        ),
        (
            "text = await read_file('sales.csv')\nresult = len(text)",
            Says("remove the `await`", "result = len(read_file('sales.csv'))", json!(SALES.len())),
        ),
        ("await print('done')", Says("remove the `await`", "print('done')", Value::Null)),
        (
            "issue = await servers.github.get_issue(owner='o', repo='r')\nresult = issue.title",
            Says("write issue[\"title\"]", TITLE, bug()),
        ),
        (
            "issue = await servers.github.get_issue(owner='o', repo='r')\n\
             result = json.loads(issue.content[0].text)['title']",
            Says("a tool gives its value itself", TITLE, bug()),
        ),
        (
            "issue = json.loads(await servers.github.get_issue(owner='o', repo='r'))",
            Says("leave out json.loads", TITLE, bug()),
        ),
        (
            "issue = await servers.github.get_issue",
            Says("write `await servers.github.get_issue(...)`", TITLE, bug()),
        ),
        (
            "issue = await servers.github.get_issue(owner='o', repo='r')\nresult = issue['titel']",
            Says("did you mean", TITLE, bug()),
        ),
        (
            "import asyncio\nasync def main():\n    return 5\n\
             await asyncio.sleep(0)\nresult = asyncio.get_event_loop().run_until_complete(main())",
            Says("write `await` before the coroutine", "result = 5", json!(5)),
        ),
        ("return 5", Says("put the value into `result`", "result = 5", json!(5))),
    ]
}

/// What is elsewhere, and is not here: packages, the network, processes, files of the host.
fn surroundings() -> Vec<(&'static str, Answer)> {
    let sum = "result = (await sql('select sum(amount) as sum from t', t='sales.csv'))[0]['sum']";
    let page = "from servers.github import get_file_contents\n\
                result = await get_file_contents(owner='o', repo='r', path='README.md')";
    let read_me = || json!("# Read me");
    vec![
        (
            "import pandas as pd\nresult = pd.read_csv('sales.csv')['amount'].sum()",
            Says("await sql(", sum, json!(7)),
        ),
        (
            "import numpy as np\nresult = np.mean([3, 4])",
            Says(
                "await analyze(",
                "import statistics\nresult = statistics.mean([3, 4])",
                json!(3.5),
            ),
        ),
        ("result = pd.DataFrame([1]).sum()", Says("await sql(", sum, json!(7))),
        ("result = pandas.read_csv('sales.csv').sum()", Says("await sql(", sum, json!(7))),
        ("result = string.digits + html.escape('<')", Works(json!("0123456789&lt;"))),
        (
            "import requests\nresult = requests.get('https://example.com').json()",
            Says("call a tool of an MCP server", page, read_me()),
        ),
        (
            "import urllib.request\nresult = urllib.request.urlopen('https://example.com').read()",
            Says("call a tool of an MCP server", page, read_me()),
        ),
        (
            "import http.client\nhttp.client.HTTPSConnection('example.com').request('GET', '/')",
            Says("call a tool of an MCP server", page, read_me()),
        ),
        (
            "with open('/home/user/sales.csv') as file:\n    result = file.read()",
            Says(
                "files of /workspace only",
                "result = len(open('sales.csv').read())",
                json!(SALES.len()),
            ),
        ),
        (
            "import csv\nrows = list(csv.DictReader(open('sale.csv')))",
            Says(
                "did you mean 'sales.csv'?",
                "result = len(open('sales.csv').read())",
                json!(SALES.len()),
            ),
        ),
        (
            "open('~/sales.csv')",
            Says(
                "files of /workspace only",
                "result = len(read_file(filename='sales.csv'))",
                json!(SALES.len()),
            ),
        ),
        (
            "rows = [{'a': 1}, {'a': 2}]\nresult = await sql('select sum(a) as a from t', rows)",
            Says(
                "t=rows)",
                "result = (await sql(query='select sum(a) as a from t', t=[{'a': 3}]))[0]['a']",
                json!(3),
            ),
        ),
        (
            "write_workspace_file('notes.txt', text='kept')\nresult = read_workspace_file('notes.txt')\n\
             delete_file(filename='notes.txt')",
            Works(json!("kept")),
        ),
        (
            "result = string.digits",
            Says(
                "add `import string`",
                "import string\nresult = string.digits",
                json!("0123456789"),
            ),
        ),
        ("!pip install pandas", Says("nothing can be installed", sum, json!(7))),
        (
            "import subprocess\nsubprocess.run(['ls'])",
            Says(
                "do it in Python",
                "result = [f['path'] for f in list_files()]",
                json!(["sales.csv"]),
            ),
        ),
        (
            "name = input('Which region?')",
            Says("put the value into the program", "name = 'north'\nresult = name", json!("north")),
        ),
        (
            "display(['a chart', {'type': 'image', 'mime_type': 'image/png', 'data': 'iVBORw0KGgo='}])",
            Shows,
        ),
        ("display([{'type': 'image', 'mimeType': 'image/png', 'data': 'iVBORw0KGgo='}])", Shows),
    ]
}

fn site() -> Option<Site> {
    let site = Site::new()?;
    let script = repository().join("tests/servers/examples.py");
    site.configure(&stdio("github", "python3", &[script.to_str().unwrap(), "github"]));
    Some(site)
}

/// A client whose workspace has a file, of a gateway that knows its server.
fn client(site: &Site) -> Client {
    let client = Client::alone(site);
    client.run(TITLE);
    client.run(&format!("write_file('sales.csv', {SALES:?})"));
    client
}

/// Prints a program and what a client was answered, if somebody wants to read it.
fn print(which: &str, code: &str, answer: &Value) {
    if std::env::var_os("NARROWS_PRINT").is_none() {
        return;
    }
    let indented =
        |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let blocks = answer["content"].as_array().into_iter().flatten();
    let said = blocks.map(|block| match block["text"].as_str() {
        Some(text) => indented(text),
        None => indented(&format!("({})", block["type"].as_str().unwrap_or_default())),
    });
    let told = format!("{which}:\n{}answer:\n{}\n", indented(code), said.collect::<String>());
    // In one piece, because tests run beside each other, and not with `println!`, which is captured.
    let _ = std::io::stderr().write_all(told.as_bytes());
}

#[track_caller]
fn all_lead_to_a_result(tries: &[(&str, Answer)]) {
    let Some(site) = site() else { return };
    let client = client(&site);
    for (code, expected) in tries {
        let answer = client.answer("execute_code", program(code));
        print("first try", code, &answer);
        // An answer that is an image alone has neither text nor structure.
        let said = answer["content"][0]["text"].as_str().unwrap_or_default();
        match expected {
            Shows => {
                assert_eq!(answer["content"][0]["type"], "image", "{code}\n{answer:#}");
            }
            Works(result) => {
                assert_eq!(answer["structuredContent"]["success"], true, "{code}\n{said}");
                assert_eq!(answer["structuredContent"]["result"], *result, "{code}\n{said}");
            }
            Says(hint, second, result) => {
                assert!(said.contains(hint), "{code}\n{said}\nwithout {hint}");
                let answer = client.answer("execute_code", program(second));
                print("second try", second, &answer);
                let told = &answer["structuredContent"];
                assert_eq!(told["success"], true, "{code}\n{second}\n{answer:#}");
                assert_eq!(told["result"], *result, "{code}\n{second}");
            }
        }
    }
}

#[test]
fn whoever_does_not_know_the_way_to_tools_is_led_there() {
    all_lead_to_a_result(&ways_to_tools());
}

#[test]
fn whoever_awaits_the_wrong_things_is_told_which_are_right() {
    all_lead_to_a_result(&awaiting());
}

#[test]
fn whoever_takes_the_sandbox_for_a_machine_is_told_what_to_use_instead() {
    all_lead_to_a_result(&surroundings());
}

#[test]
fn a_client_is_told_which_servers_there_are_and_what_programs_can_do() {
    let Some(site) = site() else { return };
    let mut wire = Wire::start(&site);
    let answer = wire.ask(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "wire", "version": "1"},
        }),
    );
    let said = answer["result"]["instructions"].as_str().unwrap_or_default();
    for part in ["(github)", "standard library", "sql(", "analyze(", "write_file", "save_skill"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn what_programs_can_do_is_found_by_every_way_to_search() {
    let Some(site) = site() else { return };
    let client = client(&site);
    for (query, expected) in [
        ("analyse a CSV with SQL", "await sql("),
        ("save a file", "write_file("),
        ("remember between calls", "session_id"),
    ] {
        let found = client.call("search_tools", json!({"query": query}));
        assert!(text_of(&found).contains(expected), "{}", text_of(&found));
        let in_program = client.run(&format!("result = str(search_tools({query:?}))"));
        assert!(in_program.as_str().unwrap().contains(expected), "{in_program}");
        let by_command = text(&site.says(&["tools", "search", query]).stdout);
        assert!(by_command.contains(expected), "{by_command}");
    }
    // A search for what a server does finds its tools, and nothing else.
    let found = client.call("search_tools", json!({"query": "create an issue"}));
    assert!(text_of(&found).starts_with("from servers.github import create_issue"));
    assert!(!text_of(&found).contains("built in"), "{}", text_of(&found));
    let defined = client.call("get_tool_definition", json!({"name": "analyze"}));
    assert!(text_of(&defined).contains("await analyze("), "{}", text_of(&defined));
}
