//! Analyses: over MCP and in code, of rows that models need not read.
#![cfg(unix)]

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{
    office::Office,
    real::{Site, says, text},
    state::{Client, text_of},
};

/// Where the files of those are who have no name.
pub(crate) fn workspace(site: &Site) -> PathBuf {
    let directory = site.path("data/workspaces/default");
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// The result of an analysis.
#[track_caller]
pub(crate) fn analyse(client: &Client, arguments: Value) -> Value {
    let mut answer = client.call("execute_analysis", arguments);
    assert_eq!(answer["structuredContent"]["success"], true, "{answer:#}");
    answer["structuredContent"]["result"].take()
}

/// How many tokens an answer says that it saves, in percent.
#[track_caller]
fn saved(answer: &Value) -> f64 {
    let text = text_of(answer);
    let (_, rest) = text.rsplit_once('(').unwrap_or_else(|| panic!("no cost in {text}"));
    rest.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("no cost in {text}"))
}

pub(crate) fn stocks() -> Value {
    json!([
        {"symbol": "AAPL", "sector": "Tech", "roi": 15.5},
        {"symbol": "JNJ", "sector": "Healthcare", "roi": 8.2},
        {"symbol": "GOOGL", "sector": "Tech", "roi": 12.3},
        {"symbol": "IBM", "sector": "Tech", "roi": 4.0},
    ])
}

/// As many as a portfolio really has.
fn portfolio(rows: usize) -> Vec<Value> {
    let sectors = ["Tech", "Healthcare", "Energy", "Finance"];
    (0..rows)
        .map(|row| {
            json!({
                "symbol": format!("S{row:04}"),
                "sector": sectors[row % 4],
                "roi": (row * 37 % 400) as f64 / 10.0 - 10.0,
                "price": 10.0 + (row * 13 % 97) as f64,
                "shares": row % 50 + 1,
            })
        })
        .collect()
}

// The examples of existing callers.

#[test]
fn stocks_are_filtered_by_sector_and_return() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let request = json!({
        "analysis_type": "filter",
        "data": {"stocks": stocks()},
        "parameters": {
            "data_field": "stocks",
            "conditions": [
                {"field": "sector", "operator": "==", "value": "Tech"},
                {"field": "roi", "operator": ">", "value": 10},
            ],
            "logic": "AND",
        },
    });
    let found = analyse(&client, request.clone());
    assert_eq!(found["analysis_type"], "filter");
    assert_eq!((&found["filtered_count"], &found["total_count"]), (&json!(2), &json!(4)));
    assert_eq!(found["filtered_percentage"], 50.0);
    let tech = json!([
        {"symbol": "AAPL", "sector": "Tech", "roi": 15.5},
        {"symbol": "GOOGL", "sector": "Tech", "roi": 12.3},
    ]);
    assert_eq!(found["data"], tech);
    let mut any = request;
    any["parameters"]["logic"] = "OR".into();
    assert_eq!(analyse(&client, any)["filtered_count"], 3);
}

#[test]
fn sales_are_grouped_users_are_renamed_and_records_are_checked() {
    let Some(site) = Site::new() else { return };
    // Names of people are compared here.
    site.configure("[pii]\nmode = \"off\"\n");
    let client = Client::alone(&site);
    let sales = json!([
        {"region": "North", "amount": 1000}, {"region": "North", "amount": 1500},
        {"region": "South", "amount": 2000}, {"region": "South", "amount": 1800},
    ]);
    let grouped = analyse(
        &client,
        json!({
            "analysis_type": "aggregate",
            "data": {"sales": sales},
            "parameters": {"data_field": "sales", "group_by": "region"},
        }),
    );
    let north = &grouped["data"][0];
    assert_eq!((&north["region"], &north["amount_sum"]), (&json!("North"), &json!(2500)));
    assert_eq!(grouped["data"][1]["amount_mean"], 1900.0);

    let users = json!([
        {"id": 1, "name": "Alice", "email": "alice@example.com", "phone": "555-0001"},
        {"id": 2, "name": "Bob", "email": "bob@example.com", "phone": "555-0002"},
    ]);
    let renamed = analyse(
        &client,
        json!({
            "analysis_type": "transform",
            "data": {"users": users},
            "parameters": {
                "data_field": "users",
                "output_fields": ["id", "name"],
                "rename": {"name": "full_name"},
            },
        }),
    );
    let expected = json!([{"id": 1, "full_name": "Alice"}, {"id": 2, "full_name": "Bob"}]);
    assert_eq!(renamed["data"], expected);

    let records = json!([
        {"id": 1, "name": "Alice", "email": "alice@example.com"},
        {"id": 2, "name": "Bob"},
    ]);
    let checked = analyse(
        &client,
        json!({
            "analysis_type": "validate",
            "data": {"records": records},
            "parameters": {
                "data_field": "records",
                "validations": [
                    {"field": "id", "type": "numeric", "required": true},
                    {"field": "name", "type": "string", "required": true},
                    {"field": "email", "type": "string", "required": true},
                ],
            },
        }),
    );
    assert_eq!((&checked["valid"], &checked["violation_count"]), (&json!(false), &json!(1)));
    let violation = &checked["data"][0];
    assert_eq!((&violation["row"], &violation["field"]), (&json!(1), &json!("email")));
}

