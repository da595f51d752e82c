//! Tells which keys are data, and which fields work like enums.

const MAX_NAME_LEN: usize = 41;
const MAX_WORDS: usize = 5;

/// A key with spaces is a name only if one of these is in it, or if it is written as a sentence is:
/// `Page Title` and `Created at` are fields, `Ada Lovelace` is not.
const FIELD_WORDS: &str = "\
    address amount author category code content count created currency date day description \
    duration email end file format id index key language last length level link list message \
    name number owner page path price priority rate ref score size source start state status tag \
    tags text time title total type unit updated url user value version year";

/// Fields whose name ends with one of these words work like enums, so their values may be kept. Other
/// fields may too, but their values may be personal.
const CATEGORIES: &str = "\
    access action arch architecture category conclusion condition currency direction effect \
    encoding env environment event format frequency health interval kind lang language level \
    method mode op operation order os outcome permission phase plan platform policy priority \
    protocol reason resolution result role runtime scheme scope severity side stage state status \
    strategy tier trigger type unit variant verdict visibility";

/// A field that has one of these words in its name may hold personal data or a secret.
const PERSONAL: &str = "\
    account address assignee author auth birth city contact cookie country credential customer \
    email employee first gender health host key last location login mail marital medical member \
    name nick owner participant password patient person phone profile religion reviewer secret \
    session sex title token user username watcher zip";

/// Tells whether a key is data and not the name of a field: an address, a date, an identifier, a path,
/// a text.
pub(super) fn is_data(key: &str) -> bool {
    if key.contains(' ') {
        return !is_phrase(key);
    }
    let in_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-');
    let is_name = key.len() <= MAX_NAME_LEN
        && key.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '@'))
        && key.bytes().skip(1).all(in_name);
    !is_name || is_identifier(key) || has_extension(key)
}

/// Tells whether words with spaces name a field: `Page Title`, `Created at`, `Size (MB)`.
fn is_phrase(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b" _-/()%".contains(&byte);
    let words: Vec<&str> = key.split(' ').map(|word| word.trim_matches(['(', ')'])).collect();
    let is_sentence = key.starts_with(|c: char| c.is_ascii_uppercase())
        && words.iter().skip(1).all(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
    key.len() <= MAX_NAME_LEN
        && key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.bytes().all(allowed)
        && !is_identifier(key)
        && words.len() <= MAX_WORDS
        && (is_sentence || words.iter().any(|word| has(FIELD_WORDS, &word.to_ascii_lowercase())))
}

fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Tells whether a key is a number, a date, a hash or a random identifier.
fn is_identifier(key: &str) -> bool {
    let count = |is: fn(&u8) -> bool| key.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let runs = key.as_bytes().chunk_by(|a, b| a.is_ascii_digit() && b.is_ascii_digit());
    let longest_run = runs.map(<[u8]>::len).max().unwrap_or(0);
    longest_run >= 4
        || digits >= 5
        || (key.len() >= 7 && digits >= 2 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || (key.len() >= 8 && digits >= 2 && digits + upper == key.len())
        || (key.len() >= 16 && digits >= 2 && upper >= 2 && lower >= 2)
}

/// Tells whether a key is a file or host name such as `main.rs` or `example.com`; but `@odata.type` is
/// a field.
fn has_extension(key: &str) -> bool {
    let last = key.rsplit_once('.').map(|(_, last)| last);
    !key.starts_with(['@', '$']) && last.is_some_and(|last| last.len() <= 4)
}

/// Tells whether a field works like an enum, with values that are not personal.
pub(super) fn is_category(name: &str) -> bool {
    let words = words(name);
    let is_in = |list: &str, word: &str| {
        let one = ["s", "es"].iter().filter_map(|ending| word.strip_suffix(ending));
        let y = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
        has(list, word)
            || one.into_iter().any(|word| has(list, word))
            || y.is_some_and(|word| has(list, &word))
    };
    words.last().is_some_and(|word| is_in(CATEGORIES, word))
        && !words.iter().any(|word| is_in(PERSONAL, word))
}

/// Splits `snake_case`, `kebab-case` and `camelCase` into words, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if (was_lower && c.is_uppercase()) || !c.is_alphanumeric() {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_data() {
        for key in [
            "",
            "12",
            "2026-11-16",
            "a@example.com",
            "Ada Lovelace",
            "New York",
            "Ada van Dyke",
            "ada lovelace",
            "how to cook",
            "é",
            "a\nb",
            "/etc",
            "src/main.rs",
            "main.rs",
            "example.com",
            "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
            "d41d8cd98f00b204e9800998ecf8427e",
            "a1b2c3d",
            "user_12345",
            "U024BE7LH",
            "T0G9PQBBK42",
            "sess4fKq9ZtTbWq2",
            "Where is it?",
            "a sentence that goes on and on",
            "an_identifier_that_nobody_would_write_by_hand",
        ] {
            assert!(is_data(key), "{key:?}");
        }
        for key in [
            "id",
            "_id",
            "$ref",
            "@type",
            "@odata.nextLink",
            "camelCase",
            "snake_case",
            "kebab-case",
            "og:title",
            "user.name.given",
            "sha256",
            "base64",
            "x1",
            "ipv4",
            "Created at",
            "Page Title",
            "Wind (km/h)",
            "Is public",
            "totalCount",
            "HTMLUrl",
            "a",
            "ID",
        ] {
            assert!(!is_data(key), "{key:?}");
        }
    }

    #[test]
    fn fields_that_hold_one_of_a_few_words() {
        for name in [
            "state",
            "Status",
            "issueType",
            "log_level",
            "HTTP-Method",
            "priority",
            "roles",
            "statuses",
            "categories",
        ] {
            assert!(is_category(name), "{name}");
        }
        for name in [
            "",
            "name",
            "login",
            "title",
            "user_state",
            "userStatus",
            "author-role",
            "tokenType",
            "health_status",
            "value",
            "text",
            "label",
            "state_name",
            "tags",
            "diagnosis",
        ] {
            assert!(!is_category(name), "{name}");
        }
    }
}
