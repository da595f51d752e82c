//! `narrows skills`: Python that agents saved, shared and tested.

mod exchange;

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use narrows_engine::{
    Background,
    broker::Broker,
    skills::{ListedSkill, SkillDraft, TrialMode, TrialReport},
    state::{Agent, SkillVersion},
};
use serde_json::json;

use exchange::ExchangeCommand;

use super::{CommandScope, waiting::WaitingLine};
use crate::{
    app::{AppContext, Exit},
    config::read_text,
    printer::{Column, Printer, Style, Table},
    times,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  narrows skills save filter_high_risk.py --tags crm,risk
  narrows skills test filter_high_risk --record     asks the servers once, and keeps their answers
  narrows skills export filter_high_risk -o filter_high_risk.skill.json
  narrows skills install https://skills.example.com/ filter_high_risk";

#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    #[command(subcommand)]
    command: SkillsCommand,
    #[command(flatten)]
    asking: CommandScope,
}

#[derive(Debug, Subcommand)]
enum SkillsCommand {
    /// List skills, all or those that fit a query
    #[command(visible_alias = "ls")]
    List {
        query: Option<String>,
        #[arg(long)]
        limit: Option<usize>,
    },
    /// Print the code of a skill
    Show {
        name: String,
        #[arg(long)]
        version: Option<i64>,
    },
    /// The versions of a skill
    History { name: String },
    /// Save a file as a skill
    Save {
        file: PathBuf,
        /// Its name, if it is not that of the file
        #[arg(long)]
        name: Option<String>,
        #[arg(long, default_value = "")]
        description: String,
        #[arg(long, value_delimiter = ',')]
        tags: Vec<String>,
    },
    /// Forget a skill
    #[command(visible_alias = "rm")]
    Remove { name: String },
    /// Run the tests of skills in the sandbox, against recorded tool results
    Test {
        /// All, if none is named
        names: Vec<String>,
        /// Ask the servers, and keep what they answer with the skill
        #[arg(long)]
        record: bool,
    },
    #[command(flatten)]
    Exchange(ExchangeCommand),
}

/// The context of commands about skills.
pub(super) struct SkillCommands {
    pub(super) agent: Agent,
    pub(super) setting: AppContext,
    pub(super) broker: Broker,
    pub(super) printer: Printer,
    pub(super) json: bool,
}

pub(crate) async fn run(
    args: SkillsArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let agent = setting.agent(args.asking.agent.as_deref())?;
    let broker = setting.broker()?;
    let desk = SkillCommands { agent, setting, broker, printer, json: args.asking.json };
    let done = desk.run(args.command).await;
    desk.broker.fleet().shut_down().await;
    desk.agent.close().await;
    done
}

impl SkillCommands {
    async fn run(&self, command: SkillsCommand) -> anyhow::Result<Exit> {
        match command {
            SkillsCommand::List { query, limit } => self.list(query, limit).await,
            SkillsCommand::Show { name, version } => self.show(&name, version).await,
            SkillsCommand::History { name } => self.history(&name).await,
            SkillsCommand::Save { file, name, description, tags } => {
                let code =
                    read_text(&file).with_context(|| format!("cannot read {}", file.display()))?;
                let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
                let name = name.or_else(stem).context("say its --name")?;
                let draft = SkillDraft { name, code, description, tags, ..SkillDraft::default() };
                self.save(draft).await
            }
            SkillsCommand::Remove { name } => {
                if !self.agent.remove_skill(&name, None).await? {
                    bail!("there is no skill {name:?}; see narrows skills list");
                }
                self.printer.note(format!("removed {name}; its versions can be shown still"));
                Ok(Exit::Success)
            }
            SkillsCommand::Test { names, record } => self.test(names, record).await,
            SkillsCommand::Exchange(command) => exchange::run(self, command).await,
        }
    }

    async fn list(&self, query: Option<String>, limit: Option<usize>) -> anyhow::Result<Exit> {
        let listed = self.agent.list_skills(&self.broker, query.as_deref(), None, limit).await?;
        if self.json {
            self.printer.json(&json!({ "skills": listed }));
        } else if listed.is_empty() {
            self.printer.note("no skills; save one with `narrows skills save FILE`");
        } else {
            self.printer.table(&skill_table(&listed));
        }
        Ok(Exit::Success)
    }

