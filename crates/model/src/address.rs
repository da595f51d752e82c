//! The command or address of a server, written for people and without secrets.

use crate::{Connection, StdioSpec, Template, looks_secret};

/// Programs whose first plain argument names the program that they run.
const LAUNCHERS: [&str; 16] = [
    "npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "deno", "node", "uv",
    "python", "python3", "docker", "podman",
];

/// Options of these programs that have no value.
const SWITCHES: [&str; 7] = ["-y", "--yes", "-q", "--quiet", "-m", "-u", "--silent"];

/// Parts of paths that many services have in common, so that they are not keys.
const PATH_WORDS: [&str; 13] = [
    "mcp", "sse", "api", "v1", "v2", "v3", "http", "stream", "message", "messages", "rpc",
    "server", "servers",
];

impl Connection {
    /// Returns the command or the URL of a server for people. Any argument, any part of a path and any
    /// value can be a secret, so only the parts that identify the server are shown.
    pub fn address(&self) -> String {
        match self {
            Self::Stdio(stdio) => command_line(stdio),
            Self::Http(http) => url(http.url.as_written()),
        }
    }
}

fn command_line(stdio: &StdioSpec) -> String {
    let command = stdio.command.as_written();
    // Some write a whole command line here, arguments included.
    let (program, more) = match command.split_once(char::is_whitespace) {
        Some((program, _)) => (program, " …"),
        None => (command, ""),
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = name.trim_end_matches(".exe").trim_end_matches(".cmd");
    let args: Vec<_> = stdio.args.iter().map(Template::as_written).collect();
    let shown = if LAUNCHERS.contains(&name) && more.is_empty() { shown_args(&args) } else { 0 };
    let mut line = format!("{program}{more}");
    for arg in &args[..shown] {
        line.push(' ');
        line.push_str(arg);
    }
    match args.len() - shown {
        0 => line,
        1 => line + " (and 1 argument)",
        hidden => line + &format!(" (and {hidden} arguments)"),
    }
}

/// Returns how many arguments of a launcher identify the program: its switches and a package or script.
fn shown_args(args: &[&str]) -> usize {
    let switches = args.iter().take_while(|arg| SWITCHES.contains(arg)).count();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@/._-".contains(letter);
    let is_subject = args.get(switches).is_some_and(|arg| {
        let is_plain = !arg.starts_with('-') && arg.len() <= 80 && arg.chars().all(plain);
        is_plain && !looks_secret(arg)
    });
    if is_subject { switches + 1 } else { 0 }
}

/// Returns the scheme, the host, and the parts of the path that are certainly not secrets. User names
/// and passwords, queries and other parts of paths are keys of some services.
fn url(written: &str) -> String {
    let Some((scheme, rest)) = written.split_once("://").filter(|_| !written.starts_with("${"))
    else {
        return variable(written);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    let path = rest[end..].split(['?', '#']).next().unwrap_or_default();
    let mut shown = format!("{scheme}://{host}");
    for word in path.split('/').filter(|word| !word.is_empty()) {
        let word = if PATH_WORDS.contains(&word) { word } else { "…" };
        if word != "…" || !shown.ends_with('…') {
            shown.push('/');
            shown.push_str(word);
        }
    }
    shown
}

/// Returns the name of the variable that an address begins with.
fn variable(written: &str) -> String {
    let Some((name, rest)) = written.strip_prefix("${").and_then(|text| text.split_once('}'))
    else {
        return "(an address)".to_owned();
    };
    let name = name.split(":-").next().unwrap_or(name);
    let more = if rest.is_empty() { "" } else { "…" };
    format!("${{{name}}}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(command: &str, args: &[&str]) -> String {
        let args = args.iter().map(|arg| Template::from(*arg)).collect();
        let spec = StdioSpec { command: command.into(), args, ..StdioSpec::default() };
        Connection::Stdio(spec).address()
    }

    #[test]
    fn what_is_run_is_shown() {
        assert_eq!(stdio("npx", &["-y", "@scope/server-github"]), "npx -y @scope/server-github");
        assert_eq!(stdio("/usr/bin/python3", &["-m", "mcp_x"]), "/usr/bin/python3 -m mcp_x");
        assert_eq!(stdio("my-server", &[]), "my-server");
        assert_eq!(url("http://127.0.0.1:9/mcp"), "http://127.0.0.1:9/mcp");
        assert_eq!(url("https://h.example/api/v1/sse/"), "https://h.example/api/v1/sse");
    }

    #[test]
    fn arguments_and_addresses_that_may_hold_secrets_are_not_shown() {
        for (command, args) in [
            ("my-server", &["s3cret"][..]),
            ("my-server", &["--token", "s3cret"]),
            ("npx", &["-y", "server", "--key=s3cret"]),
            ("npx", &["--token", "s3cret"]),
            ("npx", &["--key=s3cret"]),
            ("docker", &["run", "-e", "KEY=s3cret", "image"]),
            ("node", &["postgres://u:s3cret@h/db"]),
            ("my-server --token s3cret", &[]),
            ("npx -y server", &["s3cret"]),
            ("node", &["sk-live-s3cret-0123456789"]),
        ] {
            let shown = stdio(command, args);
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        assert_eq!(stdio("npx", &["-y", "server", "s3cret"]), "npx -y server (and 1 argument)");
        assert_eq!(url("https://u:s3cret@h.example:8/s3cret?k=s3cret"), "https://h.example:8/…");
        assert_eq!(url("https://h.example/a/s3cret/mcp"), "https://h.example/…/mcp");
        assert_eq!(url("https://h.example/mcp?k=s3cret"), "https://h.example/mcp");
        assert_eq!(url("${URL}"), "${URL}");
        assert_eq!(url("${URL:-https://u:s3cret@h}/mcp"), "${URL}…");
        assert_eq!(url("s3cret"), "(an address)");
    }
}
