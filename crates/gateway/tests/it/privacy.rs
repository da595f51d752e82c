//! Personal data: tokens and back, the vault and its key, and what servers and models get.
#![cfg(unix)]

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{
    office::{
        AGENTS, ANALYST, BADGE, CARD, CUSTOMER, INTERN, Office, PHONE, approval, failing, holds,
        printed, token,
    },
    real::{self, Site, Wire, says, text},
    state::{self, Client, Clients, text_of},
};

const RESTORERS: &str = "[pii]\nrestore = [\"analyst\"]\n";
/// Odd white space, other scripts, a value twice, and something that only looks like a token.
const LETTER: &str = "Dear Grace,\r\n\twrite to grace.hopper@navy.example — или \
                      +1 212 555 0187; card 4111-1111-1111-1111.\n\n[EMAIL_aaaaaaaaaaaa] \
                      grace.hopper@navy.example ✓ ";

fn key(digit: char) -> String {
    digit.to_string().repeat(64)
}

/// What a command prints that gets a text on standard input.
#[track_caller]
fn piped(command: &mut Command, input: &str) -> String {
    let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn sanitize(site: &Site, value: &str) -> String {
    let output = site.says(&["pii", "sanitize", value]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim_end_matches('\n').to_owned()
}

#[track_caller]
fn restore(site: &Site, value: &str) -> String {
    let output = site.says(&["pii", "restore", value]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim_end_matches('\n').to_owned()
}

// There and back.

#[test]
fn a_text_comes_back_byte_for_byte_by_tool_by_code_and_by_command() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("{RESTORERS}{AGENTS}"));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let analyst = clients.with_key(&gateway, ANALYST);

    let hidden = analyst.call("sanitize_pii", json!({"text": LETTER}));
    let hidden = text_of(&hidden);
    for (kind, value) in [("EMAIL", CUSTOMER), ("PHONE", PHONE), ("CREDIT_CARD", "4111-1111")] {
        assert!(hidden.contains(&format!("[{kind}_")) && !hidden.contains(value), "{hidden}");
    }
    assert_eq!(hidden.matches(&token(hidden, "EMAIL")).count(), 2);
    let back = analyst.call("restore_pii", json!({"text": hidden}));
    assert_eq!((text_of(&back), &back["structuredContent"]["text"]), (LETTER, &json!(LETTER)));

    // The keys of JSON say what its values are; numbers stay numbers.
    let data = json!({"people": [{"phone": "212 555 0187", "n": 1.5, "x": null}],
        "card": 4_111_111_111_111_111_u64, CUSTOMER: [true, {"email": CUSTOMER}]});
    let hidden = analyst.call("sanitize_pii", json!({"data": data}))["structuredContent"].clone();
    let told = hidden.to_string();
    for value in ["212 555", "411111", "hopper"] {
        assert!(!told.contains(value), "{told}");
    }
    let back = analyst.call("restore_pii", json!({"data": hidden["data"]}));
    assert_eq!(back["structuredContent"]["data"], data);
    analyst.refusal("sanitize_pii", json!({"text": "a", "data": 1}));

    let in_code = "hidden = sanitize_pii(letter)\n\
                   assert '@' not in hidden\n\
                   result = [restore_pii(hidden) == letter, restore_pii({'a': [hidden]})['a'] == [letter],\n\
                             restore_pii(sanitize_pii(data)) == data]";
    let asked = json!({"code": in_code, "context": {"letter": LETTER, "data": data}});
    assert_eq!(analyst.begin("execute_code", asked).result(), json!([true, true, true]));

    // The command line ends what it prints with a line end of its own only where there is none.
    for letter in [LETTER.to_owned(), format!("{LETTER}\n")] {
        let hidden = piped(site.narrows().args(["pii", "sanitize"]), &letter);
        assert!(!hidden.contains(CUSTOMER), "{hidden}");
        let back = piped(site.narrows().args(["pii", "restore"]), &hidden);
        assert_eq!(back.trim_end_matches('\n'), LETTER);
    }
    let hidden = site.json(&["pii", "sanitize", "--data", &data.to_string()]);
    assert!(!hidden.to_string().contains("hopper"), "{hidden}");
    assert_eq!(site.json(&["pii", "restore", "--data", &hidden.to_string()]), data);
}

/// Values that were revealed are recognised when they come back in another form; that must not
/// change what a token stands for.
#[test]
fn what_is_written_in_another_way_comes_back_as_it_was_written() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("{RESTORERS}{AGENTS}"));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let analyst = clients.with_key(&gateway, ANALYST);
    let said =
        |tool: &str, text: &str| text_of(&analyst.call(tool, json!({"text": text}))).to_owned();
    let hex: String = CUSTOMER.bytes().map(|byte| format!("{byte:02x}")).collect();
    let reversed: String = CUSTOMER.chars().rev().collect();
    for text in [CUSTOMER, "To Grace.HOPPER@navy.example!", &reversed, &hex, CUSTOMER] {
        assert_eq!(said("restore_pii", &said("sanitize_pii", text)), text);
    }
}

