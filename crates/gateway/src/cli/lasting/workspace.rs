//! `narrows workspace`: the files that agents keep.

use std::{
    io::{Read, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::{Args, Subcommand};
use narrows_engine::state::FileEntry;
use serde_json::json;

use crate::{
    app::{AppContext, Exit},
    cli::CommandScope,
    output_file::OutputFile,
    printer::{Column, Printer, Style, Table},
    times,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  narrows workspace list '*.csv'
  narrows workspace put report.csv data/report.csv
  narrows workspace get data/report.csv > report.csv";

#[derive(Debug, Args)]
pub(crate) struct WorkspaceArgs {
    #[command(subcommand)]
    command: WorkspaceCommand,
    #[command(flatten)]
    asking: CommandScope,
    /// The namespace, if it is not the agent's own
    #[arg(long, global = true, value_name = "NAME")]
    namespace: Option<String>,
}

#[derive(Debug, Subcommand)]
enum WorkspaceCommand {
    /// List files
    #[command(visible_alias = "ls")]
    List {
        /// A pattern such as *.csv or reports/**
        pattern: Option<String>,
    },
    /// Print a file
    #[command(visible_alias = "cat")]
    Show { path: String },
    /// Copy a file of this machine into the workspace
    Put {
        /// The file to copy; - for standard input
        file: PathBuf,
        /// Its path in the workspace; its own name if none is given
        path: Option<String>,
    },
    /// Copy a file of the workspace to this machine
    Get {
        path: String,
        /// Where to; standard output if nothing is said
        file: Option<PathBuf>,
    },
    /// Remove files
    #[command(visible_alias = "rm")]
    Remove {
        #[arg(required = true)]
        paths: Vec<String>,
    },
    /// How much is used, and of how much
    #[command(visible_alias = "du")]
    Usage,
}

pub(crate) async fn run(
    args: WorkspaceArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let agent = setting.agent(args.asking.agent.as_deref())?;
    let namespace = args.namespace.as_deref();
    match args.command {
        WorkspaceCommand::List { pattern } => {
            let (files, total) = agent.list_files(pattern.as_deref(), namespace, None).await?;
            if args.asking.json {
                printer.json(&json!({ "files": files, "total": total }));
            } else {
                printer.table(&table(&files));
                if total == 0 {
                    printer.note("no files");
                }
                if total > files.len() {
                    let more = total - files.len();
                    printer.note(format!("and {more} more; name a pattern"));
                }
            }
        }
        WorkspaceCommand::Show { path } => {
            printer.bytes(&agent.file_bytes(&path, namespace)?)?;
        }
        WorkspaceCommand::Get { path, file } => {
            let bytes = agent.file_bytes(&path, namespace)?;
            match file {
                None => printer.bytes(&bytes)?,
                Some(file) => {
                    let written = OutputFile::create(&file).and_then(|mut output| {
                        output.write_all(&bytes)?;
                        output.persist()
                    });
                    written.with_context(|| format!("cannot write {}", file.display()))?;
                    printer.note(format!("wrote {} bytes to {}", bytes.len(), file.display()));
                }
            }
        }
        WorkspaceCommand::Put { file, path } => {
            let mut bytes = Vec::new();
            let is_input = file.as_os_str() == "-";
            let read = match is_input {
                true => std::io::stdin().read_to_end(&mut bytes),
                false => {
                    std::fs::File::open(&file).and_then(|mut file| file.read_to_end(&mut bytes))
                }
            };
            read.with_context(|| format!("cannot read {}", file.display()))?;
            let name = || file.file_name().map(|name| name.to_string_lossy().into_owned());
            let path = path
                .or_else(|| name().filter(|_| !is_input))
                .context("say which path it gets in the workspace")?;
            let written = agent.write_file(&path, &bytes, namespace).await?;
            match args.asking.json {
                true => printer.json(&written),
                false => printer.note(format!("wrote {} bytes to {}", written.bytes, written.path)),
            }
        }
        WorkspaceCommand::Remove { paths } => {
            for path in paths {
                agent.delete_file(&path, namespace).await?;
                printer.note(format!("removed {path}"));
            }
        }
        WorkspaceCommand::Usage => {
            let used = agent.workspace_use(namespace)?;
            if args.asking.json {
                printer.json(&used);
            } else {
                printer.line(format!(
                    "{} files, {} of {} bytes, in {}",
                    used.files, used.bytes, used.max_bytes, used.directory
                ));
            }
        }
    }
    agent.close().await;
    Ok(Exit::Success)
}

fn table(files: &[FileEntry]) -> Table {
    let mut table = Table::new([
        Column::number("bytes"),
        Column::text("changed").styled(Style::Dim),
        Column::name("path"),
        Column::text("elsewhere"),
    ]);
    for file in files {
        let place = file.elsewhere.as_ref().map_or(String::new(), |at| format!("on {at}"));
        let changed = times::format(file.modified);
        table.row([file.bytes.into(), changed.into(), (&file.path).into(), place.into()]);
    }
    table
}
