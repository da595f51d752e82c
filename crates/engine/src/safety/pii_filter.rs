//! Replaces personal data by tokens, for one principal in a namespace, and tokens by their values.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use narrows_model::{Ending, EventOutcome, Failure, Outcome, OutputStream, Principal, cut::MARGIN};
use narrows_pii::{Form, Found, Stream, Token, TokenMaker, Tokens};
use rmcp::ErrorData;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::{
    Mode, Safety, VaultError,
    message::each_text,
    public_values::PublicValues,
    returned_values::{Echo, ValueMatcher},
};
use crate::{compute::json_bytes, state::Agent};

/// The error for a message that is withheld, because it has personal data where no token can stand,
/// such as in a number.
#[derive(Clone, Copy, Debug, Error)]
#[error("it is withheld: it has personal data where nothing can stand for it")]
pub struct Unredactable;

impl From<Unredactable> for ErrorData {
    fn from(withheld: Unredactable) -> Self {
        Self::internal_error(withheld.to_string(), None)
    }
}

/// The result of replacing tokens by their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevealOutcome {
    /// The kinds of the values that replaced tokens.
    pub kinds: BTreeSet<String>,
    /// The number of tokens that stayed because they belong to another agent.
    pub withheld: usize,
    /// The tokens that stayed, for whatever reason.
    pub left: BTreeSet<String>,
}

impl RevealOutcome {
    /// Returns the outcome and the details of its audit entry, if a token was replaced or was withheld.
    pub(crate) fn entry(&self) -> Option<(EventOutcome, Value)> {
        let Self { kinds, withheld, .. } = self;
        if kinds.is_empty() && *withheld == 0 {
            return None;
        }
        let outcome = if kinds.is_empty() { EventOutcome::Refused } else { EventOutcome::Ok };
        Some((outcome, json!({ "kinds": kinds, "withheld": withheld })))
    }
}

/// The right by which tokens are replaced by their values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    /// The agent's own right, to the tokens that it was given itself.
    Own,
    /// The right to all tokens of the namespace: the configuration or a person allows it.
    Granted,
}

/// The filter for all that leaves for a principal's model. Clones share their exceptions.
#[derive(Clone)]
pub struct PiiFilter {
    safety: Arc<Safety>,
    namespace: Arc<str>,
    /// The principal to whom the tokens belong.
    principal: Arc<str>,
    /// Values, with their kinds, from tools whose results a rule exempts.
    exempt: Arc<Mutex<HashSet<(String, String)>>>,
    /// Values that are in definitions of tools, which are public.
    public: PublicValues,
}

impl PiiFilter {
    pub(crate) fn new(safety: Arc<Safety>, principal: &Principal) -> Self {
        let (namespace, principal) = (&*principal.home, &*principal.name);
        Self {
            safety,
            namespace: namespace.into(),
            principal: principal.into(),
            exempt: Arc::default(),
            public: PublicValues::default(),
        }
    }

    /// Returns the filter without exceptions, for the audit and for questions to a person.
    pub(super) fn without_exemptions(&self) -> Self {
        Self { exempt: Arc::default(), public: PublicValues::default(), ..self.clone() }
    }

    pub fn mode(&self) -> Mode {
        self.safety.mode
    }

    /// Tells whether programs see values while models see tokens.
    pub(crate) fn shows_values_to_programs(&self) -> bool {
        self.mode() == Mode::Boundary
    }

    pub(super) fn is_off(&self) -> bool {
        self.safety.mode == Mode::Off
    }

