//! What analyses may see, what is shown of it, and where they end.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::{
    analysis::{analyse, workspace},
    support::{
        office::{self, AGENTS, ANALYST, CUSTOMER, Office, SENDER},
        real::{Site, says, wait_for},
        state::{Client, Clients, text_of},
    },
};

#[test]
fn personal_data_is_protected_in_answers() {
    let Some(office) = Office::new("") else { return };
    let ask = |client: &Client| {
        let from = json!({"tool": "mail.list_messages", "path": "messages"});
        let request = json!({"analysis_type": "sql", "source": from,
            "parameters": {"query": "select \"from\" as sender, id from data"}});
        client.call("execute_analysis", request)
    };
    let answer = ask(&Client::alone(&office.site));
    assert!(!answer.to_string().contains(SENDER), "{answer:#}");
    says(&text_of(&answer).into(), &["[EMAIL_"]);
    // What a model was shown it can ask for.
    let token = &answer["structuredContent"]["result"]["data"][0]["sender"];
    let same = json!({"analysis_type": "filter",
        "source": {"tool": "mail.list_messages", "path": "messages"},
        "parameters": {"conditions": [{"field": "from", "operator": "==", "value": token}]}});
    let found = Client::alone(&office.site).call("execute_analysis", same);
    assert_eq!(found["structuredContent"]["result"]["filtered_count"], 1, "{found:#}");
    assert!(!found.to_string().contains(SENDER), "{found:#}");
    // In a query it is a text, whatever is written in it.
    let client = Client::alone(&office.site);
    let rows = json!([{"e": "a'or'1'like'1'--x@example.com"}, {"e": "zed@example.com"}]);
    let all = json!({"analysis_type": "filter", "data": rows, "parameters": {"conditions": []}});
    let token = analyse(&client, all)["data"][0]["e"].as_str().unwrap().to_owned();
    assert!(token.starts_with("[EMAIL_"), "{token}");
    let query = format!("select count(*) as n from data where e = '{token}'");
    let count = json!({"analysis_type": "sql", "data": rows, "parameters": {"query": query}});
    assert_eq!(analyse(&client, count)["data"], json!([{"n": 1}]));
    // Control: without protection it is there.
    office.configure("code", "[pii]\nmode = \"off\"\n");
    assert!(ask(&Client::alone(&office.site)).to_string().contains(SENDER));
    // In strict mode a program does not see it either, and a file of before is not there.
    office.configure("code", "[pii]\nmode = \"strict\"\n");
    let client = Client::alone(&office.site);
    assert!(!ask(&client).to_string().contains(SENDER));
    let code = "rows = await sql('select \"from\" as f from m', \
                m={'tool': 'mail.list_messages', 'path': 'messages'})\n'@' in rows[0]['f']";
    assert_eq!(client.run(code), false);
}

/// Numbers beside others: in a text, commas may be part of them.
#[test]
fn personal_numbers_are_protected_in_every_format() {
    let Some(office) = Office::new("") else { return };
    let client = Client::alone(&office.site);
    let cards = [4_111_111_111_111_111_u64, 5_500_005_555_555_559];
    let rows: Vec<Value> =
        cards.iter().enumerate().map(|(n, card)| json!({"n": n, "card": card, "m": 345})).collect();
    for format in ["csv", "json", "markdown"] {
        let answer = client.call(
            "execute_analysis",
            json!({"analysis_type": "filter", "data": rows, "parameters": {"conditions": []},
                "output": {"format": format}}),
        );
        let text = text_of(&answer);
        assert_eq!(text.matches("[CREDIT_CARD_").count(), 2, "{text}");
        for card in cards {
            assert!(!answer.to_string().contains(&card.to_string()), "{answer:#}");
        }
        if format == "json" {
            let table = text.lines().find(|line| line.starts_with('[')).unwrap();
            let shown: Value = serde_json::from_str(table).unwrap();
            assert_eq!(shown[1]["m"], 345);
        }
    }
}

#[test]
fn rules_levels_and_the_audit_hold_for_analyses() {
    let rules = format!(
        "{AGENTS}isolation = \"hardened\"\n[[policy.rules]]\nname = \"no-mail\"\n\
         tools = [\"mail\"]\naction = \"deny\"\n"
    );
    let Some(office) = Office::new(&rules) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let analyst = clients.with_key(&gateway, ANALYST);
    let from = json!({"tool": "mail.list_messages"});
    let denied =
        analyst.refusal("execute_analysis", json!({"analysis_type": "describe", "source": from}));
    says(&denied, &["mail"]);
    assert_eq!(office.received("mail.list_messages").len(), 0);
    // Control: another tool may be used.
    let from = json!({"tool": "crm.get_customer", "arguments": {"id": 7}});
    let answer =
        analyst.call("execute_analysis", json!({"analysis_type": "describe", "source": from}));
    assert!(!answer.to_string().contains(CUSTOMER), "{answer:#}");
    // The hardened level of the other one lets it read files, and write none.
    let intern = clients.with_key(&gateway, office::INTERN);
    let directory = office.site.path("data/workspaces/intern");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("a.csv"), "n\n1\n2\n").unwrap();
    let mut file = json!({"analysis_type": "describe", "source": "a.csv"});
    intern.call("execute_analysis", file.clone());
    file["output"] = json!({"file": "b.csv"});
    says(&intern.refusal("execute_analysis", file), &["b.csv", "cannot be written"]);
    assert!(!directory.join("b.csv").exists());
    let entries = office.entries(4, &["--action", "analysis"]);
    let outcomes: Vec<&str> =
        entries.iter().map(|entry| entry["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["failed", "ok", "ok", "failed"], "{entries:#?}");
}

#[test]
fn limits_end_an_analysis_and_nothing_else() {
    let Some(site) = Site::new() else { return };
    site.configure("[analysis]\ntimeout = 1\nmemory_mb = 16\n");
    let client = Client::alone(&site);
    let rows: Vec<Value> = (0..3_000).map(|n| json!({"n": n})).collect();
    fs::write(workspace(&site).join("t.json"), json!(rows).to_string()).unwrap();
    let ask = |query: &str| {
        client.answer(
            "execute_analysis",
            json!({"analysis_type": "sql", "source": "t.json",
            "parameters": {"query": query}}),
        )
    };
    let endless = "select count(*) from t a, t b, t c, t d where a.n + b.n + c.n + d.n = -1";
    let answer = ask(endless);
    assert_eq!(answer["isError"], true, "{answer:#}");
    says(&text_of(&answer).into(), &["stopped"]);
    // On a busy machine a second may be too short for any query.
    wait_for("an answer within the limits", || {
        (ask("select count(*) as n from t")["isError"] == false).then_some(())
    });
    let error = client.error(&format!("await sql('{endless}', t='t.json')"));
    says(&error, &["longer than 1 s"]);
}
