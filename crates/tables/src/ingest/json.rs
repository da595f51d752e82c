//! Reads JSON text. Beyond the standard it accepts `NaN` and `Infinity`, which Python writes, and keeps
//! integers of any length exact.

use crate::{
    flaw::{Flaw, Result},
    reader::{Form, Reader, Token},
};

pub(super) struct JsonReader<'a> {
    text: &'a str,
    position: usize,
    /// Whether each value is on a line of its own.
    lines: bool,
    /// Whether a value has begun on this line.
    begun: bool,
    /// Whether a list or object has just begun, so that no comma precedes the next value.
    fresh: bool,
    /// The last text that had escapes, decoded.
    unescaped: String,
}

/// The place of a text that was read.
enum TextPlace {
    InPlace(usize, usize),
    Unescaped,
}

impl<'a> JsonReader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let unescaped = String::new();
        Self { text, position: 0, lines: false, begun: false, fresh: false, unescaped }
    }

    /// Makes a reader of one value in each line.
    pub(super) fn of_lines(text: &'a str) -> Self {
        Self { lines: true, ..Self::new(text) }
    }

    /// Goes to the next line that has a value. Returns false if there is none.
    pub(super) fn next_line(&mut self) -> Result<bool> {
        self.skip_space();
        if self.begun && self.peek().is_some_and(|byte| byte != b'\n') {
            return Err(self.trailing());
        }
        while self.peek() == Some(b'\n') {
            self.position += 1;
            self.skip_space();
        }
        self.begun = self.position < self.text.len();
        Ok(self.begun)
    }

    /// Tells whether nothing but space follows.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.position == self.text.len()
    }

    /// Makes the flaw of text that follows a value.
    pub(super) fn trailing(&self) -> Flaw {
        self.flaw("there is something after the value")
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            if self.lines && self.peek() == Some(b'\n') {
                break;
            }
            self.position += 1;
        }
    }

    #[cold]
    fn flaw(&self, reason: &str) -> Flaw {
        Flaw::At(self.position, reason.to_owned())
    }

    #[cold]
    fn expected(&self, what: &str) -> Flaw {
        match self.text[self.position..].chars().next() {
            None => self.flaw(&format!("expected {what}, but the text ends")),
            Some('\n') => self.flaw(&format!("expected {what}, but the line ends")),
            Some(found) => self.flaw(&format!("expected {what}, found {found:?}")),
        }
    }

    fn word<'b>(&mut self, word: &str, token: Token<'b>) -> Result<Token<'b>> {
        if self.text[self.position..].starts_with(word) {
            self.position += word.len();
            Ok(token)
        } else {
            Err(self.expected("a value"))
        }
    }

    /// Reads a text after its opening quote.
    #[inline]
    fn string(&mut self) -> Result<TextPlace> {
        let start = self.position;
        self.position = plain_end(self.text.as_bytes(), start);
        if self.peek() == Some(b'"') {
            self.position += 1;
            return Ok(TextPlace::InPlace(start, self.position - 1));
        }
        self.unescape(start)?;
        Ok(TextPlace::Unescaped)
    }

    #[cold]
    fn unescape(&mut self, start: usize) -> Result<()> {
        self.unescaped.clear();
        let mut plain = start;
        loop {
            self.position = plain_end(self.text.as_bytes(), self.position);
            self.unescaped.push_str(&self.text[plain..self.position]);
            match self.peek() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.flaw("a text has a control character in it")),
                None => return Err(self.flaw("a text is not closed")),
            }
            plain = self.position;
        }
    }

    /// Reads an escape. An unpaired surrogate is not a character and is replaced.
    fn escape(&mut self) -> Result<()> {
        let kind = self.text.as_bytes().get(self.position + 1).copied();
        let plain = match kind {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => self.escaped_character()?,
            _ => return Err(self.flaw("this is no escape")),
        };
        self.unescaped.push(plain);
        if kind != Some(b'u') {
            self.position += 2;
        }
        Ok(())
    }

    fn escaped_character(&mut self) -> Result<char> {
        let first = self.escaped_unit()?;
        self.position += 6;
        if (0xD800..0xDC00).contains(&first)
            && let Ok(second @ 0xDC00..0xE000) = self.escaped_unit()
        {
            self.position += 6;
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Reads the four digits of an escape that begins here.
    fn escaped_unit(&self) -> Result<u32> {
        let bytes = self.text.as_bytes().get(self.position..self.position + 6);
        match bytes {
            Some([b'\\', b'u', digits @ ..]) if digits.iter().all(u8::is_ascii_hexdigit) => {
                let digits = str::from_utf8(digits).unwrap_or_default();
                u32::from_str_radix(digits, 16).map_err(|_| self.flaw("this is no escape"))
            }
            _ => Err(self.flaw("this is no escape")),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        self.position - start
    }

    fn number(&mut self) -> Result<Token<'_>> {
        let start = self.position;
        let negative = self.peek() == Some(b'-');
        self.position += usize::from(negative);
        if negative && self.peek() == Some(b'I') {
            return self.word("Infinity", Token::Float(f64::NEG_INFINITY));
        }
        let zero = self.peek() == Some(b'0');
        let mut value: i64 = 0;
        let digits_start = self.position;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.position += 1;
        }
        let digits = self.position - digits_start;
        if digits == 0 || (zero && digits > 1) {
            return Err(Flaw::At(start, "this is no number".to_owned()));
        }
        match self.peek() {
            Some(b'.' | b'e' | b'E') => return self.float(start),
            _ if digits > 18 => {}
            _ if negative && value == 0 => return Ok(Token::Float(-0.0)),
            _ => return Ok(Token::Int(if negative { -value } else { value })),
        }
        let text = &self.text[start..self.position];
        Ok(text.parse().map_or(Token::Big(text), Token::Int))
    }

    fn float(&mut self, start: usize) -> Result<Token<'_>> {
        let mut complete = true;
        if self.peek() == Some(b'.') {
            self.position += 1;
            complete &= self.digits() > 0;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.position += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.position += 1;
            }
            complete &= self.digits() > 0;
        }
        match self.text[start..self.position].parse() {
            Ok(value) if complete => Ok(Token::Float(value)),
            _ => Err(Flaw::At(start, "this is no number".to_owned())),
        }
    }
}

