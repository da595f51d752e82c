//! `narrows approvals`: calls that wait for a person.

use anyhow::bail;
use clap::{Args, Subcommand};
use narrows_engine::{
    policy::{AlwaysRule, Reason},
    safety::{RuleSource, visible},
    state::{Approval, ApprovalState, Scope, Verdict, now},
};
use serde_json::{Value, json};

use super::Asking;
use crate::{
    app::{self, Exit, Setting},
    config::RulesFile,
    printer::{Column, Printer, Style, Table},
    times,
};

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: ApprovalsCommand,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// The calls that wait, with their arguments
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
    /// Let it be made: once, or with all other calls of the same tool
    Allow {
        id: String,
        #[command(flatten)]
        scope: ScopeArgs,
        /// Write the rule of --always without asking
        #[arg(long, requires = "always")]
        yes: bool,
    },
    /// Do not let it be made
    Deny { id: String },
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
    setting: Setting,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let Asking { agent, json } = args.asking;
    let agent = setting.agent(agent.as_deref())?;
    let approvals = agent.store().await?.approvals();
    let now = now();
    let by = &agent.principal().name;
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
                printer.table(&table(&found));
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
        ApprovalsCommand::Allow { id, scope, yes } => {
            let scope = Scope::from(scope);
            // One that cannot be decided is refused below, by the store.
            let pending = approvals.get(&id).await?.filter(|approval| {
                approval.state == ApprovalState::Pending && approval.expires_at > now
            });
            if let Some(pending) = &pending {
                check(pending, scope)?;
                if scope == Scope::Always && !write_rule(pending, &setting, yes, printer)? {
                    agent.close().await;
                    return Ok(Exit::Failure);
                }
            }
            let decided = approvals.decide(&id, Verdict::Allow(scope), by, now).await?;
            tell_decided(&decided, json, now, printer);
        }
        ApprovalsCommand::Deny { id } => {
            let decided = approvals.decide(&id, Verdict::Deny, by, now).await?;
            tell_decided(&decided, json, now, printer);
        }
    }
    agent.close().await;
    Ok(exit)
}

/// Whether a yes of this scope would mean anything for the call.
fn check(approval: &Approval, scope: Scope) -> anyhow::Result<()> {
    match scope {
        Scope::Run if approval.run.is_none() => {
            bail!("{} was not called by a program, so there is no run; use --once", approval.id)
        }
        Scope::Session if approval.session.is_none() => {
            bail!("the client of {} has no session that lasts; use --once or --always", approval.id)
        }
        _ => Ok(()),
    }
}

/// Shows the rule that allows the tool for good, and writes it if the user wants that.
fn write_rule(
    approval: &Approval,
    setting: &Setting,
    yes: bool,
    printer: Printer,
) -> anyhow::Result<bool> {
    let Approval { principal, tool, .. } = approval;
    let reasons: Vec<Reason> = serde_json::from_str(&approval.reasons).unwrap_or_default();
    let rules = setting.config.safety.settings.policy.rules.iter();
    let names = rules.map(|rule| rule.name.as_str());
    let Some(rule) = AlwaysRule::new(principal, tool, &reasons, names) else {
        bail!("{}", no_rule(tool, &reasons));
    };
    let file = RulesFile::new(app::rules_file(&setting.places, &setting.config));
    let Some(text) = file.preview(&rule) else {
        bail!("{} cannot be changed; write the rule into a narrows.toml", file.name());
    };
    printer.note(format!("this rule goes into {}:\n{}", file.name(), text.trim_end()));
    let write = match yes {
        true => true,
        false => match printer.ask("Write it?")? {
            Some(write) => write,
            None => bail!("nobody is there to confirm the rule; say --yes to write it"),
        },
    };
    if write {
        file.add(&rule).map_err(anyhow::Error::msg)?;
    } else {
        printer.note("nothing was written, and the call still waits");
    }
    Ok(write)
}

/// Why there is no rule for a tool, and what to do instead.
fn no_rule(tool: &str, reasons: &[Reason]) -> String {
    let flow = reasons.iter().find_map(|reason| match reason {
        Reason::Flow(name) => Some(name),
        _ => None,
    });
    let why = match (flow, reasons) {
        (Some(name), _) => format!("the flow rule {name:?} asks; change that one"),
        (None, [Reason::Restore]) => "name the agent in [pii] restore instead".to_owned(),
        (None, _) => "write one that fits".to_owned(),
    };
    format!("no rule can be made for {tool}: {why}, or use --once")
}

fn tell_decided(approval: &Approval, json: bool, now: i64, printer: Printer) {
    if json {
        return printer.json(&as_json(approval, now));
    }
    let Approval { principal, run, .. } = approval;
    let tool = visible(&approval.tool);
    printer.line(match (approval.state, approval.scope) {
        (ApprovalState::Denied, _) => format!("{tool} of {principal} is denied"),
        (_, Scope::Once) => format!("{principal} may call {tool} once, as it asked"),
        (_, Scope::Run) => {
            let run = run.as_deref().unwrap_or_default();
            format!("{principal} may call {tool} in the run {run}, while it goes on")
        }
        (_, Scope::Session) => {
            format!("{principal} may call {tool} in the session that asked, for a day at most")
        }
        (_, Scope::Always) => format!("{principal} may call {tool} from now on"),
    });
}

/// All that is known of an approval.
fn as_json(approval: &Approval, now: i64) -> Value {
    let mut value = json!(approval);
    value["reasons"] = serde_json::from_str(&approval.reasons).unwrap_or_default();
    value["age_seconds"] = json!((now - approval.created_at).max(0) / 1000);
    value
}

/// Every argument is shown, also to whoever decides by the list alone.
fn table(approvals: &[Approval]) -> Table {
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
            times::format(approval.created_at).into(),
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

/// How long ago something was.
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

    #[test]
    fn why_there_is_no_rule_is_told_with_what_to_do() {
        let flow = no_rule("mail.send", &[Reason::Flow("a -> b".into())]);
        assert!(flow.contains("\"a -> b\"") && flow.contains("--once"), "{flow}");
        assert!(no_rule("narrows.restore_pii", &[Reason::Restore]).contains("[pii] restore"));
    }
}
