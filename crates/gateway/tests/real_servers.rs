//! Real servers behind Narrows: what programs get from them, and what the command line says.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

#[path = "support/real.rs"]
mod real;

use real::{Everything, Site, document, stdio, succeeded, text};

const SECRET: &str = "a-token-that-nobody-may-see";

/// The sentence must say all of this.
#[track_caller]
fn says(sentence: &Value, parts: &[&str]) {
    let sentence = sentence.as_str().unwrap_or_else(|| panic!("{sentence} is no sentence"));
    for part in parts {
        assert!(sentence.contains(part), "{sentence:?} does not say {part:?}");
    }
}

/// The bytes that base64 stands for, by the program that every system has for it.
fn decoded(base64: &str, site: &Site) -> Vec<u8> {
    fs::write(site.path("base64"), base64).unwrap();
    let output = Command::new("base64").arg("-d").arg(site.path("base64")).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args(["-c", "user.name=Tester"]);
    command.args(["-c", "user.email=tester@example.invalid", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

// What programs get.

#[test]
fn every_way_to_call_a_tool_gives_the_same() {
    let Some(site) = Site::with(&["everything"]) else { return };
    let result = site.run(
        r#"
import client, servers
from servers import everything
from servers.everything import get_sum, echo
from servers.everything import get_sum as added
given = {"a": 2, "b": 3}
result = [
    await get_sum(a=2, b=3),
    await get_sum({"a": 2, "b": 3}),
    await get_sum(**given),
    await added(b=3, a=2),
    await everything.get_sum(a=2, b=3),
    await servers.everything.get_sum(a=2, b=3),
    await client.call_mcp_tool("mcp__everything__get-sum", {"a": 2, "b": 3}),
    await client.call_mcp_tool("mcp__everything__get_sum", {"a": 2, "b": 3}),
    await echo(message="grüß dich"),
]
"#,
    );
    let mut expected = vec![json!("The sum of 2 and 3 is 5."); 8];
    expected.push(json!("Echo: grüß dich"));
    assert_eq!(result, Value::Array(expected));
}

#[test]
fn calls_run_beside_each_other() {
    let Some(site) = Site::with(&["everything"]) else { return };
    let outcome = site.outcome(
        r#"
import asyncio, time
from servers.everything import trigger_long_running_operation, echo
await echo(message="it has started")
start = time.monotonic()
said = await asyncio.gather(*(trigger_long_running_operation(duration=1, steps=2) for _ in range(8)))
result = [len(said), time.monotonic() - start, said[0]]
"#,
    );
    assert_eq!(outcome["tool_calls"], 9);
    let result = succeeded(outcome);
    assert_eq!(result[0], 8);
    assert!(result[1].as_f64().unwrap() < 4.0, "one after the other they take 8 s: {result}");
    says(&result[2], &["Long running operation completed"]);
}

#[test]
fn structured_content_is_a_python_value() {
    let Some(site) = Site::with(&["everything"]) else { return };
    let result = site.run(
        r#"
from servers.everything import get_structured_content
weather = await get_structured_content(location="New York")
result = [type(weather).__name__, sorted(weather), type(weather["temperature"]).__name__]
"#,
    );
    assert_eq!(result, json!(["dict", ["conditions", "humidity", "temperature"], "int"]));
}

#[test]
fn several_blocks_are_a_list_and_every_block_says_what_it_is() {
    let Some(site) = Site::with(&["everything"]) else { return };
    let result = site.run(
        r#"
from servers.everything import get_annotated_message, get_resource_links, get_resource_reference
result = {
    "links": await get_resource_links(count=2),
    "text": await get_resource_reference(resourceType="Text", resourceId=4),
    "blob": await get_resource_reference(resourceType="Blob", resourceId=5),
    "one": await get_annotated_message(messageType="success"),
}
"#,
    );
    let links = result["links"].as_array().unwrap();
    assert_eq!(links.len(), 3);
    says(&links[0], &["2 resource links"]);
    for link in &links[1..] {
        assert_eq!(link["type"], "resource_link", "{link}");
        says(&link["uri"], &["demo://resource/dynamic/"]);
        assert_eq!(link["mime_type"], "text/plain", "named as in every other block: {link}");
    }
    let embedded = &result["text"][1];
    assert_eq!(embedded["type"], "resource");
    assert_eq!(embedded["uri"], "demo://resource/dynamic/text/4");
    says(&embedded["text"], &["Resource 4"]);
    let blob = &result["blob"][1];
    assert_eq!(blob["uri"], "demo://resource/dynamic/blob/5");
    let bytes = decoded(blob["data"].as_str().unwrap(), &site);
    assert_eq!(blob["bytes"], bytes.len());
    says(&json!(text(&bytes)), &["Resource 5"]);
    assert_eq!(result["one"], "Operation completed successfully");
}

#[test]
fn an_image_is_a_file_of_the_workspace_or_base64_without_one() {
    let Some(site) = Site::with(&["everything"]) else { return };
    let code = r#"
from servers.everything import get_tiny_image
blocks = await get_tiny_image()
image = blocks[1]
if "path" in image:
    image["first"] = open(image["path"], "rb").read(4)[1:].decode()
result = image
"#;
    let without = site.run(code);
    assert_eq!(without["mime_type"], "image/png");
    let bytes = decoded(without["data"].as_str().unwrap(), &site);
    assert_eq!(without["bytes"], bytes.len());
    assert!(bytes.starts_with(b"\x89PNG"));

    let workspace = site.text("workspace");
    fs::create_dir(&workspace).unwrap();
    let with = site.json(&["run", "--json", "--workspace", &workspace, "-c", code]);
    let with = succeeded(with);
    assert_eq!(with["first"], "PNG");
    assert_eq!(with.get("data"), None);
    let name = with["path"].as_str().unwrap().strip_prefix("/workspace/").unwrap();
    assert!(name.ends_with(".png"), "{name}");
    assert_eq!(fs::read(Path::new(&workspace).join(name)).unwrap(), bytes);
}

#[test]
fn what_a_tool_refuses_is_a_tool_error_with_its_words() {
    let Some(site) = Site::with(&["files"]) else { return };
    let result = site.run(
        r#"
import client
from servers.files import read_text_file
try:
    await read_text_file(path="/etc/hostname")
except client.ToolError as error:
    result = [str(error), error.server, error.tool, isinstance(error, Exception)]
"#,
    );
    says(&result[0], &["Access denied", "/etc/hostname"]);
    assert_eq!(
        result.as_array().unwrap()[1..],
        [json!("files"), json!("read_text_file"), json!(true)]
    );

    // Without `except` it is why the program failed.
    let code =
        "from servers.files import read_text_file\nawait read_text_file(path='/etc/hostname')";
    let output = site.says(&["run", "--json", "-c", code]);
    assert_eq!(output.status.code(), Some(1));
    let outcome = document(&output);
    assert_eq!(outcome["error"]["type"], "ToolError", "{outcome:#}");
    assert_eq!(outcome["error"]["line"], 2);
    says(&outcome["error"]["message"], &["Access denied"]);
}

#[test]
fn wrong_arguments_name_the_field_what_was_expected_and_what_was_meant() {
    let Some(site) = Site::with(&["everything"]) else { return };
    let result = site.run(
        r#"
import client
from servers.everything import get_structured_content, get_sum
calls = [
    lambda: get_sum(a="two", b=3),
    lambda: get_sum(a=2),
    lambda: get_sum(a=2, bb=3),
    lambda: get_structured_content(location="New Yrok"),
    lambda: client.call_mcp_tool("mcp__everything__get-sum", {"a": 2}),
    lambda: client.call_mcp_tool("mcp__everything__get-sum", {"a": 2, "b": [3]}),
]
result = []
for call in calls:
    try:
        result.append(await call())
    except (client.ToolError, TypeError) as error:
        result.append(str(error))
"#,
    );
    for (index, expected) in [
        vec!["get_sum", "\"a\"", "\"two\"", "expected number"],
        vec!["get_sum", "needs b", "a, b"],
        vec!["get_sum", "bb", "a, b"],
        vec!["\"location\"", "New Yrok", "\"Chicago\"", "did you mean New York?"],
        vec!["get_sum", "\"b\" is missing"],
        vec!["get_sum", "\"b\"", "[3]", "expected number"],
    ]
    .into_iter()
    .enumerate()
    {
        says(&result[index], &expected);
    }
}

#[test]
fn a_missing_server_module_or_tool_names_the_nearest() {
    let Some(site) = Site::with(&["everything", "time"]) else { return };
    let result = site.run(
        r#"
import client, servers
programs = [
    "from servers.everythng import echo",
    "import servers.tmie",
    "from servers.everything import ecoh",
    "servers.evrything",
    "from servers import everythin",
]
result = []
for program in programs:
    try:
        exec(program)
        result.append("no error")
    except (ImportError, AttributeError) as error:
        result.append(f"{type(error).__name__}: {error}")
for call in [
    lambda: servers.everything.get_smu(a=1, b=2),
    lambda: client.call_mcp_tool("mcp__everything__get-smu", {}),
    lambda: client.call_mcp_tool("mcp__everythin__get-sum", {}),
]:
    try:
        result.append(await call())
    except (client.ToolError, AttributeError) as error:
        result.append(f"{type(error).__name__}: {error}")
"#,
    );
    for (index, expected) in [
        vec!["ModuleNotFoundError", "did you mean servers.everything?"],
        vec!["ModuleNotFoundError", "did you mean servers.time?"],
        vec!["ImportError", "ecoh", "did you mean echo?"],
        vec!["AttributeError", "evrything", "did you mean everything?"],
        vec!["ImportError", "everythin", "everything"],
        vec!["AttributeError", "get_smu", "did you mean get_sum?"],
        vec!["ToolError", "get-smu", "get_sum"],
        vec!["ToolError", "everythin", "did you mean everything?"],
    ]
    .into_iter()
    .enumerate()
    {
        says(&result[index], &expected);
    }
}

// What the servers really did.

#[test]
fn files_are_really_written_edited_found_and_read() {
    let Some(site) = Site::with(&["files"]) else { return };
    let files = site.path("files");
    fs::write(files.join("there.txt"), "from the test\n").unwrap();
    let code = r#"
from servers.files import (
    create_directory, edit_file, list_directory, move_file, read_multiple_files, read_text_file,
    search_files, write_file,
)
there = await read_text_file(path=f"{root}/there.txt")
await create_directory(path=f"{root}/notes")
for number in range(3):
    await write_file(path=f"{root}/notes/{number}.md", content=f"note {number}\nÄpfel\n")
await edit_file(path=f"{root}/notes/1.md", edits=[{"oldText": "note 1", "newText": "edited"}])
await move_file(source=f"{root}/notes/2.md", destination=f"{root}/moved.md")
head = await read_text_file(path=f"{root}/notes/1.md", head=1)
found = await search_files(path=root, pattern="**/*.md")
listed = await list_directory(path=f"{root}/notes")
result = {"there": there, "head": head, "found": found, "listed": listed}
"#;
    let context = json!({"root": site.text("files")}).to_string();
    let outcome = site.json(&["run", "--json", "--context", &context, "-c", code]);
    let result = succeeded(outcome);
    let written = |name: &str| fs::read_to_string(files.join(name)).unwrap();
    assert_eq!(written("notes/0.md"), "note 0\nÄpfel\n");
    assert_eq!(written("notes/1.md"), "edited\nÄpfel\n");
    assert_eq!(written("moved.md"), "note 2\nÄpfel\n");
    assert!(!files.join("notes/2.md").exists());
    assert_eq!(result["there"], json!({"content": "from the test\n"}));
    assert_eq!(result["head"], json!({"content": "edited"}));
    says(&result["found"]["content"], &["moved.md", "notes/0.md", "notes/1.md"]);
    assert_eq!(result["listed"]["content"], "[FILE] 0.md\n[FILE] 1.md");
}

#[test]
fn a_memory_is_kept_and_read_back_by_another_program() {
    let Some(site) = Site::with(&["memory"]) else { return };
    site.run(
        r#"
from servers.memory import add_observations, create_entities, create_relations
await create_entities(entities=[
    {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]},
    {"name": "Engine", "entityType": "machine", "observations": []},
])
await create_relations(relations=[{"from": "Ada", "to": "Engine", "relationType": "programs"}])
await add_observations(observations=[{"entityName": "Ada", "contents": ["lived in London"]}])
"#,
    );
    let kept = fs::read_to_string(site.path("memory.jsonl")).unwrap();
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kept.len(), 3, "{kept:?}");
    let result = site.run(
        r#"
from servers.memory import open_nodes, read_graph, search_nodes
graph = await read_graph()
found = await search_nodes(query="London")
opened = await open_nodes(names=["Engine"])
result = [graph, [one["name"] for one in found["entities"]], opened["entities"][0]["entityType"]]
"#,
    );
    let ada = json!({
        "name": "Ada", "entityType": "person", "observations": ["wrote notes", "lived in London"],
    });
    assert_eq!(result[0]["entities"][0], ada);
    let relation = json!({"from": "Ada", "to": "Engine", "relationType": "programs"});
    assert_eq!(result[0]["relations"], json!([relation]));
    assert_eq!(result[1], json!(["Ada"]));
    assert_eq!(result[2], "machine");
}

#[test]
fn a_git_repository_is_read_and_committed_to() {
    let Some(site) = Site::with(&["git"]) else { return };
    let repository = site.path("repository");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    git(&repository, &["config", "user.name", "Tester"]);
    git(&repository, &["config", "user.email", "tester@example.invalid"]);
    git(&repository, &["config", "commit.gpgsign", "false"]);
    for (file, message) in [("one.txt", "The first"), ("two.txt", "The second")] {
        fs::write(repository.join(file), "as it was\n").unwrap();
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "--quiet", "-m", message]);
    }
    fs::write(repository.join("one.txt"), "as it is\n").unwrap();
    let context = json!({"repo": repository.to_str().unwrap()}).to_string();
    let code = r#"
