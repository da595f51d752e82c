//! The examples of documents that describe systems of this kind, as they are written, over MCP.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{
    real::{Site, repository, says, stdio},
    state::{Client, text_of},
};

fn site(servers: &[&str]) -> Option<Site> {
    let site = Site::new()?;
    let script = repository().join("tests/servers/examples.py");
    let script = script.to_str().unwrap();
    site.configure(
        &servers.iter().map(|name| stdio(name, "python3", &[script, name])).collect::<String>(),
    );
    Some(site)
}

/// What a program gives and prints, which must not fail.
#[track_caller]
fn executed(client: &Client, arguments: Value) -> Value {
    let answer = client.answer("execute_code", arguments);
    assert_eq!(answer["structuredContent"]["success"], true, "{answer:#}");
    answer["structuredContent"].clone()
}

#[test]
fn a_tool_is_called_by_its_full_name_with_the_type_that_is_expected() {
    let Some(site) = site(&["github"]) else { return };
    let client = Client::alone(&site);
    let plain = r#"
from client import call_mcp_tool

# Call any MCP tool
result = await call_mcp_tool(
    'mcp__github__create_issue',
    {'owner': 'myorg', 'repo': 'myrepo', 'title': 'Bug'},
    dict
)
"#;
    assert_eq!(client.run(plain)["number"], 42);
    let wrapper = r#"
from typing import TypedDict
from client import call_mcp_tool

class CreateIssueInput(TypedDict):
    owner: str
    repo: str
    title: str

class CreateIssueResponse(TypedDict):
    number: int
    url: str

async def create_issue(input: CreateIssueInput) -> CreateIssueResponse:
    return await call_mcp_tool(
        'mcp__github__create_issue',
        input,
        CreateIssueResponse
    )

result = await create_issue({'owner': 'o', 'repo': 'r', 'title': 'Crash'})
"#;
    assert_eq!(client.run(wrapper)["title"], "Crash");
    let searched = r#"
from client import call_mcp_tool
result = await call_mcp_tool(
    'mcp__github__search_repositories',
    {'query': 'python stars:>1000'},
    dict
)
assert 'total_count' in result
assert 'items' in result
"#;
    assert_eq!(client.run(searched)["total_count"], 1);
    // A value of another type is an error that says where.
    let wrong = wrapper.replace("    number: int", "    number: str");
    says(
        &client.error(&wrong),
        &["mcp__github__create_issue gave an int at ['number'], expected str"],
    );
}