impl Reader for JsonReader<'_> {
    fn form(&mut self) -> Result<Form> {
        self.skip_space();
        Ok(match self.peek() {
            Some(b'n') => Form::Null,
            Some(b'[') => Form::List,
            Some(b'{') => Form::Object,
            Some(_) => Form::Plain,
            None => return Err(self.expected("a value")),
        })
    }

    fn value(&mut self) -> Result<Token<'_>> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => {
                self.position += 1;
                Ok(Token::Text(match self.string()? {
                    TextPlace::InPlace(start, end) => &self.text[start..end],
                    TextPlace::Unescaped => &self.unescaped,
                }))
            }
            Some(b'0'..=b'9' | b'-') => self.number(),
            Some(open @ (b'[' | b'{')) => {
                self.position += 1;
                self.fresh = true;
                Ok(if open == b'[' { Token::List } else { Token::Object })
            }
            Some(b't') => self.word("true", Token::Bool(true)),
            Some(b'f') => self.word("false", Token::Bool(false)),
            Some(b'n') => self.word("null", Token::Null),
            Some(b'N') => self.word("NaN", Token::Float(f64::NAN)),
            Some(b'I') => self.word("Infinity", Token::Float(f64::INFINITY)),
            _ => Err(self.expected("a value")),
        }
    }

    fn element(&mut self) -> Result<bool> {
        self.skip_space();
        let fresh = std::mem::take(&mut self.fresh);
        match self.peek() {
            Some(b']') => {
                self.position += 1;
                Ok(false)
            }
            _ if fresh => Ok(true),
            Some(b',') => {
                self.position += 1;
                Ok(true)
            }
            _ => Err(self.expected("a comma or the end of the list")),
        }
    }

    fn key(&mut self) -> Result<Option<&[u8]>> {
        self.skip_space();
        let fresh = std::mem::take(&mut self.fresh);
        match self.peek() {
            Some(b'}') => {
                self.position += 1;
                return Ok(None);
            }
            _ if fresh => {}
            Some(b',') => {
                self.position += 1;
                self.skip_space();
            }
            _ => return Err(self.expected("a comma or the end of the object")),
        }
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        self.position += 1;
        let found = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("a colon"));
        }
        self.position += 1;
        Ok(Some(match found {
            TextPlace::InPlace(start, end) => &self.text.as_bytes()[start..end],
            TextPlace::Unescaped => self.unescaped.as_bytes(),
        }))
    }
}

/// Returns where plain characters end: at a quote, an escape or a control character. Eight bytes are
/// checked at a time.
#[inline]
fn plain_end(bytes: &[u8], mut position: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    while let Some(chunk) = bytes.get(position..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        let escapes = zeros(word ^ (ONES * u64::from(b'\\')));
        let controls = word.wrapping_sub(ONES * u64::from(b' ')) & !word & HIGHS;
        let special = quotes | escapes | controls;
        if special != 0 {
            return position + (special.trailing_zeros() / 8) as usize;
        }
        position += 8;
    }
    let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
    position + bytes.get(position..).unwrap_or_default().iter().take_while(|b| plain(b)).count()
}
