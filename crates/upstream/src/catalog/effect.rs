//! Whether a tool reads, writes or destroys, so that a misspelt name never leads to a tool that
//! does more than was asked for.

use narrows_search::words;
use serde_json::Value;
use strsim::damerau_levenshtein;

use super::Tool;

const READS: &str = "get list read search find fetch query show view describe count check lookup \
    retrieve load browse inspect summarize compare ping download preview validate info \
    select scan diff explain analyze calculate compute convert";
const WRITES: &str = "create add write set update edit modify change put post send upload insert \
    append patch save store make rename move copy import start stop run execute invoke trigger \
    publish merge commit push assign attach link enable disable approve reply comment submit book \
    pay transfer register install deploy apply restart schedule archive upsert replace";
const DESTROYS: &str = "delete remove drop destroy clear purge erase wipe truncate kill terminate \
    cancel revoke reset unlink uninstall trash";
/// A shorter word with another letter is mostly another word.
const MIN_MISSPELT_CHARS: usize = 4;

/// The effect of a tool on the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    /// Neither its name nor its annotations say it.
    Unknown,
    Writes,
    Destroys,
}

/// The verb of a name, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verb {
    effect: Effect,
    /// Which word of the name it is.
    place: usize,
}

impl Effect {
    /// Returns the effect that a requested name suggests by its verb, which may be misspelt if it comes
    /// first.
    pub(crate) fn of_name(name: &str) -> Self {
        Verb::of(name).or_else(|| Verb::misspelt(name)).map_or(Self::Unknown, |verb| verb.effect)
    }

    /// Returns what a tool does, by its annotations and its name. A tool reads if its name begins so:
    /// `mark_notifications_read` does not.
    pub(crate) fn of_tool(tool: &Tool) -> Self {
        let hint = |name: &str| {
            let annotations = tool.raw.get("annotations");
            annotations.and_then(|all| all.get(name)).and_then(Value::as_bool)
        };
        let (read_only, destructive) = (hint("readOnlyHint"), hint("destructiveHint"));
        if read_only == Some(true) {
            return Self::Reads;
        }
        let says_writes = read_only == Some(false) || destructive == Some(true);
        let by_name = match Verb::of(&tool.id.tool) {
            Some(Verb { effect: Self::Reads, place }) if place > 0 => Self::Unknown,
            verb => verb.map_or(Self::Unknown, |verb| verb.effect),
        };
        match by_name {
            Self::Unknown if destructive == Some(true) => Self::Destroys,
            Self::Unknown | Self::Reads if says_writes => Self::Writes,
            said => said,
        }
    }

    /// Tells whether a tool with this effect may be suggested to a caller who asked for `wanted`: only
    /// one that surely reads for a name that reads, and none that destroys for any name that does not.
    pub(crate) fn is_offered_for(self, wanted: Self) -> bool {
        match wanted {
            Self::Reads => self == Self::Reads,
            Self::Unknown | Self::Writes => self != Self::Destroys,
            Self::Destroys => true,
        }
    }
}

/// Tells whether two names have a verb of the same effect at the same place, as a name and its
/// misspelling have. The verb of the first may be misspelt too.
pub(super) fn has_same_verb(wanted: &str, name: &str) -> bool {
    Verb::of(wanted).or_else(|| Verb::misspelt(wanted)) == Verb::of(name)
}

impl Verb {
    fn of(name: &str) -> Option<Self> {
        let effects = words(name).into_iter().map(|word| of_verb(|verb| verb == word));
        let mut effects = effects.enumerate();
        effects.find_map(|(place, effect)| Some(Self { effect: effect?, place }))
    }

    fn misspelt(name: &str) -> Option<Self> {
        let words = words(name);
        let first = words.first().filter(|word| word.chars().count() >= MIN_MISSPELT_CHARS)?;
        let effect = of_verb(|verb| {
            verb.len() >= MIN_MISSPELT_CHARS && damerau_levenshtein(verb, first) == 1
        })?;
        Some(Self { effect, place: 0 })
    }
}

fn of_verb(is_meant: impl Fn(&str) -> bool) -> Option<Effect> {
    let all = [(READS, Effect::Reads), (WRITES, Effect::Writes), (DESTROYS, Effect::Destroys)];
    let mut all = all.into_iter();
    all.find(|(verbs, _)| verbs.split_whitespace().any(&is_meant)).map(|(_, effect)| effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_does_by_its_verb() {
        for (name, expected) in [
            ("get_issue", Effect::Reads),
            ("getIssue", Effect::Reads),
            ("list-deleted-items", Effect::Reads),
            ("get_post", Effect::Reads),
            ("issue_create", Effect::Writes),
            ("craete_issue", Effect::Writes),
            ("delete_issue", Effect::Destroys),
            ("delte_issue", Effect::Destroys),
            ("issue", Effect::Unknown),
            ("", Effect::Unknown),
        ] {
            assert_eq!(Effect::of_name(name), expected, "{name}");
        }
    }
}
