//! Logins at HTTP servers: a real authorization server, a real browser's requests, and the
//! command line as a user meets it.
#![cfg(unix)]
#![allow(clippy::print_stderr)]

use std::{fs, os::unix::fs::PermissionsExt, time::Instant};

use serde_json::json;

use crate::support::{
    PATIENCE,
    oauth::{ENDLESS_SECONDS, Gateway, LOGIN_COMMAND, browse, world},
};

#[test]
fn without_a_login_everyone_is_told_how_to_log_in() {
    let world = world!();
    let status = world.narrows(&["servers", "status", "--json"]);
    assert_eq!(status.code, 1, "{status:?}");
    assert_eq!(status.json()["servers"][0]["health"], "login_needed", "{status:?}");
    let status = world.narrows(&["servers", "status"]);
    assert!(status.stdout.contains(LOGIN_COMMAND), "{status:?}");
    let call = world.call();
    assert_eq!(call.code, 1, "{call:?}");
    assert!(call.stderr.contains("ToolError"), "{call:?}");
    assert!(call.stderr.contains(LOGIN_COMMAND), "{call:?}");
}

#[test]
fn doctor_tells_how_to_log_in() {
    let world = world!();
    let doctor = world.narrows(&["doctor"]);
    assert!(doctor.stdout.contains(LOGIN_COMMAND), "{doctor:?}");
}

#[test]
fn after_a_login_a_new_process_can_call() {
    let world = world!();
    let login = world.begin_login();
    let page = browse(&login.url);
    assert!(page.contains("You can close this page"), "{page}");
    let login = login.end();
    assert_eq!(login.code, 0, "{login:?}");
    assert_eq!(login.stdout, "", "{login:?}");
    world.assert_calls();
    assert_eq!(world.asked("register"), 1);
    assert_eq!(world.asked("authorization_code"), 1);
    assert_eq!(world.asked("refresh_token"), 0);
}

#[test]
fn a_login_is_readable_by_its_owner_alone() {
    let world = world!();
    world.log_in();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.logins_dir()), 0o700);
    let files = world.login_files();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(mode(&files[0]), 0o600);
    // It is the file with the secrets, or the test proves nothing.
    assert!(fs::read_to_string(&files[0]).unwrap().contains("fake-refresh-"));
}

#[test]
fn a_token_near_its_end_is_refreshed_before_it_is_used() {
    let world = world!();
    world.control(json!({ "lifetime": 20 }));
    world.log_in();
    world.control(json!({ "lifetime": 3600, "revoke": true }));
    world.assert_calls();
    assert_eq!(world.asked("refresh_token"), 1);
    assert_eq!(world.asked("refused_token"), 0, "the old token was sent");
    // The new token was kept.
    world.assert_calls();
    assert_eq!(world.asked("refresh_token"), 1);
}

#[test]
fn a_token_that_is_revoked_in_the_midst_is_refreshed_and_the_call_succeeds() {
    let world = world!();
    world.log_in();
    let mut gateway = Gateway::start(&world);
    gateway.assert_calls();
    world.control(json!({ "revoke": true }));
    gateway.assert_calls();
    assert_eq!(world.asked("refresh_token"), 1);
    assert_eq!(world.asked("whoami"), 2);
    // Other processes have it as well.
    world.assert_calls();
    assert_eq!(world.asked("refresh_token"), 1);
}

/// Each of them is refused; one of them refreshes for all. Otherwise each refresh ends the token
/// that another call just got.
#[test]
fn calls_beside_each_other_survive_a_revoked_token() {
    let world = world!();
    world.control(json!({ "one_token": true }));
    world.log_in();
    let mut gateway = Gateway::start(&world);
    gateway.assert_calls();
    world.control(json!({ "revoke": true, "token_delay": 0.1 }));
    let answer = gateway.run(
        "import asyncio\nfrom servers.guarded import whoami\n\
         print(len(await asyncio.gather(*[whoami() for _ in range(8)])), 'answers')",
    );
    assert!(answer.contains("8 answers"), "{answer}");
    assert_eq!(world.asked("refresh_token"), 1);
}

#[test]
fn a_refresh_that_is_rejected_asks_for_a_new_login() {
    let world = world!();
    world.log_in();
    world.assert_calls();
    world.control(json!({ "revoke": true, "reject_refresh": true }));
    let call = world.call();
    assert_eq!(call.code, 1, "{call:?}");
    assert!(call.stderr.contains(LOGIN_COMMAND), "{call:?}");
    let status = world.narrows(&["servers", "status", "--json"]);
    assert_eq!(status.json()["servers"][0]["health"], "login_needed", "{status:?}");
}

