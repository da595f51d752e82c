//! The commands and options of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{
    analyze, approvals, audit, boards, completions, connect, doctor, import, man, pii, run, serve,
    servers, sessions, skills, stats, tools, workspace,
};
use crate::{
    bench::BenchArgs,
    demo::{DemoArgs, server::Fault},
    printer::ColorWhen,
};

/// One MCP server in front of many: agents write Python, a WebAssembly sandbox runs it.
#[derive(Debug, Parser)]
#[command(name = "narrows", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// The configuration: narrows.toml, or any client's JSON with mcpServers
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where what lasts is kept: the store, workspaces, logins
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// When output is coloured
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorWhen,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what Narrows does, on built-in data
    Demo(DemoArgs),
    /// Be an MCP server for a client
    #[command(after_help = serve::AFTER_HELP)]
    Serve(serve::ServeArgs),
    /// Take over the servers of other MCP clients
    #[command(after_help = import::AFTER_HELP)]
    Import(import::ImportArgs),
    /// Put Narrows into a client, for all that you do with it
    #[command(after_help = connect::AFTER_HELP)]
    Connect(connect::ConnectArgs),
    /// The servers behind the gateway
    Servers(servers::ServersArgs),
    /// The tools of all servers
    Tools(tools::ToolsArgs),
    /// Run a Python program in the sandbox
    #[command(after_help = run::AFTER_HELP)]
    Run(run::RunArgs),
    /// Analyse files or a tool's answer: figures, groups, statistics, SQL
    #[command(after_help = analyze::AFTER_HELP)]
    Analyze(analyze::AnalyzeArgs),
    /// Skills: Python that agents saved, shared and tested
    #[command(after_help = skills::AFTER_HELP)]
    Skills(skills::SkillsArgs),
    /// Files that agents keep
    #[command(after_help = workspace::AFTER_HELP)]
    Workspace(workspace::WorkspaceArgs),
    /// Sessions: variables that are kept between programs
    Sessions(sessions::SessionsArgs),
    /// Messages and values that agents share
    Boards(boards::BoardsArgs),
    /// Personal data: its tokens, and the vault
    #[command(after_help = pii::AFTER_HELP)]
    Pii(pii::PiiArgs),
    /// Calls that wait for a person
    Approvals(approvals::ApprovalsArgs),
    /// Who did what, and when
    #[command(after_help = audit::AFTER_HELP)]
    Audit(audit::AuditArgs),
    /// Tokens that models saw, and what direct calls would have cost
    Stats(stats::StatsArgs),
    /// Check that everything works, and say how to mend what does not
    Doctor(doctor::DoctorArgs),
    /// Measure this machine against the budgets
    Bench(BenchArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write those of all commands into a directory
    Man(man::ManArgs),
    /// Ends the servers when the gateway is killed (started by the gateway)
    #[command(hide = true)]
    Guard,
    /// The upstream server of the demo
    #[command(hide = true)]
    DemoServer {
        /// What goes wrong when a tool is called
        #[arg(long, value_enum)]
        fault: Option<Fault>,
    },
}

/// Whose things a command is about, and how it answers.
#[derive(Debug, Args)]
pub(crate) struct CommandScope {
    /// The agent whose rights count: one of [agents] in narrows.toml
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
}