#[test]
fn a_portfolio_a_price_feed_and_two_series_cost_a_few_tokens() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let portfolio = portfolio(1_000);
    let lines: Vec<String> = portfolio.iter().map(Value::to_string).collect();
    fs::write(workspace(&site).join("portfolio.jsonl"), lines.join("\n")).unwrap();
    let statistics = json!({
        "analysis_type": "aggregate",
        "source": "portfolio.jsonl",
        "parameters": {
            "group_by": "sector",
            "aggregations": {"roi": ["mean", "median", "std", "min", "max"], "shares": "sum"},
        },
    });
    let answer = client.call("execute_analysis", statistics);
    let rows = answer["structuredContent"]["result"]["data"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    let tech: Vec<f64> = portfolio
        .iter()
        .filter(|stock| stock["sector"] == "Tech")
        .map(|stock| stock["roi"].as_f64().unwrap())
        .collect();
    let mean = tech.iter().sum::<f64>() / tech.len() as f64;
    let found = rows.iter().find(|row| row["sector"] == "Tech").unwrap();
    assert!((found["roi_mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{found}");
    assert!(saved(&answer) > 99.0, "{}", text_of(&answer));

    // A feed with three mistakes: a negative price, high below low, a time twice.
    let mut feed = String::from("time,low,high,price\n");
    for minute in 0..600 {
        let time = format!("2026-01-05T{:02}:{:02}:00", 9 + minute / 60, minute % 60);
        let (low, high, price) = match minute {
            100 => (9.0, 11.0, -10.0),
            200 => (12.0, 11.0, 11.5),
            _ => (9.0, 11.0, 10.0),
        };
        let time = if minute == 300 { "2026-01-05T13:59:00".to_owned() } else { time };
        feed.push_str(&format!("{time},{low},{high},{price}\n"));
    }
    fs::write(workspace(&site).join("feed.csv"), feed).unwrap();
    let answer = client.call(
        "execute_analysis",
        json!({
            "analysis_type": "validate",
            "source": "feed.csv",
            "parameters": {"validations": [
                {"field": "price", "type": "numeric", "required": true, "min": 0},
                {"field": "time", "unique": true},
                {"expression": "high >= low"},
            ]},
        }),
    );
    let checked = &answer["structuredContent"]["result"];
    assert_eq!((&checked["valid"], &checked["checked_count"]), (&json!(false), &json!(600)));
    let rows: Vec<u64> = checked["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|violation| violation["row"].as_u64().unwrap())
        .collect();
    assert!(rows.contains(&100) && rows.contains(&200) && rows.contains(&300), "{checked:#}");
    assert!(saved(&answer) > 95.0, "{}", text_of(&answer));

    let series: Vec<Value> = (0..500)
        .map(|day| {
            let a = f64::from(day % 17) + f64::from(day) / 10.0;
            json!({"day": day, "a": a, "b": 3.0 * a - 2.0, "c": -a})
        })
        .collect();
    fs::write(workspace(&site).join("series.json"), json!(series).to_string()).unwrap();
    let correlation = |fields: Value| {
        client.call(
            "execute_analysis",
            json!({
                "analysis_type": "correlation",
                "source": "series.json",
                "parameters": {"fields": fields},
            }),
        )
    };
    let answer = correlation(json!(["a", "b"]));
    let found = answer["structuredContent"]["result"]["correlation"].as_f64().unwrap();
    assert!((found - 1.0).abs() < 1e-12, "{found}");
    assert!(saved(&answer) > 95.0, "{}", text_of(&answer));
    let answer = correlation(json!(["a", "c"]));
    let found = answer["structuredContent"]["result"]["correlation"].as_f64().unwrap();
    assert!((found + 1.0).abs() < 1e-12, "{found}");
}

// Where rows come from.

#[test]
fn rows_come_from_files_tools_sessions_and_earlier_results() {
    let Some(office) = Office::new("") else { return };
    let site = &office.site;
    let client = Client::alone(site);
    let directory = workspace(site);
    fs::write(directory.join("sales.csv"), "region,amount\nNorth,10\nSouth,20\nNorth,5\n").unwrap();
    let total = |source: Value| {
        analyse(
            &client,
            json!({
                "analysis_type": "aggregate",
                "source": source,
                "parameters": {"group_by": "region", "aggregations": {"amount": "sum"}},
            }),
        )
    };
    let expected = json!([
        {"region": "North", "amount_sum": 15}, {"region": "South", "amount_sum": 20},
    ]);
    let first = total(json!("sales.csv"));
    assert_eq!(first["data"], expected);
    assert_eq!(total(json!({"file": "/workspace/sales.csv"}))["data"], expected);

    // A variable of a session, which stays as it was.
    client.go_on(
        "s",
        "rows = [{'region': 'North', 'amount': 15}, {'region': 'South', 'amount': 20}]",
    );
    assert_eq!(total(json!({"session": "s", "variable": "rows"}))["data"], expected);
    assert_eq!(
        client.go_on("s", "len(rows), sorted(n for n in globals() if n[0] != '_')"),
        json!([2, ["rows"]])
    );
    let wrong =
        json!({"analysis_type": "describe", "source": {"session": "s", "variable": "lost"}});
    says(&client.refusal("execute_analysis", wrong), &["lost"]);
    let session = total(json!({"session": "s", "variable": "rows"}));
    assert!(session["tokens"]["data"].as_u64() > Some(0), "{session}");
    let again = json!({"analysis_type": "describe", "source": {"result": session["result_id"]}});
    assert_eq!(analyse(&client, again)["row_count"], 2);
    // One that is not there is not begun.
    let none =
        json!({"analysis_type": "describe", "source": {"session": "so", "variable": "rows"}});
    says(&client.refusal("execute_analysis", none), &["no session \"so\""]);
    let known: Value = serde_json::from_str(&office.said(&["sessions", "list", "--json"])).unwrap();
    assert!(!known.to_string().contains("\"so\""), "{known}");
    // Beside a file, by another name, and a part of one.
    let joined = json!({
        "type": "sql",
        "tables": {"a": {"session": "s", "variable": "rows"}, "b": "sales.csv"},
        "parameters": {"query": "select count(*) as n from a join b using (region)"},
    });
    assert_eq!(analyse(&client, joined)["data"], json!([{"n": 3}]));
    client.go_on("s", "page = {'items': rows}");
    let part = |source: Value| json!({"analysis_type": "describe", "source": source, "data_field": "items"});
    let found = analyse(&client, part(json!({"session": "s", "variable": "page"})));
    assert_eq!(found["row_count"], 2, "{found}");
    let two = json!({
        "analysis_type": "sql",
        "tables": {"a": {"session": "s", "variable": "rows"}, "b": {"session": "t", "variable": "x"}},
        "parameters": {"query": "select 1"},
    });
    says(&client.refusal("execute_analysis", two), &["s and t", "one session"]);

    // A part of a JSON file.
    let page = json!({"items": client.go_on("s", "rows"), "next": null});
    fs::write(directory.join("page.json"), page.to_string()).unwrap();
    assert_eq!(total(json!({"file": "page.json", "path": "items"}))["data"], expected);
    assert_eq!(analyse(&client, part(json!("page.json")))["row_count"], 2);
    says(&client.refusal("execute_analysis", part(json!("sales.csv"))), &["only a JSON file"]);
    let none = json!({"file": "page.json", "path": "item"});
    let none = json!({"analysis_type": "describe", "source": none});
    says(&client.refusal("execute_analysis", none), &["item", "did you mean items"]);

    // An earlier result.
    let id = first["result_id"].as_str().unwrap();
    let most = analyse(
        &client,
        json!({
            "analysis_type": "sql",
            "source": {"result": id},
            "parameters": {"query": "select max(amount_sum) as most from data"},
        }),
    );
    assert_eq!(most["data"], json!([{"most": 20}]));
    let lost = json!({"analysis_type": "describe", "source": {"result": "r999"}});
    says(&client.refusal("execute_analysis", lost), &["no result \"r999\"", id]);
    // Of one that is in a file only some rows are in memory; the file may be another by now.
    let kept = |rows: usize| {
        let output = json!({"file": "kept.csv", "rows": rows});
        let all = json!({"analysis_type": "filter", "source": "sales.csv", "output": output,
            "parameters": {"conditions": []}});
        json!({"result": analyse(&client, all)["result_id"]})
    };
    let (some, all) = (kept(1), kept(3));
    says(
        &client.refusal("execute_analysis", json!({"analysis_type": "describe", "source": some})),
        &["kept.csv", "changed since then"],
    );
    let some = kept(1);
    assert_eq!(total(some.clone())["data"], expected);
    fs::write(directory.join("kept.csv"), "region,amount\nEast,1\n").unwrap();
    assert_eq!(total(all)["data"], expected);
    says(
        &client.refusal("execute_analysis", json!({"analysis_type": "describe", "source": some})),
        &["kept.csv", "changed since then"],
    );
    // A query may need no table at all.
    let series = "select sum(value) as total from generate_series(1, 4)";
    let series = json!({"analysis_type": "sql", "parameters": {"query": series}});
    assert_eq!(analyse(&client, series)["data"], json!([{"total": 10}]));

    // A tool's answer, under the same rules as any call.
    let messages = json!({"tool": "mail.list_messages", "path": "messages"});
    let counted = analyse(
        &client,
        json!({
            "analysis_type": "sql",
            "source": messages,
            "parameters": {"query": "select count(*) as n, min(id) as first from data"},
        }),
    );
    assert_eq!(counted["data"], json!([{"n": 1, "first": 1}]));
    assert_eq!(office.received("mail.list_messages").len(), 1);

    // Several tables, each from somewhere else.
    let joined = analyse(
        &client,
        json!({
            "analysis_type": "sql",
            "source": "sales.csv",
            "tables": {"heads": [{"region": "North", "head": "Ann"}]},
            "parameters": {"query":
                "select head, sum(amount) as amount from sales join heads using (region) group by 1"},
        }),
    );
    assert_eq!(joined["data"], json!([{"head": "Ann", "amount": 15}]));
}

#[test]
fn mistakes_are_answered_with_the_field_and_what_there_is() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    fs::write(workspace(&site).join("stocks.json"), stocks().to_string()).unwrap();
    fs::write(workspace(&site).join("broken.json"), "[{\"a\": 1},").unwrap();
    let refused = |request: Value, words: &[&str]| {
        says(&client.refusal("execute_analysis", request), words);
    };
    let wrong = json!({"field": "setor", "operator": "==", "value": "Tech"});
    refused(
        json!({"analysis_type": "filter", "source": "stocks.json",
            "parameters": {"conditions": [wrong]}}),
        &["conditions[0]", "no column \"setor\"", "did you mean sector?"],
    );
    refused(
        json!({"analysis_type": "sql", "source": "stocks.json",
            "parameters": {"query": "select setor from stocks"}}),
        &["setor", "sector"],
    );
    refused(
        json!({"analysis_type": "sql", "source": "stocks.json",
            "parameters": {"query": "select * from '/etc/passwd'"}}),
        &["sql"],
    );
    refused(json!({"analysis_type": "agregate", "data": []}), &["did you mean aggregate"]);
    refused(json!({"analysis_type": "describe"}), &["nothing to analyse"]);
    refused(json!({"analysis_type": "describe", "source": "stock.json"}), &["stocks.json"]);
    refused(json!({"analysis_type": "describe", "source": "broken.json"}), &["broken"]);
    refused(json!({"analysis_type": "describe", "source": "../../narrows.db"}), &["narrows.db"]);
    refused(json!({"analysis_type": "describe", "source": {"toll": "a.b"}}), &["tool"]);
    refused(
        json!({"analysis_type": "filter", "data": {"stocks": []}, "data_field": "stock"}),
        &["data_field", "stocks"],
    );
}

#[test]
fn what_pandas_calls_an_analysis_is_done_or_answered_with_the_call_that_works() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    fs::write(workspace(&site).join("stocks.json"), stocks().to_string()).unwrap();
    // Parameters stand beside, as in a program.
    let counted =
        json!({"analysis_type": "value_counts", "source": "stocks.json", "column": "sector"});
    let counted = analyse(&client, counted);
    assert_eq!(counted["data"][0], json!({"sector": "Tech", "count": 3}));
    let note = counted["notes"][0].as_str().unwrap();
    assert!(note.starts_with("value_counts is aggregate with {\"group_by\":"), "{note}");
    let chosen = json!({"analysis_type": "groupby", "source": "stocks.json", "parameters":
        {"by": "sector", "agg": {"roi": "max"}, "where": "roi < 15", "order_by": "roi_max desc"}});
    let best =
        json!([{"sector": "Tech", "roi_max": 12.3}, {"sector": "Healthcare", "roi_max": 8.2}]);
    assert_eq!(analyse(&client, chosen)["data"], best);
    let checked = json!({"analysis_type": "validate", "source": "stocks.json", "parameters":
        {"required": ["symbol", "price"], "types": {"roi": "numeric"}, "min": {"roi": 5}}});
    assert_eq!(analyse(&client, checked)["violation_count"], 5);
    let refused = |request: Value, words: &[&str]| {
        says(&client.refusal("execute_analysis", request), words);
    };
    refused(
        json!({"analysis_type": "filter", "source": "stocks.json",
            "parameters": {"by": "sector", "agg": {"roi": "mean"}}}),
        &["aggregate has it: {\"analysis_type\": \"aggregate\", \"parameters\": \
           {\"group_by\":\"sector\",\"aggregations\":{\"roi\":\"mean\"}}}"],
    );
    refused(
        json!({"analysis_type": "top_n", "source": "stocks.json", "n": 2}),
        &["as in {\"analysis_type\": \"top_n\", \"parameters\": {\"by\":\"roi\",\"n\":2}}"],
    );
}

#[test]
fn what_does_not_fit_into_the_answer_is_in_a_file() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let lines: Vec<String> =
        (0..20_000).map(|n| json!({"n": n, "text": format!("row {n}")}).to_string()).collect();
    fs::write(workspace(&site).join("many.jsonl"), lines.join("\n")).unwrap();
    let answer = client.call(
        "execute_analysis",
        json!({
            "analysis_type": "filter",
            "source": "many.jsonl",
            "parameters": {"conditions": [{"field": "n", "operator": ">=", "value": 5}]},
        }),
    );
    let result = &answer["structuredContent"]["result"];
    assert_eq!(result["data"].as_array().unwrap().len(), 100);
    assert_eq!(result["total_rows"], 19_995);
    let path = result["path"].as_str().unwrap();
    assert!(text_of(&answer).contains(path), "{}", text_of(&answer));
    assert!(text_of(&answer).len() < 4_000);
    let again = analyse(
        &client,
        json!({
            "analysis_type": "sql",
            "source": {"result": result["result_id"]},
            "parameters": {"query": "select count(*) as n, max(n) as most from data"},
        }),
    );
    assert_eq!(again["data"], json!([{"n": 19_995, "most": 19_999}]));
    // The caller's own choice of rows and of a file.
    let few = analyse(
        &client,
        json!({
            "analysis_type": "sql",
            "source": "many.jsonl",
            "parameters": {"query": "select n from many order by n desc"},
            "output": {"rows": 2, "format": "csv", "file": "out/sorted.csv"},
        }),
    );
    assert_eq!(few["data"], json!([{"n": 19_999}, {"n": 19_998}]));
    let written = fs::read_to_string(workspace(&site).join("out/sorted.csv")).unwrap();
    assert_eq!(written.lines().count(), 20_001);
    assert!(written.starts_with("n\n19999\n19998\n"), "{}", &written[..30]);
}

