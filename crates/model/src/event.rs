//! Events, in the one vocabulary of the audit, the statistics and the log.
//!
//! An [`Event`] is created when an action has ended, however it ended. The receiver decides what is
//! recorded of it and where. Only its details may hold more than names and numbers.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use thiserror::Error;

use crate::{Ending, ToolId, nearest, there_are};

/// An action and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub action: EventAction,
    pub outcome: EventOutcome,
    /// The principal who did it.
    pub principal: String,
    /// The namespace that it belongs to.
    pub namespace: String,
    pub target: EventTarget,
    /// The run that it was part of.
    pub run_id: Option<String>,
    /// How long it took, if that was measured.
    pub duration: Option<Duration>,
    /// For the audit alone: an object that may hold what a program or a server said, protected.
    pub details: Value,
}

/// The object of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventTarget {
    Tool(ToolId),
    Server(String),
    /// Anything else by its name, such as a file, a board, or the hash of a program.
    Named(String),
}

impl EventTarget {
    /// Returns the name of the server in the configuration.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Tool(ToolId { server, .. }) | Self::Server(server) => Some(server),
            Self::Named(_) => None,
        }
    }

    /// Returns the server's own name of the tool.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) => Some(&tool.tool),
            Self::Server(_) | Self::Named(_) => None,
        }
    }
}

impl From<String> for EventTarget {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl From<&str> for EventTarget {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

/// `server.tool`, as rules name it.
impl fmt::Display for EventTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(ToolId { server, tool }) => write!(f, "{server}.{tool}"),
            Self::Server(name) | Self::Named(name) => f.write_str(name),
        }
    }
}

/// Declares a closed set of words, each with the text that is written for it.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $noun:literal: $($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word that is written for it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                let mut known = Self::ALL.iter().copied();
                known.find(|word| word.is_written(text)).ok_or_else(|| {
                    let words = || Self::ALL.iter().copied().map(Self::as_str);
                    let hint = match nearest(text, words()) {
                        near if near.0.is_empty() => there_are(words()),
                        near => near.to_string(),
                    };
                    UnknownWord { noun: $noun, word: text.to_owned(), hint }
                })
            }
        }
    };
}

words! {
    /// The kind of action, from the general to the special: searches match the beginning of the word.
    EventAction, "action":
    /// A program ran.
    Run = "run",
    /// A program is about to run, at a level with `audit_must_hold`.
    RunBegin = "run.begin",
    /// A call of a tool, or a request for something else of a server, such as a resource.
    Call = "call",
    /// A call is about to be made, at a level with `audit_must_hold`.
    CallBegin = "call.begin",
    Analysis = "analysis",
    /// Tokens were replaced by their values, or that was refused.
    PiiRestore = "pii.restore",
    /// Tokens were replaced in a client's answer to a server's question, or that was refused.
    PiiAnswer = "pii.answer",
    FileWrite = "file.write",
    FileRemove = "file.remove",
    SkillSave = "skill.save",
    SkillRemove = "skill.remove",
    BoardPost = "board.post",
    SharedSet = "shared.set",
    SharedRemove = "shared.remove",
    VaultForget = "vault.forget",
    /// A person approved a call.
    ApprovalAllow = "approval.allow",
    ApprovalDeny = "approval.deny",
    /// Old entries of the audit were removed.
    AuditPrune = "audit.prune",
    /// Somebody logged in to a server.
    Login = "login",
}

words! {
    /// The outcome of an action: one word for success, and one for each way to fail.
    EventOutcome, "outcome":
    Ok = "ok",
    /// It has begun; another event tells how it ended.
    Begun = "begun",
    /// It went wrong by itself: an exception, an error of a server.
    Failed = "failed",
    /// A limit ended it, such as that on time or memory.
    Limit = "limit",
    /// It was not done: a rule, a person or a check said no.
    Refused = "refused",
    /// The caller gave it up.
    Cancelled = "cancelled",
    /// It was not done because what it needs is in use; the same may work later.
    Busy = "busy",
}

