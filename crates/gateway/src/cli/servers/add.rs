//! `narrows servers add`: a command or an address, written as other clients have it.

use std::collections::BTreeMap;

use anyhow::bail;
use clap::{Args, CommandFactory, Parser, ValueEnum, builder::StyledStr};
use narrows_model::{Connection, Expose, HttpSpec, HttpTransport, StdioSpec, Template};
use serde_json::json;

use crate::{
    app::{AppContext, Exit, GlobalArgs},
    cli::Cli,
    config::{ConfigEdit, Existing, ServerEntry, valid_name},
    printer::Printer,
};

pub(super) const AFTER_HELP: &str = "\
Options stand before the command: what follows it, belongs to it. `--` before the command may be
left out. '${NAME}' in a value is filled in from the environment when the server starts.

Examples:
  narrows servers add files npx -y @modelcontextprotocol/server-filesystem ~/notes
  narrows servers add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' github-mcp-server stdio
  narrows servers add linear https://mcp.linear.app/mcp
  narrows servers add api https://api.example.com/mcp --header 'Authorization: Bearer ${API_KEY}'";

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// What it is called here: letters, digits, `_`, `.` and `-`
    name: String,
    #[command(flatten)]
    options: AddOptions,
    /// The address of a server over HTTP
    #[arg(long, conflicts_with = "target")]
    url: Option<String>,
    /// The address, or the command that starts the server with its arguments
    #[arg(
        value_name = "URL | COMMAND",
        required_unless_present = "url",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    target: Vec<String>,
}

#[derive(Debug, Default, Args)]
struct AddOptions {
    /// A header for every request, as 'NAME: VALUE' or NAME=VALUE
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    headers: Vec<(String, String)>,
    /// How it is reached: http or sse for an address (auto tries both), stdio for a command
    #[arg(short, long, value_enum)]
    transport: Option<TransportArg>,
    /// A variable of the server's environment, as NAME=VALUE
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// A variable of the gateway's environment that the server is given too (AWS_* for several)
    #[arg(long = "inherit-env", value_name = "NAME")]
    inherit_env: Vec<String>,
    /// How agents reach its tools: code, direct, both or auto
    #[arg(long, value_parser = expose)]
    expose: Option<Expose>,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
}

