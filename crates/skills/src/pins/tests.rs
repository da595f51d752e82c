//! The changes of a tool since a skill was saved.

use serde_json::{Value, json};

use super::{Pin, Pins, compare};

fn tool() -> Value {
    json!({
        "name": "create_issue",
        "description": "Creates an issue",
        "inputSchema": {
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": "of the issue"},
                "state": {"type": "string", "enum": ["open", "closed"]},
                "limit": {"type": "integer", "maximum": 10},
                "owner": {"$ref": "#/$defs/Owner"},
                "labels": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            },
            "required": ["title", "owner"],
            "$defs": {"Owner": {"type": "object", "properties": {"login": {"type": "string"}, "id": {"type": "integer"}}}},
        },
        "outputSchema": {"type": "object", "properties": {"number": {"type": "integer"}, "url": {"type": "string"}}},
        "annotations": {"title": "New issue", "readOnlyHint": false},
    })
}

/// Returns the text of the changes after `edit` of the definition.
fn change(edit: impl FnOnce(&mut Value)) -> Option<String> {
    let pin = Pin::of("github.create_issue", &tool());
    let mut now = tool();
    edit(&mut now);
    compare(&pin, Some(&now))
        .map(|change| change.to_string().strip_prefix("github.create_issue: ").unwrap().to_owned())
}

fn set(pointer: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |tool| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = tool.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.insert(key.to_owned(), value);
    }
}

fn remove(pointer: &'static str) -> impl FnOnce(&mut Value) {
    move |tool| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = tool.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.shift_remove(key).unwrap();
    }
}

#[test]
fn other_words_and_another_order_change_nothing() {
    assert_eq!(change(|_| {}), None);
    assert_eq!(change(set("/description", json!("Makes an issue"))), None);
    let words = "/inputSchema/properties/title/description";
    assert_eq!(change(set(words, json!("the title"))), None);
    assert_eq!(change(set("/annotations/title", json!("Issue"))), None);
    assert_eq!(change(set("/inputSchema/required", json!(["owner", "title"]))), None);
    let values = "/inputSchema/properties/state/enum";
    assert_eq!(change(set(values, json!(["closed", "open"]))), None);
    // The definition is written in place of the reference to it.
    let owner = tool()["inputSchema"]["$defs"]["Owner"].clone();
    assert_eq!(change(set("/inputSchema/properties/owner", owner)), None);
}

