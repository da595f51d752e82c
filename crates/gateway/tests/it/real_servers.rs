//! Real servers behind Narrows: what programs get from them, and what the servers really did.
#![cfg(unix)]

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::real::{Site, document, git, says, succeeded, text};

/// The bytes that base64 stands for, by the program that every system has for it.
fn decoded(base64: &str, site: &Site) -> Vec<u8> {
    fs::write(site.path("base64"), base64).unwrap();
    let output = Command::new("base64").arg("-d").arg(site.path("base64")).output().unwrap();
    assert!(output.status.success());
    output.stdout
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
    // Those that were called first take longer than any program: if calls had to wait for one
    // another, the last ones would not be answered.
    let outcome = site.outcome(
        r#"
import asyncio
from servers.everything import trigger_long_running_operation as operate, echo
long = [asyncio.create_task(operate(duration=1000, steps=1)) for _ in range(7)]
await asyncio.sleep(0)
said = [await operate(duration=1, steps=2), await echo(message="meanwhile")]
result = [said, [task.done() for task in long]]
for task in long:
    task.cancel()
await asyncio.gather(*long, return_exceptions=True)
"#,
    );
    assert_eq!(outcome["tool_calls"], 9);
    let result = succeeded(outcome);
    says(&result[0][0], &["Long running operation completed"]);
    assert_eq!(result[0][1], "Echo: meanwhile");
    assert_eq!(result[1], json!(vec![false; 7]));
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
    // It is a file of the workspace that every program has.
    let path = blob["path"].as_str().unwrap().strip_prefix("/workspace/").unwrap();
    let bytes = site.says(&["workspace", "show", path]).stdout;
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
    let level = "[isolation.levels.bare]\nworkspace = \"none\"\n";
    site.configure(&format!("{level}{}", site.server("everything")));
    let without = succeeded(site.outcome_with(&["--isolation", "bare"], code));
    assert_eq!(without["mime_type"], "image/png");
    let bytes = decoded(without["data"].as_str().unwrap(), &site);
    assert_eq!(without["bytes"], bytes.len());
    assert!(bytes.starts_with(b"\x89PNG"));

    let workspace = site.text("workspace");
    fs::create_dir(&workspace).unwrap();
    let with = site.outcome_with(&["--workspace", &workspace], code);
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
    let output = site.says(&["run", "--json", "--timeout", "120", "-c", code]);
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
    let outcome = site.outcome_with(&["--yes", "--context", &context], code);
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
    let outcome = site.outcome_with(&["--context", &context], code);
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
from datetime import datetime, timezone
from servers.time import convert_time, get_current_time
tokyo = await convert_time(source_timezone="UTC", time="21:30", target_timezone="Asia/Tokyo")
kathmandu = await convert_time(source_timezone="UTC", time="00:00", target_timezone="Asia/Kathmandu")
before = datetime.now(timezone.utc).replace(microsecond=0)
now = datetime.fromisoformat((await get_current_time(timezone="UTC"))["datetime"])
try:
    wrong = await get_current_time(timezone="Nowhere/City")
except Exception as error:
    wrong = f"{type(error).__name__}: {error}"
result = {
    "tokyo": [tokyo["target"]["datetime"][11:16], tokyo["time_difference"]],
    "kathmandu": [kathmandu["target"]["datetime"][11:16], kathmandu["time_difference"]],
    "is_now": before <= now <= datetime.now(timezone.utc),
    "wrong": wrong,
}
"#,
    );
    assert_eq!(result["tokyo"], json!(["06:30", "+9.0h"]));
    assert_eq!(result["kathmandu"], json!(["05:45", "+5.75h"]));
    assert_eq!(result["is_now"], true, "{result}");
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
    let outcome = site.outcome_with(&["--yes", "--context", &context], code);
    let note = "The sum of 20 and 22 is 42. 21:00";
    assert_eq!(succeeded(outcome), json!([note, note]));
    assert_eq!(fs::read_to_string(site.path("files/note.txt")).unwrap(), note);
}
