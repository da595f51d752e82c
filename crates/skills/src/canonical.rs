//! The canonical form of JSON, for hashes and signatures: keys sorted by their bytes, no spaces,
//! numbers and text as `serde_json` writes them.

use ring::digest::{SHA256, digest};
use serde_json::Value;

use narrows_model::hex;

/// Writes a value in canonical form. Parsed JSON is at most 128 levels deep, so that recursion is
/// bounded.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// Returns the SHA-256 hash in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_value_has_one_text() {
        let value = json!({"b": [1, 2.5, {"z": null, "a": "é\n"}], "a": {"y": true, "x": "\""}});
        let text = r#"{"a":{"x":"\"","y":true},"b":[1,2.5,{"a":"é\n","z":null}]}"#;
        assert_eq!(canonical(&value), text);
        let again: Value = serde_json::from_str(text).unwrap_or_default();
        assert_eq!(canonical(&again), text);
    }

    #[test]
    fn hashes_are_sha_256() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), known);
    }
}
