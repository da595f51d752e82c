//! Parses lists and dicts as Python writes them, for servers that return `str(rows)`.

use serde_json::{Map, Number, Value};

/// The deepest nesting of a value, which limits the stack.
const MAX_DEPTH: usize = 100;

/// Parses the list or dict at the start of a text, and returns the text behind it too. `None` if any
/// part of it cannot be JSON, such as a date or a key that is not a string.
pub(super) fn literal(text: &str) -> Option<(Value, &str)> {
    let mut reader = LiteralParser { text, at: 0 };
    let value = match reader.peek()? {
        b'[' | b'{' => reader.value(0)?,
        _ => return None,
    };
    Some((value, &text[reader.at..]))
}

struct LiteralParser<'a> {
    text: &'a str,
    at: usize,
}

impl LiteralParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips a byte and the whitespace around it, if it is next; tells whether it was.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.at += 1;
            self.skip_space();
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'[' => self.items(b']', depth).map(Value::Array),
            b'(' => self.items(b')', depth).map(Value::Array),
            b'{' => self.fields(depth).map(Value::Object),
            b'\'' | b'"' => self.string().map(Value::String),
            b'-' | b'0'..=b'9' => self.number().map(Value::Number),
            _ => self.word(),
        }
    }

    fn items(&mut self, end: u8, depth: usize) -> Option<Vec<Value>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.peek()? == end {
                self.at += 1;
                return Some(items);
            }
            items.push(self.value(depth + 1)?);
            // A tuple with one item needs the comma.
            let is_last = !self.takes(b',');
            if is_last && (self.peek()? != end || (end == b')' && items.len() == 1)) {
                return None;
            }
        }
    }

    fn fields(&mut self, depth: usize) -> Option<Map<String, Value>> {
        self.at += 1;
        let mut fields = Map::new();
        loop {
            self.skip_space();
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(fields);
                }
                b'\'' | b'"' => {}
                _ => return None,
            }
            let key = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            fields.insert(key, self.value(depth + 1)?);
            if !self.takes(b',') && self.peek()? != b'}' {
                return None;
            }
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let next = self.text[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.next_char()?;
        let mut string = String::new();
        loop {
            match self.next_char()? {
                c if c == quote => return Some(string),
                '\n' => return None,
                '\\' => string.push(self.escaped()?),
                c => string.push(c),
            }
        }
    }

    /// Reads the escape sequence after a backslash.
    fn escaped(&mut self) -> Option<char> {
        let digits = match self.next_char()? {
            'n' => return Some('\n'),
            'r' => return Some('\r'),
            't' => return Some('\t'),
            same @ ('\\' | '\'' | '"') => return Some(same),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => return None,
        };
        let code = self.text.get(self.at..self.at + digits)?;
        self.at += digits;
        // `from_str_radix` takes a sign too.
        let is_code = code.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_code.then(|| u32::from_str_radix(code, 16).ok().and_then(char::from_u32)).flatten()
    }

    /// Reads a number as `repr` writes it, if nothing of it is lost.
    fn number(&mut self) -> Option<Number> {
        let rest = &self.text[self.at..];
        let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e');
        let end = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let number: Number = serde_json::from_str(&rest[..end]).ok()?;
        let is_whole = rest[..end].bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        self.at += end;
        // An integer that is too large for JSON became a float, which loses digits.
        (is_whole != number.is_f64()).then_some(number)
    }

    fn word(&mut self) -> Option<Value> {
        let words =
            [("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))];
        let rest = &self.text[self.at..];
        let (word, value) = words.into_iter().find(|(word, _)| rest.starts_with(word))?;
        self.at += word.len();
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_python_writes_is_what_it_says() {
        for (text, value) in [
            (
                "[{'id': 1, 'name': 'Ada', 'ok': True}]",
                json!([{"id": 1, "name": "Ada", "ok": true}]),
            ),
            (
                "{'a': None, 'b': [False, -1.5, 1e-05]}",
                json!({"a": null, "b": [false, -1.5, 1e-5]}),
            ),
            ("[(1, 'x'), (2,), ()]", json!([[1, "x"], [2], []])),
            (r#"["it's", 'say "hi"', 'both \'"']"#, json!(["it's", "say \"hi\"", "both '\""])),
            (
                r"['\\ \n \t \r \x1b \xe9 \u2028 \U0001f600 é']",
                json!(["\\ \n \t \r \u{1b} é \u{2028} 😀 é"]),
            ),
            ("{'a': {'b': {}}}", json!({"a": {"b": {}}})),
            ("[\n  {'a': 1},\n  {'a': 2},\n]", json!([{"a": 1}, {"a": 2}])),
        ] {
            assert_eq!(literal(text), Some((value, "")), "{text}");
        }
        assert_eq!(literal("['a'] and more"), Some((json!(["a"]), " and more")));
    }

    #[test]
    fn what_is_something_else_is_no_value() {
        let deep = "[".repeat(1_000) + &"]".repeat(1_000);
        for text in [
            "",
            "'a'",
            "(1, 2)",
            "{'a', 'b'}",
            "{1: 'a'}",
            "{'a' 1}",
            "{'a': 1 'b': 2}",
            "['a' 'b']",
            "[(1)]",
            "[b'x']",
            "[nan]",
            "[null]",
            "[1__0]",
            "[1-2]",
            "[12345678901234567890123]",
            "[datetime.date(2026, 11, 18)]",
            "[Decimal('1.50')]",
            "['open",
            "['two\nlines']",
            r"['\q']",
            r"['\x+1']",
            r"['\ud800']",
            "[1",
            "[...]",
            &deep,
        ] {
            assert_eq!(literal(text), None, "{text}");
        }
    }
}