#[test]
fn who_is_not_named_may_restore_once_if_a_person_agrees() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("{RESTORERS}{AGENTS}"));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let hide = |client: &Client| {
        text_of(&client.call("sanitize_pii", json!({"text": CUSTOMER}))).to_owned()
    };
    let (of_analyst, of_intern) = (hide(&analyst), hide(&intern));
    let back = |client: &Client, token: &str| {
        text_of(&client.call("restore_pii", json!({"text": token}))).to_owned()
    };
    assert_eq!(back(&analyst, &of_analyst), CUSTOMER);
    let refusal = intern.refusal("restore_pii", json!({"text": of_intern}));
    assert!(!refusal.to_string().contains(CUSTOMER), "{refusal}");
    let id = approval(&refusal);
    says(&site.json(&["approvals", "show", &id, "--json"])["shown"], &[&of_intern]);
    // Nobody has agreed yet, and to nothing else.
    intern.refusal("restore_pii", json!({"text": of_intern}));
    assert!(site.says(&["approvals", "allow", &id]).status.success());
    intern.refusal("restore_pii", json!({"text": format!("{of_intern} and more")}));
    assert_eq!(back(&intern, &of_intern), CUSTOMER);
    intern.refusal("restore_pii", json!({"text": of_intern}));
    // Another's tokens are not there, even for one who may.
    assert_eq!(back(&analyst, &of_intern), of_intern);
    // A program may restore, and its model still reads tokens.
    let in_code = format!("value = restore_pii({of_intern:?})\nprint(value)\nresult = len(value)");
    let answer = intern.call("execute_code", json!({"code": in_code}));
    assert_eq!(answer["structuredContent"]["result"], CUSTOMER.len());
    assert_eq!(answer["structuredContent"]["stdout"], format!("{of_intern}\n"));
    assert!(!answer.to_string().contains(CUSTOMER), "{answer:#}");

    // The audit is written beside the answers.
    for (principal, target, outcome) in [
        ("analyst", "", "ok"),
        ("intern", "", "ok"),
        ("intern", "", "refused"),
        ("intern", "program", "ok"),
    ] {
        let is_it = |entry: &Value| {
            entry["principal"] == principal
                && entry["target"] == target
                && entry["outcome"] == outcome
        };
        real::wait_for(&format!("an entry for {principal}, {target:?}, {outcome}"), || {
            let said = site.json(&["audit", "search", "--action", "pii.restore", "--json"]);
            said["entries"].as_array().unwrap().iter().any(is_it).then_some(())
        });
    }
}

#[test]
fn the_token_of_one_agent_says_nothing_to_another_of_its_namespace() {
    let Some(site) = Site::new() else { return };
    site.configure(&AGENTS.replace("key =", "home = \"team\"\nkey ="));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let token = analyst.call("sanitize_pii", json!({"text": CUSTOMER}));
    let token = text_of(&token).to_owned();
    let half = token.len() / 2;
    let (start, end) = token.split_at(half);
    for (client, length) in [(&analyst, CUSTOMER.len()), (&intern, token.len())] {
        let code = format!("result = [len('{token}'), len(restore_pii('{start}' + '{end}'))]");
        let answer = client.call("execute_code", json!({"code": code}));
        assert_eq!(answer["structuredContent"]["result"], json!([length, length]), "{answer:#}");
        let query = format!("SELECT length('{token}') AS n");
        let asked = json!({"analysis_type": "sql", "parameters": {"query": query}});
        let answer = client.call("execute_analysis", asked);
        assert!(text_of(&answer).contains(&length.to_string()), "{answer:#}");
    }
    let said = site.json(&["audit", "search", "--action", "pii.restore", "--json"]);
    for (principal, outcome) in [("analyst", "ok"), ("intern", "refused")] {
        let entries = said["entries"].as_array().unwrap().iter();
        let mut ways: Vec<_> = entries
            .filter(|entry| entry["principal"] == principal && entry["outcome"] == outcome)
            .map(|entry| entry["target"].as_str().unwrap().to_owned())
            .collect();
        ways.sort();
        assert_eq!(ways, ["analysis", "program", "restore_pii"], "{said:#}");
    }
}

#[test]
fn a_client_is_told_once_that_values_were_replaced_and_how_to_change_it() {
    let Some(office) = Office::new("") else { return };
    let client = Client::alone(&office.site);
    assert_eq!(client.run("1 + 1"), 2);
    let get = "from servers import crm\n(await crm.get_customer(id=7))['email']";
    let first = client.call("execute_code", state::program(get));
    for told in [&first["content"][1]["text"], &first["structuredContent"]["notes"][0]] {
        says(told, &["pii: ", "narrows.toml", "[pii] off = [\"EMAIL\"]", "[pii] mode = \"off\""]);
        assert!(!told.as_str().unwrap().contains('\n'), "{told}");
    }
    let second = client.call("execute_code", state::program(get));
    assert_eq!(
        (&second["content"][1], &second["structuredContent"]["notes"]),
        (&Value::Null, &Value::Null)
    );
    assert!(text_of(&second).contains("[EMAIL_"), "{second:#}");
}

