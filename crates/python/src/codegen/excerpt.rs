//! Excerpts of texts that are too long: cut between sentences or clauses if possible, and clauses with
//! units, formats and examples go before others.

/// Words of clauses that tell how a value is written, or which values there are.
const TELLING: [&str; 38] = [
    "e.g.",
    "i.e.",
    "example",
    "such as",
    "format",
    "utc",
    "unix",
    "epoch",
    "timestamp",
    "second",
    "minute",
    "hour",
    "millis",
    "bytes",
    "percent",
    "cents",
    "currency",
    "default",
    "one of",
    "either",
    "must",
    "max",
    "min",
    "between",
    "at least",
    "at most",
    "up to",
    "comma",
    "separated",
    "regex",
    "glob",
    "markdown",
    "json",
    "base64",
    "case-",
    "inclusive",
    "exclusive",
    "yyyy",
];
/// Beginnings of descriptions that carry no information.
const EMPTY_BEGINNINGS: [&str; 10] = [
    "(optional)",
    "[optional]",
    "optional.",
    "optional:",
    "optional,",
    "(required)",
    "[required]",
    "required.",
    "required:",
    "required,",
];
const MIN_CLAUSE_CHARS: usize = 12;

/// Splits a line into sentences, without the space around them.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut rest = line.trim();
    while let Some(length) = sentence_length(rest) {
        sentences.push(rest[..length].trim_end());
        rest = rest[length..].trim_start();
    }
    sentences
}

/// Returns the length in bytes of the first sentence with the space after it. None for an empty text.
pub(super) fn sentence_length(text: &str) -> Option<usize> {
    const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx."];
    if text.is_empty() {
        return None;
    }
    let end = text.match_indices(". ").map(|(at, _)| at + 1).find(|end| {
        let so_far = &text[..*end];
        !ABBREVIATIONS.iter().any(|short| so_far.ends_with(short))
    });
    Some(end.map_or(text.len(), |end| end + 1))
}

/// Returns as many whole sentences as fit, and cuts the first one if not even that fits.
pub(super) fn whole_sentences(line: &str, chars: usize) -> String {
    let mut end = 0;
    while let Some(length) = sentence_length(&line[end..]) {
        if end > 0 && line[..end + length].trim_end().chars().count() > chars {
            break;
        }
        end += length;
    }
    clipped(line[..end].trim_end(), chars)
}

/// Returns the part of a description that helps to write a value, in about `chars` characters at most.
/// The beginning is chosen first, then clauses with formats and examples, then others; they stay in
/// the order of the text.
pub(super) fn telling_part(line: &str, chars: usize) -> String {
    let line = without_empty_beginning(line.trim());
    if line.chars().count() <= chars {
        return line.to_owned();
    }
    let mut clauses: Vec<Clause<'_>> = Vec::new();
    for sentence in sentences(line) {
        let whole = sentence.chars().count() <= chars;
        let parts = if whole { vec![sentence] } else { self::clauses(sentence) };
        let last = parts.len().saturating_sub(1);
        let parts = parts.into_iter().enumerate();
        clauses.extend(parts.map(|(at, text)| Clause { text, ends: at == last, kept: false }));
    }
    let mut left = chars;
    let by_worth = [
        (0..clauses.len().min(1)).collect::<Vec<_>>(),
        (0..clauses.len()).filter(|at| is_telling(clauses[*at].text)).collect(),
        (0..clauses.len()).collect(),
    ];
    for (rank, at) in
        by_worth.iter().enumerate().flat_map(|(rank, all)| all.iter().map(move |at| (rank, *at)))
    {
        // An ordinary clause is only useful directly after one that is kept.
        let goes_on = rank < 2 || at == 0 || clauses[at - 1].kept;
        let length = clauses[at].text.chars().count() + 1;
        if !clauses[at].kept && goes_on && length <= left {
            clauses[at].kept = true;
            left -= length;
        }
    }
    match clauses.first() {
        Some(first) if first.kept => joined(&clauses),
        // How a value is written is more useful than the whole first clause, which is cut.
        Some(first) if clauses.iter().any(|clause| clause.kept) => {
            let rest = joined(&clauses);
            let room = chars.saturating_sub(rest.chars().count() + 1);
            match room >= MIN_CLAUSE_CHARS {
                true => format!("{} {rest}", clipped(first.text, room)),
                false => format!("…{rest}"),
            }
        }
        _ => clipped(line, chars),
    }
}

struct Clause<'t> {
    text: &'t str,
    /// Whether the clause ends its sentence.
    ends: bool,
    kept: bool,
}