from servers.git import git_add, git_commit, git_diff_unstaged, git_log, git_status, git_create_branch
log = await git_log(repo_path=repo)
diff = await git_diff_unstaged(repo_path=repo)
await git_add(repo_path=repo, files=["one.txt"])
await git_commit(repo_path=repo, message="The third")
await git_create_branch(repo_path=repo, branch_name="side")
result = {"log": str(log), "diff": str(diff), "status": str(await git_status(repo_path=repo))}
"#;
    let outcome = site.json(&["run", "--json", "--context", &context, "-c", code]);
    let result = succeeded(outcome);
    let first = git(&repository, &["rev-parse", "HEAD~2"]);
    says(&result["log"], &["The first", "The second", &first]);
    says(&result["diff"], &["-as it was", "+as it is"]);
    says(&result["status"], &["nothing to commit"]);
    assert_eq!(git(&repository, &["log", "--format=%s", "-1"]), "The third");
    assert_eq!(git(&repository, &["show", "HEAD:one.txt"]), "as it is");
    assert_eq!(git(&repository, &["branch", "--list", "side"]), "side");
}

#[test]
fn times_are_converted_between_time_zones() {
    let Some(site) = Site::with(&["time"]) else { return };
    let result = site.run(
        r#"
from datetime import datetime, timedelta, timezone
from servers.time import convert_time, get_current_time
tokyo = await convert_time(source_timezone="UTC", time="21:30", target_timezone="Asia/Tokyo")
kathmandu = await convert_time(source_timezone="UTC", time="00:00", target_timezone="Asia/Kathmandu")
now = datetime.fromisoformat((await get_current_time(timezone="UTC"))["datetime"])
try:
    wrong = await get_current_time(timezone="Nowhere/City")
except Exception as error:
    wrong = f"{type(error).__name__}: {error}"
result = {
    "tokyo": [tokyo["target"]["datetime"][11:16], tokyo["time_difference"]],
    "kathmandu": [kathmandu["target"]["datetime"][11:16], kathmandu["time_difference"]],
    "off": abs((datetime.now(timezone.utc) - now).total_seconds()),
    "wrong": wrong,
}
"#,
    );
    assert_eq!(result["tokyo"], json!(["06:30", "+9.0h"]));
    assert_eq!(result["kathmandu"], json!(["05:45", "+5.75h"]));
    assert!(result["off"].as_f64().unwrap() < 60.0, "{result}");
    says(&result["wrong"], &["ToolError", "Nowhere/City"]);
}

