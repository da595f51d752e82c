//! `narrows run`: one program, from a file, an argument or standard input.

use std::{
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use futures::future::BoxFuture;
use narrows_engine::{
    Audience, Background, OutputUse, RunClient, RunRequest, RunWorkspace,
    safety::{ASKER, choices_of, chosen},
};
use narrows_model::{Ending, Excerpt, Limits, Outcome, OutputStream, Program};
use narrows_sandbox::Workspace;
use narrows_upstream::Caller;
use rmcp::{
    ErrorData,
    model::{ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationCapability},
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::ending;
use crate::{
    app::{self, AppContext, Exit},
    cli::waiting::WaitingLine,
    printer::Printer,
};

/// The longest program. Anything longer is data, which belongs into the workspace.
const MAX_SOURCE_BYTES: u64 = 8 << 20;

/// The answer of `--yes` to each call.
const ONCE: &str = "once";

/// Python's keywords, which cannot be names of variables.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

pub(crate) const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 the program failed, 2 wrong use, 3 a limit ended it, 130 interrupted, 141
nobody reads its output any more.

Examples:
  narrows run -c 'result = sum(range(10))'
  narrows run report.py --context '{\"user_id\": 7}' --workspace ./data
  echo 'print(1 + 1)' | narrows run --json";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The program's file; `-` or nothing for standard input
    #[arg(conflicts_with = "code")]
    file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'c', long, value_name = "CODE", allow_hyphen_values = true)]
    code: Option<String>,
    /// A JSON object whose entries become variables of the program
    #[arg(long, value_name = "JSON", value_parser = parse_context)]
    context: Option<Map<String, Value>>,
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, help = timeout_help())]
    timeout: Option<Duration>,
    /// How much memory it may use, in megabytes; by default what the isolation level gives
    #[arg(long, value_name = "MB")]
    memory: Option<u64>,
    /// A directory that the program sees as /workspace; by default the agent's own
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Run it as this agent, in its workspace: one of [agents] in narrows.toml, or `local`
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Keep its variables for the next program of this session, as a notebook does
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Run it at this isolation level, if that is stricter than the agent's own
    #[arg(long, value_name = "LEVEL")]
    isolation: Option<String>,
    /// Show tokens instead of personal data, as an agent is shown them
    #[arg(long)]
    protect: bool,
    /// Allow calls that a person has to approve
    #[arg(long)]
    yes: bool,
    /// Print the outcome as one JSON document when the program has ended
    #[arg(long)]
    json: bool,
}

fn timeout_help() -> String {
    let (min, max) = (Limits::MIN_SECONDS, Limits::MAX_SECONDS);
    let default = Limits::default().wall_time.as_secs();
    format!(
        "How long it may run, in seconds ({min} to {max}); by default what the isolation level \
         gives, {default}"
    )
}

pub(crate) async fn run(
    args: RunArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let json = args.json;
    let principal = match setting.principal(args.agent.as_deref()) {
        Ok(principal) => principal,
        Err(error) => {
            printer.error(error.to_string());
            return Ok(Exit::WrongUse);
        }
    };
    let interrupted = app::interruption();
    let mut person = TerminalCaller::new(printer, args.yes, interrupted.clone());
    person.prints = !json;
    // An approval can hold for all programs of a session.
    let home = &principal.home;
    person.session = args.session.as_ref().map(|session| format!("session-{home}/{session}"));
    let person = Arc::new(person);
    let request = match request(args, &setting, interrupted) {
        Ok(request) => request,
        Err(error) => {
            printer.error(format!("{error:#}"));
            return Ok(Exit::WrongUse);
        }
    };
    let broker = setting.broker()?;
    let engine = setting.engine(broker.clone(), &Background::default())?;
    let agent = engine.agent(Arc::new(principal));
    let running = engine.execute(&agent, request, Arc::clone(&person) as _);
    let finished = WaitingLine::for_servers(&broker, printer).during(running).await;
    let lost_audit = ending::finish(&engine, &agent, printer).await;
    match finished {
        Ok(finished) => {
            let (mut outcome, _) = finished.into_parts();
            outcome.notes.splice(0..0, Excerpt::note(&outcome.excerpts));
            outcome.notes.extend(lost_audit);
            if json {
                printer.json(&outcome);
            } else if !printer.is_closed() {
                if person.open_line.load(Ordering::Relaxed) {
                    printer.line("");
                }
                show(&outcome, printer);
            }
            Ok(exit(&outcome))
        }
        Err(refusal) if refusal.is_wrong_use() => {
            printer.error(refusal.to_string());
            Ok(Exit::WrongUse)
        }
        Err(refusal) => Err(refusal.into()),
    }
}

