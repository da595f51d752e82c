//! Reads values that Python has written. The bytes may be hostile: nothing is allocated because of an
//! announced length, and references can only go back.

use super::{DIGIT_BITS, FLAG_REF};
use crate::{
    flaw::{Flaw, Result},
    reader::{Form, Mark, Reader, Token},
};

/// The longest integer, in digits of `marshal`. Python itself refuses to write longer ones as text.
const MAX_DIGITS: usize = 952;

/// The length of a reference: its code and its number.
const REFERENCE_BYTES: usize = 5;

pub(crate) struct MarshalReader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// The offset from which values have not been read before, so that those with a flag get a number.
    frontier: usize,
    references: Vec<Reference>,
    inside: Vec<OpenContainer>,
    /// The last text that is not in `bytes` in this form.
    text: String,
    /// The number of the reference that the last key was, if it was one.
    key: Option<u32>,
}

struct Reference {
    /// The offset of the value.
    start: usize,
    /// Whether the value has not ended yet, so that a reference to it would be inside of it.
    open: bool,
}

/// A list or dictionary that is being read.
struct OpenContainer {
    content: Content,
    /// Its reference, if it can be referred to.
    reference: Option<usize>,
    /// The offset to continue at after it, if it was reached by a reference.
    resume: Option<usize>,
}

enum Content {
    List { left: usize },
    Dictionary,
}

/// The value that begins at the current position.
struct Item {
    kind: u8,
    reference: Option<usize>,
    resume: Option<usize>,
}

/// The place of a text that was read.
enum TextBytes<'a> {
    Bytes(&'a [u8]),
    Text,
}