#[test]
fn each_level_of_detail_has_what_it_says() {
    let Some(site) = site(&["github", "scans"]) else { return };
    let client = Client::alone(&site);
    let names = r#"
from tool_discovery import search_tools
tools = search_tools(query="github", detail_level="name_only")
assert all('name' in t for t in tools)
assert all('description' not in t for t in tools)
assert len(tools) == 5
result = tools
"#;
    let tools = client.run(names);
    assert_eq!(tools[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["server", "name"]);
    let described = r#"
from tool_discovery import search_tools
tools = search_tools(query="create_issue", detail_level="with_description")
assert 'description' in tools[0]
result = tools[0]
"#;
    let tool = client.run(described);
    assert_eq!(tool["import"], "from servers.github import create_issue");
    assert_eq!(tool.get("input_schema"), None);
    // Level by level, as one client asks for them.
    let levels = r#"
from tool_discovery import search_tools
tools = search_tools(query="github", detail_level="with_description")
assert all('description' in t for t in tools)
assert all('input_schema' not in t for t in tools)
described = len(tools)
tools = search_tools(query="github", detail_level="full")
assert all('input_schema' in t for t in tools)
result = [described, len(tools)]
"#;
    assert_eq!(client.run(levels), json!([5, 5]));
    let full = r#"
from tool_discovery import search_tools
tool = search_tools(query="create_issue", detail_level="full")[0]
result = tool
"#;
    let tool = client.run(full);
    assert_eq!(tool["input_schema"]["required"], json!(["owner", "repo", "title"]), "{tool:#}");
    says(&tool["definition"], &["async def create_issue("]);

    // A category, and the name of a server in its place.
    let security = r#"
from tool_discovery import search_tools, get_tool_definition
found = search_tools("vulnerability", category="security", detail_level="summary")
result = [found[0]["name"], get_tool_definition("web_vuln_scanner", category="security"),
          len(search_tools(category="github")), get_tool_definition(tool_name="create_issue")]
"#;
    let found = client.run(security);
    assert_eq!((&found[0], &found[2]), (&json!("web_vuln_scanner"), &json!(5)));
    says(&found[1], &["async def web_vuln_scanner("]);
    says(&found[3], &["async def create_issue("]);
    let summary =
        json!({"query": "vulnerability", "category": "security", "detail_level": "summary"});
    says(&text_of(&client.call("search_tools", summary)).into(), &["import web_vuln_scanner"]);
    let named = client.call("get_tool_definition", json!({"tool_name": "web_vuln_scanner"}));
    says(&text_of(&named).into(), &["async def web_vuln_scanner("]);
}

/// None of them imports its tools, nor `asyncio`.
#[test]
fn workflows_run_in_one_program() {
    let Some(site) = site(&["sheets", "trips", "slack", "weather"]) else { return };
    let client = Client::alone(&site);
    let filtering = r#"
# Get 10,000 rows in sandbox (not context)
all_rows = await get_sheet({'sheetId': 'abc123'})

# Filter in Python (efficient!)
pending = [row for row in all_rows if row["Status"] == "pending"]

# Only return summary (500 tokens vs 50K)
print(f"Found {len(pending)} pending orders")
print(pending[:5])
"#;
    let answer = executed(&client, json!({"code": filtering}));
    assert!(answer["stdout"].as_str().unwrap().starts_with("Found 1000 pending orders\n"));
    let note = "get_sheet was not imported; add `from servers.sheets import get_sheet`";
    assert_eq!(answer["notes"], json!([note]));
    let steps = r#"
# Plan trip → find parks → calculate costs (in one code block)
trip = await plan_trip({'origin': 'Phoenix', 'destination': 'Seattle'})
parks = await find_rv_parks({'locations': trip['waypoints']})
gas_cost = await calculate_gas_cost({'distance': trip['distance']})

print(f"Trip cost: ${gas_cost + sum(p['cost'] for p in parks)}")
"#;
    assert_eq!(executed(&client, json!({"code": steps}))["stdout"], "Trip cost: $230\n");
    let polling = r#"
# Wait for deployment (loop in code, not context)
while not found:
    messages = await get_channel_history({'channel': 'C123'})
    found = any('deployment complete' in m['text'] for m in messages)
    if not found:
        await asyncio.sleep(0.01)

print("Deployment complete!")
"#;
    // The example forgets this line, which is found before the tool is called.
    says(&client.error(polling), &["line 3: `found` is not defined here; it is bound in line 5"]);
    let answer = executed(&client, json!({"code": format!("found = False\n{polling}")}));
    assert_eq!(answer["stdout"], "Deployment complete!\n");
    says(&answer["notes"][0], &["asyncio and get_channel_history were not imported"]);
    let simple = "# Don't use code execution for:\n\
        result = await get_weather({'location': 'Sydney'})  # Too simple, use direct tool\n";
    assert_eq!(client.run(simple)["degrees"], 21);
}

#[test]
fn tables_are_queried_and_filtered_where_they_are() {
    let Some(site) = site(&["supabase"]) else { return };
    let client = Client::alone(&site);
    let queried = r#"
from servers.supabase import execute_sql

# Query in database (not in context!)
result = await execute_sql('''
    SELECT * FROM expenses
    WHERE user_id = '{user_id}'
    AND amount > 100
    AND date >= '2024-10-01'
    AND date < '2024-11-01'
''')

# Only return summary
print(f"Found {len(result)} expenses over $100")
print(f"Total: ${sum(r['amount'] for r in result)}")
print("Top 3:", result[:3])
"#;
    let answer = executed(&client, json!({"code": queried}));
    says(&answer["stdout"], &["Found 4 expenses over $100\nTotal: $660\nTop 3: [{"]);
    let filtered = r#"
from servers.supabase import get_expenses
expenses = await get_expenses(user_id='{user_id}')
filtered = [e for e in expenses if e['amount'] > 100]
print(f"Found {len(filtered)} expenses over $100")
"#;
    let answer = executed(&client, json!({"code": filtered}));
    assert_eq!(answer["stdout"], "Found 4 expenses over $100\n");
    let names = "from tool_discovery import search_tools\n\
                 result = search_tools(query=\"expense\", detail_level=\"name_only\")";
    assert_eq!(client.run(names)[0]["name"], "get_expenses");
}

#[test]
fn the_parts_of_a_call_have_the_names_that_the_documents_give_them() {
    let Some(site) = site(&["github"]) else { return };
    let client = Client::alone(&site);
    let wrapper = r#"
from typing import TypedDict
from ...client import call_mcp_tool

class CreateIssueInput(TypedDict):
    owner: str
    repo: str
    title: str

class CreateIssueResponse(TypedDict):
    number: int
    url: str

async def create_issue(input: CreateIssueInput) -> CreateIssueResponse:
    return await call_mcp_tool(
        'mcp__github__create_issue',
        input,
        CreateIssueResponse
    )

made = [await create_issue({'owner': 'o', 'repo': 'r', 'title': 'Crash'})]
arguments = {'owner': 'o', 'repo': 'r', 'title': 'Bug'}
made.append(await call_mcp_tool(tool_name='mcp__github__create_issue', input=arguments, type=dict))
made.append(await call_mcp_tool(name='mcp__github__create_issue', arguments=arguments, expected_type=dict))
result = [issue['title'] for issue in made]
"#;
    assert_eq!(client.run(wrapper), json!(["Crash", "Bug", "Bug"]));
}

#[test]
fn files_skills_and_personal_data_are_used_as_the_documents_do() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let rows: Vec<Value> = (0..100)
        .map(|n| json!({"id": n, "status": if n % 4 == 0 { "active" } else { "closed" }}))
        .collect();
    let file = json!({"path": "large_dataset.json", "content": json!(rows).to_string()});
    client.call("write_workspace_file", file);
    let summary = r#"
data = json.loads(read_file("large_dataset.json"))
filtered = [d for d in data if d['status'] == 'active']
result = {
    'total': len(data),
    'active': len(filtered),
    'sample': filtered[:5]
}
"#;
    let answer = executed(&client, json!({"code": summary}));
    assert_eq!(
        (&answer["result"]["total"], &answer["result"]["active"]),
        (&json!(100), &json!(25))
    );
    says(&answer["notes"][0], &["json was not imported"]);

    client.call(
        "save_skill",
        json!({
            "name": "filter_high_risk",
            "code": "def filter_high_risk(vulns): return [v for v in vulns if v['severity'] in ['high', 'critical']]",
            "description": "Filter vulnerabilities to high/critical only",
        }),
    );
    let scans = json!([{"severity": "high"}, {"severity": "low"}]).to_string();
    client.call("write_workspace_file", json!({"path": "scan_results.json", "content": scans}));
    let skill = r#"
skill = load_skill("filter_high_risk")
exec(skill)
vulns = json.loads(read_file("scan_results.json"))
result = filter_high_risk(vulns)
"#;
    let answer = executed(&client, json!({"code": skill}));
    assert_eq!(answer["result"], json!([{"severity": "high"}]));
    assert_eq!(answer.get("notes"), None, "{answer:#}");
    let awaited = "exec(await load_skill(skill_name='filter_high_risk'))\n\
                   result = filter_high_risk([{'severity': 'high'}])";
    let answer = executed(&client, json!({"code": awaited}));
    assert_eq!(answer["result"], json!([{"severity": "high"}]));
    assert_eq!(answer.get("notes"), None, "{answer:#}");

    let hidden =
        client.call("sanitize_pii", json!({"text": "Contact john@example.com at 555-123-4567"}));
    let hidden = text_of(&hidden);
    assert!(hidden.starts_with("Contact [EMAIL_") && hidden.contains(" at [PHONE_"), "{hidden}");
    // A program has the values back; whoever asks for them outside of one needs a person's consent.
    let restored = format!("result = len(restore_pii({hidden:?}))");
    assert_eq!(client.run(&restored), "Contact john@example.com at 555-123-4567".len());
    let refusal = client.refusal("restore_pii", json!({"text": hidden}));
    says(&refusal, &["approv"]);
}