/// A model writes what it was shown into its next program.
#[test]
fn a_token_in_a_program_its_context_or_a_query_stands_for_its_value() {
    for mode in ["boundary", "strict"] {
        let Some(office) = Office::new(&format!("[pii]\nmode = \"{mode}\"\n")) else { return };
        let client = Client::alone(&office.site);
        let get = "from servers import crm\nfound = await crm.get_customer(id=7)\n";
        let shown = client.run(&format!("{get}result = found['email']"));
        let shown = shown.as_str().unwrap();
        assert!(shown.starts_with("[EMAIL_"), "{shown}");
        let code = format!(
            "{get}query = \"select count(*) as n from t where email = '{shown}'\"\n\
             by_sql = await sql(query, t=[found])\n\
             by_filter = await analyze('filter', [found], conditions=[{{'field': 'email', \
             'operator': '==', 'value': given}}])\n\
             result = [found['email'] == '{shown}', found['email'] == given, by_sql[0]['n'], \
             len(by_filter['data'])]"
        );
        let asked = json!({"code": code, "context": {"given": shown}});
        let answer = client.call("execute_code", asked)["structuredContent"].clone();
        assert_eq!(answer["result"], json!([true, true, 1, 1]), "{mode}: {answer:#}");
    }
}

/// One that nobody made stays a text, and that is said, wherever it stands.
#[test]
fn a_token_that_nobody_knows_is_told_once_wherever_it_stands() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let token = "[EMAIL_aaaaaaaaaaaa]";
    // Put together, so that it is no text of the program.
    let made = "rows = [{'email': 'x'}]\ntoken = '[EMAIL_' + 12 * 'a' + ']'\n";
    let query = "query = f\"select count(*) as n from t where email = '{token}'\"\n";
    let by_sql = format!("{made}{query}result = (await sql(query, t=rows))[0]['n']");
    let by_filter = format!(
        "{made}found = await analyze('filter', rows, conditions=[{{'field': 'email', \
         'operator': '==', 'value': token}}])\nresult = len(found['data'])"
    );
    let twice = format!("result = len('{token}')\nawait sql(f\"select '{token}' as a\")");
    for (code, context, result) in [
        (format!("result = len('{token}')"), json!({}), 20),
        ("result = len(given)".to_owned(), json!({"given": token}), 20),
        (by_sql, json!({}), 0),
        (by_filter, json!({}), 0),
        (twice, json!({"given": token}), 20),
    ] {
        let asked = json!({"code": code, "context": context});
        let answer = client.call("execute_code", asked)["structuredContent"].clone();
        assert_eq!(answer["result"], result, "{code}: {answer:#}");
        let notes = answer["notes"].to_string();
        let told = format!("{token} stayed as it is: it is not known here");
        assert_eq!(notes.matches(&told).count(), 1, "{code}: {answer:#}");
    }
    let asked = json!({"analysis_type": "filter", "data": [{"email": "x"}],
        "parameters": {"conditions": [{"field": "email", "operator": "==", "value": token}]}});
    let answer = client.call("execute_analysis", asked);
    assert_eq!(text_of(&answer).matches("stayed as it is").count(), 1, "{answer:#}");
}

/// What tools say of themselves is public.
#[test]
fn definitions_of_tools_reach_the_model_as_they_are() {
    let Some(site) = Site::new() else { return };
    let script = real::repository().join("tests/servers/examples.py");
    site.configure(&real::stdio("contact", "python3", &[script.to_str().unwrap(), "contact"]));
    let client = Client::alone(&site);
    for (tool, arguments) in [
        ("get_tool_definition", json!({"name": "write_to"})),
        ("get_tool_definition", json!({"name": "write_to", "raw": true})),
        ("search_tools", json!({"query": "write to the desk"})),
    ] {
        let answer = client.call(tool, arguments);
        assert!(text_of(&answer).contains("desk@example.com"), "{answer:#}");
    }
    // In whatever form a program shows them. Control: what is no part of a definition.
    for get in [
        "get_tool_definition('write_to')",
        "get_tool_definition('write_to', raw=True)",
        "search_tools('write to the desk', detail_level='full')",
        "servers.contact.write_to.__doc__",
    ] {
        for show in
            ["print(it)", "print(repr(it))", "print(json.dumps(it, indent=1))", "result = it"]
        {
            let code = format!("it = {get}\n{show}\nprint('other@example.com')");
            let answer = client.call("execute_code", json!({"code": code}));
            let text = text_of(&answer);
            assert!(text.contains("desk@example.com"), "{code}: {text}");
            assert!(text.contains("[EMAIL_") && !text.contains("other@"), "{code}: {text}");
        }
    }
}

