//! `narrows approvals`: calls that wait for a person.

mod decision;

use clap::{Args, Subcommand};
use narrows_engine::{
    safety::visible,
    state::{Approval, ApprovalState, Scope, Verdict, now},
};
use serde_json::{Value, json};

use self::decision::Decider;
use crate::{
    app::{AppContext, Exit},
    cli::CommandScope,
    printer::{Column, Printer, Style, Table},
};

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: ApprovalsCommand,
    #[command(flatten)]
    asking: CommandScope,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// The calls that wait, with their arguments
    #[command(visible_alias = "ls")]
    List {
        /// Those that were decided too
        #[arg(long)]
        all: bool,
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// One of them in full
    Show {
        id: String,
        /// With what the tokens in it stand for
        #[arg(long)]
        reveal: bool,
    },
    /// Let them be made: once, or with all other calls of the same tool
    Allow {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Write the rule of --always without asking
        #[arg(long, requires = "always")]
        yes: bool,
    },
    /// Do not let them be made
    Deny {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
struct ScopeArgs {
    /// This call with these arguments, one time (the default)
    #[arg(long)]
    once: bool,
    /// Every call of the tool in the run that asked, while it goes on
    #[arg(long)]
    run: bool,
    /// Every call of the tool in the client's session, for a day at most
    #[arg(long)]
    session: bool,
    /// Every call of the tool from now on, by a rule in narrows.toml, which is shown first
    #[arg(long)]
    always: bool,
}

impl From<ScopeArgs> for Scope {
    fn from(args: ScopeArgs) -> Self {
        match args {
            ScopeArgs { run: true, .. } => Self::Run,
            ScopeArgs { session: true, .. } => Self::Session,
            ScopeArgs { always: true, .. } => Self::Always,
            ScopeArgs { .. } => Self::Once,
        }
    }
}

pub(crate) async fn run(
    args: ApprovalsArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let CommandScope { agent, json } = args.asking;
    let agent = setting.agent(agent.as_deref())?;
    let approvals = agent.store().await?.approvals();
    let now = now();
    let mut exit = Exit::Success;
    match args.command {
        ApprovalsCommand::List { all, limit } => {
            let state = (!all).then_some(ApprovalState::Pending);
            let found = approvals.list(state, limit, now).await?;
            if json {
                let found: Vec<Value> = found.iter().map(|one| as_json(one, now)).collect();
                printer.json(&json!({ "approvals": found }));
            } else if found.is_empty() {
                printer.line("nothing waits for approval");
            } else {
                printer.table(&table(&found, now));
            }
        }
        ApprovalsCommand::Show { id, reveal } => match approvals.get(&id).await? {
            Some(mut approval) => {
                if reveal {
                    let owner = agent.of_namespace(&approval.namespace);
                    let shown = owner.restore(approval.shown.into());
                    approval.shown = shown.await?.as_str().unwrap_or_default().to_owned();
                }
                if json {
                    printer.json(&as_json(&approval, now));
                } else {
                    tell(&approval, now, printer);
                    printer.line(format!("  hash of all arguments: {}", approval.arguments_hash));
                }
            }
            None => {
                printer.error(format!("there is no approval {id:?}; see narrows approvals list"));
                exit = Exit::Failure;
            }
        },
        ApprovalsCommand::Allow { ids, scope, yes } => {
            let verdict = Verdict::Allow(scope.into());
            let mut decider = Decider::new(&agent, &setting, verdict, yes, printer);
            exit = decider.decide_all(&ids, json).await;
        }
        ApprovalsCommand::Deny { ids } => {
            let mut decider = Decider::new(&agent, &setting, Verdict::Deny, false, printer);
            exit = decider.decide_all(&ids, json).await;
        }
    }
    agent.close().await;
    Ok(exit)
}

/// Writes all that is known about an approval as JSON.
fn as_json(approval: &Approval, now: i64) -> Value {
    let mut value = json!(approval);
    value["reasons"] = serde_json::from_str(&approval.reasons).unwrap_or_default();
    value["age_seconds"] = json!((now - approval.created_at).max(0) / 1000);
    value
}

/// Makes the table of approvals. Every argument is shown, because some people decide by the list alone.
/// (`--json` has the exact times.)
fn table(approvals: &[Approval], now: i64) -> Table {
    let mut table = Table::new([
        Column::name("id"),
        Column::text("state"),
        Column::text("agent"),
        Column::text("asked").styled(Style::Dim),
        Column::name("tool"),
        Column::text("reason").wrapped(),
        Column::text("arguments").wrapped(),
    ]);
    for approval in approvals {
        let shown = visible(&approval.shown);
        let arguments: Vec<&str> = shown.lines().map(str::trim).collect();
        table.row([
            (&approval.id).into(),
            state_name(approval).into(),
            (&approval.principal).into(),
            ago(now - approval.created_at).into(),
            visible(&approval.tool).into(),
            visible(&approval.why).into(),
            arguments.join(" ").into(),
        ]);
    }
    table
}

fn state_name(approval: &Approval) -> String {
    json!(approval.state).as_str().unwrap_or_default().to_owned()
}

fn tell(approval: &Approval, now: i64, printer: Printer) {
    let state = state_name(approval);
    let Approval { id, principal, tool, .. } = approval;
    let age = ago(now - approval.created_at);
    printer.line(format!("{id}  {state}  {principal}  {}  {age}", visible(tool)));
    printer.line(format!("  reason: {}", visible(&approval.why)));
    printer.line(format!("  {}", visible(&approval.shown).replace('\n', "\n  ")));
}

/// Writes how long ago something was.
fn ago(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1000;
    match seconds {
        0..=119 => format!("{seconds} s ago"),
        120..=7_199 => format!("{} min ago", seconds / 60),
        7_200..=172_799 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_unit_that_fits() {
        let minute = 60_000;
        for (age, told) in [
            (-5, "0 s ago"),
            (90_000, "90 s ago"),
            (5 * minute, "5 min ago"),
            (3 * 60 * minute, "3 h ago"),
            (72 * 60 * minute, "3 days ago"),
        ] {
            assert_eq!(ago(age), told);
        }
    }
}