#[test]
fn a_gateway_that_loses_its_login_asks_for_one_and_goes_on_with_it() {
    let world = world!();
    world.log_in();
    let mut gateway = Gateway::start(&world);
    gateway.assert_calls();
    world.control(json!({ "revoke": true, "reject_refresh": true }));
    let answer = gateway.call();
    assert!(answer.contains(LOGIN_COMMAND), "{answer}");
    world.control(json!({ "reject_refresh": false }));
    world.log_in();
    gateway.assert_calls();
}

#[test]
fn a_gateway_that_waits_for_a_login_uses_it_at_once() {
    let world = world!();
    let mut gateway = Gateway::start(&world);
    // It has tried more than once, so that it pauses between the attempts.
    let answer = gateway.call();
    assert!(answer.contains(LOGIN_COMMAND), "{answer}");
    let refused = world.asked("unauthorized");
    let deadline = Instant::now() + PATIENCE;
    while world.asked("unauthorized") == refused {
        assert!(Instant::now() < deadline, "it never tried again");
        assert!(gateway.call().contains(LOGIN_COMMAND));
    }
    world.log_in();
    gateway.assert_calls();
}

#[test]
fn a_gateway_refreshes_a_login_that_was_made_while_it_ran() {
    let world = world!();
    world.log_in();
    let mut gateway = Gateway::start(&world);
    gateway.assert_calls();
    // The second login is another registration: another client.
    world.log_in();
    world.control(json!({ "revoke": true }));
    gateway.assert_calls();
    assert_eq!(world.asked("refresh_token"), 1);
}