    fn tokens(&self) -> TokenSink<'_> {
        TokenSink { pii_filter: self, maker: None }
    }

    /// Protects a text for the model.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_off() {
            return Cow::Borrowed(text);
        }
        match self.without_echoes(text) {
            Cow::Borrowed(text) => self.sanitized(text),
            Cow::Owned(text) => Cow::Owned(self.sanitized(&text).into_owned()),
        }
    }

    /// Replaces personal data in a text by tokens, whatever the mode is, so that the exact text can be
    /// restored.
    pub fn sanitized<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.safety.scanner.protect(text, None, &mut self.tokens())
    }

    /// Replaces values that tools were given recently by tokens.
    fn without_echoes<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.finder() {
            Some(finder) => finder.replace(text, &|echo| self.shown_of(echo)),
            None => Cow::Borrowed(text),
        }
    }

    /// Returns the replacement of a value that has come back: its token, or the value itself if it is
    /// public.
    fn shown_of(&self, echo: &Echo) -> String {
        if self.public.contains(&echo.value, &self.safety.scanner) {
            echo.value.clone()
        } else {
            self.token_of(echo)
        }
    }

    /// Returns the matcher for values that tools were given recently.
    pub(super) fn finder(&self) -> Option<Arc<ValueMatcher>> {
        self.safety.returned_values.finder(&self.namespace)
    }

    /// Returns the token of a value that has come back, and keeps it in the vault.
    pub(super) fn token_of(&self, echo: &Echo) -> String {
        let Echo { kind, value, form } = echo;
        self.tokens().make(kind, value, *form)
    }

    fn maker(&self) -> Arc<TokenMaker> {
        self.safety.vault.maker(&self.namespace, &self.principal)
    }

    /// Protects a text in place.
    pub fn replace(&self, text: &mut String) {
        if let Cow::Owned(protected) = self.text(text) {
            *text = protected;
        }
    }

    /// Returns a part of a text as it is when the whole text is protected: a value that crosses the
    /// edge is replaced as a whole.
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

    /// Protects JSON for the model.
    pub fn json(&self, value: &mut Value) {
        if self.is_off() {
            return;
        }
        if let Some(finder) = self.finder() {
            each_text(value, &|text| {
                finder.replace(text, &|echo| self.shown_of(echo)).into_owned()
            });
        }
        self.sanitize_json(value);
    }

    /// Replaces personal data in JSON by tokens, whatever the mode is.
    pub fn sanitize_json(&self, value: &mut Value) {
        self.safety.scanner.protect_json(value, &mut self.tokens());
    }

    /// Protects arguments that a person is shown: without exceptions, unless the mode is off.
    pub(super) fn for_person(&self, value: &mut Value) {
        self.without_exemptions().json(value);
    }

    /// Tells whether a text consists of one value of personal data.
    pub(super) fn is_one_value(&self, text: &str) -> bool {
        let found = self.safety.scanner.find(text, None);
        found.iter().any(|found| found.range == (0..text.len()))
    }

    /// Returns the kinds of personal data in a value.
    pub(super) fn kinds(&self, value: &Value) -> BTreeSet<String> {
        let mut seen = FoundPii::default();
        self.safety.scanner.protect_json(&mut value.clone(), &mut seen);
        seen.kinds
    }

    /// Exempts the values in a tool's result, of the kinds that a rule exempts for this tool.
    pub(super) fn exempt(&self, value: &Value, is_exempt: &dyn Fn(&str) -> bool) {
        let mut seen = FoundPii::default();
        self.safety.scanner.protect_json(&mut value.clone(), &mut seen);
        let mut exempt = self.exempt.lock().unwrap_or_else(PoisonError::into_inner);
        exempt.extend(seen.values.into_iter().filter(|(kind, _)| is_exempt(kind)));
    }

    /// Exempts the values in definitions of tools, in whatever form a program prints them.
    pub(crate) fn publish(&self, definitions: &Value) {
        if !self.is_off() {
            self.public.add(definitions, &self.safety.scanner);
        }
    }

    /// Protects everything that a model reads of a run.
    pub fn outcome(&self, outcome: &mut Outcome) {
        if self.is_off() {
            return;
        }
        self.printed(&mut outcome.stdout);
        self.printed(&mut outcome.stderr);
        self.value(&mut outcome.result);
        outcome.notes.iter_mut().for_each(|note| self.printed(note));
        for excerpt in &mut outcome.excerpts {
            self.replace(&mut excerpt.tail);
            // The tail may begin with half of a value, which the filter cannot recognise.
            let margin = excerpt.tail.ceil_char_boundary(MARGIN as usize);
            excerpt.tail.drain(..margin);
        }
        if let Ending::Failed(failure) | Ending::Limit(_, failure) | Ending::Cancelled(failure) =
            &mut outcome.ending
        {
            let Failure { kind, message, traceback, .. } = failure;
            [kind, message, traceback].into_iter().for_each(|text| self.printed(text));
        }
    }

    /// Protects a text, and if it is JSON also by its structure, because keys say what kind values are.
    pub(crate) fn printed(&self, text: &mut String) {
        if !self.is_off() {
            self.replace(text);
            self.text_of_json(text, 0);
        }
    }

    /// Protects JSON, and JSON within its texts.
    pub(crate) fn value(&self, value: &mut Value) {
        if !self.is_off() {
            self.json(value);
            self.texts_of_json(value, 0);
        }
    }

    /// Protects a part of bytes that are not UTF-8. Each byte is read as one letter (Latin-1).
    pub(crate) fn part_of_bytes(&self, bytes: &[u8], part: std::ops::Range<usize>) -> Vec<u8> {
        let length = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte).len_utf8()).sum();
        let start: usize = length(&bytes[..part.start]);
        let end = start + length(&bytes[part]);
        let text: String = bytes.iter().copied().map(char::from).collect();
        let told = self.part(&text, start..end);
        told.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect()
    }

    /// Returns a filter for output that arrives in pieces.
    pub fn streams(&self) -> Streams {
        Streams { pii_filter: self.clone(), open: Mutex::default() }
    }

    /// Replaces tokens by their values, for the kinds that `may` allows. One rule holds for tools,
    /// programs and analyses: an agent may use the tokens that it was given itself, which stand for
    /// what its programs have seen. Tokens of others stay, unless the configuration lets this agent
    /// restore them.
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

    /// Replaces all tokens of the namespace by their values. The caller checks that this is allowed.
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
        let mut all = BTreeSet::new();
        let bytes = json_bytes(value);
        agent.compute(bytes, || collect(value, &mut all)).await;
        let tokens: Vec<String> =
            all.iter().filter(|(kind, _)| may(kind)).map(|(_, token)| token.clone()).collect();
        let mut left: BTreeSet<String> = all.into_iter().map(|(_, token)| token).collect();
        if tokens.is_empty() {
            return Ok(RevealOutcome { left, ..RevealOutcome::default() });
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
        left.retain(|token| !known.contains_key(token));
        let mut kinds = BTreeSet::new();
        let mut put_back = |token: Token<'_>| {
            let found = known.get(token.text)?;
            self.safety.returned_values.add(
                &self.namespace,
                Echo { kind: token.kind.to_owned(), value: found.value.clone(), form: found.form },
            );
            kinds.insert(token.kind.to_owned());
            Some(found.clone())
        };
        agent.compute(bytes, || narrows_pii::reveal_json(value, &mut put_back)).await;
        Ok(RevealOutcome { kinds, withheld, left })
    }
}

