//! Servers that the client sees as they are.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{
    dead::Place,
    fixture::{ERAS, alone, direct, direct_site, elicit, methods, text_of},
    real::{HttpGateway, Site, Wire, document, repository, stdio, text, wait_for},
};

#[test]
fn a_direct_server_shows_its_tools_prompts_and_resources_under_their_own_names() {
    let Some(site) = direct_site("modern") else { return };
    let mut wire = Wire::initialized(&site);
    let listed = |wire: &mut Wire, method: &str, list: &str, name: &str| -> Vec<String> {
        let answer = wire.ask(method, json!({}));
        let list = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}"));
        list.iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
    };
    // A server that starts slowly follows; the list does not wait for it for ever.
    let tools = wait_for("the server's tools", || {
        Some(listed(&mut wire, "tools/list", "tools", "name")).filter(|tools| tools.len() > 3)
    });
    assert_eq!(tools[..3], ["execute_code", "search_tools", "get_tool_definition"]);
    assert!(tools.contains(&"test_simple_text".to_owned()), "{tools:?}");
    let prompts = listed(&mut wire, "prompts/list", "prompts", "name");
    assert!(prompts.contains(&"test_prompt_with_arguments".to_owned()), "{prompts:?}");
    let resources = listed(&mut wire, "resources/list", "resources", "uri");
    assert!(resources.contains(&"test://static-text".to_owned()), "{resources:?}");
    let templates =
        listed(&mut wire, "resources/templates/list", "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["test://template/{id}/data"]);

    let called = wire.ask("tools/call", json!({"name": "test_simple_text", "arguments": {}}));
    assert_eq!(
        called["result"]["content"][0]["text"],
        "This is a simple text response for testing."
    );
    let failed = wire.ask("tools/call", json!({"name": "test_error_handling", "arguments": {}}));
    assert_eq!(failed["result"]["isError"], true);
    let read = wire.ask("resources/read", json!({"uri": "test://template/7/data"}));
    let read = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(read.contains("Data for ID: 7"), "{read}");
    let picture = wire.ask("resources/read", json!({"uri": "test://static-binary"}));
    assert_eq!(picture["result"]["contents"][0]["mimeType"], "image/png");
    let got = wire.ask(
        "prompts/get",
        json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
    );
    let said = &got["result"]["messages"][0]["content"]["text"];
    assert_eq!(said, "Prompt with arguments: arg1='a', arg2='b'");
    let completed = wire.ask(
        "completion/complete",
        json!({
            "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": "par"},
        }),
    );
    let values = &completed["result"]["completion"]["values"];
    assert_eq!(values, &json!(["paris", "park", "party"]));
    let missing = wire.ask("tools/call", json!({"name": "test_simple_txt", "arguments": {}}));
    let missing = missing["error"]["message"].as_str().unwrap();
    assert!(missing.contains("did you mean test_simple_text"), "{missing}");
}