#[test]
fn one_program_uses_all_servers_together() {
    let Some(site) = Site::with(&["everything", "files", "memory", "time"]) else { return };
    let code = r#"
import asyncio
from servers import everything, files, memory, time
converted, added = await asyncio.gather(
    time.convert_time(source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
    everything.get_sum(a=20, b=22),
)
note = f"{added} {converted['target']['datetime'][11:16]}"
await files.write_file(path=f"{root}/note.txt", content=note)
await memory.create_entities(entities=[{"name": note, "entityType": "note", "observations": []}])
read = await files.read_text_file(path=f"{root}/note.txt")
graph = await memory.read_graph()
result = [read["content"], graph["entities"][0]["name"]]
"#;
    let context = json!({"root": site.text("files")}).to_string();
    let outcome = site.json(&["run", "--json", "--context", &context, "-c", code]);
    let note = "The sum of 20 and 22 is 42. 21:00";
    assert_eq!(succeeded(outcome), json!([note, note]));
    assert_eq!(fs::read_to_string(site.path("files/note.txt")).unwrap(), note);
}

// Over HTTP.

#[test]
fn a_server_over_streamable_http_is_called_and_gets_its_headers() {
    let Some(site) = Site::new() else { return };
    let everything = Everything::start(&site, "streamableHttp");
    let url = json!(everything.url);
    site.configure(&format!(
        "[servers.auto]\nurl = {url}\nheaders = {{ Authorization = \"Bearer ${{TOKEN}}\" }}\n\
         [servers.http]\nurl = {url}\ntransport = \"http\"\n",
    ));
    let mut command = site.narrows();
    command.env("TOKEN", SECRET).args(["run", "--json", "-c"]);
    let output = command
        .arg(
            "import servers\nresult = [await servers.auto.get_sum(a=1, b=2), \
             (await servers.http.get_structured_content(location='Chicago'))['conditions']]",
        )
        .output()
        .unwrap();
    let result = succeeded(document(&output));
    assert_eq!(result[0], "The sum of 1 and 2 is 3.");
    assert!(result[1].is_string());
}

#[test]
fn a_server_over_the_older_event_stream_is_found_and_called() {
    let Some(site) = Site::new() else { return };
    let everything = Everything::start(&site, "sse");
    let url = json!(everything.url);
    site.configure(&format!(
        "[servers.found]\nurl = {url}\ntransport = \"auto\"\n\
         [servers.told]\nurl = {url}\ntransport = \"sse\"\n\
         [servers.wrong]\nurl = {url}\ntransport = \"http\"\n",
    ));
    let result = site.run(
        r#"
import asyncio, client, servers
result = [
    await servers.found.echo(message="found"),
    *await asyncio.gather(*(servers.told.get_sum(a=n, b=1) for n in range(3))),
]
try:
    await client.call_mcp_tool("mcp__wrong__echo", {"message": "x"})
except client.ToolError as error:
    result.append(str(error))
"#,
    );
    assert_eq!(
        result.as_array().unwrap()[..4],
        [
            "Echo: found",
            "The sum of 0 and 1 is 1.",
            "The sum of 1 and 1 is 2.",
            "The sum of 2 and 1 is 3."
        ]
        .map(|said| json!(said))
    );
    says(&result[4], &["\"wrong\" is not available"]);
    let status = site.json(&["servers", "status", "told", "--json"]);
    assert_eq!(status["servers"][0]["health"], "ready");
    assert_eq!(status["servers"][0]["tools"], 15);
}

// How servers start.

/// It takes longer than the patience with a server that ignores `server/discover`; a server of
/// both eras that is asked to `initialize` after that refuses it.
#[test]
fn a_server_of_both_eras_that_starts_slowly_is_reached() {
    let Some(site) = Site::new() else { return };
    let server = site.tool("python/mcp-server-time");
    site.configure(&stdio("time", "sh", &["-c", "sleep 3; exec \"$0\"", &server]));
    let status = site.json(&["servers", "status", "--json"]);
    assert_eq!(status["servers"][0]["health"], "ready", "{status:#}");
    assert_eq!(status["servers"][0]["tools"], 2);
}

#[test]
fn a_server_that_ends_at_once_is_explained_by_its_exit_and_its_last_words() {
    let Some(site) = Site::new() else { return };
    site.configure(&stdio("dead", "sh", &["-c", "echo the database is locked >&2; exit 7"]));
    // Its end may be met at any step of the handshake.
    for _ in 0..5 {
        let status = site.json(&["servers", "status", "--json"]);
        let error = &status["servers"][0]["last_error"];
        says(error, &["exit status: 7", "the database is locked"]);
    }
}

#[test]
fn what_went_wrong_is_told_without_names_of_rust_types() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!(
        "[servers.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n{}",
        stdio("dead", "sh", &["-c", "exit 7"])
    ));
    for command in [vec!["servers", "status"], vec!["doctor"]] {
        let output = site.says(&command);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stdout);
        assert!(said.contains("gone") && said.contains("dead"), "{said}");
        assert!(!said.contains("::"), "{said}");
    }
}

