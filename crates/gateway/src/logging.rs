//! The log of `narrows serve`, on standard error: standard output is the protocol.

use std::{env, io};

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use crate::{config::EnvVar, printer::Printer};

/// The default of `NARROWS_LOG` over standard input and output. The client has the log there and shows
/// it to its user, so that it has errors and our own warnings only.
const STDIO_FILTER: &str = "error,narrows=warn";
/// The default over HTTP, where an operator reads the log: also one line for each run, call and
/// connection.
const HTTP_FILTER: &str = "error,narrows=info";

/// Never logged: the protocol layer, which would log whole messages, personal data included.
const NEVER: &str = "rmcp=off";

/// How lines of the log are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    // Without doc comments, as those of `--color`.
    #[default]
    Text,
    Json,
}

impl LogFormat {
    /// Returns the format of the command line, else that of the environment.
    pub(crate) fn find(given: Option<Self>) -> anyhow::Result<Self> {
        if let Some(given) = given {
            return Ok(given);
        }
        let name = EnvVar::NARROWS_LOG_FORMAT;
        match env::var(name) {
            Ok(word) if !word.is_empty() => Self::from_str(&word, true).map_err(|_| {
                anyhow::anyhow!(
                    "{name} is {word:?}, which is not a format of logs; use text or json"
                )
            }),
            _ => Ok(Self::default()),
        }
    }
}

/// The reader of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogReader {
    /// The client that started the gateway.
    Client,
    /// Whoever operates a gateway over HTTP.
    Operator,
}

/// A writer that sends log lines through the printer, because they quote what servers and programs said.
struct LogWriter(Printer);

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.log(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Installs the subscriber that writes the log.
pub(crate) fn start(printer: Printer, format: LogFormat, reader: LogReader) {
    let default = match reader {
        LogReader::Client => STDIO_FILTER,
        LogReader::Operator => HTTP_FILTER,
    };
    let wanted = env::var(EnvVar::NARROWS_LOG).ok().filter(|wanted| !wanted.is_empty());
    let parsed = wanted.as_deref().map(EnvFilter::try_new);
    let (filter, problem) = match parsed {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(default), Some(error)),
        None => (EnvFilter::new(default), None),
    };
    let filter = match NEVER.parse() {
        Ok(never) => filter.add_directive(never),
        Err(_) => filter,
    };
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || LogWriter(printer));
    // Fails only if a log is installed already, which is fine.
    let _ = match format {
        LogFormat::Text => log.with_ansi(printer.colors_errors()).try_init(),
        LogFormat::Json => log
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_ansi(false)
            .try_init(),
    };
    if let Some(error) = problem {
        tracing::warn!(%error, default, "NARROWS_LOG cannot be read, and does not count");
    }
}
