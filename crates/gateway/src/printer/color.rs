//! Whether output is coloured, and what colours mean.

use clap::ValueEnum;
use narrows_model::EventOutcome;

/// What the user says of colour with `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    // Without doc comments: with one of them, clap spreads the help of every command over twice as
    // many lines.
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorWhen {
    /// Returns the value of `--color` in the arguments of a process, for the parser's own help and
    /// errors, which are written before the arguments are parsed.
    pub(crate) fn in_arguments(arguments: impl Iterator<Item = String>) -> Self {
        let mut arguments = arguments.take_while(|argument| argument != "--");
        let mut found = Self::Auto;
        while let Some(argument) = arguments.next() {
            let value = match argument.strip_prefix("--color") {
                Some("") => arguments.next(),
                Some(rest) => rest.strip_prefix('=').map(str::to_owned),
                None => None,
            };
            let value = value.and_then(|value| Self::from_str(&value, false).ok());
            found = value.unwrap_or(found);
        }
        found
    }

    /// Decides whether one stream is coloured, by the conventions of no-color.org and
    /// bixense.com/clicolors.
    pub(super) fn decide(
        self,
        is_terminal: bool,
        variable: impl Fn(&str) -> Option<String>,
    ) -> bool {
        let given = |name| variable(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if given("NO_COLOR").is_some() => false,
            Self::Auto if given("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Self::Auto if given("CLICOLOR").is_some_and(|value| value == "0") => false,
            Self::Auto => is_terminal && given("TERM").is_none_or(|value| value != "dumb"),
        }
    }
}

impl From<ColorWhen> for clap::ColorChoice {
    fn from(when: ColorWhen) -> Self {
        match when {
            ColorWhen::Auto => Self::Auto,
            ColorWhen::Always => Self::Always,
            ColorWhen::Never => Self::Never,
        }
    }
}

/// The meaning of a piece of text, shown by its colour. No information is in the colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    /// The head of a table, the title of a part.
    Heading,
    /// A value that other commands take: a name, a number.
    Name,
    Good,
    Bad,
    /// Less important text.
    Dim,
}

impl From<EventOutcome> for Style {
    fn from(outcome: EventOutcome) -> Self {
        match outcome {
            EventOutcome::Ok => Self::Good,
            EventOutcome::Begun => Self::Plain,
            _ => Self::Bad,
        }
    }
}

impl Style {
    /// Returns the SGR parameters of the style.
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Heading => Some("1"),
            Self::Name => Some("36"),
            Self::Good => Some("32"),
            Self::Bad => Some("1;31"),
            Self::Dim => Some("2"),
        }
    }

    /// Appends a text in this style.
    pub(super) fn paint(self, text: &str, is_colored: bool, line: &mut String) {
        match self.code().filter(|_| is_colored && !text.is_empty()) {
            Some(code) => line.extend(["\x1b[", code, "m", text, "\x1b[0m"]),
            None => line.push_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(when: ColorWhen, is_terminal: bool, variables: &[(&str, &str)]) -> bool {
        when.decide(is_terminal, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn colour_is_for_terminals_that_know_it() {
        use ColorWhen::{Always, Auto, Never};
        assert!(decide(Auto, true, &[("TERM", "xterm")]));
        assert!(!decide(Auto, false, &[("TERM", "xterm")]));
        assert!(!decide(Auto, true, &[("TERM", "dumb")]));
        assert!(!decide(Auto, true, &[("NO_COLOR", "1")]));
        assert!(decide(Auto, true, &[("NO_COLOR", "")]), "an empty variable says nothing");
        assert!(decide(Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!decide(Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!decide(Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!decide(Auto, true, &[("CLICOLOR", "0")]));
        assert!(decide(Always, false, &[("NO_COLOR", "1"), ("TERM", "dumb")]));
        assert!(!decide(Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn what_is_said_of_colour_is_known_before_the_arguments_are_parsed() {
        let of = |text: &str| ColorWhen::in_arguments(text.split(' ').map(str::to_owned));
        assert_eq!(of("narrows run --color never --help"), ColorWhen::Never);
        assert_eq!(of("narrows --color=always"), ColorWhen::Always);
        assert_eq!(of("narrows --color"), ColorWhen::Auto);
        assert_eq!(of("narrows --color blue"), ColorWhen::Auto);
        assert_eq!(of("narrows servers add a -- b --color always"), ColorWhen::Auto);
    }
}
