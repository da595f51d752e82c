//! The test data of the repository, all of it of our own writing; `tests/data/generate.py` says how
//! it is made.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the top of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns where the tools of the made-up servers are: one `tools/list` result for each.
pub fn catalog_directory() -> PathBuf {
    file("catalog")
}

/// Reads the tools of the made-up servers, by server.
pub fn catalog() -> Vec<(String, Vec<Value>)> {
    let entries = std::fs::read_dir(catalog_directory()).unwrap();
    let mut servers: Vec<(String, Vec<Value>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, json(&path)["tools"].as_array().unwrap().clone())
        })
        .collect();
    servers.sort_by(|a, b| a.0.cmp(&b.0));
    // A test that goes through all tools must not pass because there are hardly any.
    assert!(
        servers.len() >= 40 && servers.iter().map(|(_, tools)| tools.len()).sum::<usize>() >= 400
    );
    servers
}

/// Reads tools and labelled queries: `{"tools": […], "queries": […], "unanswerable": […]}`.
pub fn labelled_queries() -> Value {
    json(&labelled_queries_file())
}

/// Returns where the labelled queries are.
pub fn labelled_queries_file() -> PathBuf {
    file("queries.json")
}

/// Reads the texts in which personal data is labelled: `[{"full_text": …, "spans": […]}]`.
pub fn labelled_texts() -> Value {
    json(&file("pii.json"))
}

/// Reads outputs of tools and programs in which there is nothing to protect, by name.
pub fn innocuous_outputs() -> Vec<(String, String)> {
    let mut outputs = Vec::new();
    for entry in std::fs::read_dir(file("innocuous")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split("\n=== ") {
            let (name, output) = part.trim_start_matches("=== ").split_once('\n').unwrap();
            outputs.push((name.to_owned(), output.to_owned()));
        }
    }
    assert!(outputs.len() >= 300, "only {} outputs", outputs.len());
    outputs
}

fn file(name: &str) -> PathBuf {
    repository().join("tests/data").join(name)
}

fn json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::skip;

    #[test]
    fn the_data_is_what_its_source_says() {
        let script = file("generate.py");
        let Ok(output) = Command::new("python3").arg(script).arg("--check").output() else {
            skip("python3", "install Python 3.11 or newer");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