impl EventAction {
    /// Returns the action that records the beginning of this one, if it has one.
    pub const fn begin(self) -> Option<Self> {
        match self {
            Self::Run => Some(Self::RunBegin),
            Self::Call => Some(Self::CallBegin),
            _ => None,
        }
    }

    /// Returns the message of the log when it has ended, or begins.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Run => "a run ended",
            Self::RunBegin => "a run begins",
            Self::Call => "a call ended",
            Self::CallBegin => "a call begins",
            Self::Analysis => "an analysis ended",
            Self::PiiRestore => "a restore of personal data ended",
            Self::PiiAnswer => "a restore of personal data in an answer to a server ended",
            Self::FileWrite => "a write of a file ended",
            Self::FileRemove => "a removal of a file ended",
            Self::SkillSave => "a save of a skill ended",
            Self::SkillRemove => "a removal of a skill ended",
            Self::BoardPost => "a post to a board ended",
            Self::SharedSet => "a change of a shared value ended",
            Self::SharedRemove => "a removal of a shared value ended",
            Self::VaultForget => "a removal of personal data from the vault ended",
            Self::ApprovalAllow => "a person allowed calls of a tool",
            Self::ApprovalDeny => "a person denied a call of a tool",
            Self::AuditPrune => "a removal of old entries of the audit ended",
            Self::Login => "a login to a server ended",
        }
    }

    fn is_written(self, text: &str) -> bool {
        self.as_str() == text
    }
}

impl EventOutcome {
    /// Returns the word that earlier versions wrote for it in some places. Entries of the audit still
    /// have that word, because it is part of their hash.
    pub const fn old_word(self) -> Option<&'static str> {
        match self {
            Self::Ok => Some("success"),
            Self::Failed => Some("error"),
            _ => None,
        }
    }

    fn is_written(self, text: &str) -> bool {
        self.as_str() == text || self.old_word() == Some(text)
    }
}

impl From<&Ending> for EventOutcome {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Success => Self::Ok,
            Ending::Failed(_) => Self::Failed,
            Ending::Limit(..) => Self::Limit,
            Ending::Cancelled(_) => Self::Cancelled,
        }
    }
}

/// The error for a word that is not in the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no {noun} {word:?}{hint}")]
pub struct UnknownWord {
    noun: &'static str,
    word: String,
    hint: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_written() {
        for action in EventAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(*action));
            assert_eq!(serde_json::json!(action), action.as_str());
        }
        for outcome in EventOutcome::ALL {
            assert_eq!(outcome.as_str().parse(), Ok(*outcome));
            let json = serde_json::to_string(outcome).unwrap();
            assert_eq!(serde_json::from_str::<EventOutcome>(&json).unwrap(), *outcome);
        }
        let sentences: BTreeSet<&str> = EventAction::ALL.iter().map(|it| it.sentence()).collect();
        assert_eq!(sentences.len(), EventAction::ALL.len());
    }

    #[test]
    fn words_of_earlier_versions_are_read_as_those_of_today() {
        assert_eq!("success".parse(), Ok(EventOutcome::Ok));
        assert_eq!("error".parse(), Ok(EventOutcome::Failed));
        // No old word is one of today: what was written would have two meanings.
        let today: BTreeSet<&str> = EventOutcome::ALL.iter().map(|it| it.as_str()).collect();
        let old = EventOutcome::ALL.iter().filter_map(|it| it.old_word());
        assert_eq!(old.filter(|word| today.contains(word)).count(), 0);
        let unknown = "faild".parse::<EventOutcome>().unwrap_err().to_string();
        assert!(
            unknown.contains("no outcome \"faild\"") && unknown.contains("failed"),
            "{unknown}"
        );
        assert!("calls".parse::<EventAction>().is_err());
    }

    #[test]
    fn a_tool_is_named_as_rules_name_it() {
        assert_eq!(EventTarget::Tool(ToolId::new("crm", "get")).to_string(), "crm.get");
        assert_eq!(EventTarget::from("a/b.txt").to_string(), "a/b.txt");
    }
}
