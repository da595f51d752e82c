//! `narrows servers login`: what the user and the browser meet, and what must not happen.
#![cfg(unix)]
#![allow(clippy::print_stderr)]

use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::support::oauth::{ENDLESS_SECONDS, LOGIN_COMMAND, browse, browse_with, world};

#[test]
fn without_registration_the_user_is_told_to_set_a_client_id() {
    let world = world!();
    world.control(json!({ "no_dcr": true }));
    let login = world.narrows(&["servers", "login", "guarded", "--no-browser"]);
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains("client_id"), "{login:?}");
}

#[test]
fn a_user_who_says_no_is_not_logged_in() {
    let world = world!();
    world.control(json!({ "deny": true }));
    let login = world.begin_login();
    let page = browse(&login.url);
    let login = login.end();
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains("access_denied"), "{login:?}");
    assert!(login.stderr.contains("the user said no"), "{login:?}");
    assert!(!page.to_lowercase().contains("logged in"), "{page}");
    assert_eq!(world.login_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_audit_says_who_logged_in_to_which_server_or_tried_to() {
    let world = world!();
    world.control(json!({ "deny": true }));
    let login = world.begin_login();
    browse(&login.url);
    assert_eq!(login.end().code, 1);
    world.control(json!({ "deny": false }));
    world.log_in();
    let found = world.narrows(&["audit", "search", "--json", "--action", "login"]).json();
    let of = |entry: &Value| ["principal", "target", "outcome"].map(|field| entry[field].clone());
    let entries: Vec<_> = found["entries"].as_array().unwrap().iter().map(of).collect();
    let expected = ["ok", "failed"].map(|outcome| ["local", "guarded", outcome].map(Value::from));
    assert_eq!(entries, expected, "newest first");
}

#[test]
fn an_answer_to_another_login_is_refused() {
    let world = world!();
    world.control(json!({ "wrong_state": true }));
    let login = world.begin_login();
    browse(&login.url);
    let login = login.end();
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains("another login"), "{login:?}");
    assert!(!login.stderr.contains("Internal error"), "{login:?}");
    assert_eq!(world.asked("authorization_code"), 0, "the code was used");
}

#[test]
fn an_answer_of_another_authorization_server_is_refused() {
    let world = world!();
    world.control(json!({ "wrong_issuer": true }));
    let login = world.begin_login();
    browse(&login.url);
    let login = login.end();
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains("issuer"), "{login:?}");
    assert_eq!(world.asked("authorization_code"), 0, "the code was used");
}

#[test]
fn a_login_that_fails_leaves_the_one_before_it() {
    let world = world!();
    world.log_in();
    world.control(json!({ "deny": true }));
    let login = world.begin_login();
    browse(&login.url);
    assert_eq!(login.end().code, 1);
    world.assert_calls();
}

#[test]
fn a_server_that_does_not_say_where_to_log_in_is_a_clear_error() {
    let world = world!();
    world.control(json!({ "no_metadata": true }));
    let login = world.narrows(&["servers", "login", "guarded", "--no-browser"]);
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains("does not say where to log in"), "{login:?}");
    assert!(login.stderr.contains("headers"), "{login:?}");
}

#[test]
fn logging_out_removes_the_login() {
    let world = world!();
    world.log_in();
    world.assert_calls();
    let logout = world.narrows(&["servers", "login", "guarded", "--logout"]);
    assert_eq!(logout.code, 0, "{logout:?}");
    assert_eq!(world.login_files(), Vec::<std::path::PathBuf>::new());
    let call = world.call();
    assert!(call.stderr.contains(LOGIN_COMMAND), "{call:?}");
    let logout = world.narrows(&["servers", "login", "guarded", "--logout"]);
    assert!(logout.stderr.contains("was not there"), "{logout:?}");
}

#[test]
fn a_command_has_no_login() {
    let world = world!();
    world.configure("command = \"true\"");
    let login = world.narrows(&["servers", "login", "guarded", "--no-browser"]);
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains("only HTTP servers have logins"), "{login:?}");
}

#[test]
fn interrupting_a_login_that_waits_for_the_browser_ends_it() {
    let world = world!();
    let login = world.begin_login();
    login.interrupt();
    let login = login.end();
    assert_eq!(login.code, 130, "{login:?}");
}

#[test]
fn interrupting_a_login_that_waits_for_the_server_ends_it() {
    let world = world!();
    world.control(json!({ "token_delay": ENDLESS_SECONDS }));
    let login = world.begin_login();
    browse(&login.url);
    world.wait_for("authorization_code", 1);
    login.interrupt();
    let login = login.end();
    assert_eq!(login.code, 130, "{login:?}");
    assert_eq!(world.login_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_browser_comes_back_to_the_port_that_is_configured() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let world = world!();
    world.configure(&format!("url = \"{}\"\noauth = {{ redirect_port = {port} }}", world.url()));
    world.log_in();
    assert_eq!(world.redirects(), [format!("http://127.0.0.1:{port}/callback")]);
}

#[test]
fn a_configured_port_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let world = world!();
    world.configure(&format!("url = \"{}\"\noauth = {{ redirect_port = {port} }}", world.url()));
    let login = world.narrows(&["servers", "login", "guarded", "--no-browser"]);
    assert_eq!(login.code, 1, "{login:?}");
    assert!(login.stderr.contains(&port.to_string()), "{login:?}");
}

/// Browsers open connections ahead of what they may ask for.
#[test]
fn a_connection_that_says_nothing_does_not_hold_up_the_login() {
    let world = world!();
    let login = world.begin_login();
    let silent = TcpStream::connect(("127.0.0.1", login.callback_port())).unwrap();
    browse(&login.url);
    let login = login.end();
    assert_eq!(login.code, 0, "{login:?}");
    drop(silent);
    world.assert_calls();
}

/// Cookies are shared by all ports of an address, and there may be many.
#[test]
fn a_browser_with_many_cookies_gets_its_page() {
    let world = world!();
    let login = world.begin_login();
    let cookies = format!("Cookie: {}\r\n", "a=0123456789; ".repeat(2000));
    let page = browse_with(&login.url, &cookies);
    assert!(page.contains("You can close this page"), "{page}");
    assert_eq!(login.end().code, 0);
}

#[test]
fn configured_scopes_are_asked_for() {
    let world = world!(r#"oauth = { scopes = ["read", "write"] }"#);
    world.log_in();
    assert_eq!(world.scopes(), [Some("read write".to_owned())]);
    world.assert_calls();
}