#[test]
fn calculations_and_analyses_are_answered_as_the_documents_say() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let code = r#"
numbers = [1, 2, 3, 4, 5]
print("working")
result = {
    "sum": sum(numbers),
    "average": sum(numbers) / len(numbers),
    "count": len(numbers)
}
"#;
    let answer = client.call("execute_python", json!({"code": code}))["structuredContent"].clone();
    assert_eq!(answer["success"], true);
    assert_eq!(answer["result"], json!({"sum": 15, "average": 3.0, "count": 5}));
    assert_eq!(answer["output"], "working\n");
    assert!(answer["execution_time_ms"].as_f64().unwrap() > 0.0, "{answer:#}");
    let code = r#"
import statistics

portfolio_values = [prices[i] * shares[i] for i in range(len(prices))]
result = {
    "total": sum(portfolio_values),
    "average": statistics.mean(portfolio_values),
    "median": statistics.median(portfolio_values),
    "std_dev": statistics.stdev(portfolio_values)
}
"#;
    let context = json!({"prices": [100, 150, 200], "shares": [10, 5, 2]});
    let answer = executed(&client, json!({"code": code, "context": context}));
    assert_eq!(
        (&answer["result"]["total"], &answer["result"]["median"]),
        (&json!(2150), &json!(750))
    );
    let filter = json!({
        "analysis_type": "filter",
        "data": {"stocks": [
            {"name": "a", "roi": 12, "sector": "Tech"}, {"name": "b", "roi": 8, "sector": "Tech"},
            {"name": "c", "roi": 15, "sector": "Energy"},
        ]},
        "parameters": {
            "data_field": "stocks",
            "conditions": [
                {"field": "roi", "operator": ">", "value": 10},
                {"field": "sector", "operator": "==", "value": "Tech"},
            ],
            "logic": "AND",
        },
    });
    let answer = client.call("execute_analysis", filter);
    assert_eq!(answer["structuredContent"]["result"]["data"][0]["name"], "a", "{answer:#}");
}