// In code.

#[test]
fn programs_query_their_rows_files_and_tools() {
    // A million rows take a while on a busy machine.
    let Some(office) = Office::new("[analysis]\ntimeout = 300\n") else { return };
    let client = Client::alone(&office.site);
    fs::write(workspace(&office.site).join("heads.csv"), "sector,head\nTech,Ann\nEnergy,Bob\n")
        .unwrap();
    let code = r#"
import datetime
from decimal import Decimal
stocks = [
    {"symbol": "AAPL", "sector": "Tech", "roi": 15.5, "day": datetime.date(2026, 1, 2)},
    {"symbol": "XOM", "sector": "Energy", "roi": None, "day": datetime.date(2026, 1, 3)},
    {"symbol": "IBM", "sector": "Tech", "roi": Decimal("4.5"), "day": None},
]
rows = await sql(
    "select head, count(*) as n, avg(roi) as roi, min(day) as day "
    "from s join h using (sector) group by head order by head", s=stocks, h="heads.csv")
mail = await sql('select "from" from m', m={"tool": "mail.list_messages", "path": "messages"})
found = await analyze("aggregate", stocks, group_by="sector", aggregations={"roi": ["mean", "count"]})
result = [rows, rows.total, rows.path, mail, found["data"], type(rows).__name__, isinstance(rows, list)]
"#;
    let result = client.run(code);
    let rows = json!([
        {"head": "Ann", "n": 2, "roi": 10.0, "day": "2026-01-02"},
        {"head": "Bob", "n": 1, "roi": null, "day": "2026-01-03"},
    ]);
    assert_eq!(result[0], rows);
    assert_eq!((&result[1], &result[2]), (&json!(2), &Value::Null));
    assert!(result[3][0]["from"].as_str().unwrap().starts_with("[EMAIL_"), "{result}");
    assert_eq!(result[4][1], json!({"sector": "Tech", "roi_mean": 10.0, "roi_count": 2}));
    assert_eq!((&result[5], &result[6]), (&json!("Rows"), &json!(true)));
    // Many at once, many rows, and a value of each kind there and back.
    let code = r#"
import asyncio
values = [None, True, -1, 2**62, 0.5, "ü😀", "", "a,b"]
there = [{"k": i, "v": v} for i, v in enumerate(["x", "ü😀", "", "a,b", None])]
back = await sql("select * from t order by k", t=there)
assert back == there, back
kinds = [{"i": 2**62, "f": 0.5, "b": True, "n": None, "t": "ü"}]
assert await sql("select * from t", t=kinds) == kinds
many = [{"i": i, "g": i % 10} for i in range(50_000)]
answers = await asyncio.gather(*(sql(f"select sum(i) as s from t where g = {g}", t=many) for g in range(4)))
assert [a[0]["s"] for a in answers] == [sum(i for i in range(50_000) if i % 10 == g) for g in range(4)]
all_of_them = await sql("select * from t", t=many)
assert all_of_them == many and all_of_them.total == 50_000
result = "ok"
"#;
    assert_eq!(client.run(code), "ok");
    says(
        &client.error("await sql('select setor from t', t=[{'sector': 1}])"),
        &["setor", "did you mean sector"],
    );
    says(&client.error("await sql('select 1', t=7)"), &["a table is a list of dicts"]);
    let reference = "await analyze('describe', {'session': 's', 'variable': 'rows'})";
    says(&client.error(reference), &["give the variable itself"]);
    // Some rows are never taken for all.
    let many = "await sql('select * from generate_series(1, 1000001) as t(n)')";
    let code = format!("rows = {many}\nresult = [len(rows), rows.total, rows.path, rows.notes]");
    let cut = client.run(&code);
    assert_eq!((&cut[0], &cut[1]), (&json!(1_000_000), &json!(1_000_001)));
    says(&cut[3][0], &["first 1000000 of 1000001 rows", cut[2].as_str().unwrap()]);
    office.configure("code", "[isolation.levels.bare]\nworkspace = \"none\"\n");
    let bare = ["run", "--timeout", "120", "--isolation", "bare", "-c", many];
    let output = office.site.says(&bare);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    says(&text(&output.stderr).into(), &["1000001 rows", "no workspace"]);
    says(&client.error("await sql('drop table t', t=[{'a': 1}])"), &["sql"]);
    says(&client.error("await sql('select * from t', t='none.csv')"), &["none.csv"]);
    // What was done to the data is said, though the program says nothing.
    let answer = client.call("execute_code", json!({"code":
        "(await sql('select sum(a) as s from t', t=[{'a': 1}, {'a': '2'}, {'a': 'N/A'}]))[0]['s']"}));
    assert_eq!(answer["structuredContent"]["result"], 3);
    says(&answer["structuredContent"]["notes"].to_string().into(), &["a"]);
}
