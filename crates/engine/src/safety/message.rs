//! Protects every message that the protocol carries to a client: results, prompts, resources,
//! questions, logs. All fields are visited, whatever they are called, so that none is forgotten.
//!
//! | what | how |
//! |---|---|
//! | texts, names of fields, numbers | tokens in the place of values |
//! | texts that are JSON | the same, with their keys as context |
//! | bytes of images, sound and blobs, in any spelling of base64 | as text, if they may be text |
//! | a place that cannot hold a token, such as a required number | the message is withheld |
//!
//! URIs, names of prompts and the like stay usable: their tokens are replaced by the values again when
//! a client sends them. Only the `requestState` of a server is left alone: it goes back to the server
//! as it is, and models do not read it. Definitions of tools are public, and do not pass through here.

use std::borrow::Cow;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ContentBlock, CustomResult, LoggingMessageNotificationParam, ServerResult,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Mode, PiiFilter, Unredactable, bytes_kind};
use crate::media::Shown;

/// How deep JSON in texts of JSON is parsed; nobody writes it that deep. Stops a text that was made to
/// be parsed again and again.
const MAX_TEXT_DEPTH: usize = 4;

/// The largest field of bytes that is also looked at as one value: a short base64 text may be personal
/// data.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// Base64 as it is met: padded or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The forms in which values that tools were given are recognised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forms {
    /// The values as they are.
    Plain,
    /// Also the forms in which servers return them: reversed, encoded, in another case.
    All,
}

/// Base64 that was taken out of a message, so that it is not searched as text.
struct Taken {
    /// The place of each step among its siblings.
    path: Vec<usize>,
    /// In base64, as they were written.
    data: String,
    is_media: bool,
}

impl PiiFilter {
    /// Returns anything that is JSON on the wire as the model may see it.
    pub fn whole<T: Clone + Serialize + DeserializeOwned>(
        &self,
        it: &T,
    ) -> Result<T, Unredactable> {
        self.walked(it, Forms::Plain)
    }

    /// Protects a result for the model.
    pub fn result(&self, result: &mut CallToolResult) {
        self.replace_result(result, Forms::Plain);
    }

    /// Protects a server's answer for the model, or in strict mode for the program. Values that the
    /// server was given are recognised in other forms too, such as base64.
    pub fn answer(&self, result: &mut CallToolResult) {
        self.replace_result(result, Forms::All);
    }

    fn replace_result(&self, result: &mut CallToolResult, forms: Forms) {
        *result = self.walked(result, forms).unwrap_or_else(|withheld| {
            CallToolResult::error(vec![ContentBlock::text(withheld.to_string())])
        });
    }

    /// Protects what a server answers to a client's own request, whatever kind it is.
    pub fn server_result(&self, result: ServerResult) -> Result<ServerResult, Unredactable> {
        if self.is_off() {
            return Ok(result);
        }
        Ok(match result {
            ServerResult::CallToolResult(mut result) => {
                self.answer(&mut result);
                ServerResult::CallToolResult(result)
            }
            ServerResult::ReadResourceResult(result) => {
                ServerResult::ReadResourceResult(self.walked(&result, Forms::All)?)
            }
            ServerResult::GetPromptResult(result) => {
                ServerResult::GetPromptResult(self.walked(&result, Forms::All)?)
            }
            ServerResult::CompleteResult(result) => {
                ServerResult::CompleteResult(self.walked(&result, Forms::All)?)
            }
            ServerResult::InputRequiredResult(mut asks) => {
                // The state goes back to the server as it is.
                let state = asks.request_state.take();
                let mut protected = self.walked(&asks, Forms::All)?;
                protected.request_state = state;
                ServerResult::InputRequiredResult(protected)
            }
            // Other kinds of results, present and future, are JSON on the wire as well.
            other => {
                let mut value = serde_json::to_value(&other).map_err(|_| Unredactable)?;
                self.walk(&mut value, Forms::All);
                ServerResult::CustomResult(CustomResult(value))
            }
        })
    }

    /// Protects an image or a file that a program displays.
    pub(crate) fn media(&self, shown: &mut Shown) {
        if self.is_off() {
            return;
        }
        let is_media = is_media(&shown.mime_type);
        self.replace(&mut shown.mime_type);
        self.bytes(&mut shown.data, is_media, Forms::Plain);
    }

    /// Protects a log message of a server.
    pub fn log(&self, message: LoggingMessageNotificationParam) -> LoggingMessageNotificationParam {
        let level = message.level;
        self.whole(&message).unwrap_or_else(|withheld| {
            LoggingMessageNotificationParam::new(level, Value::from(withheld.to_string()))
        })
    }

    /// Protects an error for the model.
    pub fn error(&self, mut error: ErrorData) -> ErrorData {
        error.message = self.text(&error.message).into_owned().into();
        if let Some(data) = &mut error.data {
            self.walk(data, Forms::Plain);
        }
        error
    }

    /// Protects the JSON form of a message, and reads it back.
    fn walked<T: Clone + Serialize + DeserializeOwned>(
        &self,
        it: &T,
        forms: Forms,
    ) -> Result<T, Unredactable> {
        if self.is_off() {
            return Ok(it.clone());
        }
        let mut value = serde_json::to_value(it).map_err(|_| Unredactable)?;
        self.walk(&mut value, forms);
        serde_json::from_value(value).map_err(|_| Unredactable)
    }