#[test]
fn tools_are_known_from_the_last_time_when_the_server_does_not_start() {
    let Some(site) = Site::new() else { return };
    let link = site.path("server");
    std::os::unix::fs::symlink(site.tool("node/mcp-server-everything"), &link).unwrap();
    site.configure(&stdio("everything", link.to_str().unwrap(), &["stdio"]));
    let before = site.json(&["tools", "list", "--json"]);
    assert_eq!(before["tools"].as_array().unwrap().len(), 15);

    fs::remove_file(&link).unwrap();
    assert_eq!(site.json(&["tools", "list", "--json"]), before);
    let shown = site.says(&["tools", "show", "everything.get_sum"]);
    assert!(text(&shown.stdout).contains("async def get_sum("), "{shown:?}");
    let result = site.run(
        r#"
import client
from servers.everything import get_sum
try:
    await get_sum(a=1, b=2)
except client.ToolError as error:
    result = str(error)
"#,
    );
    says(&result, &["everything", "not installed or not in PATH"]);
    let status = site.json(&["servers", "status", "--json"]);
    assert_eq!(status["servers"][0]["health"], "failed");
}

#[test]
fn a_changed_command_does_not_get_the_tools_of_the_old_one() {
    let Some(site) = Site::with(&["time"]) else { return };
    assert_eq!(site.json(&["tools", "list", "--json"])["tools"].as_array().unwrap().len(), 2);
    let memory = site.server("memory").replace("[servers.memory]", "[servers.time]");
    site.configure(&memory);
    let listed = site.json(&["tools", "list", "--json"]);
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"read_graph") && !names.contains(&"convert_time"), "{names:?}");
}