/// So are those of tools that a client sees as they are.
#[test]
fn definitions_of_direct_tools_are_listed_as_they_are() {
    let Some(site) = Site::new() else { return };
    let script = real::repository().join("tests/servers/examples.py");
    let server = real::stdio("contact", "python3", &[script.to_str().unwrap(), "contact"]);
    site.configure(&format!("{server}expose = \"direct\"\n"));
    let mut wire = Wire::initialized(&site);
    let listed = real::wait_for("the server's tools", || {
        let listed = wire.ask("tools/list", json!({}))["result"]["tools"].to_string();
        listed.contains("write_to").then_some(listed)
    });
    assert!(listed.contains("desk@example.com by default"), "{listed}");
}

#[test]
fn one_value_has_one_token_in_a_namespace_and_another_one_elsewhere() {
    let Some(office) = Office::new(AGENTS) else { return };
    let site = &office.site;
    let tokens = |client: &Client| {
        let by_tool = client.call("sanitize_pii", json!({"text": format!("x {CUSTOMER}")}));
        let by_code =
            client.run("from servers import crm\n(await crm.get_customer(id=7))['email']");
        let by_tool = token(text_of(&by_tool), "EMAIL");
        assert_eq!(by_tool, by_code);
        by_tool
    };
    let clients = Clients::start(site);
    let gateway = office.serve();
    let of_analyst = tokens(&clients.with_key(&gateway, ANALYST));
    let of_intern = tokens(&clients.with_key(&gateway, INTERN));
    gateway.end();
    let gateway = office.serve();
    assert_eq!(tokens(&clients.with_key(&gateway, ANALYST)), of_analyst, "after a restart");
    let command = ["pii", "sanitize", CUSTOMER, "--agent", "analyst"];
    assert_eq!(office.said(&command).trim(), of_analyst);
    assert_ne!(of_analyst, of_intern);
    assert_ne!(sanitize(site, CUSTOMER), of_analyst);
    // Another key, other tokens.
    let other = Site::new().unwrap();
    assert_ne!(sanitize(&other, CUSTOMER), sanitize(site, CUSTOMER));
}

// The vault.

/// All files below a directory that hold a text.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files_with(&entry, text));
        } else if holds(&fs::read(&entry).unwrap(), text) {
            found.push(entry.display().to_string());
        }
    }
    found
}

#[test]
fn no_file_holds_a_value_and_the_database_holds_its_token() {
    let Some(office) = Office::exposing("both", RESTORERS) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    let code = format!(
        "from servers import crm, mail\n\
         found = await crm.get_customer(id=7)\nprint(found)\n\
         await mail.send(to=found['email'], body=found['phone'])\n\
         await crm.update_customer(id=7, email='{CUSTOMER}')\n\
         try: await crm.fail(email=found['email'])\nexcept ToolError as error: print(error)\n\
         result = found"
    );
    let told = client.run(&code);
    client.call("get_customer", json!({"id": 7}));
    client.call("send", json!({"to": told["email"], "body": CARD}));
    assert_eq!(office.received("mail.send")[1]["to"], CUSTOMER);
    let check = |when: &str| {
        for directory in ["data", "cache", "config", "home"] {
            for value in [CUSTOMER, PHONE, CARD, "4111111111111111", "hopper"] {
                let found = files_with(&office.site.path(directory), value);
                assert!(found.is_empty(), "{when}: {value} is in {found:?}");
            }
        }
        for kind in ["email", "phone", "card"] {
            let token = told[kind].as_str().unwrap();
            assert!(holds(&office.database(), token), "{when}: {token}");
        }
    };
    check("while it runs");
    gateway.end();
    check("afterwards");
    assert_eq!(restore(&office.site, told["card"].as_str().unwrap()), CARD);
}