/// Rules know them as if they were tools.
#[test]
fn prompts_and_resources_that_would_be_denied_are_not_listed() {
    let Some(site) = Site::new() else { return };
    let counts = |denied: &str| {
        let server = format!("{}expose = \"direct\"\n", site.server("modern"));
        let rule = "[[policy.rules]]\nname = \"closed\"\naction = \"deny\"\n";
        site.configure(&format!("{server}{rule}tools = {denied}\n"));
        let mut wire = Wire::initialized(&site);
        // A list does not wait for a server that is slow to start; a call does.
        wait_for("the server", || {
            let call = json!({"name": "test_simple_text", "arguments": {}});
            wire.ask("tools/call", call)["result"].is_object().then_some(())
        });
        let lists = [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ];
        lists.map(|(method, list)| {
            let answer = wire.ask(method, json!({}));
            answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}")).len()
        })
    };
    let is_there = |all: &[usize; 3]| !all.contains(&0);
    let open = wait_for("all lists", || Some(counts(r#"["*.other"]"#)).filter(is_there));
    for (denied, expected) in [
        (r#"["*.prompt"]"#, [0, open[1], open[2]]),
        (r#"["*.resource"]"#, [open[0], 0, 0]),
        (r#"["*.*"]"#, [0, 0, 0]),
    ] {
        wait_for(denied, || (counts(denied) == expected).then_some(()));
    }
}

#[test]
fn servers_with_the_same_tools_get_their_names_in_front_and_are_in_programs_too() {
    let Some(site) = Site::new() else { return };
    let time = site.server("time");
    let server = |name: &str, expose: &str| {
        let renamed = time.replace("[servers.time]", &format!("[servers.{name}]"));
        format!("{renamed}expose = \"{expose}\"\n")
    };
    site.configure(&format!("{}{}", server("east", "both"), server("west", "direct")));
    let mut wire = Wire::initialized(&site);
    let listed = wait_for("the tools of both servers", || {
        let listed = wire.ask("tools/list", json!({}));
        (listed["result"]["tools"].as_array()?.len() >= 7).then_some(listed)
    });
    let names: Vec<&str> = listed["result"]["tools"].as_array().unwrap()[3..]
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let expected = [
        "east__get_current_time",
        "east__convert_time",
        "west__get_current_time",
        "west__convert_time",
    ];
    assert_eq!(names, expected);
    let arguments =
        json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let called =
        wire.ask("tools/call", json!({"name": "west__convert_time", "arguments": arguments}));
    assert_eq!(called["result"]["structuredContent"]["time_difference"], "+9.0h", "{called}");
    let code = "from servers.east import convert_time\n\
                result = (await convert_time(**arguments))['time_difference']";
    let call = json!({"code": code, "context": {"arguments": arguments}});
    let ran = wire.ask("tools/call", json!({"name": "execute_code", "arguments": call}));
    assert_eq!(ran["result"]["structuredContent"]["result"], "+9.0h", "{ran}");
}

/// A client may know the name from the last time, and call before it lists.
#[test]
fn a_direct_tool_can_be_called_before_it_was_listed() {
    let Some(site) = Site::new() else { return };
    // It starts in a fraction of the time for which such a call waits.
    let script = repository().join("tests/servers/misbehave.py");
    let server = stdio("good", "python3", &[script.to_str().unwrap(), "good"]);
    site.configure(&format!("{server}expose = \"direct\"\n"));
    let mut wire = Wire::initialized(&site);
    let called = wire.ask("tools/call", json!({"name": "echo", "arguments": {"text": "called"}}));
    assert_eq!(called["result"]["content"][0]["text"], "called", "{called}");
}

/// The server would have to find out by itself, and say so in its own way.
#[test]
fn wrong_arguments_of_a_direct_tool_are_told_and_never_reach_its_server() {
    let place = Place::new();
    let script = repository().join("tests/servers/office.py");
    let received = place.file("received.jsonl");
    let settings =
        format!("expose = \"direct\"\nenv = {{ NARROWS_TEST_RECEIVED = {received:?} }}\n");
    let place = place.command("crm", "python3", &[script.to_str().unwrap(), "crm"], &settings);
    for (round, mut gateway) in [place.legacy(), place.modern()].into_iter().enumerate() {
        gateway.tool_names_with("pay");
        for (arguments, mistake) in [
            (json!({"to": "shop"}), r#"crm.pay: "amount" is missing"#),
            (json!({"to": 5, "amount": 5}), r#"crm.pay: "to" is 5, expected string"#),
            (json!({"to": "shop", "amount": "5"}), r#"crm.pay: "amount" is "5", expected number"#),
        ] {
            let answer = gateway.call("pay", arguments);
            let told = (&answer["result"]["isError"], &answer["result"]["content"][0]["text"]);
            assert_eq!(told, (&json!(true), &json!(mistake)), "{answer}");
        }
        // The control: what is right reaches it, as it was sent.
        let right = json!({"to": "shop", "amount": 5});
        let answer = gateway.call("pay", right.clone());
        assert_eq!(answer["result"]["content"][0]["text"], "paid", "{answer}");
        let calls = std::fs::read_to_string(&received).unwrap();
        let calls: Vec<Value> =
            calls.lines().map(|call| serde_json::from_str(call).unwrap()).collect();
        let right = json!({"tool": "crm.pay", "arguments": right});
        assert_eq!(calls, vec![right; round + 1]);
    }
}

/// All four: who asks in which era, and who is asked in which.
fn combinations() -> impl Iterator<Item = (&'static str, &'static HttpGateway, String)> {
    ["legacy", "modern"].into_iter().flat_map(|server| {
        ERAS.into_iter().filter_map(move |(client, _)| {
            let name = format!("a {client} client of a {server} server");
            Some((client, direct(server)?, name))
        })
    })
}

/// Those two in which the gateway translates.
fn across_eras() -> impl Iterator<Item = (&'static str, &'static HttpGateway, String)> {
    combinations().filter(|(client, _, name)| !name.ends_with(&format!("{client} server")))
}

#[track_caller]
fn a_direct_tool_asks(client: &str, server: &str) {
    let _alone = alone();
    let Some(gateway) = direct(server) else { return };
    let report =
        elicit(gateway, &["--era", client], "test_elicitation", &json!({"message": "Who?"}));
    assert_eq!(methods(&report), ["elicitation/create"], "{report:#}");
    assert_eq!(report["asked"][0]["params"]["message"], "Who?");
    let expected =
        "User response: action=accept, content={\"username\": \"fixed\", \"email\": \"fixed\"}";
    assert_eq!(text_of(&report), expected);
    let report = elicit(gateway, &["--era", client], "test_sampling", &json!({"prompt": "Hm?"}));
    assert_eq!(methods(&report), ["sampling/createMessage"], "{report:#}");
    assert_eq!(text_of(&report), "LLM response: This is a fixed answer");
}

#[test]
fn a_direct_tool_of_an_older_server_asks_an_older_client() {
    a_direct_tool_asks("legacy", "legacy");
}

#[test]
fn a_direct_tool_of_an_older_server_asks_a_newer_client() {
    a_direct_tool_asks("modern", "legacy");
}

#[test]
fn a_direct_tool_of_a_newer_server_asks_an_older_client() {
    a_direct_tool_asks("legacy", "modern");
}

#[test]
fn a_direct_tool_of_a_newer_server_asks_a_newer_client() {
    a_direct_tool_asks("modern", "modern");
}

#[test]
fn a_direct_tool_that_asks_what_the_client_cannot_answer_is_refused_by_the_gateway() {
    let _alone = alone();
    for (era, gateway, name) in combinations() {
        let options = ["--era", era, "--without", "elicitation"];
        let report = elicit(gateway, &options, "test_elicitation", &json!({"message": "Who?"}));
        let said =
            report["error"]["message"].as_str().unwrap_or_else(|| panic!("{name}: {report:#}"));
        // What comes of a question that should not have been asked is said by the client's
        // library: "Elicitation not supported".
        assert!(said.contains("the client does not"), "{name}: {said}");
        assert!(said.contains("elicitation"), "{name}: {said}");
    }
}

#[test]
fn a_direct_prompt_asks_the_client_in_all_combinations_of_eras() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (era, gateway, name) in combinations() {
        let options = ["--era", era, "--prompt"];
        let report = elicit(gateway, &options, "test_input_required_result_prompt", &json!({}));
        let said = &report["result"]["messages"][0]["content"]["text"];
        if said != "Context: fixed" {
            wrong.push(format!("{name}: {}", report["error"]["message"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn progress_and_logs_of_a_direct_tool_reach_the_client_as_they_are() {
    let _alone = alone();
    for (era, gateway, name) in combinations() {
        let report = elicit(gateway, &["--era", era], "test_tool_with_progress", &json!({}));
        let progress: Vec<_> = report["progress"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["progress"].as_f64().unwrap(), one["total"].as_f64().unwrap()))
            .collect();
        assert_eq!(progress, [(0.0, 100.0), (50.0, 100.0), (100.0, 100.0)], "{name}");
    }
    for (era, gateway, name) in across_eras() {
        let report = elicit(gateway, &["--era", era], "test_tool_with_logging", &json!({}));
        assert_eq!(report["logs"].as_array().unwrap().len(), 3, "{name}");
    }
}

#[test]
fn every_answer_to_a_newer_client_says_that_it_is_complete() {
    let _alone = alone();
    let Some(gateway) = direct("legacy") else { return };
    let site = Site::new().unwrap();
    let mut client = site.client("python_elicit.py");
    client.args(["--era", "modern", "--call", "test_simple_text", "{}"]);
    let output = client.args(gateway.over_http()).output().unwrap();
    let said = text(&output.stderr);
    assert!(
        output.status.success(),
        "{}",
        said.lines().rev().take(8).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(document(&output)["result"]["resultType"], "complete");
}