#[test]
fn a_disabled_server_is_listed_and_never_started() {
    let Some(site) = Site::new() else { return };
    let mark = site.text("started");
    site.configure(&format!(
        "{}enabled = false\n{}",
        stdio("off", "touch", &[&mark]),
        site.server("time")
    ));
    let listed = site.json(&["servers", "list", "--json"]);
    let off =
        listed["servers"].as_array().unwrap().iter().find(|one| one["name"] == "off").unwrap();
    assert_eq!(off["enabled"], false);
    let status = site.json(&["servers", "status", "--json"]);
    assert_eq!(status["servers"].as_array().unwrap().len(), 1);
    let result = site.run(
        r#"
try:
    import servers.off
    result = "imported"
except ModuleNotFoundError as error:
    result = str(error)
"#,
    );
    says(&result, &["servers.off"]);
    assert_eq!(site.json(&["doctor", "--json"])["ok"], true);
    assert!(!Path::new(&mark).exists());
}

// What the command line says.

#[test]
fn tools_are_listed_searched_and_shown() {
    let Some(site) = Site::with(&["time", "memory"]) else { return };
    let listed = text(&site.says(&["tools", "list"]).stdout);
    assert!(listed.contains("time.convert_time  Convert time between timezones"), "{listed}");
    assert_eq!(listed.lines().count(), 11, "{listed}");
    let of_one = site.json(&["tools", "list", "time", "--json"]);
    assert_eq!(of_one["tools"].as_array().unwrap().len(), 2);
    assert_eq!(of_one["tools"][0]["server"], "time");

    let found =
        site.json(&["tools", "search", "add facts about an entity", "--json", "--limit", "3"]);
    let found = found["tools"].as_array().unwrap();
    assert!(found.len() <= 3 && !found.is_empty());
    let names: Vec<&Value> = found.iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&json!("add_observations")), "{names:?}");
    let none = site.says(&["tools", "search", "xylophone"]);
    assert_eq!(none.status.code(), Some(1));

    let shown = text(&site.says(&["tools", "show", "time.convert_time"]).stdout);
    assert!(shown.starts_with("from servers.time import convert_time"), "{shown}");
    for name in ["convert_time", "mcp__time__convert_time"] {
        assert_eq!(text(&site.says(&["tools", "show", name]).stdout), shown);
    }
    let raw = site.json(&["tools", "show", "convert_time", "--json"]);
    assert_eq!(
        raw["inputSchema"]["required"],
        json!(["source_timezone", "time", "target_timezone"])
    );
    let missing = site.says(&["tools", "show", "time.convert_tiem"]);
    assert_eq!(missing.status.code(), Some(1));
    says(&json!(text(&missing.stderr)), &["did you mean convert_time?"]);
}

