//! Puts tokens in the place of personal data, for one namespace.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use narrows_model::{Ending, Failure, Outcome, OutputStream, Principal};
use narrows_pii::{Form, Found, Stream, TokenMaker, Tokens};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, MetaObject, ResourceContents},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::{Mode, Safety, VaultError, echoes::Echo};
use crate::state::Agent;

/// What is looked at beside a part of a text, on either side: a value that a cut went through
/// must be found whole.
pub const MARGIN: u64 = 16 << 10;

/// Something has a value where no token can stand, such as a number: nobody may have it.
#[derive(Clone, Copy, Debug, Error)]
#[error("it is withheld: it has personal data where nothing can stand for it")]
pub struct Withheld;

impl From<Withheld> for ErrorData {
    fn from(withheld: Withheld) -> Self {
        Self::internal_error(withheld.to_string(), None)
    }
}

/// What came of turning tokens back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevealOutcome {
    /// The kinds of the values that were put in.
    pub kinds: BTreeSet<String>,
    /// How many tokens stayed because they are another agent's.
    pub withheld: usize,
}

impl RevealOutcome {
    /// The outcome and the details of its entry in the audit, if a token was turned back or should
    /// have been.
    pub(crate) fn entry(&self) -> Option<(&'static str, Value)> {
        let Self { kinds, withheld } = self;
        if kinds.is_empty() && *withheld == 0 {
            return None;
        }
        let outcome = if kinds.is_empty() { "refused" } else { "ok" };
        Some((outcome, json!({ "kinds": kinds, "withheld": withheld })))
    }
}

/// By what right tokens are turned back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    /// The agent's own: what it was given itself, or all if the configuration says so.
    Own,
    /// Whoever may know has agreed.
    Granted,
}

/// Protects what leaves for a model.
#[derive(Clone)]
pub struct Shield {
    safety: Arc<Safety>,
    namespace: Arc<str>,
    /// Whose tokens they are.
    principal: Arc<str>,
    /// Values that came from tools which are trusted with them.
    exempt: Arc<Mutex<HashSet<(String, String)>>>,
}

impl Shield {
    pub(crate) fn new(safety: Arc<Safety>, principal: &Principal) -> Self {
        let (namespace, principal) = (&*principal.home, &*principal.name);
        Self {
            safety,
            namespace: namespace.into(),
            principal: principal.into(),
            exempt: Arc::default(),
        }
    }

    /// The same for whom there are no exceptions: the record.
    pub(super) fn for_record(&self) -> Self {
        Self { exempt: Arc::default(), ..self.clone() }
    }

    pub fn mode(&self) -> Mode {
        self.safety.mode
    }

    /// Whether programs see what tokens stand for, and models do not.
    pub(crate) fn shows_values_to_programs(&self) -> bool {
        self.mode() == Mode::Boundary
    }

    fn is_off(&self) -> bool {
        self.safety.mode == Mode::Off
    }