/// Joins the clauses that are kept, with a mark where a sentence lost a part.
fn joined(clauses: &[Clause<'_>]) -> String {
    let mut text = String::new();
    let mut begun = false;
    for clause in clauses {
        if clause.kept {
            if !text.is_empty() {
                text.push(' ');
            }
            text += clause.text;
        } else if begun && !text.ends_with(['…', '.', '!', '?']) {
            text.truncate(text.trim_end_matches([' ', ',', ';', ':', '-', '—', '–']).len());
            text.push('…');
        }
        begun = (begun || clause.kept) && !clause.ends;
    }
    text
}

/// Tells whether a clause has figures, quotes, or a word that begins like one of `TELLING`.
fn is_telling(clause: &str) -> bool {
    let small = clause.to_lowercase();
    let begins = |telling: &str| {
        small.match_indices(telling).any(|(at, _)| !small[..at].ends_with(char::is_alphanumeric))
    };
    clause.contains(['"', '`', '%'])
        || clause.contains(" '")
        || clause.bytes().any(|byte| byte.is_ascii_digit())
        || TELLING.iter().any(|word| begins(word))
}

fn without_empty_beginning(line: &str) -> &str {
    let begins = |empty: &&&str| {
        line.get(..empty.len()).is_some_and(|start| start.eq_ignore_ascii_case(empty))
    };
    let rest =
        EMPTY_BEGINNINGS.iter().find(begins).map_or(line, |empty| line[empty.len()..].trim_start());
    if rest.is_empty() { line } else { rest }
}

/// Splits a sentence after commas, semicolons and dashes and before brackets, but not within brackets
/// or quotes.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut start = 0;
    for end in clause_ends(sentence) {
        if sentence[start..end].chars().count() >= MIN_CLAUSE_CHARS {
            clauses.push(sentence[start..end].trim());
            start = end;
        }
    }
    if !sentence[start..].trim().is_empty() {
        clauses.push(sentence[start..].trim());
    }
    clauses
}

/// Returns the ends of clauses, in bytes.
fn clause_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut depth = 0_usize;
    let mut quoted = None;
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, c)| {
        let next_is_space = text[at + c.len_utf8()..].starts_with(' ');
        let is_outside = depth == 0 && quoted.is_none();
        let end = match c {
            ',' | ';' | ':' if is_outside && next_is_space => Some(at + 1),
            '(' if is_outside && before == ' ' => Some(at),
            '-' | '–' | '—' if is_outside && before == ' ' && next_is_space => Some(at),
            _ => None,
        };
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '"' | '`' if quoted == Some(c) => quoted = None,
            '"' | '`' if quoted.is_none() => quoted = Some(c),
            _ => {}
        }
        before = c;
        end
    })
}

/// Cuts a text to at most so many characters, between clauses, or else between words.
pub(super) fn clipped(text: &str, chars: usize) -> String {
    let Some((limit, _)) = text.char_indices().nth(chars) else { return text.to_owned() };
    let of_clause = clause_ends(text).take_while(|end| *end <= limit).last();
    let cut = match of_clause.filter(|end| *end > limit / 2) {
        Some(end) => &text[..end],
        None => {
            let cut = &text[..limit];
            let cut = cut.rfind(' ').filter(|at| *at > limit / 2).map_or(cut, |at| &cut[..at]);
            // A parenthesis without its end is cut off too.
            let bracket = cut.rfind('(').filter(|at| *at > limit / 3 && !cut[*at..].contains(')'));
            bracket.map_or(cut, |at| &cut[..at])
        }
    };
    format!("{}…", cut.trim_end_matches([' ', ',', ';', ':', '.', '-', '–', '—']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_clauses() {
        for (text, chars, expected) in [
            ("One, two and three words", 100, "One, two and three words"),
            (
                "The owner of the repository, which is the part before the slash",
                40,
                "The owner of the repository…",
            ),
            ("The owner of the repo (a user or an organization)", 35, "The owner of the repo…"),
            ("Where results begin; use the cursor of the page before", 30, "Where results begin…"),
            ("words without any end that a reader would see", 20, "words without any…"),
        ] {
            assert_eq!(clipped(text, chars), expected);
        }
    }

    #[test]
    fn units_formats_and_examples_are_kept_rather_than_mere_words() {
        for (text, chars, expected) in [
            (
                "How long to wait for the page before giving up on it. This applies to each attempt \
                 of the request on its own. In milliseconds.",
                80,
                "How long to wait for the page before giving up on it. In milliseconds.",
            ),
            (
                "The day on which the report begins, which has to be before the day on which it \
                 ends, in the format YYYY-MM-DD",
                75,
                "The day on which the report begins… in the format YYYY-MM-DD",
            ),
            (
                "The day on which the report that is asked for begins, as YYYY-MM-DD",
                40,
                "The day on which the… as YYYY-MM-DD",
            ),
            ("(Optional) The label to filter by", 40, "The label to filter by"),
            ("Optional.", 40, "Optional."),
        ] {
            let part = telling_part(text, chars);
            assert!(part.chars().count() <= chars + 1, "{part}");
            assert_eq!(part, expected);
        }
    }

    #[test]
    fn any_text_is_cut_to_its_size() {
        let texts = ["", "é, ü (ö; ä", "((((,,,, ", "\"a, b\" `c, d` - e – f", "…… . . . , , ,"];
        for text in texts {
            for chars in 1..30 {
                let long = text.repeat(5);
                assert!(telling_part(&long, chars).chars().count() <= chars + 1, "{text} {chars}");
            }
        }
    }
}