#[test]
fn tools_of_a_server_that_is_not_there_are_an_error() {
    let Some(site) = Site::with(&["time"]) else { return };
    for command in
        [vec!["tools", "list", "tmie"], vec!["tools", "search", "convert", "--server", "tmie"]]
    {
        let output = site.says(&command);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
        says(&json!(text(&output.stderr)), &["tmie", "did you mean time?"]);
    }
}

#[test]
fn the_status_of_servers_says_what_works_and_what_does_not() {
    let Some(site) = Site::new() else { return };
    let missing = stdio("missing", "no-such-command-anywhere", &[]);
    site.configure(&format!("{}{}{missing}", site.server("memory"), site.server("time")));
    let output = site.says(&["servers", "status", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let status = document(&output);
    let of = |name: &str| {
        let servers = status["servers"].as_array().unwrap();
        servers.iter().find(|one| one["server"] == name).unwrap().clone()
    };
    assert_eq!(
        (&of("memory")["health"], &of("memory")["protocol"]),
        (&json!("ready"), &json!("2025-11-25"))
    );
    assert_eq!(
        (&of("time")["health"], &of("time")["protocol"]),
        (&json!("ready"), &json!("2026-07-28"))
    );
    assert_eq!(of("memory")["tools"], 9);
    assert_eq!(of("missing")["health"], "failed");
    says(&of("missing")["last_error"], &["no-such-command-anywhere", "not in PATH"]);

    let one = site.says(&["servers", "status", "memory"]);
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    says(&json!(text(&one.stdout)), &["memory: ready, 9 tools"]);
    let wrong = site.says(&["servers", "status", "memroy"]);
    says(&json!(text(&wrong.stderr)), &["memroy", "did you mean memory?"]);
}

#[test]
fn the_doctor_finds_what_is_ill_and_says_how_to_mend_it() {
    let Some(site) = Site::with(&["time"]) else { return };
    let healthy = site.says(&["doctor", "--json"]);
    assert_eq!(healthy.status.code(), Some(0), "{}", text(&healthy.stdout));
    assert_eq!(document(&healthy)["ok"], true);

    site.configure(&format!(
        "{}{}env = {{ TOKEN = \"${{NARROWS_TEST_NOT_SET}}\" }}\n[servers.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n",
        stdio("missing", "no-such-command-anywhere", &[]),
        stdio("unset", "true", &[]),
    ));
    let ill = site.says(&["doctor", "--json"]);
    assert_eq!(ill.status.code(), Some(1));
    let ill = document(&ill);
    let check = |subject: &str| {
        let checks = ill["checks"].as_array().unwrap();
        checks.iter().find(|check| check["subject"] == subject).unwrap().clone()
    };
    assert_eq!(check("sandbox")["ok"], true);
    says(&check("server missing")["remedy"], &["install the command"]);
    says(&check("server unset")["found"], &["NARROWS_TEST_NOT_SET"]);
    says(&check("server unset")["remedy"], &["export the variable"]);
    // It has no command that could be run by hand.
    let remedy = &check("server gone")["remedy"];
    assert!(!remedy.as_str().unwrap().contains("command"), "{remedy}");
}

#[test]
fn servers_are_added_tried_and_removed() {
    let Some(site) = Site::new() else { return };
    let time = site.tool("python/mcp-server-time");
    let added =
        site.says(&["servers", "add", "clock", "--", &time, "--local-timezone", "Asia/Tokyo"]);
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    let result = site.run(
        "from servers.clock import convert_time\n\
         result = (await convert_time(source_timezone='UTC', time='01:00', target_timezone='UTC'))['time_difference']",
    );
    assert_eq!(result, "+0.0h");

    let again = site.says(&["servers", "add", "clock", "--", "true"]);
    assert_eq!(again.status.code(), Some(1));
    says(&json!(text(&again.stderr)), &["clock", "--force"]);
    let forced = site.says(&[
        "servers",
        "add",
        "clock",
        "--force",
        "--url",
        "http://127.0.0.1:9/mcp?token=${TOKEN}",
        "--header",
        "X-Team=blue",
        "--transport",
        "http",
        "--expose",
        "both",
    ]);
    assert_eq!(forced.status.code(), Some(0), "{forced:?}");
    let listed = site.json(&["servers", "list", "--json"]);
    let expected = json!({
        "name": "clock", "enabled": true, "expose": "both", "kind": "http",
        "target": "http://127.0.0.1:9/mcp",
    });
    assert_eq!(listed["servers"], json!([expected]));

    let removed = site.says(&["servers", "remove", "clock"]);
    assert_eq!(removed.status.code(), Some(0), "{removed:?}");
    assert_eq!(site.json(&["servers", "list", "--json"])["servers"], json!([]));
    let missing = site.says(&["servers", "remove", "clock"]);
    assert_eq!(missing.status.code(), Some(1));
    says(&json!(text(&missing.stderr)), &["clock"]);
}

#[test]
fn the_json_of_other_clients_is_a_configuration() {
    let Some(site) = Site::new() else { return };
    let config = site.path("client.json");
    let servers = json!({"mcpServers": {
        "clock": {"command": site.tool("python/mcp-server-time"), "args": ["--local-timezone", "${ZONE:-UTC}"]},
        "off": {"command": "true", "disabled": true},
    }});
    fs::write(&config, servers.to_string()).unwrap();
    let narrows = |arguments: &[&str]| {
        let mut command = site.command(env!("CARGO_BIN_EXE_narrows"));
        command.arg("--config").arg(&config).args(arguments).output().unwrap()
    };
    let listed = document(&narrows(&["servers", "list", "--json"]));
    let names: Vec<_> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["enabled"]))
        .collect();
    assert_eq!(names, [(&json!("clock"), &json!(true)), (&json!("off"), &json!(false))]);
    let code = "from servers.clock import get_current_time\nresult = (await get_current_time(timezone='Asia/Tokyo'))['timezone']";
    let outcome = document(&narrows(&["run", "--json", "-c", code]));
    assert_eq!(succeeded(outcome), "Asia/Tokyo");

    // It belongs to another program: it is read, and never written.
    for change in [vec!["servers", "add", "more", "--", "true"], vec!["servers", "remove", "off"]] {
        let refused = narrows(&change);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        says(&json!(text(&refused.stderr)), &["JSON", "narrows import"]);
    }
    assert_eq!(fs::read_to_string(&config).unwrap(), servers.to_string());
}

