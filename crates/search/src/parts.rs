//! A query that asks for several things: "read the sheet and create a lead".

use crate::words::Stems;

/// Where one thing ends and the next begins. The longer come first.
const CONNECTORS: [&[&str]; 13] = [
    &["as", "well", "as"],
    &["along", "with"],
    &["after", "that"],
    &["in", "addition"],
    &["and"],
    &["then"],
    &["also"],
    &["additionally"],
    &["furthermore"],
    &["moreover"],
    &["afterwards"],
    &["finally"],
    &["lastly"],
];
/// A part with fewer words is no request of its own: "name and address".
const MIN_WORDS: usize = 3;
/// The most parts; what comes after is one with the last. Each costs the time of a search.
const MAX_PARTS: usize = 8;

/// Splits a query into its parts, of which there is at least one.
pub(crate) fn parts(query: &str, stems: &mut Stems) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for sentence in sentences(query) {
        let mut of_sentence: Vec<String> = Vec::new();
        for piece in pieces(sentence) {
            let is_short = |text: &str, stems: &mut Stems| stems.distinct(text).len() < MIN_WORDS;
            match of_sentence.last_mut() {
                Some(last) if is_short(&piece, stems) || is_short(last, stems) => {
                    last.push(' ');
                    last.push_str(&piece);
                }
                _ => of_sentence.push(piece),
            }
        }
        parts.append(&mut of_sentence);
    }
    parts.retain(|part| !stems.distinct(part).is_empty());
    if parts.len() > MAX_PARTS {
        let rest = parts.split_off(MAX_PARTS - 1).join(" ");
        parts.push(rest);
    }
    if parts.is_empty() { vec![query.to_owned()] } else { parts }
}

/// Splits a text into sentences, which end at a full stop, question or exclamation mark before a space,
/// at a semicolon or a new line.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            ';' | '\n' => {
                sentences.push(&text[start..at]);
                start = at + 1;
            }
            '.' | '!' | '?' => {
                // Quotes and brackets may close before the space.
                let rest = &text[at + 1..];
                let after = rest.trim_start_matches(['"', '\'', ')', ']']);
                if after.starts_with(char::is_whitespace) {
                    sentences.push(&text[start..=at]);
                    start = text.len() - after.trim_start().len();
                    while characters.peek().is_some_and(|(next, _)| *next < start) {
                        characters.next();
                    }
                }
            }
            _ => {}
        }
    }
    sentences.push(&text[start..]);
    sentences
}

/// Cuts a sentence at connectors.
fn pieces(sentence: &str) -> Vec<String> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let plain: Vec<String> =
        words.iter().map(|word| word.to_lowercase().trim_end_matches(',').to_owned()).collect();
    let mut pieces = Vec::new();
    let mut piece: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let connector = CONNECTORS
            .iter()
            .find(|phrase| plain.get(at..at + phrase.len()).is_some_and(|words| words == **phrase));
        match connector {
            Some(phrase) => {
                pieces.push(std::mem::take(&mut piece).join(" "));
                at += phrase.len();
            }
            None => {
                piece.push(words[at]);
                at += 1;
            }
        }
    }
    pieces.push(piece.join(" "));
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_several_things_is_taken_apart() {
        for (query, expected) in [
            ("create issue", vec!["create issue"]),
            ("", vec![""]),
            ("please", vec!["please"]),
            (
                "read rows of a spreadsheet and create a new sales lead",
                vec!["read rows of a spreadsheet", "create a new sales lead"],
            ),
            ("find the name and address", vec!["find the name address"]),
            (
                "Send the weekly report. Then, archive all old messages!",
                vec!["Send the weekly report.", "archive all old messages!"],
            ),
            (
                "list open pull requests; count failed builds today",
                vec!["list open pull requests", "count failed builds today"],
            ),
            ("see example.com for v1.2 details", vec!["see example.com for v1.2 details"]),
        ] {
            assert_eq!(parts(query, &mut Stems::new()), expected, "{query:?}");
        }
        let many = "fetch all new orders. ".repeat(20);
        assert_eq!(parts(&many, &mut Stems::new()).len(), MAX_PARTS);
    }
}