/// What is surely undefined is told before a tool is called.
#[test]
fn a_name_that_nothing_binds_is_found_before_tools_are_called() {
    let Some(site) = site(&["slack"]) else { return };
    let client = Client::alone(&site);
    let code = "from servers.slack import get_channel_history\n\
                await get_channel_history(channel='C')\nprint(mesages)\nmessages = []";
    let error = client.error(code);
    says(&error, &["nothing was run: line 3: `mesages` is not defined; did you mean messages?"]);
    // The control: twice more, and it has what is waited for; so it was not called before.
    let calls = "from servers.slack import get_channel_history\n\
                 result = [(await get_channel_history(channel='C'))[0]['text'] \
                           for _ in range(3)]";
    assert_eq!(client.run(calls), json!(["deploying", "deploying", "deployment complete"]));
}

/// In a session too, in its first program and in those after it.
#[test]
fn a_name_that_a_session_does_not_have_is_found_before_tools_are_called() {
    let Some(site) = site(&["slack"]) else { return };
    let client = Client::alone(&site);
    let code = "await get_channel_history(channel='C')\nprint(mesages)";
    let refuse = || {
        let answer = client.answer("execute_code", json!({"code": code, "session_id": "s"}));
        let error = &answer["structuredContent"]["error"]["message"];
        says(error, &["nothing was run: line 2: `mesages` is not defined"]);
    };
    refuse();
    client.go_on("s", "messages = 1");
    refuse();
    // The control: three times, and it has what is waited for; so it was not called before.
    let calls = "result = [(await get_channel_history(channel='C'))[0]['text'] for _ in range(3)]";
    assert_eq!(client.go_on("s", calls), json!(["deploying", "deploying", "deployment complete"]));
    assert_eq!(client.go_on("s", "messages"), 1);
}

/// The check has lists of its own, since it looks at programs before there is an interpreter.
#[test]
fn the_check_knows_just_the_names_that_every_program_has() {
    let Some(site) = Site::new() else { return };
    let code = "import builtins, types\nnames = vars(builtins).items()\n\
                public = [(n, isinstance(v, types.ModuleType)) for n, v in names if n[0] != '_']\n\
                result = [sorted(n for n, m in public if not m), sorted(n for n, m in public if m)]";
    let names = site.run(code);
    let (mut plain, modules) = narrows_python::check::surroundings();
    plain.sort_unstable();
    assert_eq!((&names[0], &names[1]), (&json!(plain), &json!(modules)));
}
