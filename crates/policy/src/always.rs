//! The rule that is written when a person answers "always allow" for a tool.

use super::{
    ask::{Action, Reason},
    settings::Rule,
};

/// A rule that allows a tool, and its place in the list. The first rule that fits decides, so it goes
/// just before the rule that asks. Rules before that one, such as one that denies, still come first.
#[derive(Clone, Debug, PartialEq)]
pub struct AlwaysRule {
    pub rule: Rule,
    /// The name of the rule that asks; none if no rule fits the call, and then the new rule is the last.
    pub before: Option<String>,
}

impl AlwaysRule {
    /// Returns the rule that allows a principal to call `server.tool` without asking, or none if no rule
    /// can express that: flow rules have no exceptions, and a name with `*` in it would fit others too.
    pub fn new<'a>(
        principal: &str,
        tool: &str,
        reasons: &[Reason],
        rule_names: impl Iterator<Item = &'a str>,
    ) -> Option<Self> {
        let before = match reasons {
            [Reason::Rule(name)] => Some(name.clone()),
            [Reason::Destructive] => None,
            _ => return None,
        };
        let is_odd = |c: char| "*?[]{}!\\".contains(c) || c.is_whitespace() || c.is_control();
        if principal.contains(['*', '?']) || tool.contains(is_odd) {
            return None;
        }
        let known: Vec<&str> = rule_names.collect();
        let first = format!("always-{principal}-{tool}");
        let numbered = (2..).map(|number| format!("{first}-{number}"));
        let mut names = std::iter::once(first.clone()).chain(numbered);
        let name = names.find(|name| !known.contains(&name.as_str()))?;
        let rule = Rule {
            principals: vec![principal.to_owned()],
            tools: vec![tool.to_owned()],
            ..Rule::new(name, Action::Allow)
        };
        Some(Self { rule, before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tool: &str, reasons: &[Reason]) -> Option<AlwaysRule> {
        AlwaysRule::new("ada", tool, reasons, ["always-ada-crm.pay"].into_iter())
    }

    #[test]
    fn it_allows_one_principal_one_tool_and_stands_before_the_rule_that_asks() {
        let always = rule("mail.send", &[Reason::Rule("ask".into())]).unwrap();
        assert_eq!(always.before.as_deref(), Some("ask"));
        let Rule { name, principals, tools, action, .. } = always.rule;
        assert_eq!(name, "always-ada-mail.send");
        assert_eq!((principals, tools), (vec!["ada".to_owned()], vec!["mail.send".to_owned()]));
        assert_eq!(action, Action::Allow);
        let second = rule("crm.pay", &[Reason::Destructive]).unwrap();
        assert_eq!((second.before, second.rule.name), (None, "always-ada-crm.pay-2".to_owned()));
    }

    #[test]
    fn what_no_rule_can_say_has_none() {
        for reasons in [
            vec![Reason::Flow("a -> b".into())],
            vec![Reason::Destructive, Reason::Flow("a -> b".into())],
            vec![Reason::Restore],
            vec![],
        ] {
            assert_eq!(rule("mail.send", &reasons), None, "{reasons:?}");
        }
        for odd in ["mail.*", "mail.a b", "mail.[x]"] {
            assert_eq!(rule(odd, &[Reason::Destructive]), None, "{odd}");
        }
    }
}
