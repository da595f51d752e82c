//! The instructions that a client's model gets about the gateway at `initialize`. They are read with
//! every request, so each word counts; `narrows bench tokens` has the budget.

/// How many servers are named, and how long their names may be together.
const MAX_SERVERS: usize = 24;
const MAX_SERVER_CHARS: usize = 320;

/// Writes the instructions for a gateway with these servers, by the modules that programs import.
pub(crate) fn instructions<'a>(modules: impl IntoIterator<Item = &'a str>) -> String {
    format!(
        "Write Python with execute_code to use the tools of all connected servers ({}): search_tools \
         finds them, `from servers.NAME import tool` imports them, every tool call is awaited. Filter \
         data in the code, and return only what is needed. There is the standard library and no other \
         package; programs also have `await sql(query, t=rows_or_file)` and `await analyze(type, \
         rows_or_file)` for tables, read_file and write_file for /workspace, save_skill for code to \
         reuse; session_id keeps variables.",
        named(&modules.into_iter().collect::<Vec<_>>())
    )
}

/// Lists as many names as there is room for, and how many more there are.
fn named(modules: &[&str]) -> String {
    let mut chars = 0;
    let fitting = modules.iter().take(MAX_SERVERS).take_while(|module| {
        chars += module.chars().count() + 2;
        chars <= MAX_SERVER_CHARS
    });
    let shown: Vec<&str> = fitting.copied().collect();
    match (shown.len(), modules.len() - shown.len()) {
        (_, 0) if modules.is_empty() => "none yet".to_owned(),
        (_, 0) => shown.join(", "),
        (0, all) => format!("{all} of them"),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_abilities_are_named() {
        let text = instructions(["github", "slack"]);
        for part in [
            "(github, slack)",
            "standard library and no other package",
            "await sql(",
            "await analyze(",
            "read_file",
            "write_file",
            "save_skill",
            "session_id",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(instructions([]).contains("(none yet)"));
    }

    #[test]
    fn many_or_long_names_take_no_more_room() {
        let many: Vec<String> = (0..500).map(|n| format!("server_{n}")).collect();
        let text = instructions(many.iter().map(String::as_str));
        assert!(text.contains("server_0, ") && text.contains(" and 476 more)"), "{text}");
        let long = "x".repeat(5_000);
        assert!(instructions([long.as_str()]).contains("(1 of them)"));
        assert!(text.len() < 1_200, "{}", text.len());
    }
}