#[test]
fn a_wrong_key_is_a_clear_error_and_reveals_nothing() {
    let Some(office) = Office::new("") else { return };
    let site = &office.site;
    let hidden = sanitize(site, CUSTOMER);
    let with = |key: &str, arguments: &[&str]| {
        let mut command = site.narrows();
        command.args(arguments).env("NARROWS_VAULT_KEY", key);
        command
    };
    let send = format!("from servers import mail\nawait mail.send(to={hidden:?}, body='b')");
    for (wrong, said) in [
        (key('0'), "the vault was made with another key"),
        ("zz".to_owned(), "64 hexadecimal digits"),
        (key('0')[1..].to_owned(), "64 hexadecimal digits"),
    ] {
        for (command, value) in [("restore", hidden.as_str()), ("sanitize", CUSTOMER)] {
            let refusal = failing(&mut with(&wrong, &["pii", command, value]));
            says(&refusal, &[said]);
            assert!(!refusal.to_string().contains(CUSTOMER), "{refusal}");
        }
        // What leaves is protected all the same, and a note says what is wrong.
        let code = format!("result = '{CUSTOMER}'");
        let outcome = printed(&mut with(&wrong, &["run", "--json", "--protect", "-c", &code]));
        assert!(outcome["result"].as_str().unwrap().starts_with("[EMAIL_"), "{outcome:#}");
        assert_ne!(outcome["result"], hidden.as_str());
        says(&outcome["notes"][0], &[said]);
        // A token that cannot be turned back is not sent as it is.
        let outcome = printed(&mut with(&wrong, &["run", "--json", "-c", &send]));
        says(&outcome["error"]["message"], &["a token cannot be turned back", said]);
    }
    assert_eq!(office.received("mail.send"), [Value::Null; 0]);
    // The right one still works.
    assert_eq!(restore(site, &hidden), CUSTOMER);
    assert_eq!(office.run(&send, &[]), "sent");
    assert_eq!(office.received("mail.send")[0]["to"], CUSTOMER);

    // Another key can be used after the vault was emptied.
    let emptied = with(&key('0'), &["pii", "forget", "--all", "--yes"]).output().unwrap();
    assert!(emptied.status.success(), "{}", text(&emptied.stderr));
    let other = printed(&mut with(&key('0'), &["pii", "sanitize", CUSTOMER, "--json"]));
    let other = other["text"].as_str().unwrap().to_owned();
    let back = printed(&mut with(&key('0'), &["pii", "restore", &other, "--json"]));
    assert_eq!(back["text"], CUSTOMER);
}

#[test]
fn a_gateway_with_a_wrong_key_protects_and_reveals_nothing() {
    let Some(office) = Office::new(&format!("{RESTORERS}{AGENTS}")) else { return };
    let hidden = office.said(&["pii", "sanitize", CUSTOMER, "--agent", "analyst"]);
    fs::write(office.site.path("data/vault-key"), key('7')).unwrap();
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let analyst = clients.with_key(&gateway, ANALYST);
    let refusal = analyst.refusal("restore_pii", json!({"text": hidden.trim()}));
    says(&refusal, &["the vault was made with another key"]);
    let code = json!({"code": "from servers import crm\nawait crm.get_customer(id=7)"});
    let answer = analyst.call("execute_code", code);
    assert!(!answer.to_string().contains(CUSTOMER), "{answer:#}");
    says(&answer["structuredContent"]["result"]["email"], &["[EMAIL_"]);
    says(&answer["structuredContent"]["notes"][0], &["the vault was made with another key"]);
    let said = gateway.end().join("\n");
    assert!(!said.contains(CUSTOMER) && !said.contains(&key('7')), "{said}");
}

#[test]
fn the_key_comes_from_the_environment_a_command_or_a_file() {
    let Some(site) = Site::new() else { return };
    let sanitized = |config: &str, variable: Option<String>| {
        // Each time another vault, so that each key is right.
        let _ = fs::remove_file(site.path("data/narrows.db"));
        site.configure(config);
        let mut command = site.narrows();
        command.args(["pii", "sanitize", CUSTOMER, "--json"]);
        command.envs(variable.map(|key| ("NARROWS_VAULT_KEY", key)));
        printed(&mut command)["text"].as_str().unwrap().to_owned()
    };
    fs::write(site.path("my-key"), key('a')).unwrap();
    fs::set_permissions(site.path("my-key"), fs::Permissions::from_mode(0o600)).unwrap();
    let file = "[pii]\nkey_file = \"my-key\"\n";
    let command = format!("[pii]\nkey_command = [\"echo\", \"{}\"]\n", key('b'));
    let of_a = sanitized("", Some(key('a')));
    let of_b = sanitized("", Some(key('b')));
    assert_ne!(of_a, of_b);
    assert!(!site.path("data/vault-key").exists(), "none is made that is not needed");
    assert_eq!(sanitized(file, None), of_a);
    assert_eq!(sanitized(&command, None), of_b);
    // The environment goes first; capital digits are digits.
    assert_eq!(sanitized(file, Some(key('B'))), of_b);
    assert_eq!(sanitized(&command, Some(key('a'))), of_a);
    // By default one is made that only its owner can read.
    let own = sanitized("", None);
    assert!(own != of_a && own != of_b);
    let made = site.path("data/vault-key");
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(sanitized("", None), own);
}