fn request(
    args: RunArgs,
    setting: &AppContext,
    cancel: CancellationToken,
) -> anyhow::Result<RunRequest> {
    let (name, source) = match (args.code, args.file) {
        (Some(code), _) => ("<code>".to_owned(), code),
        (None, Some(file)) if file != Path::new("-") => {
            let name = file.file_name().map_or("main.py".into(), |name| name.to_string_lossy());
            let source = std::fs::File::open(&file).and_then(read_text);
            let source = source.with_context(|| format!("cannot read {}", file.display()))?;
            (name.into_owned(), source)
        }
        _ if io::stdin().is_terminal() => {
            bail!(
                "no program: name a file, or use -c CODE, or pipe one in (see narrows run --help)"
            )
        }
        _ => {
            let source = read_text(io::stdin()).context("cannot read standard input")?;
            ("<stdin>".to_owned(), source)
        }
    };
    let workspace = match args.workspace {
        Some(path) => RunWorkspace::Given(Workspace::open(path, &setting.config.limits)?),
        None => RunWorkspace::Own,
    };
    Ok(RunRequest {
        program: Program { name, source, context: args.context.unwrap_or_default() },
        timeout: args.timeout,
        memory_bytes: args.memory.map(|megabytes| megabytes.saturating_mul(1 << 20)),
        session: args.session,
        isolation: args.isolation,
        workspace,
        output: if args.json { OutputUse::Kept } else { OutputUse::Streamed },
        audience: Audience::Person { protect: args.protect },
        cancel,
        ..RunRequest::default()
    })
}

fn read_text(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let length = source.take(MAX_SOURCE_BYTES + 1).read_to_string(&mut text)?;
    if length as u64 > MAX_SOURCE_BYTES {
        let message = format!("a program may have {} MB at most", MAX_SOURCE_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

fn parse_context(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(context)) => match context.keys().find(|name| !is_identifier(name)) {
            None => Ok(context),
            Some(name) => Err(format!("{name:?} cannot be the name of a Python variable")),
        },
        Ok(other) => {
            Err(format!("it must be a JSON object such as {{\"user_id\": 7}}, not {other}"))
        }
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

fn is_identifier(name: &str) -> bool {
    if KEYWORDS.contains(&name) {
        return false;
    }
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "it must be a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "it must be a number of seconds".to_owned())
}

/// Shows the result after the output, or the reason why there is none.
fn show(outcome: &Outcome, printer: Printer) {
    match &outcome.result {
        Value::Null => {}
        Value::String(text) => printer.line(text),
        result => match serde_json::to_string_pretty(result) {
            Ok(text) => printer.line(text),
            Err(error) => printer.error(error.to_string()),
        },
    }
    for note in &outcome.notes {
        printer.note(note);
    }
    match &outcome.ending {
        Ending::Failed(failure) if !failure.traceback.is_empty() => {
            printer.output(OutputStream::Stderr, &failure.traceback);
        }
        Ending::Limit(_, failure) if !failure.traceback.is_empty() => {
            printer.output(OutputStream::Stderr, &failure.traceback);
            printer.error(&failure.message);
        }
        ending => {
            if let Some(failure) = outcome.failure().filter(|_| *ending != Ending::Success) {
                printer.error(&failure.message);
            }
        }
    }
}

fn exit(outcome: &Outcome) -> Exit {
    match outcome.ending {
        Ending::Success => Exit::Success,
        Ending::Failed(_) => Exit::Failure,
        Ending::Limit(..) => Exit::Limit,
        Ending::Cancelled(_) => Exit::Interrupted,
    }
}

/// The person at the terminal, who reads the output and decides on calls that have to be approved.
pub(crate) struct TerminalCaller {
    printer: Printer,
    yes: bool,
    session: Option<String>,
    /// Cancelled when the person interrupts the command, or when nobody reads its output any more.
    interrupted: CancellationToken,
    /// Whether output is shown as it arrives.
    prints: bool,
    /// Whether the last line of stdout lacks its end.
    open_line: AtomicBool,
}

impl TerminalCaller {
    pub(crate) fn new(printer: Printer, yes: bool, interrupted: CancellationToken) -> Self {
        let open_line = AtomicBool::new(false);
        Self { printer, yes, session: None, interrupted, prints: false, open_line }
    }
}

impl RunClient for TerminalCaller {
    fn output(&self, stream: OutputStream, text: String) {
        if !self.prints || text.is_empty() {
            return;
        }
        if stream == OutputStream::Stdout {
            self.open_line.store(!text.ends_with('\n'), Ordering::Relaxed);
        }
        self.printer.output(stream, &text);
        if self.printer.is_closed() {
            self.interrupted.cancel();
        }
    }
}

impl Caller for TerminalCaller {
    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.yes || io::stdin().is_terminal() {
            capabilities.elicitation = Some(ElicitationCapability::default());
        }
        capabilities
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn is_gone(&self) -> bool {
        self.interrupted.is_cancelled()
    }

    fn elicit(
        &self,
        server: &str,
        question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        let words = choices_of(&question);
        match question {
            ElicitRequestParams::FormElicitationParams { message, .. } if server == ASKER => {
                let Self { printer, yes, .. } = *self;
                Box::pin(async move {
                    if yes {
                        return Ok(chosen(ONCE));
                    }
                    // On a thread of its own: the run can be interrupted before there is an answer.
                    let asked = move || {
                        let word = printer.choose(&message, &words).ok().flatten();
                        chosen(word.unwrap_or_default())
                    };
                    let answer = tokio::task::spawn_blocking(asked).await;
                    Ok(answer.unwrap_or_else(|_| chosen("")))
                })
            }
            _ => {
                let message =
                    format!("the server {server:?} asks for input, which the command line has not");
                Box::pin(std::future::ready(Err(ErrorData::invalid_request(message, None))))
            }
        }
    }
}
