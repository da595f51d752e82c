//! The compiled rules, and their decisions.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ask::{Action, Ask, Decision, Hints},
    flow::{Barrier, Flow, FlowFinding},
    matcher::Matcher,
    pattern::{PatternError, Patterns, Spelled},
    quota::CompiledQuota,
    settings::{PolicyError, PolicySettings, RevealRule, Rule},
};

/// The compiled rules of a configuration.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<CompiledRule>,
    destructive: Action,
    barriers: Vec<Barrier>,
    reveal: Vec<TrustRule>,
    exempt: Vec<TrustRule>,
    pub(super) allowances: Vec<CompiledQuota>,
}

/// A compiled rule about kinds of personal data: the tools and the kinds that it holds for.
#[derive(Clone, Debug)]
struct TrustRule {
    tools: Patterns,
    kinds: Patterns,
    allow: bool,
}

impl TrustRule {
    fn fits(&self, tool: &Spelled, kind: &str) -> bool {
        self.tools.fit_tool(tool) && self.kinds.fit_kind(kind)
    }
}

fn trusts(rules: Vec<RevealRule>) -> Result<Vec<TrustRule>, PolicyError> {
    let ready = |(index, rule): (usize, RevealRule)| {
        let RevealRule { tools, kinds, allow } = rule;
        let problem = |problem| PolicyError::Reveal { number: index + 1, problem };
        let kinds = Patterns::names(&kinds).map_err(problem)?;
        Ok(TrustRule { tools: Patterns::names(&tools).map_err(problem)?, kinds, allow })
    };
    rules.into_iter().enumerate().map(ready).collect()
}

/// A rule with its patterns compiled.
#[derive(Clone, Debug)]
struct CompiledRule {
    name: String,
    principals: Patterns,
    tools: Patterns,
    read_only: Option<bool>,
    destructive: Option<bool>,
    arguments: BTreeMap<String, Matcher>,
    action: Action,
    why: Option<String>,
}

impl CompiledRule {
    fn new(rule: Rule) -> Result<Self, PolicyError> {
        let problem = |problem: String| PolicyError::Rule { rule: rule.name.clone(), problem };
        let pattern = |error: PatternError| problem(error.to_string());
        let is_odd = |path: &str| path.split('.').any(str::is_empty);
        if let Some(path) = rule.arguments.keys().find(|path| is_odd(path)) {
            let form = "write to, filter.owner or items.*.id";
            return Err(problem(format!("{path:?} is no path of an argument: {form}")));
        }
        Ok(Self {
            principals: Patterns::exact(&rule.principals).map_err(pattern)?,
            tools: Patterns::names(&rule.tools).map_err(pattern)?,
            name: rule.name,
            read_only: rule.read_only,
            destructive: rule.destructive,
            arguments: rule.arguments,
            action: rule.action,
            why: rule.why,
        })
    }

    /// Tells whether the rule fits a call, apart from its arguments.
    fn fits_tool(&self, principal: &str, tool: &Spelled, hints: Hints) -> bool {
        self.read_only.is_none_or(|wanted| wanted != hints.writes())
            && self.destructive.is_none_or(|wanted| wanted == hints.destroys())
            && self.principals.fit(principal)
            && self.tools.fit_tool(tool)
    }

    fn fits(&self, ask: &Ask<'_>, tool: &Spelled) -> bool {
        self.fits_tool(ask.principal, tool, ask.hints)
            && self
                .arguments
                .iter()
                .all(|(path, matcher)| matcher.fits(ask.arguments, path, self.action))
    }

    fn decision(&self, ask: &Ask<'_>) -> Decision {
        let Ask { server, tool, .. } = ask;
        let name = &self.name;
        let reason = self.why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        let why = match self.action {
            Action::Allow => String::new(),
            Action::Deny => {
                let next = match self.arguments.is_empty() {
                    true => "use another tool",
                    false => "use other arguments or another tool",
                };
                format!(
                    "{server}.{tool} was not called: the rule {name:?} denies it{reason}; {next}, or ask whoever runs the gateway"
                )
            }
            Action::Confirm => {
                format!("the rule {name:?} wants a person to approve it first{reason}")
            }
        };
        let named = !self.tools.is_empty();
        Decision { action: self.action, rule: Some(name.clone()), named, why }
    }
}