    async fn show(&self, name: &str, version: Option<i64>) -> anyhow::Result<Exit> {
        let skill = self.agent.load_skill(name, version, None).await?;
        match self.json {
            true => self.printer.json(&skill),
            false => self.printer.line(skill.code.trim_end()),
        }
        Ok(Exit::Success)
    }

    async fn history(&self, name: &str) -> anyhow::Result<Exit> {
        let versions = self.agent.skill_versions(name).await?;
        if self.json {
            self.printer.json(&json!({ "versions": versions }));
        } else {
            self.printer.table(&version_table(&versions));
        }
        Ok(Exit::Success)
    }

    async fn save(&self, draft: SkillDraft) -> anyhow::Result<Exit> {
        let saved = self.agent.save_skill(&self.broker, draft).await?;
        if self.json {
            self.printer.json(&saved);
        } else {
            let what = if saved.is_new { "saved" } else { "unchanged:" };
            self.printer.line(format!("{what} {} version {}", saved.name, saved.version));
            saved.notes.iter().for_each(|note| self.printer.note(note));
        }
        Ok(Exit::Success)
    }

    async fn test(&self, names: Vec<String>, record: bool) -> anyhow::Result<Exit> {
        let names = match names.is_empty() {
            false => names,
            true => {
                let all = self.agent.list_skills(&self.broker, None, None, Some(usize::MAX));
                all.await?.into_iter().map(|skill| skill.name).collect()
            }
        };
        let engine = self.setting.engine(self.broker.clone(), &Background::default())?;
        let mode = if record { TrialMode::Record } else { TrialMode::Replay };
        let mut reports = Vec::new();
        for name in names {
            let skill = self.agent.load_skill(&name, None, None).await?;
            let trying = engine.test_skill(&self.agent, &skill, mode);
            let mut waiting = WaitingLine::for_servers(&self.broker, self.printer);
            let report = waiting.during(trying).await?;
            if record && report.passed() && !report.tests.is_empty() {
                let saved = self.agent.record_skill(skill, &report.recording).await?;
                self.printer.note(format!("recorded with version {} of {name}", saved.version));
            }
            if !self.json {
                self.tell(&report);
            }
            reports.push(report);
        }
        if self.json {
            self.printer.json(&json!({ "skills": reports }));
        }
        let passed = reports.iter().all(TrialReport::passed);
        Ok(if passed { Exit::Success } else { Exit::Failure })
    }

    fn tell(&self, report: &TrialReport) {
        if report.tests.is_empty() {
            self.printer.line(format!("none  {}: it has no tests", report.skill));
        }
        for test in &report.tests {
            let (style, mark) =
                if test.passed { (Style::Good, "ok  ") } else { (Style::Bad, "FAIL") };
            let what = format!("  {}: {}", report.skill, test.name);
            self.printer.spans(&[(style, mark), (Style::Plain, &what)]);
            for line in test.message.iter().flat_map(|message| message.lines()) {
                self.printer.line(format!("        {line}"));
            }
        }
    }
}

fn skill_table(skills: &[ListedSkill]) -> Table {
    let mut table = Table::new([
        Column::name("name"),
        Column::number("version"),
        Column::text("signature").cut(),
        Column::text("description").wrapped(),
        Column::text("tags").cut(),
        Column::text("tools that changed").wrapped().styled(Style::Bad),
    ]);
    for skill in skills {
        table.row([
            (&skill.name).into(),
            skill.version.into(),
            (&skill.signature).into(),
            skill.description.lines().next().unwrap_or_default().into(),
            skill.tags.join(", ").into(),
            skill.changed.join("; ").into(),
        ]);
    }
    table
}

fn version_table(versions: &[SkillVersion]) -> Table {
    let mut table = Table::new([
        Column::number("version").styled(Style::Name),
        Column::text("saved").styled(Style::Dim),
        Column::text("author"),
        Column::text("hash"),
        Column::text("description").wrapped(),
    ]);
    for version in versions {
        table.row([
            version.version.into(),
            times::format(version.created_at).into(),
            (&version.author).into(),
            version.hash.get(..12).unwrap_or(&version.hash).into(),
            version.description.lines().next().unwrap_or_default().into(),
        ]);
    }
    table
}
