//! Decides on the approvals that the user names, independently of each other: an error in one does not
//! stop the others.

use anyhow::bail;
use narrows_engine::{
    safety::visible,
    state::{Agent, Approval, ApprovalState, Scope, Verdict, now},
};
use narrows_policy::{AlwaysRule, Reason};
use serde_json::{Value, json};

use super::as_json;
use crate::{
    app::{self, AppContext, Exit},
    config::RulesFile,
    error_chain::error_chain,
    printer::Printer,
};

/// A verdict on several approvals.
pub(super) struct Decider<'a> {
    agent: &'a Agent,
    setting: &'a AppContext,
    verdict: Verdict,
    /// Whether rules are written without asking.
    yes: bool,
    printer: Printer,
    /// The rules that were written so far.
    written: Vec<AlwaysRule>,
}

impl<'a> Decider<'a> {
    pub(super) fn new(
        agent: &'a Agent,
        setting: &'a AppContext,
        verdict: Verdict,
        yes: bool,
        printer: Printer,
    ) -> Self {
        Self { agent, setting, verdict, yes, printer, written: Vec::new() }
    }

    /// Decides on all these approvals, and reports each.
    pub(super) async fn decide_all(&mut self, ids: &[String], as_document: bool) -> Exit {
        let mut exit = Exit::Success;
        let (mut decided, mut errors) = (Vec::new(), Vec::new());
        for id in ids {
            match self.decide(id).await {
                Ok(approval) if as_document => decided.push(as_json(&approval, now())),
                Ok(approval) => tell(&approval, self.printer),
                Err(error) => {
                    exit = Exit::Failure;
                    let error = error_chain(&error);
                    self.printer.error(&error);
                    errors.push(json!({ "id": id, "error": error }));
                }
            }
        }
        if as_document {
            self.print(ids, decided, errors);
        }
        exit
    }

    /// Prints the result as JSON: an approval that was named alone is the document; of several, the
    /// document has a list.
    fn print(&self, ids: &[String], mut decided: Vec<Value>, errors: Vec<Value>) {
        if ids.len() > 1 {
            self.printer.json(&json!({ "approvals": decided, "errors": errors }));
        } else if let Some(approval) = decided.pop() {
            self.printer.json(&approval);
        }
    }

    async fn decide(&mut self, id: &str) -> anyhow::Result<Approval> {
        let approvals = self.agent.store().await?.approvals();
        if let Verdict::Allow(scope) = self.verdict {
            // An approval that cannot be decided is refused below, by the store.
            let pending = approvals.get(id).await?.filter(|approval| {
                approval.state == ApprovalState::Pending && approval.expires_at > now()
            });
            if let Some(pending) = &pending {
                self.check(pending, scope).await?;
                if scope == Scope::Always {
                    self.write_rule(pending)?;
                }
            }
        }
        let by = &self.agent.principal().name;
        Ok(approvals.decide(id, self.verdict, by, now()).await?)
    }

    /// Refuses to allow a call for a scope in which it cannot be made again.
    async fn check(&self, approval: &Approval, scope: Scope) -> anyhow::Result<()> {
        let Approval { id, run, session, .. } = approval;
        match (scope, run) {
            (Scope::Run, None) => {
                bail!("{id} was not called by a program, so there is no run; use --once")
            }
            (Scope::Run, Some(run)) if self.agent.has_run_ended(approval).await? => bail!(
                "the run {run} of {id} has ended, so that --run would allow nothing; use {}, and the \
                 agent can run its program again",
                if session.is_some() {
                    "--once, --session or --always"
                } else {
                    "--once or --always"
                }
            ),
            (Scope::Session, _) if session.is_none() => {
                bail!("the client of {id} has no session that lasts; use --once or --always")
            }
            _ => Ok(()),
        }
    }

    /// Shows the rule that allows the tool permanently, and writes it if the user agrees.
    fn write_rule(&mut self, approval: &Approval) -> anyhow::Result<()> {
        let Approval { id, principal, tool, .. } = approval;
        let reasons: Vec<Reason> = serde_json::from_str(&approval.reasons).unwrap_or_default();
        let rules = &self.setting.config.safety.policy.rules;
        let rules = rules.iter().chain(self.written.iter().map(|always| &always.rule));
        let names = rules.map(|rule| rule.name.as_str());
        let Some(rule) = AlwaysRule::new(principal, tool, &reasons, names) else {
            bail!("{id}: {}", no_rule(tool, &reasons));
        };
        if self.written.iter().any(|written| is_same(written, &rule)) {
            return Ok(());
        }
        let file = RulesFile::new(app::rules_file(&self.setting.places, &self.setting.config));
        let Some(text) = file.preview(&rule) else {
            bail!("{} cannot be changed; write the rule into a narrows.toml", file.name());
        };
        self.printer.note(format!("this rule goes into {}:\n{}", file.name(), text.trim_end()));
        let is_wanted = match self.yes {
            true => true,
            false => match self.printer.ask("Write it?")? {
                Some(is_wanted) => is_wanted,
                None => bail!("nobody is there to confirm the rule; say --yes to write it"),
            },
        };
        if !is_wanted {
            bail!("{id}: nothing was written, and the call still waits");
        }
        file.add(&rule)?;
        self.written.push(rule);
        Ok(())
    }
}

/// Tells whether two rules are the same apart from their names.
fn is_same(one: &AlwaysRule, other: &AlwaysRule) -> bool {
    let said = |always: &AlwaysRule| {
        let AlwaysRule { rule, before } = always.clone();
        (rule.principals, rule.tools, before)
    };
    said(one) == said(other)
}

/// Writes why no rule can allow a tool, and what to do instead.
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

/// Tells the user what the agent may do now.
fn tell(approval: &Approval, printer: Printer) {
    let Approval { id, principal, run, .. } = approval;
    let tool = visible(&approval.tool);
    let meaning = match (approval.state, approval.scope) {
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
    };
    printer.line(format!("{id}: {meaning}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_there_is_no_rule_is_told_with_what_to_do() {
        let flow = no_rule("mail.send", &[Reason::Flow("a -> b".into())]);
        assert!(flow.contains("\"a -> b\"") && flow.contains("--once"), "{flow}");
        assert!(no_rule("narrows.restore_pii", &[Reason::Restore]).contains("[pii] restore"));
    }

    #[test]
    fn a_rule_is_the_same_under_another_name() {
        let always = |tool: &str, names: &[&str]| {
            let names = names.iter().copied();
            AlwaysRule::new("ada", tool, &[Reason::Destructive], names).unwrap()
        };
        let first = always("crm.pay", &[]);
        let again = always("crm.pay", &[&first.rule.name]);
        assert!(first.rule.name != again.rule.name && is_same(&first, &again));
        assert!(!is_same(&first, &always("crm.send", &[])));
    }
}