impl<'a> MarshalReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            position: 0,
            frontier: 0,
            references: Vec::new(),
            inside: Vec::new(),
            text: String::new(),
            key: None,
        }
    }

    #[cold]
    fn flaw(&self, reason: &str) -> Flaw {
        Flaw::Data(format!(
            "these are no values that Python wrote: {reason} (byte {})",
            self.position
        ))
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let bytes = self.bytes.get(self.position..).and_then(|rest| rest.get(..count));
        let bytes = bytes.ok_or_else(|| self.flaw("they end too early"))?;
        self.position += count;
        Ok(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes.get(self.position..).and_then(|rest| rest.first_chunk());
        let bytes = *bytes.ok_or_else(|| self.flaw("they end too early"))?;
        self.position += N;
        Ok(bytes)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a length.
    #[inline]
    fn length(&mut self) -> Result<usize> {
        let length = i32::from_le_bytes(self.array()?);
        usize::try_from(length).map_err(|_| self.flaw("a length is negative"))
    }

    /// Returns the number of the reference at the current position, if there is one.
    #[inline]
    fn referred(&self) -> Option<u32> {
        match self.bytes.get(self.position..)?.first_chunk::<REFERENCE_BYTES>() {
            Some([b'r', number @ ..]) => Some(u32::from_le_bytes(*number)),
            _ => None,
        }
    }

    /// Begins a value, and follows a reference to it.
    #[inline]
    fn item(&mut self) -> Result<Item> {
        let start = self.position;
        let code = self.byte()?;
        let kind = code & !FLAG_REF;
        if kind == b'r' {
            let target = self.length()?;
            let resume = Some(self.position);
            self.position = self.target(target)?;
            let kind = self.byte()? & !FLAG_REF;
            return Ok(Item { kind, reference: None, resume });
        }
        let mut reference = None;
        if code & FLAG_REF != 0 && start >= self.frontier {
            self.frontier = start + 1;
            reference = Some(self.references.len());
            let open = matches!(kind, b'(' | b')' | b'[' | b'{' | b'<' | b'>');
            self.references.push(Reference { start, open });
        }
        Ok(Item { kind, reference, resume: None })
    }

    fn target(&self, reference: usize) -> Result<usize> {
        match self.references.get(reference) {
            Some(Reference { start, open: false }) => Ok(*start),
            Some(_) => Err(Flaw::data("a list or dictionary has itself in it")),
            None => Err(self.flaw("a reference goes nowhere")),
        }
    }

    fn enter(&mut self, item: &Item, content: Content) {
        let Item { reference, resume, .. } = *item;
        self.inside.push(OpenContainer { content, reference, resume });
    }

    fn leave(&mut self) {
        let Some(OpenContainer { reference, resume, .. }) = self.inside.pop() else { return };
        if let Some(reference) = reference.and_then(|index| self.references.get_mut(index)) {
            reference.open = false;
        }
        self.position = resume.unwrap_or(self.position);
    }

    /// Reads the bytes of a text; none if `kind` is not a text.
    #[inline]
    fn string(&mut self, kind: u8) -> Result<Option<&'a [u8]>> {
        let length = match kind {
            b'z' | b'Z' => usize::from(self.byte()?),
            b'a' | b'A' | b'u' | b't' => self.length()?,
            _ => return Ok(None),
        };
        self.take(length).map(Some)
    }

    /// Reads an integer of any length. Returns none and leaves its digits in `text` if it needs more
    /// than 64 bits.
    fn long(&mut self) -> Result<Option<i64>> {
        let count = i32::from_le_bytes(self.array()?);
        let negative = count < 0;
        let digits = count.unsigned_abs() as usize;
        if digits > MAX_DIGITS {
            return Err(Flaw::data("a whole number has more than 4,300 digits"));
        }
        let bytes = self.take(digits * 2)?;
        let digits = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        if digits.clone().any(|digit| digit >> DIGIT_BITS != 0) {
            return Err(self.flaw("a number is damaged"));
        }
        if digits.len() <= 8 {
            let size =
                digits.rev().fold(0_i128, |sum, digit| (sum << DIGIT_BITS) + i128::from(digit));
            let value = if negative { -size } else { size };
            if let Ok(value) = i64::try_from(value) {
                return Ok(Some(value));
            }
            self.text = value.to_string();
            return Ok(None);
        }
        self.text = decimal(digits.rev(), negative);
        Ok(None)
    }

    fn float(&mut self, kind: u8) -> Result<f64> {
        if kind == b'g' {
            return Ok(f64::from_le_bytes(self.array()?));
        }
        let length = usize::from(self.byte()?);
        let text = str::from_utf8(self.take(length)?).ok().and_then(|text| text.parse().ok());
        text.ok_or_else(|| self.flaw("a number is damaged"))
    }

    fn small(&mut self, kind: u8) -> Result<i64> {
        Ok(match kind {
            b'i' => i64::from(i32::from_le_bytes(self.array()?)),
            _ => i64::from_le_bytes(self.array()?),
        })
    }

    fn refuse(&self, kind: u8) -> Flaw {
        let what = match kind {
            b's' => "bytes",
            b'x' | b'y' => "a complex number",
            b'c' => "code",
            b'.' => "an ellipsis",
            b':' => "a slice",
            _ => return self.flaw("there is something unknown"),
        };
        Flaw::Data(format!(
            "{what} cannot be in a table; use text, numbers, lists and dictionaries"
        ))
    }

    /// Reads the key at the current position.
    #[inline]
    fn key_found(&mut self) -> Result<TextBytes<'a>> {
        self.key = self.referred();
        let item = self.item()?;
        let found = match self.string(item.kind)? {
            Some(bytes) => TextBytes::Bytes(bytes),
            None => {
                self.other_key(item.kind)?;
                TextBytes::Text
            }
        };
        self.position = item.resume.unwrap_or(self.position);
        Ok(found)
    }

    /// Writes a key that is not text as `json.dumps` does.
    #[cold]
    fn other_key(&mut self, kind: u8) -> Result<()> {
        self.text = match kind {
            b'N' => "null".to_owned(),
            b'T' => "true".to_owned(),
            b'F' => "false".to_owned(),
            b'i' | b'I' => self.small(kind)?.to_string(),
            b'g' | b'f' => format!("{:?}", self.float(kind)?),
            b'l' => match self.long()? {
                Some(value) => value.to_string(),
                None => return Ok(()),
            },
            _ => return Err(Flaw::data("a key of a dictionary is neither text nor a number")),
        };
        Ok(())
    }
}