#[test]
fn variables_are_filled_in_from_the_environment() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!(
        "{}env = {{ GIVEN = \"${{NARROWS_TEST_GIVEN}}\", DEFAULT = \"${{NARROWS_TEST_NOT_SET:-a default}}\" }}\n",
        stdio("everything", &site.tool("node/mcp-server-everything"), &["${NARROWS_TEST_MODE}"]),
    ));
    let code = "from servers.everything import get_env\nenv = await get_env()\nresult = [env['GIVEN'], env['DEFAULT']]";
    let mut command = site.narrows();
    command.env("NARROWS_TEST_GIVEN", "given $HOME").env("NARROWS_TEST_MODE", "stdio");
    let output = command.args(["run", "--json", "-c", code]).output().unwrap();
    assert_eq!(succeeded(document(&output)), json!(["given $HOME", "a default"]));

    let unset = site.says(&["run", "--json", "-c", code]);
    says(&document(&unset)["error"]["message"], &["NARROWS_TEST_MODE", "not set"]);
}

/// The secret is in each place where one is put, and each server fails in a way that tells it.
#[test]
fn secrets_are_in_no_output_however_servers_fail() {
    let Some(site) = Site::new() else { return };
    let everything = Everything::start(&site, "streamableHttp");
    let origin = everything.url.trim_end_matches("/mcp");
    let config = [
        format!(
            "{}env = {{ TOKEN = \"${{NARROWS_TEST_SECRET}}\" }}\n",
            stdio("environment", "sh", &["-c", "echo failed with $TOKEN >&2; read x; exit 3"])
        ),
        stdio(
            "argument",
            "sh",
            &["-c", "echo failed with $0 >&2; read x; exit 3", "${NARROWS_TEST_SECRET}"],
        ),
        stdio("literal", "sh", &["-c", "read x; exit 3", "--token", SECRET]),
        stdio("command", "no-such-command-${NARROWS_TEST_SECRET}", &[]),
        format!(
            "{}env = {{ TOKEN = \"{SECRET}\" }}\n",
            stdio("written", "sh", &["-c", "echo $TOKEN; echo $TOKEN >&2; read x; exit 3"])
        ),
        format!("[servers.address]\nurl = \"{origin}/none?token=${{NARROWS_TEST_SECRET}}\"\n"),
        format!("[servers.path]\nurl = \"{origin}/${{NARROWS_TEST_SECRET}}/mcp\"\n"),
        "[servers.refused]\nurl = \"http://127.0.0.1:9/mcp?token=${NARROWS_TEST_SECRET}\"\n"
            .to_owned(),
        "[servers.user]\nurl = \"http://me:${NARROWS_TEST_SECRET}@127.0.0.1:9/mcp\"\n".to_owned(),
        format!(
            "[servers.header]\nurl = \"{origin}/none\"\nheaders = {{ Authorization = \"Bearer ${{NARROWS_TEST_SECRET}}\" }}\n"
        ),
    ];
    let names = [
        "environment",
        "argument",
        "literal",
        "command",
        "written",
        "address",
        "path",
        "refused",
        "user",
        "header",
    ];
    site.configure(&config.concat());
    let code = format!(
        r#"
import client
result = []
for name in {}:
    try:
        result.append(await client.call_mcp_tool(f"mcp__{{name}}__anything", {{}}))
    except client.ToolError as error:
        result.append(str(error))
"#,
        json!(names)
    );
    let mut leaks = Vec::new();
    for arguments in [
        vec!["servers", "status"],
        vec!["servers", "status", "--json"],
        vec!["servers", "list"],
        vec!["servers", "list", "--json"],
        vec!["doctor"],
        vec!["doctor", "--json"],
        vec!["tools", "list"],
        vec!["tools", "show", "argument.anything"],
        vec!["run", "--json", "-c", &code],
    ] {
        let output =
            site.narrows().env("NARROWS_TEST_SECRET", SECRET).args(&arguments).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains("argument"), "it says nothing of the servers: {said}");
        for line in said.lines().filter(|line| line.contains(SECRET)) {
            leaks
                .push(format!("narrows {}: {line}", arguments[..arguments.len().min(2)].join(" ")));
        }
        if arguments[0] == "run" {
            // The control: every server was tried, and failed.
            let result = succeeded(document(&output));
            assert_eq!(result.as_array().unwrap().len(), names.len());
        }
    }
    for file in walk(&site.path("cache")).into_iter().chain(walk(&site.path("data"))) {
        if text(&fs::read(&file).unwrap()).contains(SECRET) {
            leaks.push(format!("the file {}", file.display()));
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn completions_know_every_command() {
    let Some(site) = Site::new() else { return };
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = site.says(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        for command in ["serve", "servers", "tools", "run", "doctor", "import", "completions"] {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    // The shell that runs here takes its script.
    fs::write(site.path("narrows.bash"), site.says(&["completions", "bash"]).stdout).unwrap();
    let line = "source ./narrows.bash; COMP_WORDS=(narrows serv); COMP_CWORD=1; \
                _narrows narrows serv narrows; echo ${COMPREPLY[@]}";
    let completed = site.command("bash").args(["-c", line]).output().unwrap();
    let completed = text(&completed.stdout);
    assert_eq!(completed.split_whitespace().collect::<Vec<_>>(), ["serve", "servers"]);
}