/// Options after an address, where other clients have them.
#[derive(Debug, Parser)]
#[command(name = "narrows servers add NAME URL", no_binary_name = true, disable_help_flag = true)]
struct OptionsAfterUrl {
    #[command(flatten)]
    options: AddOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TransportArg {
    Auto,
    #[value(alias = "streamable-http")]
    Http,
    Sse,
    Stdio,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once([':', '=']).ok_or("write it as 'NAME: VALUE'")?;
    Ok((name.trim().to_owned(), value.trim_start().to_owned()))
}

fn expose(text: &str) -> Result<Expose, String> {
    serde_json::from_value(json!(text))
        .map_err(|_| "it must be code, direct, both or auto".to_owned())
}

pub(super) fn run(args: AddArgs, at: &GlobalArgs, printer: Printer) -> anyhow::Result<Exit> {
    if wants_help(&args) {
        printer.help(&help());
        return Ok(Exit::Success);
    }
    let name = args.name.clone();
    if valid_name(&name) != name {
        bail!("{name:?} is not a name for a server; use {:?}", valid_name(&name));
    }
    let (connection, options) = match connection(args) {
        Ok(read) => read,
        Err(reason) => {
            printer.error(reason);
            return Ok(Exit::WrongUse);
        }
    };
    let entry =
        ServerEntry { expose: options.expose, ..ServerEntry::new(name.clone(), connection) };
    let existing = if options.force { Existing::Replace } else { Existing::Refuse };
    let (_, source) = AppContext::find(at)?;
    let mut edit = ConfigEdit::open(source.path())?;
    edit.add(&entry, existing)?;
    edit.save()?;
    let path = source.path();
    printer
        .note(format!("{name:?} is in {}; try it: narrows servers status {name}", path.display()));
    Ok(Exit::Success)
}

/// Tells whether help is asked for after an address. After a command, `--help` is the command's own
/// option.
fn wants_help(args: &AddArgs) -> bool {
    let Some((first, after)) = args.target.split_first() else { return false };
    is_address(first, &args.options) && after.iter().any(|word| word == "--help" || word == "-h")
}

/// Returns what `narrows servers add --help` prints.
fn help() -> StyledStr {
    let mut command = Cli::command();
    command.build();
    let servers = command.find_subcommand_mut("servers");
    let add = servers.and_then(|servers| servers.find_subcommand_mut("add"));
    add.map(|add| add.render_help()).unwrap_or_default()
}

/// Parses the address or the command of the server; the error is the reason if it is neither.
fn connection(args: AddArgs) -> Result<(Connection, AddOptions), String> {
    let AddArgs { mut options, url, target, .. } = args;
    let address = url.or_else(|| target.first().filter(|word| is_address(word, &options)).cloned());
    let Some(address) = address else {
        return Ok((command(&target, &options)?, options));
    };
    let after = target.get(1..).unwrap_or_default();
    let after =
        OptionsAfterUrl::try_parse_from(after).map_err(|error| after_url_reason(&error))?.options;
    options.headers.extend(after.headers);
    options.env.extend(after.env);
    options.inherit_env.extend(after.inherit_env);
    options.transport = options.transport.or(after.transport);
    options.expose = options.expose.or(after.expose);
    options.force |= after.force;
    let transport = match options.transport {
        None | Some(TransportArg::Auto) => HttpTransport::Auto,
        Some(TransportArg::Http) => HttpTransport::Http,
        Some(TransportArg::Sse) => HttpTransport::Sse,
        Some(TransportArg::Stdio) => {
            return Err("--transport stdio is for a command, and this is an address".to_owned());
        }
    };
    if !options.env.is_empty() || !options.inherit_env.is_empty() {
        return Err("--env is for a command, and this is an address; use --header".to_owned());
    }
    let headers = templates(&options.headers);
    let spec = HttpSpec { url: Template::new(address), headers, transport, ..HttpSpec::default() };
    Ok((Connection::Http(spec), options))
}

/// Tells whether a word is an address: it begins with a scheme, or with a variable where `--transport`
/// says that it is one.
fn is_address(word: &str, options: &AddOptions) -> bool {
    let is_http = matches!(
        options.transport,
        Some(TransportArg::Auto | TransportArg::Http | TransportArg::Sse)
    );
    ["http://", "https://"].iter().any(|scheme| {
        word.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    }) || (is_http && word.starts_with("${"))
}

fn command(words: &[String], options: &AddOptions) -> Result<Connection, String> {
    let Some((command, rest)) = words.split_first() else {
        return Err("give the address of the server, or the command that starts it".to_owned());
    };
    if command.starts_with('-') {
        return Err(format!("{command} is neither an option here nor a command"));
    }
    if let Some(TransportArg::Auto | TransportArg::Http | TransportArg::Sse) = options.transport {
        return Err(format!(
            "{command:?} is no address for --transport; write https:// before the host"
        ));
    }
    if !options.headers.is_empty() {
        return Err("--header is for an address, and this is a command; use --env".to_owned());
    }
    Ok(Connection::Stdio(StdioSpec {
        command: Template::new(command),
        args: rest.iter().map(Template::new).collect(),
        env: templates(&options.env),
        inherit_env: options.inherit_env.clone(),
        cwd: None,
    }))
}

fn templates(pairs: &[(String, String)]) -> BTreeMap<String, Template> {
    pairs.iter().map(|(name, value)| (name.clone(), Template::new(value))).collect()
}

/// Returns the first paragraph of clap's error, without its label.
fn after_url_reason(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    format!("after the address: {}", first.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        args: AddArgs,
    }

    #[track_caller]
    fn parse(line: &[&str]) -> Result<(Connection, AddOptions), String> {
        connection(Line::try_parse_from(line).unwrap().args)
    }

    #[track_caller]
    fn stdio(line: &[&str]) -> StdioSpec {
        match parse(line).unwrap().0 {
            Connection::Stdio(stdio) => stdio,
            Connection::Http(_) => panic!("{line:?}"),
        }
    }

    #[track_caller]
    fn http(line: &[&str]) -> HttpSpec {
        match parse(line).unwrap().0 {
            Connection::Http(http) => http,
            Connection::Stdio(_) => panic!("{line:?}"),
        }
    }

    #[test]
    fn a_command_is_the_same_with_and_without_dashes() {
        let expected = StdioSpec {
            command: "npx".into(),
            args: vec!["-y".into(), "server".into(), "--env".into(), "x".into()],
            env: [("A".to_owned(), "b=c".into())].into(),
            ..StdioSpec::default()
        };
        for line in [
            &["files", "--env", "A=b=c", "npx", "-y", "server", "--env", "x"][..],
            &["files", "-e", "A=b=c", "--", "npx", "-y", "server", "--env", "x"],
            &["-e", "A=b=c", "-t", "stdio", "files", "npx", "-y", "server", "--env", "x"],
        ] {
            assert_eq!(stdio(line), expected, "{line:?}");
        }
        // What stands after the command is its own.
        assert_eq!(stdio(&["a", "run", "--", "--force"]).args.len(), 2);
    }

    #[test]
    fn an_address_takes_its_options_before_and_after_it() {
        let expected = HttpSpec {
            url: "https://h.example/mcp".into(),
            headers: [("X-Key".to_owned(), "a: b".into())].into(),
            transport: HttpTransport::Http,
            ..HttpSpec::default()
        };
        for line in [
            &["-t", "http", "a", "https://h.example/mcp", "--header", "X-Key: a: b"][..],
            &["a", "--transport", "http", "--url", "https://h.example/mcp", "-H", "X-Key=a: b"],
            &["a", "https://h.example/mcp", "-H", "X-Key:a: b", "--transport", "streamable-http"],
        ] {
            assert_eq!(http(line), expected, "{line:?}");
        }
        assert_eq!(http(&["a", "-t", "sse", "${URL}"]).url, "${URL}".into());
        assert!(parse(&["a", "https://h.example", "--force"]).unwrap().1.force);
    }

    #[test]
    fn help_after_an_address_is_ours_and_after_a_command_its_own() {
        let wants = |line: &[&str]| wants_help(&Line::try_parse_from(line).unwrap().args);
        assert!(wants(&["a", "https://h.example/mcp", "--help"]));
        assert!(wants(&["a", "https://h.example/mcp", "-t", "http", "-h"]));
        assert!(!wants(&["a", "npx", "server", "--help"]));
        assert!(!wants(&["a", "https://h.example/mcp"]));
        let help = help().to_string();
        assert!(
            help.contains("Usage: narrows servers add") && help.contains("Examples:"),
            "{help}"
        );
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_a_reason() {
        for (line, reason) in [
            (&["a", "-t", "http", "h.example/mcp"][..], "write https:// before the host"),
            (&["a", "-t", "stdio", "https://h.example"], "stdio is for a command"),
            (&["a", "-e", "A=b", "https://h.example"], "--env is for a command"),
            (&["a", "-H", "A: b", "server"], "--header is for an address"),
            (&["a", "https://h.example", "--headr", "A: b"], "--headr"),
            (&["a", "--evn", "A=b", "server"], "--evn is neither an option"),
            (&["a", "https://h.example", "more"], "after the address"),
        ] {
            let told = parse(line).unwrap_err();
            assert!(told.contains(reason), "{line:?}: {told}");
        }
        assert!(Line::try_parse_from(["a"]).is_err());
        assert!(Line::try_parse_from(["a", "-e", "A", "server"]).is_err());
    }
}