#[test]
fn a_key_that_cannot_be_had_is_told_and_nothing_leaks() {
    let Some(site) = Site::new() else { return };
    let file = site.path("my-key");
    fs::write(&file, key('a')).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(site.path("junk"), "not a key").unwrap();
    fs::set_permissions(site.path("junk"), fs::Permissions::from_mode(0o600)).unwrap();
    for (config, said) in [
        ("key_file = \"my-key\"", &["my-key", "can be read by others", "chmod 600"][..]),
        ("key_file = \"junk\"", &["junk", "64 hexadecimal digits"]),
        ("key_file = \"files\"", &["files"]),
        ("key_command = [\"false\"]", &["key_command", "false", "failed"]),
        ("key_command = [\"no-such-program\"]", &["key_command", "does not start"]),
        ("key_command = [\"echo\", \"hello\"]", &["key_command", "64 hexadecimal digits"]),
    ] {
        site.configure(&format!("[pii]\n{config}\n"));
        let refusal = failing(site.narrows().args(["pii", "sanitize", CUSTOMER]));
        says(&refusal, said);
        let outcome = site.outcome_with(&["--protect"], &format!("print('{CUSTOMER}')"));
        assert!(outcome["stdout"].as_str().unwrap().starts_with("[EMAIL_"), "{outcome:#}");
        says(&outcome["notes"][0], said);
        assert!(!outcome.to_string().contains(CUSTOMER), "{outcome:#}");
    }
    assert_eq!(fs::read_to_string(site.path("junk")).unwrap(), "not a key");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    site.configure("[pii]\nkey_file = \"my-key\"\n");
    assert_eq!(restore(&site, &sanitize(&site, CUSTOMER)), CUSTOMER);
}

/// Definitions are public; why there is none is what the server wrote before it ended.
#[test]
fn why_a_definition_cannot_be_had_is_protected() {
    let Some(site) = Site::new() else { return };
    let script = format!("echo failed for {CUSTOMER} with card {CARD} >&2; exit 3");
    site.configure(&format!("{AGENTS}{}", real::stdio("broken", "sh", &["-c", &script])));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let analyst = clients.with_key(&gateway, ANALYST);
    let refusal = analyst.refusal("get_tool_definition", json!({"name": "broken.go"}));
    says(&refusal, &["broken", "[EMAIL_", "[CREDIT_CARD_"]);
    for value in [CUSTOMER, CARD] {
        assert!(!refusal.to_string().contains(value), "{refusal}");
    }
}

#[test]
fn what_is_forgotten_cannot_be_restored_and_is_not_in_the_file() {
    let Some(site) = Site::new() else { return };
    let values = [CUSTOMER, "ada@else.example", PHONE];
    let tokens = values.map(|value| sanitize(&site, value));
    let known = || tokens.each_ref().map(|token| restore(&site, token) != *token);
    let in_file = || {
        let mut all = fs::read(site.path("data/narrows.db")).unwrap();
        all.extend(fs::read(site.path("data/narrows.db-wal")).unwrap_or_default());
        tokens.each_ref().map(|token| holds(&all, token))
    };
    assert_eq!((known(), in_file()), ([true; 3], [true; 3]));
    let forget = |what: &[&str]| site.says(&[&["pii", "forget"], what].concat());
    // Not without saying what, and not without a yes.
    for unclear in [&["--yes"][..], &["--all"], &["--kind", "EMAIL"]] {
        assert!(!forget(unclear).status.success(), "{unclear:?}");
    }
    assert!(forget(&["--older-than", "1", "--yes"]).status.success());
    assert_eq!(known(), [true; 3]);

    assert!(forget(&["--token", &tokens[0], "--yes"]).status.success());
    assert_eq!((known(), in_file()), ([false, true, true], [false, true, true]));
    assert!(forget(&["--kind", "EMAIL", "--yes"]).status.success());
    assert_eq!((known(), in_file()), ([false, false, true], [false, false, true]));
    assert!(forget(&["--all", "--yes"]).status.success());
    assert_eq!((known(), in_file()), ([false; 3], [false; 3]));
    assert_eq!(site.json(&["pii", "status", "--json"])["values"], json!([]));
    // What is met again is known again, by the same token.
    assert_eq!(sanitize(&site, CUSTOMER), tokens[0]);
    assert_eq!(known(), [true, false, false]);
}

/// Whatever a gateway that runs remembers, the vault is what counts.
#[test]
fn a_running_gateway_forgets_too_and_knows_again_what_it_meets_again() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("{RESTORERS}{AGENTS}"));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let analyst = clients.with_key(&gateway, ANALYST);
    let hide = || text_of(&analyst.call("sanitize_pii", json!({"text": CUSTOMER}))).to_owned();
    let back =
        |token: &str| text_of(&analyst.call("restore_pii", json!({"text": token}))).to_owned();
    let hidden = hide();
    assert_eq!(back(&hidden), CUSTOMER);
    let forgotten = site.says(&["pii", "forget", "--kind", "EMAIL", "--agent", "analyst", "--yes"]);
    assert!(text(&forgotten.stdout).starts_with("1 "), "{forgotten:?}");
    assert_eq!(back(&hidden), hidden);
    assert_eq!(hide(), hidden);
    assert_eq!(back(&hidden), CUSTOMER);
}

// What is looked for.

