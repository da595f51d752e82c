//! Email addresses.

use std::ops::Range;

use crate::context::is_after_escape;

/// The longest local part and domain that a mail server takes.
const MAX_LOCAL_LEN: usize = 64;
const MAX_DOMAIN_LEN: usize = 253;

/// Words that follow an `@` and a dot in names of files, units and packages, not of mail servers.
#[rustfmt::skip]
const NOT_TOP_LEVEL: [&str; 30] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "mp4", "webm", "pdf", "js", "mjs", "cjs", "ts", "tsx", "jsx", "css", "json", "html", "xml",
    "yml", "yaml", "toml", "lock", "txt", "csv", "gz", "tgz", "service", "timer",
];

/// Addresses that documentation writes where one goes.
const PLACEHOLDERS: [(&str, &str); 6] = [
    ("name", "domain.com"),
    ("user", "domain.com"),
    ("username", "domain.com"),
    ("you", "domain.com"),
    ("name", "company.com"),
    ("user", "company.com"),
];

/// Returns the address around an `@` (or what stands for it), which is at `at..after`.
pub(super) fn around(text: &str, at: usize, after: usize) -> Option<Range<usize>> {
    let mut start = at;
    for (place, c) in text[..at].char_indices().rev().take(MAX_LOCAL_LEN) {
        if !(c.is_alphanumeric() || "._%+-'&".contains(c)) {
            break;
        }
        start = place;
    }
    let local = text[start..at].trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
    start = at - local.len();
    let escape = usize::from(start < at && is_after_escape(text.as_bytes(), start + 1));
    let local = &local[escape..];
    start += escape;
    if local.is_empty() || local.ends_with('.') {
        return None;
    }
    let end = domain_end(text, after)?;
    // `git@host:owner/repository` is the address of a repository.
    let is_repository = local == "git" && text[end..].starts_with([':', '/']);
    let is_placeholder = PLACEHOLDERS.contains(&(local, &text[after..end]));
    (!is_repository && !is_placeholder).then_some(start..end)
}

/// Returns the end of the domain that starts here: labels with dots, the last one a word.
fn domain_end(text: &str, start: usize) -> Option<usize> {
    let mut end = start;
    let mut label = start;
    let mut good = None;
    let mut has_letter = false;
    for (place, c) in text[start..].char_indices().take(MAX_DOMAIN_LEN) {
        let place = start + place;
        end = place + c.len_utf8();
        if c.is_alphanumeric() || (c == '-' && place > label) {
            has_letter |= c.is_alphabetic();
            continue;
        }
        end = place;
        if c != '.' || place == label {
            break;
        }
        if label > start && has_letter && is_top_level(&text[label..place]) {
            good = Some(place);
        }
        label = place + 1;
    }
    // `ada@example.com-` and `ada@example.com-work` end at the dash.
    let last = &text[label.min(end)..end];
    let last = if last.starts_with("xn--") { last } else { last.split('-').next().unwrap_or(last) };
    if label > start && has_letter && is_top_level(last) {
        good = Some(label + last.len());
    }
    good
}

fn is_top_level(label: &str) -> bool {
    let length = label.chars().count();
    let is_word = (2..=24).contains(&length) && label.chars().all(char::is_alphabetic);
    (is_word || label.starts_with("xn--"))
        && !NOT_TOP_LEVEL.iter().any(|other| label.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    fn found(text: &str) -> Option<&str> {
        let at = text.find('@').unwrap();
        super::around(text, at, at + 1).map(|range| &text[range])
    }

    #[test]
    fn addresses_are_found_without_what_surrounds_them() {
        for (text, address) in [
            ("mail ada@example.com.", "ada@example.com"),
            ("<o'neil+x@mail.example.co.uk>", "o'neil+x@mail.example.co.uk"),
            ("'ada@example.com'", "ada@example.com"),
            ("to=ada_l@example.com&x=1", "ada_l@example.com"),
            ("jörg@exämple.de", "jörg@exämple.de"),
            ("ada@example.com-", "ada@example.com"),
            ("ada@example.com-work", "ada@example.com"),
            ("a@xn--bcher-kva.example", "a@xn--bcher-kva.example"),
            ("用户@例子.广告", "用户@例子.广告"),
        ] {
            assert_eq!(found(text), Some(address), "{text}");
        }
    }

    #[test]
    fn other_things_with_an_at_sign_are_not() {
        for text in [
            "lodash@4.17.21",
            "actions/checkout@v4",
            "icon@2x.png",
            "git@github.com:owner/repo.git",
            "@app.route",
            "root@localhost",
            "a@b",
            "x@.com",
            "ssh root@192.0.2.1",
            "getty@tty1.service",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