/// Collects the tokens anywhere in a value, with their kinds.
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

/// A sink for the scanner's findings, which makes tokens and keeps their values in the vault.
struct TokenSink<'a> {
    pii_filter: &'a PiiFilter,
    /// Created when it is first needed, because that takes the vault's key.
    maker: Option<Arc<TokenMaker>>,
}

impl TokenSink<'_> {
    fn make(&mut self, kind: &str, value: &str, form: Form) -> String {
        let PiiFilter { safety, namespace, .. } = self.pii_filter;
        let maker = self.maker.get_or_insert_with(|| self.pii_filter.maker());
        let token = maker.token(kind, value, form, safety.pii.keep_last(kind));
        safety.vault.made(namespace, maker, &token, kind, value, form);
        token
    }
}

impl Tokens for TokenSink<'_> {
    fn token(&mut self, kind: &str, value: &str, form: Form) -> String {
        {
            let exempt = &self.pii_filter.exempt;
            let exempt = exempt.lock().unwrap_or_else(PoisonError::into_inner);
            if !exempt.is_empty() && exempt.contains(&(kind.to_owned(), value.to_owned())) {
                return value.to_owned();
            }
        }
        if self.pii_filter.public.contains(value, &self.pii_filter.safety.scanner) {
            return value.to_owned();
        }
        self.make(kind, value, form)
    }
}

/// A sink that records what the scanner finds, and replaces nothing.
#[derive(Default)]
struct FoundPii {
    kinds: BTreeSet<String>,
    values: Vec<(String, String)>,
}

impl Tokens for FoundPii {
    fn token(&mut self, kind: &str, value: &str, _: Form) -> String {
        self.kinds.insert(kind.to_owned());
        self.values.push((kind.to_owned(), value.to_owned()));
        value.to_owned()
    }
}

/// A filter for output in pieces, which holds back what may be the beginning of a value.
pub struct Streams {
    pii_filter: PiiFilter,
    open: Mutex<[Stream; 2]>,
}

impl Streams {
    /// Takes a piece of a stream, and returns the protected text that can be shown now.
    pub fn push(&self, stream: OutputStream, text: &str) -> String {
        if self.pii_filter.is_off() {
            return text.to_owned();
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let scanner = &self.pii_filter.safety.scanner;
        let told = open[number(stream)].push(scanner, text, &mut self.pii_filter.tokens());
        self.pii_filter.without_echoes(&told).into_owned()
    }

    /// Returns the protected rest of a stream.
    pub fn finish(&self, stream: OutputStream) -> String {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let scanner = &self.pii_filter.safety.scanner;
        let told = open[number(stream)].finish(scanner, &mut self.pii_filter.tokens());
        self.pii_filter.without_echoes(&told).into_owned()
    }
}

fn number(stream: OutputStream) -> usize {
    match stream {
        OutputStream::Stdout => 0,
        OutputStream::Stderr => 1,
    }
}

impl std::fmt::Debug for PiiFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PiiFilter").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Streams")
    }
}

/// Returns the object in a value, or an empty one.
pub(super) fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