#[test]
fn kinds_can_be_added_left_out_and_shown_in_part() {
    let Some(office) = Office::new(
        "[pii]\noff = [\"PHONE\"]\nkeep_last = { CREDIT_CARD = 4 }\n\
         [pii.custom.EMPLOYEE]\nregex = \"EMP-\\\\d{5}\"\n\
         [pii.custom.PROJECT]\nwords = [\"Project Falcon\"]\n",
    ) else {
        return;
    };
    let told = office.run("from servers import crm\nawait crm.get_customer(id=7)", &["--protect"]);
    assert_eq!(told["phone"], PHONE);
    says(&told["badge"], &["[EMPLOYEE_"]);
    says(&told["card"], &["[CREDIT_CARD_", ":1111]"]);
    for (field, value) in [("badge", BADGE), ("card", CARD), ("email", CUSTOMER)] {
        assert_eq!(restore(&office.site, told[field].as_str().unwrap()), value);
    }
    let hidden = sanitize(&office.site, "EMP-407 and project falcon");
    assert!(hidden.starts_with("EMP-407 and [PROJECT_"), "{hidden}");
    assert_eq!(restore(&office.site, &hidden), "EMP-407 and project falcon");
    // Nothing of the kind by default.
    office.configure("code", "");
    let told = office.run("from servers import crm\nawait crm.get_customer(id=7)", &["--protect"]);
    assert_eq!(told["badge"], BADGE);
    says(&told["phone"], &["[PHONE_"]);
    assert!(!told["card"].as_str().unwrap().contains("1111"), "{told}");
    office.configure("code", "[pii]\nmode = \"off\"\n");
    let told = office.run("from servers import crm\nawait crm.get_customer(id=7)", &["--protect"]);
    assert_eq!((&told["email"], &told["card"]), (&json!(CUSTOMER), &json!(CARD)));
}

/// A misspelt kind protects nothing, so it must not pass unnoticed.
#[test]
fn a_kind_that_does_not_exist_is_an_error_wherever_it_is_named() {
    let Some(site) = Site::new() else { return };
    for config in [
        "[pii]\noff = [\"EMIAL\"]\n",
        "[pii]\nkeep_last = { EMIAL = 4 }\n",
        "[[pii.reveal]]\ntools = [\"http.*\"]\nkinds = [\"EMIAL\"]\nallow = false\n",
        "[policy]\nflows = [\"pii:EMIAL -> http.*\"]\n",
        "[[pii.exceptions]]\ntools = [\"crm.*\"]\nkinds = [\"EMIAL\"]\n",
    ] {
        site.configure(config);
        let output = site.says(&["run", "-c", "1"]);
        assert!(!output.status.success(), "it is taken: {config}");
        says(&text(&output.stderr).into(), &["EMIAL"]);
    }
    // Kinds of one's own, and patterns, are known.
    site.configure(
        "[pii.custom.BADGE]\nregex = \"B\\\\d+\"\n\
         [[pii.reveal]]\nkinds = [\"BADGE\", \"*_KEY\"]\nallow = false\n\
         [policy]\nflows = [\"pii:BADGE -> http.*\", \"pii:* -> web.*\"]\n",
    );
    assert!(site.says(&["run", "-c", "1"]).status.success());
}

#[test]
fn exceptions_are_for_these_tools_and_these_kinds() {
    let config = "[[pii.exceptions]]\ntools = [\"crm.public_*\"]\nkinds = [\"EMAIL\"]\n";
    let Some(office) = Office::exposing("both", config) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    let direct =
        |tool: &str, arguments: Value| client.call(tool, arguments)["structuredContent"].clone();
    let in_code = |call: &str| client.run(&format!("from servers import crm\nawait crm.{call}"));
    for told in [direct("public_directory", json!({})), in_code("public_directory()")] {
        assert_eq!(told["email"], CUSTOMER, "{told:#}");
        says(&told["phone"], &["[PHONE_"]);
    }
    for told in [direct("get_customer", json!({"id": 7})), in_code("get_customer(id=7)")] {
        says(&told["email"], &["[EMAIL_"]);
    }
}

// What servers get.

