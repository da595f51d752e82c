//! The tools for what lasts: skills and files of the workspace.

use base64::{Engine, prelude::BASE64_STANDARD};
use narrows_engine::{
    compute::{ALWAYS_APART, json_bytes},
    policy::WorkspaceUse,
    search::optional_query,
    skills::{ListedSkill, SkillDraft},
    state::{Agent, Encoding, FileContent, ReadRequest, StateError},
};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    answers::{failed, read, said, told},
    gateway::Gateway,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadRequest {
    name: String,
    version: Option<i64>,
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListRequest {
    #[serde(default, deserialize_with = "optional_query")]
    query: Option<String>,
    limit: Option<usize>,
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteRequest {
    path: String,
    content: Value,
    encoding: Option<Encoding>,
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesRequest {
    #[serde(alias = "glob", alias = "path")]
    pattern: Option<String>,
    limit: Option<usize>,
    namespace: Option<String>,
}

/// Gives a failure as the answer to the model, which can mend it.
macro_rules! or_failed {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return failed(error.to_string()),
        }
    };
}

pub(super) async fn save_skill(
    gateway: &Gateway,
    agent: &Agent,
    arguments: Map<String, Value>,
) -> CallToolResult {
    let draft: SkillDraft = or_failed!(read(arguments));
    let saved = or_failed!(agent.save_skill(&gateway.broker, draft).await);
    let mut text = format!(
        "{} version {} of {}: from skills import {}",
        if saved.is_new { "saved" } else { "unchanged," },
        saved.version,
        saved.signature,
        saved.name
    );
    for (label, names) in [("tools", &saved.tools), ("tests", &saved.tests)] {
        if !names.is_empty() {
            text += &format!("\n{label}: {}", names.join(", "));
        }
    }
    for note in &saved.notes {
        text += &format!("\nnote: {note}");
    }
    let mut data = json!(saved);
    data["import"] = format!("from skills import {}", saved.name).into();
    told(text, data)
}

pub(super) async fn load_skill(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let LoadRequest { name, version, namespace } = or_failed!(read(arguments));
    let skill = or_failed!(agent.load_skill(&name, version, namespace.as_deref()).await);
    let about = json!({
        "name": skill.head.name,
        "version": skill.head.version,
        "signature": skill.head.signature,
        "description": skill.head.description,
        "tags": skill.head.tags,
    });
    let mut result = said(skill.code);
    result.meta = meta("narrows/skill", about);
    result
}

pub(super) async fn list_skills(
    gateway: &Gateway,
    agent: &Agent,
    arguments: Map<String, Value>,
) -> CallToolResult {
    let ListRequest { query, limit, namespace } = or_failed!(read(arguments));
    let listed =
        agent.list_skills(&gateway.broker, query.as_deref(), namespace.as_deref(), limit).await;
    let listed = or_failed!(listed);
    let text = match (listed.is_empty(), &query) {
        (true, Some(query)) if !query.is_empty() => {
            format!("no skill fits {query:?}; without query all are listed")
        }
        (true, _) => "no skills are saved yet; save one with save_skill".to_owned(),
        _ => listed.iter().map(skill_line).collect::<Vec<_>>().join("\n"),
    };
    let note =
        if listed.is_empty() { text.as_str() } else { "from skills import NAME imports one" };
    let data = json!({ "notes": [note], "skills": listed });
    told(text, data)
}

/// `from skills import double # double(n: int) -> int: doubles a number`
fn skill_line(skill: &ListedSkill) -> String {
    let mut line = format!("from skills import {} # {}", skill.name, skill.signature);
    let description = skill.description.lines().next().unwrap_or_default();
    if !description.is_empty() {
        line += &format!(": {description}");
    }
    if !skill.changed.is_empty() {
        line += &format!(" (tools changed: {})", skill.changed.join("; "));
    }
    line
}

pub(super) async fn write_file(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let WriteRequest { path, content, encoding, namespace } = or_failed!(read(arguments));
    or_failed!(workspace_for(agent, WorkspaceUse::Write));
    let size = json_bytes(&content);
    let bytes = or_failed!(agent.compute(size, || bytes_of(content, encoding)).await);
    let written = or_failed!(agent.write_file(&path, &bytes, namespace.as_deref()).await);
    let text = format!("wrote {} bytes to /workspace/{}", written.bytes, written.path);
    told(text, json!(written))
}

/// Whether an agent's level lets it use its files so.
fn workspace_for(agent: &Agent, wanted: WorkspaceUse) -> Result<(), String> {
    let level = agent.level(None).map_err(|error| error.to_string())?;
    match level.workspace >= wanted {
        true => Ok(()),
        false => Err(format!("the isolation level {:?} does not allow that", level.name)),
    }
}

/// What a model means by the content of a file.
fn bytes_of(content: Value, encoding: Option<Encoding>) -> Result<Vec<u8>, String> {
    match (content, encoding) {
        (Value::String(text), Some(Encoding::Base64)) => BASE64_STANDARD
            .decode(text.trim())
            .map_err(|error| format!("\"content\" is not base64: {error}")),
        (Value::String(text), _) => Ok(text.into_bytes()),
        (_, Some(Encoding::Base64)) => Err("\"content\" is not a string of base64".into()),
        (data, _) => serde_json::to_vec_pretty(&data).map_err(|error| error.to_string()),
    }
}

pub(super) async fn read_file(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let request: ReadRequest = or_failed!(read(arguments));
    or_failed!(workspace_for(agent, WorkspaceUse::Read));
    // It reads from a disk, up to megabytes, and looks at all of it.
    let reading = || agent.read_file(&request, Some(&agent.shield()));
    let file = or_failed!(agent.compute(ALWAYS_APART, reading).await);
    let about = about(&file);
    let FileContent { content, encoding, media_type, .. } = file;
    let next = about.get("next_offset").cloned();
    let is_whole = next.is_none() && about["offset"] == 0;
    let block = match (encoding, media_type.split('/').next()) {
        (Encoding::Text, _) => ContentBlock::text(content),
        (Encoding::Base64, Some("image")) if is_whole => ContentBlock::image(content, media_type),
        (Encoding::Base64, Some("audio")) if is_whole => ContentBlock::audio(content, media_type),
        (Encoding::Base64, _) => ContentBlock::text(content),
    };
    // First, for a client may cut the end.
    let more = next.map(|next| {
        let bytes = &about["bytes"];
        ContentBlock::text(format!("[of {bytes} bytes; the rest is from offset {next} on]"))
    });
    let mut result = CallToolResult::success(more.into_iter().chain([block]).collect());
    result.meta = meta("narrows/file", about);
    result
}

/// What a program may want to know beside a text or an image. Structure would be handed to the
/// model of some clients in the place of it.
fn meta(key: &str, about: Value) -> Option<MetaObject> {
    Some(MetaObject(Map::from_iter([(key.to_owned(), about)])))
}

/// All but the content.
fn about(file: &FileContent) -> Value {
    let mut about = json!(file);
    if let Some(about) = about.as_object_mut() {
        about.remove("content");
    }
    about
}

pub(super) async fn list_files(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let FilesRequest { pattern, limit, namespace } = or_failed!(read(arguments));
    or_failed!(workspace_for(agent, WorkspaceUse::Read));
    let listed: Result<_, StateError> =
        agent.list_files(pattern.as_deref(), namespace.as_deref(), limit).await;
    let (files, total) = or_failed!(listed);
    let mut lines: Vec<String> = files
        .iter()
        .map(|file| {
            let place = file.elsewhere.as_ref().map_or(String::new(), |at| format!(" (on {at})"));
            format!("{}  {} bytes{place}", file.path, file.bytes)
        })
        .collect();
    let note = match (files.is_empty(), total - files.len()) {
        (true, _) => Some("no files".to_owned()),
        (false, 0) => None,
        (false, more) => Some(format!("and {more} more; name a pattern")),
    };
    let mut data = json!({ "files": files, "total": total });
    if let Some(note) = note {
        data["notes"] = json!([note]);
        lines.push(note);
    }
    told(lines.join("\n"), data)
}