    fn tokens(&self) -> Making<'_> {
        Making { shield: self, maker: None }
    }

    /// A text as the model may see it.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_off() {
            return Cow::Borrowed(text);
        }
        match self.without_echoes(text) {
            Cow::Borrowed(text) => self.sanitized(text),
            Cow::Owned(text) => Cow::Owned(self.sanitized(&text).into_owned()),
        }
    }

    /// A text with tokens, whatever the mode is, which can be turned back letter by letter.
    pub fn sanitized<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.safety.scanner.protect(text, None, &mut self.tokens())
    }

    /// The text with tokens in the place of what tools were given lately.
    fn without_echoes<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.safety.echoes.finder(&self.namespace) {
            Some(finder) => finder.replace(text, &|echo| self.token_of(echo)),
            None => Cow::Borrowed(text),
        }
    }

    /// The token of a value that has come again, which must last.
    fn token_of(&self, echo: &Echo) -> String {
        let Echo { kind, value, form } = echo;
        self.tokens().make(kind, value, *form)
    }

    fn maker(&self) -> Arc<TokenMaker> {
        self.safety.vault.maker(&self.namespace, &self.principal)
    }

    /// Changes a text in place.
    pub fn replace(&self, text: &mut String) {
        if let Cow::Owned(protected) = self.text(text) {
            *text = protected;
        }
    }

    /// A part of a text, as if all of it were protected: a value that reaches over the edge is
    /// replaced as a whole.
    pub fn part(&self, text: &str, part: std::ops::Range<usize>) -> String {
        if self.is_off() {
            return text[part].to_owned();
        }
        let mut told = String::new();
        let mut at = part.start;
        let mut tokens = self.tokens();
        for Found { kind, range } in self.safety.scanner.find(text, None) {
            if range.end <= at || range.start >= part.end {
                continue;
            }
            told.push_str(&text[at..range.start.max(at)]);
            told.push_str(&tokens.token(kind.as_str(), &text[range.clone()], Form::Text));
            at = range.end.min(part.end);
        }
        told.push_str(&text[at..part.end]);
        told
    }

    /// Any JSON as the model may see it.
    pub fn json(&self, value: &mut Value) {
        if self.is_off() {
            return;
        }
        if let Some(finder) = self.safety.echoes.finder(&self.namespace) {
            each_text(value, &|text| finder.replace(text, &|echo| self.token_of(echo)).into_owned());
        }
        self.sanitize_json(value);
    }

    /// The same, whatever the mode is.
    pub fn sanitize_json(&self, value: &mut Value) {
        self.safety.scanner.protect_json(value, &mut self.tokens());
    }

    /// Arguments as a person is shown them: protected without exceptions, unless protection is off.
    pub(super) fn for_person(&self, value: &mut Value) {
        self.for_record().json(value);
    }

    /// Anything that is JSON on the wire, as the model may see it.
    pub fn whole<T: Clone + Serialize + DeserializeOwned>(&self, it: &T) -> Result<T, Withheld> {
        if self.is_off() {
            return Ok(it.clone());
        }
        as_json(it, |value| self.json(value))
    }

    /// What is said beside something; it can be done without.
    fn meta(&self, meta: &mut Option<MetaObject>) {
        *meta = self.whole(meta).unwrap_or_default();
    }

    /// Which kinds of personal data are in a value.
    pub(super) fn kinds(&self, value: &Value) -> BTreeSet<String> {
        let mut seen = Seen::default();
        self.safety.scanner.protect_json(&mut value.clone(), &mut seen);
        seen.kinds
    }

    /// Lets values through that a tool gave which is trusted with kinds of them.
    pub(super) fn exempt(&self, value: &Value, is_exempt: &dyn Fn(&str) -> bool) {
        let mut seen = Seen::default();
        self.safety.scanner.protect_json(&mut value.clone(), &mut seen);
        let mut exempt = self.exempt.lock().unwrap_or_else(PoisonError::into_inner);
        exempt.extend(seen.values.into_iter().filter(|(kind, _)| is_exempt(kind)));
    }

    /// All that a model reads of a run.
    pub fn outcome(&self, outcome: &mut Outcome) {
        if self.is_off() {
            return;
        }
        self.replace(&mut outcome.stdout);
        self.replace(&mut outcome.stderr);
        self.json(&mut outcome.result);
        outcome.notes.iter_mut().for_each(|note| self.replace(note));
        for excerpt in &mut outcome.excerpts {
            self.replace(&mut excerpt.tail);
            // It may begin with half of a value.
            let margin = excerpt.tail.ceil_char_boundary(MARGIN as usize);
            excerpt.tail.drain(..margin);
        }
        if let Ending::Failed(failure) | Ending::Limit(_, failure) | Ending::Cancelled(failure) =
            &mut outcome.ending
        {
            let Failure { kind, message, traceback, .. } = failure;
            [kind, message, traceback].into_iter().for_each(|text| self.replace(text));
        }
    }

    /// What a server answered, as the model, or in strict mode the program, may see it: what the
    /// server was given is recognised in other forms too.
    pub fn answer(&self, result: &mut CallToolResult) {
        if self.is_off() {
            return;
        }
        self.result(result);
        if let Some(finder) = self.safety.echoes.finder(&self.namespace) {
            let token = |echo: &Echo| self.token_of(echo);
            let change = |text: &str| finder.replace_forms(text, &token).into_owned();
            *result =
                as_json(result, |value| each_text(value, &change)).unwrap_or_else(|withheld| {
                    CallToolResult::error(vec![ContentBlock::text(withheld.to_string())])
                });
        }
    }

    /// A result as the model may see it.
    pub fn result(&self, result: &mut CallToolResult) {
        if self.is_off() {
            return;
        }
        for block in &mut result.content {
            self.block(block);
        }
        if let Some(structured) = &mut result.structured_content {
            self.json(structured);
        }
        self.meta(&mut result.meta);
    }

    fn block(&self, block: &mut ContentBlock) {
        match block {
            ContentBlock::Text(text) => {
                self.content(&mut text.text);
                self.meta(&mut text.meta);
            }
            ContentBlock::Image(image) => {
                self.bytes(&mut image.data, &image.mime_type);
                self.meta(&mut image.meta);
            }
            ContentBlock::Audio(audio) => {
                self.bytes(&mut audio.data, &audio.mime_type);
                self.meta(&mut audio.meta);
            }
            ContentBlock::Resource(resource) => {
                self.resource(&mut resource.resource);
                self.meta(&mut resource.meta);
            }
            ContentBlock::ResourceLink(link) => match self.whole(link) {
                Ok(protected) => *link = protected,
                Err(withheld) => *block = ContentBlock::text(withheld.to_string()),
            },
            _ => *block = ContentBlock::text("(content of a kind that cannot be looked at)"),
        }
    }

    /// Text that is JSON is looked at as JSON: its keys say what its values are.
    fn content(&self, text: &mut String) {
        let is_json = text.trim_start().starts_with(['{', '[']);
        match serde_json::from_str::<Value>(text).ok().filter(|_| is_json) {
            Some(mut value) => {
                let before = value.clone();
                self.json(&mut value);
                // If nothing was found in it, it stays as it was written.
                if value != before {
                    *text = value.to_string();
                }
                self.replace(text);
            }
            None => self.replace(text),
        }
    }

    /// What a server calls a resource.
    pub fn resource(&self, resource: &mut ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { text, uri, meta, .. } => {
                self.replace(uri);
                self.meta(meta);
                self.content(text);
            }
            ResourceContents::BlobResourceContents { blob, uri, mime_type, meta } => {
                self.replace(uri);
                self.meta(meta);
                self.bytes(blob, mime_type.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Bytes in base64. Whatever they are said to be: those that are text are looked at as text.
    fn bytes(&self, data: &mut String, mime_type: &str) {
        if self.is_off() {
            return;
        }
        let text = BASE64_STANDARD.decode(data.as_bytes()).ok();
        // With zeros in it, it is text in wider letters, or none at all.
        let text = text.filter(|bytes| !bytes.contains(&0));
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let is_media =
            ["image/", "audio/", "video/"].iter().any(|kind| mime_type.starts_with(kind));
        match text {
            Some(text) => {
                if let Cow::Owned(protected) = self.text(&text) {
                    *data = BASE64_STANDARD.encode(protected);
                }
            }
            // What nobody can look into does not get into a strict sandbox.
            None if self.safety.mode == Mode::Strict && !is_media => {
                *data = BASE64_STANDARD.encode("withheld: pii mode is strict");
            }
            None if is_media => {}
            None => {
                if let Ok(bytes) = BASE64_STANDARD.decode(data.as_bytes()) {
                    let all = 0..bytes.len();
                    *data = BASE64_STANDARD.encode(self.part_of_bytes(&bytes, all));
                }
            }
        }
    }

    /// A part of bytes that are no UTF-8: each is looked at as a letter, as older files have them.
    pub(crate) fn part_of_bytes(&self, bytes: &[u8], part: std::ops::Range<usize>) -> Vec<u8> {
        let length = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte).len_utf8()).sum();
        let start: usize = length(&bytes[..part.start]);
        let end = start + length(&bytes[part]);
        let text: String = bytes.iter().copied().map(char::from).collect();
        let told = self.part(&text, start..end);
        told.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect()
    }

    /// An error as the model may see it.
    pub fn error(&self, mut error: ErrorData) -> ErrorData {
        error.message = self.text(&error.message).into_owned().into();
        if let Some(data) = &mut error.data {
            self.json(data);
        }
        error
    }

    /// Protects output as it comes.
    pub fn streams(&self) -> Streams {
        Streams { shield: self.clone(), open: Mutex::default() }
    }

    /// Puts values in the place of tokens, for those kinds that `may` allows. There is one rule for
    /// every way to a value, be it a tool, a program or an analysis: an agent may use the tokens that
    /// it was given itself, which stand for what its programs have seen. Those of others stay as they
    /// are, unless the configuration lets it restore them.
    pub async fn reveal(
        &self,
        agent: &Agent,
        value: &mut Value,
        may: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<RevealOutcome, VaultError> {
        let may_restore = self.safety.may_restore(&agent.principal().name);
        let right = if may_restore { Right::Granted } else { Right::Own };
        self.turn_back(agent, value, right, may).await
    }

    /// Puts values in the place of all tokens of the namespace, for whoever may know.
    pub(crate) async fn reveal_all(
        &self,
        agent: &Agent,
        value: &mut Value,
    ) -> Result<RevealOutcome, VaultError> {
        self.turn_back(agent, value, Right::Granted, &|_| true).await
    }

    async fn turn_back(
        &self,
        agent: &Agent,
        value: &mut Value,
        right: Right,
        may: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<RevealOutcome, VaultError> {
        let mut tokens = BTreeSet::new();
        collect(value, &mut tokens);
        let tokens: Vec<String> =
            tokens.into_iter().filter(|(kind, _)| may(kind)).map(|(_, token)| token).collect();
        if tokens.is_empty() {
            return Ok(RevealOutcome::default());
        }
        let store = agent.store().await.map_err(|error| VaultError::Store(error.to_string()))?;
        let mut known = self.safety.vault.open(store, &self.namespace, &tokens).await?;
        let found = known.len();
        if right == Right::Own {
            let maker = self.maker();
            known.retain(|token, value| {
                let token = narrows_pii::tokens_in(token).next();
                token.is_some_and(|token| maker.made(&token, &value.value, value.form))
            });
        }
        let withheld = found - known.len();
        let mut kinds = BTreeSet::new();
        narrows_pii::reveal_json(value, &mut |token| {
            let found = known.get(token.text)?;
            self.safety.echoes.add(
                &self.namespace,
                Echo { kind: token.kind.to_owned(), value: found.value.clone(), form: found.form },
            );
            kinds.insert(token.kind.to_owned());
            Some(found.clone())
        });
        Ok(RevealOutcome { kinds, withheld })
    }
}

/// Something with changes as it is on the wire.
fn as_json<T: Serialize + DeserializeOwned>(
    it: &T,
    change: impl FnOnce(&mut Value),
) -> Result<T, Withheld> {
    let mut value = serde_json::to_value(it).map_err(|_| Withheld)?;
    change(&mut value);
    serde_json::from_value(value).map_err(|_| Withheld)
}

/// Changes all texts of a value, its keys too.
fn each_text(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(key, mut field)| {
                // Bytes in base64 are looked at as bytes.
                if !matches!(key.as_str(), "data" | "blob") || !field.is_string() {
                    each_text(&mut field, change);
                }
                (change(&key), field)
            }));
        }
        _ => {}
    }
}

