//! How a server is started, in words that show no secrets.

use narrows_model::{Connection, StdioSpec, Template};
use serde::Serialize;

/// Programs whose first plain argument says what they run.
const LAUNCHERS: [&str; 16] = [
    "npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "deno", "node", "uv",
    "python", "python3", "docker", "podman",
];

/// Their options that have no value.
const SWITCHES: [&str; 7] = ["-y", "--yes", "-q", "--quiet", "-m", "-u", "--silent"];

/// What may be shown of a server. Of its settings only the names: any argument, any part of an
/// address and every value can be a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) start: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) env: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<String>,
}

impl Summary {
    pub(crate) fn of(connection: &Connection) -> Self {
        match connection {
            Connection::Stdio(stdio) => Self {
                start: command_line(stdio),
                env: stdio.env.keys().cloned().collect(),
                headers: Vec::new(),
            },
            Connection::Http(http) => Self {
                start: origin(http.url.as_written()),
                env: Vec::new(),
                headers: http.headers.keys().cloned().collect(),
            },
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

/// How many arguments of a launcher say what it runs: its switches and a package or script.
fn shown_args(args: &[&str]) -> usize {
    let switches = args.iter().take_while(|arg| SWITCHES.contains(arg)).count();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@/._-".contains(letter);
    let is_subject = args
        .get(switches)
        .is_some_and(|arg| !arg.starts_with('-') && arg.len() <= 80 && arg.chars().all(plain));
    if is_subject { switches + 1 } else { 0 }
}

/// Scheme and host. The path and the rest are keys of some services.
fn origin(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "(an address)".to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    let path = if rest[end..].len() > 1 { "/…" } else { "" };
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(command: &str, args: &[&str]) -> String {
        let args = args.iter().map(|arg| Template::from(*arg)).collect();
        let spec = StdioSpec { command: command.into(), args, ..StdioSpec::default() };
        Summary::of(&Connection::Stdio(spec)).start
    }

    #[test]
    fn what_is_run_is_shown() {
        assert_eq!(stdio("npx", &["-y", "@scope/server-github"]), "npx -y @scope/server-github");
        assert_eq!(stdio("/usr/bin/python3", &["-m", "mcp_x"]), "/usr/bin/python3 -m mcp_x");
        assert_eq!(stdio("my-server", &[]), "my-server");
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
        ] {
            let shown = stdio(command, args);
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        assert_eq!(stdio("npx", &["-y", "server", "s3cret"]), "npx -y server (and 1 argument)");
        assert_eq!(origin("https://u:s3cret@h.example:8/s3cret?k=s3cret"), "https://h.example:8/…");
        assert_eq!(origin("${URL}"), "(an address)");
    }
}