impl Policy {
    /// Compiles the rules. The error says which rule is wrong, and how.
    pub fn new(settings: PolicySettings) -> Result<Self, PolicyError> {
        let PolicySettings { rules, destructive, flows, quotas, reveal, exempt } = settings;
        unique(rules.iter().map(|rule| &rule.name))?;
        unique(flows.iter().map(|flow| &flow.name))?;
        unique(quotas.iter().map(|quota| &quota.name))?;
        let barrier = |rule: super::FlowRule| {
            let name = rule.name.clone();
            Barrier::new(rule).map_err(|problem| PolicyError::Rule { rule: name, problem })
        };
        let allowance = |quota: super::Quota| {
            let name = quota.name.clone();
            CompiledQuota::new(quota).map_err(|problem| PolicyError::Rule { rule: name, problem })
        };
        Ok(Self {
            rules: rules.into_iter().map(CompiledRule::new).collect::<Result<_, _>>()?,
            destructive,
            barriers: flows.into_iter().map(barrier).collect::<Result<_, _>>()?,
            reveal: trusts(reveal)?,
            exempt: trusts(exempt)?,
            allowances: quotas.into_iter().map(allowance).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the names of all rules.
    pub fn rule_names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.name.as_str())
    }

    /// Decides on a call. The first rule that fits counts.
    pub fn decide(&self, ask: &Ask<'_>) -> Decision {
        let tool = Spelled::new(ask.server, ask.tool);
        if let Some(rule) = self.rules.iter().find(|rule| rule.fits(ask, &tool)) {
            return rule.decision(ask);
        }
        let Ask { server, tool, .. } = ask;
        let action = self.by_default(ask.hints);
        let why = match action {
            Action::Allow => String::new(),
            Action::Deny => format!(
                "{server}.{tool} was not called: it says that it destroys, and such tools are denied unless a rule allows them; ask whoever runs the gateway"
            ),
            Action::Confirm => {
                "it says that it destroys, and a person has to approve that first".to_owned()
            }
        };
        Decision { action, rule: None, named: false, why }
    }

    /// Tells whether a tool is denied whatever its arguments are. Such a tool is not listed.
    pub fn hides(&self, principal: &str, server: &str, tool: &str, hints: Hints) -> bool {
        let tool = Spelled::new(server, tool);
        for rule in &self.rules {
            if !rule.fits_tool(principal, &tool, hints) {
                continue;
            }
            match (rule.action, rule.arguments.is_empty()) {
                (Action::Deny, true) => return true,
                (Action::Deny, false) => {}
                (Action::Allow | Action::Confirm, _) => return false,
            }
        }
        self.by_default(hints) == Action::Deny
    }

    fn by_default(&self, hints: Hints) -> Action {
        if hints.destroys() { self.destructive } else { Action::Allow }
    }

    /// Tells whether a tool may get personal data of a kind.
    pub fn may_have(&self, server: &str, tool: &str, kind: &str) -> bool {
        let tool = Spelled::new(server, tool);
        let rule = self.reveal.iter().find(|rule| rule.fits(&tool, kind));
        rule.is_none_or(|rule| rule.allow)
    }

    /// Tells whether no rule keeps a kind of personal data from any tool.
    pub fn all_may_have(&self, kind: &str) -> bool {
        !self.reveal.iter().any(|rule| !rule.allow && rule.kinds.fit_kind(kind))
    }

    /// Tells whether personal data of a kind in a tool's results reaches the model as it is.
    pub fn exempts(&self, server: &str, tool: &str, kind: &str) -> bool {
        let tool = Spelled::new(server, tool);
        let rule = self.exempt.iter().find(|rule| rule.fits(&tool, kind));
        rule.is_some_and(|rule| rule.allow)
    }

    /// Tells whether any exemption is about this tool. If none is, kinds need not be looked up one by one.
    pub fn has_exemption(&self, server: &str, tool: &str) -> bool {
        let tool = Spelled::new(server, tool);
        self.exempt.iter().any(|rule| rule.tools.fit_tool(&tool))
    }

    /// Tells whether a flow rule restricts where the results of a tool may go.
    pub fn is_flow_source(&self, server: &str, tool: &str) -> bool {
        let tool = Spelled::new(server, tool);
        self.barriers.iter().any(|barrier| barrier.holds_for(&tool))
    }

    /// Tells whether a flow rule depends on kinds of personal data. If none does, they need not be
    /// detected for it.
    pub fn looks_at_kinds(&self) -> bool {
        self.barriers.iter().any(Barrier::looks_at_kinds)
    }

    /// Returns the flow rule that a call of a tool would break. `sent_kinds` are the kinds of personal
    /// data in its arguments. A rule that denies goes before one that asks.
    pub fn flow(
        &self,
        flow: &Flow,
        server: &str,
        tool: &str,
        sent_kinds: &BTreeSet<String>,
    ) -> Option<FlowFinding> {
        let stop = |action| {
            let barriers = self.barriers.iter().filter(move |barrier| barrier.action() == action);
            barriers.filter_map(|barrier| barrier.stops(flow, server, tool, sent_kinds)).next()
        };
        stop(Action::Deny).or_else(|| stop(Action::Confirm))
    }
}

/// Checks that each rule has a name of its own: callers are told the name of the rule that stops them.
fn unique<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), PolicyError> {
    let mut known = BTreeSet::new();
    for name in names {
        if name.trim().is_empty() {
            return Err(PolicyError::NoName);
        }
        if !known.insert(name) {
            return Err(PolicyError::SameName(name.clone()));
        }
    }
    Ok(())
}