impl Reader for MarshalReader<'_> {
    fn form(&mut self) -> Result<Form> {
        let mut code = self.bytes.get(self.position).copied();
        if code.is_some_and(|code| code & !FLAG_REF == b'r') {
            let start = self.position;
            self.position += 1;
            let target = self.length()?;
            self.position = start;
            code = self.bytes.get(self.target(target)?).copied();
        }
        Ok(match code.map(|code| code & !FLAG_REF) {
            Some(b'N') => Form::Null,
            Some(b'(' | b')' | b'[' | b'<' | b'>') => Form::List,
            Some(b'{') => Form::Object,
            Some(_) => Form::Plain,
            None => return Err(self.flaw("they end too early")),
        })
    }

    fn value(&mut self) -> Result<Token<'_>> {
        let item = self.item()?;
        let list = match item.kind {
            b')' => Some(usize::from(self.byte()?)),
            b'(' | b'[' | b'<' | b'>' => Some(self.length()?),
            _ => None,
        };
        if let Some(left) = list {
            self.enter(&item, Content::List { left });
            return Ok(Token::List);
        }
        if item.kind == b'{' {
            self.enter(&item, Content::Dictionary);
            return Ok(Token::Object);
        }
        if let Some(bytes) = self.string(item.kind)? {
            self.position = item.resume.unwrap_or(self.position);
            return Ok(Token::Text(match str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => {
                    self.text =
                        with_surrogates(bytes).ok_or_else(|| self.flaw("a text is damaged"))?;
                    &self.text
                }
            }));
        }
        let token = match item.kind {
            b'N' => Token::Null,
            b'T' => Token::Bool(true),
            b'F' => Token::Bool(false),
            b'i' | b'I' => Token::Int(self.small(item.kind)?),
            b'g' | b'f' => Token::Float(self.float(item.kind)?),
            b'l' => match self.long()? {
                Some(value) => Token::Int(value),
                None => {
                    self.position = item.resume.unwrap_or(self.position);
                    return Ok(Token::Big(&self.text));
                }
            },
            kind => return Err(self.refuse(kind)),
        };
        self.position = item.resume.unwrap_or(self.position);
        Ok(token)
    }

    fn element(&mut self) -> Result<bool> {
        match self.inside.last_mut().map(|inside| &mut inside.content) {
            Some(Content::List { left: 0 }) => {
                self.leave();
                Ok(false)
            }
            Some(Content::List { left }) => {
                *left -= 1;
                Ok(true)
            }
            _ => Err(self.flaw("a list is none")),
        }
    }

    #[inline]
    fn key(&mut self) -> Result<Option<&[u8]>> {
        // A dictionary ends with a null where the next key would be.
        if self.bytes.get(self.position) == Some(&b'0') {
            self.position += 1;
            self.leave();
            return Ok(None);
        }
        Ok(Some(match self.key_found()? {
            TextBytes::Bytes(bytes) => bytes,
            TextBytes::Text => self.text.as_bytes(),
        }))
    }

    /// Returns the number of the key's reference: the same number is always the same key, and its target
    /// was checked when it was first read.
    fn mark(&self) -> Option<Mark> {
        self.key.map(Mark)
    }

    #[inline]
    fn is_marked(&mut self, Mark(number): Mark) -> bool {
        let is_it = self.referred() == Some(number);
        if is_it {
            self.position += REFERENCE_BYTES;
        }
        is_it
    }
}

/// Decodes text with unpaired surrogates, which are not characters.
fn with_surrogates(mut bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    loop {
        match str::from_utf8(bytes) {
            Ok(rest) => {
                text.push_str(rest);
                return Some(text);
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                text.push_str(str::from_utf8(valid).ok()?);
                let [0xED, 0xA0..=0xBF, 0x80..=0xBF, rest @ ..] = rest else { return None };
                text.push(char::REPLACEMENT_CHARACTER);
                bytes = rest;
            }
        }
    }
}

/// Writes an integer in decimal, from its own digits with the most significant first.
fn decimal(digits: impl Iterator<Item = u16>, negative: bool) -> String {
    const BASE: u64 = 1_000_000_000;
    let mut parts: Vec<u64> = vec![0];
    for digit in digits {
        let mut carry = u64::from(digit);
        for part in &mut parts {
            let sum = (*part << DIGIT_BITS) + carry;
            *part = sum % BASE;
            carry = sum / BASE;
        }
        if carry > 0 {
            parts.push(carry);
        }
    }
    while parts.len() > 1 && parts.last() == Some(&0) {
        parts.pop();
    }
    let mut text = String::from(if negative { "-" } else { "" });
    for (place, part) in parts.iter().rev().enumerate() {
        text.push_str(&if place == 0 { part.to_string() } else { format!("{part:09}") });
    }
    text
}