#[track_caller]
fn a_token_is_revealed_for_the_upstream_only(mode: &str, program_sees: bool) {
    let Some(office) = Office::exposing("both", &format!("[pii]\nmode = \"{mode}\"\n")) else {
        return;
    };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    let found = client.run("from servers import crm\nawait crm.get_customer(id=7)");
    let (email, card) = (found["email"].as_str().unwrap(), found["card"].as_str().unwrap());
    // As the model writes it, as a program hands it on, in the midst of a text, and directly.
    client.run(&format!(
        "from servers import crm, mail\n\
         await mail.send(to={email:?}, body='card {card}, {card}')\n\
         found = await crm.get_customer(id=7)\n\
         await mail.send(to=found['email'], body=f'card {{found[\"card\"]}}, {{found[\"card\"]}}')"
    ));
    client.call("send", json!({"to": email, "body": format!("card {card}, {card}")}));
    let sent = json!({"to": CUSTOMER, "body": format!("card {CARD}, {CARD}")});
    assert_eq!(office.received("mail.send"), [sent.clone(), sent.clone(), sent]);

    // What the server says of it comes back as the token, as a failure too.
    let fail = format!(
        "from servers import crm\ntry: await crm.fail(email={email:?})\n\
         except ToolError as error: said = str(error)\n\
         result = ['@' in said, said]"
    );
    let said = client.run(&fail);
    assert_eq!(said, json!([program_sees, format!("no customer has the address {email}")]));
    let direct = client.refusal("fail", json!({"email": email}));
    assert_eq!(direct, format!("no customer has the address {email}"));
    assert_eq!(
        office.received("crm.fail"),
        [json!({"email": CUSTOMER}), json!({"email": CUSTOMER})]
    );
    // A token that nobody made is a text like others.
    client.call("send", json!({"to": "[EMAIL_aaaaaaaaaaaa]", "body": ""}));
    assert_eq!(office.received("mail.send")[3]["to"], "[EMAIL_aaaaaaaaaaaa]");

    // The entry of a direct call is written beside its answer.
    let entries = real::wait_for("all entries", || {
        Some(office.audit(&["--target", "mail.send"])).filter(|entries| entries.len() == 4)
    });
    let kinds = json!(["CREDIT_CARD", "EMAIL"]);
    assert_eq!(entries[1]["details"]["revealed"], kinds, "the direct call");
    // In a program that sees values, those in its texts stand there when it begins.
    let runs = office.entries(3, &["--action", "run"]);
    let revealing = if program_sees { &runs[1] } else { &entries[3] };
    assert_eq!(revealing["details"]["revealed"], kinds, "{revealing:#}");
    let said = gateway.end().join("\n");
    assert!(!said.contains(CUSTOMER), "{said}");
}

#[test]
fn in_boundary_mode_a_token_is_revealed_for_the_upstream_only() {
    a_token_is_revealed_for_the_upstream_only("boundary", true);
}

#[test]
fn in_strict_mode_a_token_is_revealed_for_the_upstream_only() {
    a_token_is_revealed_for_the_upstream_only("strict", false);
}

#[test]
fn in_strict_mode_programs_may_not_restore() {
    let Some(site) = Site::new() else { return };
    let hidden = sanitize(&site, CUSTOMER);
    let code = format!("result = len(restore_pii({hidden:?}))");
    assert_eq!(site.run(&code), CUSTOMER.len());
    site.configure("[pii]\nmode = \"strict\"\n");
    let outcome = site.outcome(&code);
    says(&outcome["error"]["message"], &["in strict mode programs do not see"]);
    let seen = site.outcome(&format!("sanitize_pii('{CUSTOMER}')"))["result"].clone();
    assert_eq!(seen, hidden.as_str());
}

/// Resources, prompts and completions have no tool's name; rules know them as if they were one.
/// Nobody has listed these, so all servers are asked.
#[test]
fn what_servers_have_beside_tools_is_asked_for_under_the_same_rules() {
    let config = "[[pii.reveal]]\ntools = [\"mail.*\"]\nallow = false\n\
                  [[policy.rules]]\nname = \"closed\"\ntools = [\"http.*\"]\naction = \"deny\"\n";
    let Some(office) = Office::exposing("direct", config) else { return };
    let hidden = office.said(&["pii", "sanitize", CUSTOMER]);
    let hidden = hidden.trim();
    let mut wire = Wire::initialized(&office.site);
    let requests = |to: &str| {
        let uri = json!({"uri": format!("notes://{to}")});
        let argument = json!({"name": "to", "value": to});
        let reference = json!({"type": "ref/prompt", "name": "greet"});
        [
            ("resources/read", "resource", uri.clone()),
            ("resources/subscribe", "resource", uri),
            ("prompts/get", "prompt", json!({"name": "greet", "arguments": {"to": to}})),
            ("completion/complete", "completion", json!({"ref": reference, "argument": argument})),
        ]
    };
    for (shown, real) in requests(hidden).into_iter().zip(requests(CUSTOMER)) {
        let (method, name, params) = shown;
        let answer = wire.ask(method, params.clone());
        assert!(answer["error"].is_object(), "{method}: {answer:#}");
        assert_eq!(office.received(&format!("mail.{name}")).last(), Some(&params), "{method}");
        assert_eq!(office.received(&format!("crm.{name}")).last(), Some(&real.2), "{method}");
        assert_eq!(office.received(&format!("http.{name}")), [Value::Null; 0], "{method}");
        for (server, revealed) in [("mail", json!([])), ("crm", json!(["EMAIL"]))] {
            let target = format!("{server}.{name}");
            let entry = real::wait_for("its entry", || {
                let entries = office.audit(&["--target", &target]);
                // Both of a resource have the same name.
                let all = if method == "resources/subscribe" { 2 } else { 1 };
                (entries.len() == all).then(|| entries[0].clone())
            });
            assert_eq!((&entry["action"], &entry["outcome"]), (&json!("call"), &json!("failed")));
            assert_eq!(entry["details"]["revealed"], revealed, "{entry:#}");
        }
    }
    assert!(!holds(&office.database(), CUSTOMER));
}
