//! The limits of programs in `[limits]` and in isolation levels.

use narrows_model::{LimitSettings, LimitSpec, Limits};

use crate::syntax::Section;

/// Reads the limits of a table; `stands` tells which ones it may have.
pub(super) fn read(section: &mut Section<'_>, stands: fn(&LimitSpec) -> bool) -> LimitSettings {
    let mut settings = LimitSettings::default();
    let mut last = ("", None);
    for limit in Limits::ALL.iter().filter(|limit| stands(limit)) {
        // One key can set several limits.
        if limit.key != last.0 {
            last = (limit.key, section.count(limit.key, limit.range()));
        }
        if let (_, Some(number)) = last {
            settings.set(limit, limit.amount(number));
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use narrows_model::{LimitScope, LimitUnit};

    use super::*;

    /// Returns all keys as a table in Markdown.
    fn table() -> String {
        let mut table =
            "| key | counts | from | to | stands in |\n|---|---|---|---|---|\n".to_owned();
        let mut last = "";
        for limit in
            Limits::ALL.iter().filter(|limit| limit.key != std::mem::replace(&mut last, limit.key))
        {
            let counts = match limit.unit {
                LimitUnit::Seconds => "seconds",
                LimitUnit::Kilobytes => "KB",
                LimitUnit::Megabytes => "MB",
                LimitUnit::Pieces => "pieces",
            };
            let places = match limit.scope {
                LimitScope::Everywhere => "`[limits]`",
                LimitScope::Levels => "levels",
                LimitScope::Both => "`[limits]`, levels",
            };
            let (from, to) = (limit.range().start().to_owned(), limit.range().end().to_owned());
            table += &format!("| `{}` | {counts} | {from} | {to} | {places} |\n", limit.key);
        }
        table
    }

    #[test]
    fn the_reference_has_the_keys_of_all_limits() {
        let reference = include_str!("../../../../docs/CONFIGURATION.md");
        assert!(reference.contains(&table()), "put this there:\n{}", table());
    }
}