#[test]
fn each_change_is_said_in_words() {
    let input = |tool: &mut Value, name: &str, schema: Value| {
        tool["inputSchema"]["properties"][name] = schema;
    };
    let said = |edit: &dyn Fn(&mut Value)| change(|tool| edit(tool)).unwrap();
    assert_eq!(
        change(remove("/inputSchema/properties/limit")).unwrap(),
        "the parameter limit is gone"
    );
    assert_eq!(
        said(&|tool| input(tool, "repo", json!({"type": "string"}))),
        "there is a new optional parameter repo (string)"
    );
    assert_eq!(
        said(&|tool| {
            input(tool, "repo", json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
            tool["inputSchema"]["required"] = json!(["title", "owner", "repo"]);
        }),
        "there is a new required parameter repo (null or string)"
    );
    assert_eq!(
        said(&|tool| tool["inputSchema"]["required"] = json!(["title", "owner", "limit"])),
        "the parameter limit is now required"
    );
    assert_eq!(
        said(&|tool| tool["inputSchema"]["required"] = json!(["title"])),
        "the parameter owner is no longer required"
    );
    assert_eq!(
        said(&|tool| input(tool, "limit", json!({"type": "string"}))),
        "the parameter limit is now string, it was integer"
    );
    assert_eq!(
        said(&|tool| input(tool, "limit", json!({"type": "integer", "maximum": 5}))),
        "the parameter limit has other rules (maximum)"
    );
    assert_eq!(
        said(&|tool| input(tool, "state", json!({"type": "string", "enum": ["open", "all"]}))),
        "the parameter state no longer takes \"closed\"; the parameter state now also takes \"all\""
    );
    assert_eq!(
        said(&|tool| tool["inputSchema"]["$defs"]["Owner"]["properties"]["id"] =
            json!({"type": "string"})),
        "the parameter owner.id is now string, it was integer"
    );
    assert_eq!(
        said(&|tool| tool["inputSchema"]["properties"]["labels"]["items"]["properties"] = json!({})),
        "the parameter labels[].name is gone"
    );
    assert_eq!(
        said(&|tool| tool["outputSchema"]["properties"] =
            json!({"number": {"type": "string"}, "id": {"type": "integer"}})),
        "the result no longer has the field url; the field number of the result is now string, it \
         was integer; the result has a new field id (integer)"
    );
    assert_eq!(change(remove("/outputSchema")).unwrap(), "the result is no longer described");
    assert_eq!(
        change(set("/annotations/readOnlyHint", json!(true))).unwrap(),
        "the annotation readOnlyHint is now true, it was false"
    );
    assert_eq!(
        change(set("/annotations/destructiveHint", json!(true))).unwrap(),
        "the annotation destructiveHint is now true, it was not said"
    );
    assert_eq!(
        change(set("/inputSchema/additionalProperties", json!(false))).unwrap(),
        "the parameters have other rules (additionalProperties)"
    );
}

#[test]
fn the_most_important_change_comes_first() {
    let pin = Pin::of("github.create_issue", &tool());
    let mut now = tool();
    now["inputSchema"]["properties"]["aaa"] = json!({"type": "string"});
    now["inputSchema"]["properties"]["limit"] = json!({"type": "string"});
    now["inputSchema"]["required"] = json!(["title", "owner", "state"]);
    now["inputSchema"]["properties"].as_object_mut().unwrap().shift_remove("labels");
    let change = compare(&pin, Some(&now)).unwrap();
    let said: Vec<String> = change.differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "the parameter labels is gone",
            "the parameter state is now required",
            "the parameter limit is now string, it was integer",
            "there is a new optional parameter aaa (string)",
        ]
    );
    assert!(change.may_break());
    now = tool();
    now["inputSchema"]["properties"]["aaa"] = json!({"type": "string"});
    assert!(!compare(&pin, Some(&now)).unwrap().may_break());
    let gone = compare(&pin, None).unwrap();
    assert_eq!(gone.to_string(), "github.create_issue: the tool is gone");
    assert!(gone.may_break());
}

#[test]
fn what_a_skill_uses_is_pinned_and_what_is_not_there_is_told() {
    let tools = ["github.create_issue", "github.absent"];
    let pins = Pins::of(tools, |name| (name == "github.create_issue").then(tool));
    assert_eq!(pins.pins, [Pin::of("github.create_issue", &tool())]);
    assert_eq!(pins.unknown, ["github.absent"]);
    let kept: Vec<Pin> = serde_json::from_value(serde_json::to_value(&pins.pins).unwrap()).unwrap();
    assert_eq!(kept, pins.pins);
}

#[test]
fn a_schema_made_to_exhaust_us_is_compared() {
    // Each of 100 parameters refers to a definition whose 100 fields refer to it again.
    let hostile = |last: &str| {
        let fields: serde_json::Map<String, Value> =
            (0..100).map(|n| (format!("p{n}"), json!({"$ref": "#/$defs/D"}))).collect();
        let mut definition = json!({"type": "object", "properties": fields});
        definition["properties"]["last"] = json!({"type": last});
        json!({"inputSchema": {"type": "object", "properties": fields, "$defs": {"D": definition}}})
    };
    let pin = Pin::of("a.b", &hostile("string"));
    // Following all references would take years.
    assert!(compare(&pin, Some(&hostile("integer"))).is_some());
}

#[test]
fn definitions_that_make_no_sense_are_compared_too() {
    for strange in [
        json!(null),
        json!(7),
        json!({"inputSchema": []}),
        json!({"inputSchema": {"properties": 3, "required": "x", "enum": 1}}),
    ] {
        let pin = Pin::of("a.b", &strange);
        assert_eq!(compare(&pin, Some(&strange)), None);
        let _ = compare(&pin, Some(&tool()));
        let _ = compare(&Pin::of("a.b", &tool()), Some(&strange));
    }
}