#[test]
fn a_client_that_is_registered_by_hand_logs_in_and_refreshes() {
    let world =
        world!(r#"oauth = { client_id = "preregistered", client_secret = "${OAUTH_SECRET}" }"#);
    world.control(json!({ "no_dcr": true }));
    world.log_in();
    world.assert_calls();
    world.control(json!({ "revoke": true }));
    world.assert_calls();
    assert_eq!(world.asked("register"), 0);
    assert_eq!(world.asked("refresh_token"), 1);
    assert_eq!(world.asked("invalid_client"), 0);
}

#[test]
fn a_client_secret_that_is_not_set_is_named() {
    let world =
        world!(r#"oauth = { client_id = "preregistered", client_secret = "${OAUTH_SECRET}" }"#);
    world.log_in();
    world.control(json!({ "revoke": true }));
    let call = world.call_without_secrets();
    assert_eq!(call.code, 1, "{call:?}");
    assert!(call.stderr.contains("client_secret"), "{call:?}");
}

#[test]
fn a_wrong_client_secret_is_a_clear_error() {
    let world =
        world!(r#"oauth = { client_id = "preregistered", client_secret = "fake-wrong-secret" }"#);
    let login = world.begin_login();
    browse(&login.url);
    let login = login.end();
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains("invalid_client"), "{login:?}");
    assert_eq!(world.login_files(), Vec::<std::path::PathBuf>::new());
}

/// Many authorization servers give a secret to every client.
#[test]
fn a_client_that_got_a_secret_with_its_registration_refreshes() {
    let world = world!();
    world.control(json!({ "dcr_secret": true }));
    world.log_in();
    world.assert_calls();
    world.control(json!({ "revoke": true }));
    world.assert_calls();
    assert_eq!(world.asked("invalid_client"), 0);
}

#[test]
fn processes_that_refresh_at_once_all_succeed() {
    let world = world!();
    world.control(json!({ "lifetime": 20 }));
    world.log_in();
    world.control(json!({ "lifetime": 3600, "token_delay": 0.2 }));
    let calls: Vec<_> = (0..3).map(|_| world.begin_call()).collect();
    for call in calls {
        let call = call.end();
        assert_eq!((call.code, call.stdout.as_str()), (0, "ada\n"), "{call:?}");
    }
    assert_eq!(world.asked("refresh_token_used_twice"), 0);
    assert_eq!(world.asked("invalid_grant"), 0);
    world.assert_calls();
}

#[test]
fn a_process_that_waits_for_the_refresh_of_another_ends_in_time() {
    let world = world!("start_timeout = 5");
    world.control(json!({ "lifetime": 20 }));
    world.log_in();
    world.control(json!({ "token_delay": ENDLESS_SECONDS }));
    let _first = Gateway::start(&world).begin_call();
    world.wait_for("refresh_token", 1);
    let second = world.call();
    assert_eq!(second.code, 1, "{second:?}");
}

/// The user can do nothing about it with a login.
#[test]
fn an_authorization_server_that_is_down_is_no_reason_for_a_new_login() {
    let world = world!();
    world.log_in();
    world.assert_calls();
    world.control(json!({ "revoke": true, "token_status": 503 }));
    let status = world.narrows(&["servers", "status", "--json"]);
    assert_eq!(status.json()["servers"][0]["health"], "failed", "{status:?}");
    let call = world.call();
    assert_eq!(call.code, 1, "{call:?}");
    assert!(!call.stderr.contains(LOGIN_COMMAND), "{call:?}");
    assert!(call.stderr.contains("refresh"), "{call:?}");
    assert!(!call.stderr.contains("rmcp::"), "a name out of our code: {call:?}");
    world.control(json!({ "token_status": 200 }));
    world.assert_calls();
}

#[test]
fn a_broken_login_file_is_as_good_as_none() {
    let world = world!();
    world.log_in();
    fs::write(&world.login_files()[0], "{\"client_id\":").unwrap();
    let call = world.call();
    assert!(call.stderr.contains(LOGIN_COMMAND), "{call:?}");
    world.log_in();
    world.assert_calls();
}

#[test]
fn a_token_is_not_sent_to_another_address_under_the_same_name() {
    let world = world!();
    world.log_in();
    world.assert_calls();
    let other = world!();
    world.point_at(&other);
    let call = world.call();
    assert!(call.stderr.contains(LOGIN_COMMAND), "{call:?}");
    assert!(other.asked("unauthorized") > 0);
    assert_eq!(other.asked("refused_token"), 0);
}

/// The other tests look for secrets in what is printed as well; this one makes the gateway talk.
#[test]
fn secrets_are_in_no_log() {
    let world =
        world!(r#"oauth = { client_id = "preregistered", client_secret = "${OAUTH_SECRET}" }"#);
    world.control(json!({ "lifetime": 20 }));
    world.log_in();
    world.control(json!({ "lifetime": 3600 }));
    let mut gateway = Gateway::start_with_log(&world, "trace");
    gateway.assert_calls();
    world.control(json!({ "revoke": true }));
    gateway.assert_calls();
    world.control(json!({ "revoke": true, "reject_refresh": true }));
    gateway.call();
    assert_eq!(world.asked("refresh_token"), 3);
    let log = gateway.end();
    assert!(log.contains("DEBUG") && log.contains("TRACE"), "it did not talk: {log}");
    let leaks: Vec<_> = log.lines().filter(|line| line.contains("fake-")).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn a_key_in_a_header_needs_no_login() {
    let world = world!(r#"headers = { Authorization = "Bearer ${STATIC_KEY}" }"#);
    world.control(json!({ "no_metadata": true, "static_key": "fake-static-key" }));
    world.assert_calls();
}

#[test]
fn a_wrong_key_in_a_header_is_named_as_the_reason() {
    let world = world!(r#"headers = { Authorization = "Bearer ${STATIC_KEY}" }"#);
    world.control(json!({ "no_metadata": true, "static_key": "fake-other-key" }));
    let call = world.call();
    assert_eq!(call.code, 1, "{call:?}");
    assert!(call.stderr.contains("Authorization"), "{call:?}");
    assert!(!call.stderr.contains(LOGIN_COMMAND), "a login does not help: {call:?}");
    let status = world.narrows(&["servers", "status"]);
    assert!(status.stdout.contains("Authorization"), "{status:?}");
    assert!(!status.stdout.contains(LOGIN_COMMAND), "a login does not help: {status:?}");
}

#[test]
fn a_scope_that_the_login_does_not_have_is_named() {
    let world = world!();
    world.log_in();
    world.control(json!({ "needed_scope": "admin" }));
    let call = world.call();
    assert_eq!(call.code, 1, "{call:?}");
    assert!(call.stderr.contains("scope") && call.stderr.contains("admin"), "{call:?}");
    assert!(!call.stderr.contains("rmcp::"), "a name out of our code: {call:?}");
}

#[test]
fn a_login_counts_for_the_older_transport() {
    let world = world!();
    world.configure(&format!("url = \"{}\"\ntransport = \"sse\"", world.sse_url()));
    let call = world.call();
    assert!(call.stderr.contains(LOGIN_COMMAND), "{call:?}");
    world.log_in();
    world.assert_calls();
    world.control(json!({ "revoke": true }));
    world.assert_calls();
}

#[test]
fn a_login_counts_when_the_older_transport_is_found_by_trying() {
    let world = world!();
    world.configure(&format!("url = \"{}\"", world.sse_url()));
    world.log_in();
    world.assert_calls();
}

/// Proves that the server of the test speaks the older transport.
#[test]
fn a_key_in_a_header_works_with_the_older_transport() {
    let world = world!();
    world.control(json!({ "no_metadata": true, "static_key": "fake-static-key" }));
    world.configure(&format!(
        "url = \"{}\"\nheaders = {{ Authorization = \"Bearer ${{STATIC_KEY}}\" }}",
        world.sse_url()
    ));
    world.assert_calls();
}