/// The tokens anywhere in a value, with their kinds.
fn collect(value: &Value, tokens: &mut BTreeSet<(String, String)>) {
    let mut of_text = |text: &str| {
        tokens.extend(
            narrows_pii::tokens_in(text)
                .map(|token| (token.kind.to_owned(), token.text.to_owned())),
        );
    };
    match value {
        Value::String(text) => of_text(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, tokens)),
        Value::Object(fields) => {
            fields.keys().for_each(|key| of_text(key));
            fields.values().for_each(|field| collect(field, tokens));
        }
        _ => {}
    }
}

/// Makes tokens, and notes what they stand for.
struct Making<'a> {
    shield: &'a Shield,
    /// Had when it is first needed: it takes the vault's key.
    maker: Option<Arc<TokenMaker>>,
}

impl Making<'_> {
    fn make(&mut self, kind: &str, value: &str, form: Form) -> String {
        let Shield { safety, namespace, .. } = self.shield;
        let maker = self.maker.get_or_insert_with(|| self.shield.maker());
        let token = maker.token(kind, value, form, safety.pii.keep_last(kind));
        safety.vault.made(namespace, maker, &token, kind, value, form);
        token
    }
}

impl Tokens for Making<'_> {
    fn token(&mut self, kind: &str, value: &str, form: Form) -> String {
        {
            let exempt = &self.shield.exempt;
            let exempt = exempt.lock().unwrap_or_else(PoisonError::into_inner);
            if !exempt.is_empty() && exempt.contains(&(kind.to_owned(), value.to_owned())) {
                return value.to_owned();
            }
        }
        self.make(kind, value, form)
    }
}