    /// Protects all texts, keys, numbers and bytes of a message.
    fn walk(&self, message: &mut Value, forms: Forms) {
        if self.is_off() {
            return;
        }
        let mut taken = Vec::new();
        take_bytes(message, &mut Vec::new(), &mut taken);
        self.texts_of_json(message, 0);
        self.json(message);
        if forms == Forms::All && self.finder().is_some() {
            each_text(message, &|text| self.without_forms(text).into_owned());
        }
        for Taken { path, mut data, is_media } in taken {
            self.bytes(&mut data, is_media, forms);
            if let Some(place) = at(message, &path) {
                *place = Value::String(data);
            }
        }
    }

    /// Protects texts that are JSON by their structure too: keys say what kind their values are.
    pub(super) fn texts_of_json(&self, value: &mut Value, depth: usize) {
        match value {
            Value::String(text) => self.text_of_json(text, depth),
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.texts_of_json(item, depth));
            }
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.texts_of_json(field, depth));
            }
            _ => {}
        }
    }

    pub(super) fn text_of_json(&self, text: &mut String, depth: usize) {
        if depth == MAX_TEXT_DEPTH || !text.trim_start().starts_with(['{', '[']) {
            return;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(text) else { return };
        let before = value.clone();
        self.texts_of_json(&mut value, depth + 1);
        self.json(&mut value);
        // If nothing was found in it, it stays as it was written.
        if value != before {
            *text = value.to_string();
        }
    }

    /// Replaces values that tools were given by tokens, in whatever form they stand in the text.
    fn without_forms<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.finder() {
            Some(finder) => finder.replace_forms(text, &|echo| self.token_of(echo)),
            None => Cow::Borrowed(text),
        }
    }

    /// Protects bytes in base64. If they are text, they are searched as text, whatever type they claim
    /// to have.
    fn bytes(&self, data: &mut String, is_media: bool, forms: Forms) {
        // A value that happens to be valid base64 is not an image.
        if data.len() <= MAX_VALUE_BYTES && self.is_one_value(data) {
            return self.replace(data);
        }
        let Some(bytes) = decoded(data) else { return self.replace(data) };
        // Bytes with zeros are UTF-16, UTF-32 or not text at all.
        let text = Some(bytes.as_slice()).filter(|bytes| !bytes.contains(&0));
        let protect = |text: &str| {
            let mut protected = self.text(text);
            if forms == Forms::All {
                protected = Cow::Owned(self.without_forms(&protected).into_owned());
            }
            Some(protected.into_owned()).filter(|protected| protected != text)
        };
        match text.and_then(|bytes| std::str::from_utf8(bytes).ok()) {
            Some(text) => {
                if let Some(protected) = protect(text) {
                    *data = BASE64_STANDARD.encode(protected.as_bytes());
                }
            }
            None if is_media && bytes_kind::is_media(&bytes) => {}
            // Bytes that cannot be searched do not enter the sandbox in strict mode.
            None if self.mode() == Mode::Strict => {
                *data = BASE64_STANDARD.encode("withheld: pii mode is strict");
            }
            None => {
                // What can be read as UTF-16 may still be text in another encoding; then each byte is
                // searched as a letter.
                let wide = bytes_kind::wide_text(&bytes)
                    .and_then(|wide| Some(wide.encode(&protect(&wide.text)?)));
                let protected = wide.unwrap_or_else(|| self.part_of_bytes(&bytes, 0..bytes.len()));
                if protected != bytes {
                    *data = BASE64_STANDARD.encode(protected);
                }
            }
        }
    }
}

/// Takes all bytes out of a message and leaves empty texts in their place.
fn take_bytes(value: &mut Value, path: &mut Vec<usize>, taken: &mut Vec<Taken>) {
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter_mut().enumerate() {
                path.push(place);
                take_bytes(item, path, taken);
                path.pop();
            }
        }
        Value::Object(fields) => {
            let bytes = bytes_field(fields);
            for (place, (name, field)) in fields.iter_mut().enumerate() {
                path.push(place);
                match (field, bytes) {
                    (Value::String(data), Some((of_bytes, is_media))) if name == of_bytes => {
                        let data = std::mem::take(data);
                        taken.push(Taken { path: path.clone(), data, is_media });
                    }
                    (field, _) => take_bytes(field, path, taken),
                }
                path.pop();
            }
        }
        _ => {}
    }
}

/// Returns the field of an object that holds bytes, and whether they claim to be an image, sound or a
/// film: `data` of images and sound, `blob` of resources. A field of these names anywhere else is text.
fn bytes_field(fields: &Map<String, Value>) -> Option<(&'static str, bool)> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let mime_type = text("mimeType").unwrap_or_default();
    let is_media = is_media(mime_type);
    match (text("type"), text("uri")) {
        (Some("image" | "audio"), _) if fields.contains_key("data") => Some(("data", is_media)),
        (_, Some(_)) if fields.contains_key("blob") => Some(("blob", is_media)),
        _ => None,
    }
}

fn is_media(mime_type: &str) -> bool {
    ["image/", "audio/", "video/"].iter().any(|kind| mime_type.starts_with(kind))
}

/// Returns the value at a path of a message.
fn at<'v>(mut value: &'v mut Value, path: &[usize]) -> Option<&'v mut Value> {
    for place in path {
        value = match value {
            Value::Array(items) => items.get_mut(*place)?,
            Value::Object(fields) => fields.values_mut().nth(*place)?,
            _ => return None,
        };
    }
    Some(value)
}

/// Decodes base64 in any spelling: with line breaks, in the URL-safe alphabet, with or without padding.
fn decoded(data: &str) -> Option<Vec<u8>> {
    let plain = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => byte,
    });
    BASE64.decode(plain.collect::<Vec<u8>>()).ok()
}

/// Changes all texts of a value, including its keys.
pub(super) fn each_text(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(key, mut field)| {
                each_text(&mut field, change);
                (change(&key), field)
            }));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
