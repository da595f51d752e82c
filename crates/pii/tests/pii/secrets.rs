//! Keys, tokens and private keys. They are put together here, so that no scanner of repositories
//! takes them for real ones.

use crate::vault::{Chance, found, found_under};

const HEX: &str = "0123456789abcdef";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const WORD: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

#[test]
fn keys_of_services_by_their_beginning() {
    let mut chance = Chance::new(1);
    for (prefix, alphabet, length) in [
        ("gh", WORD, 0),
        ("ghp_", WORD, 36),
        ("github_pat_", WORD, 82),
        ("glpat-", WORD, 20),
        ("AKIA", CAPITALS, 16),
        ("AIza", WORD, 35),
        ("sk-ant-api03-", WORD, 95),
        ("sk-proj-", WORD, 120),
        ("sk_live_", WORD, 24),
        ("xoxb-", WORD, 40),
        ("hf_", LETTERS, 34),
        ("npm_", WORD, 36),
        ("dop_v1_", HEX, 64),
        ("shpat_", HEX, 32),
        ("SK", HEX, 32),
        ("SG.", WORD, 66),
        ("hvs.", WORD, 95),
        ("lin_api_", WORD, 40),
        ("AGE-SECRET-KEY-1", CAPITALS, 58),
    ] {
        let key = format!("{prefix}{}", chance.text(alphabet, length));
        let expected = if length == 0 { vec![] } else { vec![format!("API_KEY {key}")] };
        assert_eq!(found(&format!("use {key} here")), expected);
        assert_eq!(found(&format!("export KEY=\"{key}\"\n")), expected);
        assert_eq!(found(&format!(r#"first line\n{key}\n"#)), expected);
    }
}

#[test]
fn keys_by_their_label() {
    let mut chance = Chance::new(2);
    let key = chance.text(WORD, 30);
    for text in [
        format!("api_key = \"{key}\""),
        format!("\"apiKey\": \"{key}\""),
        format!("{{\\\"client_secret\\\": \\\"{key}\\\"}}"),
        format!("AWS_SECRET_ACCESS_KEY={key}"),
        format!("x-api-key: {key}"),
        format!("Authorization: Bearer {key}"),
        format!("https://example.com/a?access_token={key}&x=1"),
        format!("datadog: '{key}'"),
        format!("'auth_token': '{key}'"),
    ] {
        assert_eq!(found(&text), [format!("API_KEY {key}")], "in {text:?}");
    }
    assert_eq!(found_under(&key, Some("accessToken")), [format!("API_KEY {key}")]);
    assert_eq!(found_under("hunter2", Some("password")), ["API_KEY hunter2"]);
    assert_eq!(found("password=hunter2 next"), ["API_KEY hunter2"]);
    assert_eq!(found("{'password': 'correcthorse'}"), ["API_KEY correcthorse"]);
    assert_eq!(found("password: see below"), Vec::<String>::new());
    assert_eq!(found_under(&key, Some("commit")), Vec::<String>::new());
}

#[test]
fn json_web_tokens() {
    let mut chance = Chance::new(3);
    let part = |chance: &mut Chance| chance.text(WORD, 40);
    let token = format!("eyJ{}.eyJ{}.{}", part(&mut chance), part(&mut chance), part(&mut chance));
    assert_eq!(found(&format!("token {token}.")), [format!("JWT {token}")]);
    assert_eq!(found("eyJabc"), Vec::<String>::new());
}

fn private_key(line_break: &str) -> String {
    let mut chance = Chance::new(4);
    let mut key = format!("-----BEGIN RSA {} KEY-----{line_break}", "PRIVATE");
    for _ in 0..25 {
        key.push_str(&chance.text(WORD, 64));
        key.push_str(line_break);
    }
    key.push_str("Ag==");
    key.push_str(line_break);
    key
}

#[test]
fn private_keys_over_lines_or_with_line_breaks_written_out() {
    for line_break in ["\n", "\r\n", "\\n"] {
        let key = format!("{}-----END RSA {} KEY-----", private_key(line_break), "PRIVATE");
        let text = format!("before {key} after ada@example.com");
        assert_eq!(
            found(&text),
            [format!("PRIVATE_KEY {key}"), "EMAIL ada@example.com".to_owned()]
        );
    }
}

#[test]
fn a_private_key_that_is_cut_off_is_one_as_far_as_it_goes() {
    let key = private_key("\n");
    let text = format!("{key}and more text follows");
    let found = found(&text);
    assert_eq!(found.len(), 1);
    assert!(found[0].trim_end().ends_with("Ag=="), "{}", &found[0][found[0].len() - 40..]);
}
