//! Gateways in front of the fixture, shared by the tests of a binary, and a client that is asked.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};

use super::{
    MAX_PROGRAM_TIME,
    real::{HttpGateway, Site, report},
};

pub(crate) const ERAS: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("modern", "2026-07-28")];
/// The fixture, as a server that knows both eras, only the older, or only the newer one.
pub(crate) const FIXTURES: [&str; 3] = ["both", "legacy", "modern"];

/// One gateway for all tests that do not change anything: with the fixture in all eras.
pub(crate) fn shared() -> Option<&'static HttpGateway> {
    static SHARED: OnceLock<Option<HttpGateway>> = OnceLock::new();
    SHARED.get_or_init(|| Site::with(&FIXTURES).map(HttpGateway::lease)).as_ref()
}

/// As long as this is held, no other test uses the servers of the gateways here: one of the older
/// protocol does not say whose call its questions and logs belong to, and so they are refused when
/// there are several clients.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One gateway that shows the fixture as it is.
pub(crate) fn direct(era: &str) -> Option<&'static HttpGateway> {
    static DIRECT: [OnceLock<Option<HttpGateway>>; 2] = [OnceLock::new(), OnceLock::new()];
    let place = &DIRECT[usize::from(era == "modern")];
    let start = || {
        let site = direct_site(era)?;
        // From now on its tools are known: a list and a call by name wait some seconds only for a
        // server of which nothing is known.
        site.says(&["tools", "list"]);
        Some(HttpGateway::lease(site))
    };
    place.get_or_init(start).as_ref()
}

pub(crate) fn direct_site(era: &str) -> Option<Site> {
    let site = Site::new()?;
    site.configure(&format!("{}expose = \"direct\"\n", site.server(era)));
    Some(site)
}

/// What `python_elicit.py` reports of a call.
#[track_caller]
pub(crate) fn elicit(
    gateway: &HttpGateway,
    options: &[&str],
    tool: &str,
    arguments: &Value,
) -> Value {
    let site = Site::new().unwrap();
    let mut client = site.client("python_elicit.py");
    client.args(options).args(["--call", tool, &arguments.to_string()]);
    client.args(gateway.over_http());
    report(client)
}

/// What it reports of a program.
#[track_caller]
pub(crate) fn execute(gateway: &HttpGateway, options: &[&str], code: &str) -> Value {
    let arguments = json!({"code": code, "timeout": MAX_PROGRAM_TIME.as_secs()});
    elicit(gateway, options, "execute_code", &arguments)
}

#[track_caller]
pub(crate) fn result_of(report: &Value) -> &Value {
    let answer = &report["result"]["structuredContent"];
    assert_eq!(answer["success"], true, "{report:#}");
    &answer["result"]
}

#[track_caller]
pub(crate) fn text_of(report: &Value) -> &str {
    let answer = report["result"]["content"][0]["text"].as_str();
    answer.unwrap_or_else(|| panic!("{report:#}"))
}

pub(crate) fn methods(report: &Value) -> Vec<&str> {
    let asked = report["asked"].as_array().unwrap();
    asked.iter().map(|one| one["method"].as_str().unwrap()).collect()
}
