//! Runs all detectors on a text.

use std::ops::Range;

use phonenumber::country;

use super::{SECRETS, address, email, labelled, net, numbers, pem, person, secret, url};
use crate::{context::Text, kind::Builtin, lexicon::Word};

/// The settings that the detectors need.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) region: country::Id,
    pub(crate) all_urls: bool,
}

/// The receiver of what is found.
pub(crate) type Sink<'s> = dyn FnMut(Builtin, Range<usize>) + 's;

/// Finds everything, in any order, also what overlaps.
pub(crate) fn all(text: &Text<'_>, options: &Options, found: &mut Sink<'_>) {
    by_words(text, options, found);
    labelled::find(text, found);
    numbers::find(text, options, found);
    net::letter_macs(text.bytes, found);
}

/// Finds what begins with a word that tells what it is.
fn by_words(text: &Text<'_>, options: &Options, found: &mut Sink<'_>) {
    // Each kind of thing is read once, though words may occur inside of it.
    let (mut key_end, mut url_end, mut secret_end) = (0, 0, 0);
    for hit in &text.hits {
        match hit.word {
            Word::Armor if hit.start >= key_end => {
                if let Some(range) = pem::private_key(text.str, hit.start) {
                    key_end = range.end;
                    found(Builtin::PrivateKey, range);
                }
            }
            Word::Jwt => {
                if let Some(range) = secret::jwt(text.bytes, hit.start) {
                    found(Builtin::Jwt, range);
                }
            }
            Word::Secret(place) if hit.start >= secret_end => {
                if let Some(range) = secret::known(text, hit, &SECRETS[place]) {
                    secret_end = range.end;
                    found(Builtin::ApiKey, range);
                }
            }
            Word::Url if hit.start >= url_end => {
                if let Some(url) = url::at(text.str, hit.start) {
                    url_end = url.range.end;
                    if url.has_credentials || options.all_urls {
                        found(Builtin::Url, url.range);
                    }
                }
            }
            Word::EncodedAt => {
                if let Some(range) = email::around(text.str, hit.start, hit.end) {
                    found(Builtin::Email, range);
                }
            }
            Word::Cue(cues) => {
                person::by_word(text, hit, cues, found);
                address::by_word(text, hit, cues, found);
            }
            Word::Armor | Word::Url | Word::Secret(_) => {}
        }
    }
}