/// Only looks.
#[derive(Default)]
struct Seen {
    kinds: BTreeSet<String>,
    values: Vec<(String, String)>,
}

impl Tokens for Seen {
    fn token(&mut self, kind: &str, value: &str, _: Form) -> String {
        self.kinds.insert(kind.to_owned());
        self.values.push((kind.to_owned(), value.to_owned()));
        value.to_owned()
    }
}

/// Output on its way, with what may be the beginning of a value held back.
pub struct Streams {
    shield: Shield,
    open: Mutex<[Stream; 2]>,
}

impl Streams {
    /// What can be told of the stream now.
    pub fn push(&self, stream: OutputStream, text: &str) -> String {
        if self.shield.is_off() {
            return text.to_owned();
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let scanner = &self.shield.safety.scanner;
        let told = open[number(stream)].push(scanner, text, &mut self.shield.tokens());
        self.shield.without_echoes(&told).into_owned()
    }

    /// What was held back.
    pub fn finish(&self, stream: OutputStream) -> String {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let scanner = &self.shield.safety.scanner;
        let told = open[number(stream)].finish(scanner, &mut self.shield.tokens());
        self.shield.without_echoes(&told).into_owned()
    }
}

fn number(stream: OutputStream) -> usize {
    match stream {
        OutputStream::Stdout => 0,
        OutputStream::Stderr => 1,
    }
}

impl std::fmt::Debug for Shield {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shield").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Streams")
    }
}

/// The arguments of a call as an object.
pub(super) fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
