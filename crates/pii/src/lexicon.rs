//! The words that mean something, all found in one pass over a text.

use std::{
    ops::{BitOr, BitOrAssign},
    sync::LazyLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::{context::is_after_escape, detect::SECRETS};

/// A set of cues: what words say about what stands beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cues(u32);

impl Cues {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const PHONE: Self = Self(1);
    /// Verbs that come before phone numbers, and before many other things.
    pub(crate) const CALL: Self = Self(1 << 1);
    pub(crate) const SSN: Self = Self(1 << 2);
    pub(crate) const CARD: Self = Self(1 << 3);
    pub(crate) const NATIONAL: Self = Self(1 << 4);
    /// Documents whose numbers have no check digit: passports, driving licences.
    pub(crate) const DOCUMENT: Self = Self(1 << 5);
    pub(crate) const BIRTH: Self = Self(1 << 6);
    pub(crate) const ADDRESS: Self = Self(1 << 7);
    /// Names of persons and of nothing else.
    pub(crate) const PERSON: Self = Self(1 << 8);
    /// Names of anything, and roles that a person has.
    pub(crate) const NAME: Self = Self(1 << 9);
    pub(crate) const EMAIL: Self = Self(1 << 10);
    pub(crate) const PASSWORD: Self = Self(1 << 11);
    pub(crate) const SECRET: Self = Self(1 << 12);
    /// Services whose keys look like any other number.
    pub(crate) const PROVIDER: Self = Self(1 << 13);
    /// What has numbers that are nobody's: orders, times, sizes.
    pub(crate) const THING: Self = Self(1 << 14);
    /// What makes a `token` or an `address` something else.
    pub(crate) const PLAIN: Self = Self(1 << 15);
    pub(crate) const VERSION: Self = Self(1 << 16);
    pub(crate) const TITLE: Self = Self(1 << 17);
    pub(crate) const GREETING: Self = Self(1 << 18);
    pub(crate) const STREET: Self = Self(1 << 19);
    pub(crate) const MONTH: Self = Self(1 << 20);
    pub(crate) const BEARER: Self = Self(1 << 21);
    /// Tokens that only say where a list goes on.
    pub(crate) const PAGING: Self = Self(1 << 22);

    /// Goods and what is done with them, whose numbers look like those of people.
    pub(crate) const GOODS: Self = Self(1 << 23);
    /// Ids, of things or of people.
    pub(crate) const ID: Self = Self(1 << 24);

    /// Numbers that are hardly ever phone numbers.
    pub(crate) const COUNT: Self = Self(Self::THING.0 | Self::ID.0);

    /// Keys beside which a `name` is that of a person.
    pub(crate) const PERSONAL: Self = Self(
        Self::PHONE.0
            | Self::SSN.0
            | Self::CARD.0
            | Self::NATIONAL.0
            | Self::DOCUMENT.0
            | Self::BIRTH.0
            | Self::ADDRESS.0
            | Self::PERSON.0
            | Self::EMAIL.0,
    );

    /// The cues that may change how a number is read.
    pub(crate) const OF_NUMBERS: Self = Self(
        Self::PHONE.0
            | Self::CALL.0
            | Self::SSN.0
            | Self::CARD.0
            | Self::NATIONAL.0
            | Self::DOCUMENT.0
            | Self::BIRTH.0
            | Self::COUNT.0
            | Self::VERSION.0
            | Self::GOODS.0,
    );

    /// The cues that tell a value by its label alone.
    pub(crate) const OF_LABELS: Self = Self(
        Self::PASSWORD.0
            | Self::SECRET.0
            | Self::PROVIDER.0
            | Self::PERSON.0
            | Self::NAME.0
            | Self::ADDRESS.0,
    );

    pub(crate) fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
}

impl BitOr for Cues {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Cues {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The meaning of a word in the lexicon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Word {
    Cue(Cues),
    /// The beginning of a key, by its place in the table.
    Secret(usize),
    /// `-----BEGIN `
    Armor,
    /// The beginning of a JSON Web Token.
    Jwt,
    /// `://` or `www.`
    Url,
    /// `%40`, the `@` of an email address inside of a URL.
    EncodedAt,
}

/// A word in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) word: Word,
}

#[rustfmt::skip]
const CUES: &[(Cues, &[&str])] = &[
    (Cues::PHONE, &[
        "phone", "telephone", "telephone number", "phone number", "phone_number", "phonenumber", "phone no", "phone_no",
        "tel", "mobile", "mobile number", "cell", "cellphone", "cell number", "fax", "fax number", "whatsapp", "msisdn", "e164",
        "landline", "contact number", "contact_number", "telefon", "telefonnummer", "telefono", "teléfono", "telefone",
        "téléphone", "rufnummer", "handynummer", "celular", "móvil", "portable", "mobil", "cellulare", "sms to",
    ]),
    (Cues::CALL, &["call", "call me", "dial", "reach", "reach me", "ring", "text me", "answering at", "contact me", "contact us", "voicemail", "hotline", "office", "my number", "his number", "her number", "your number", "their number"]),
    (Cues::SSN, &["ssn", "social security", "social_security", "socialsecurity", "social-security", "social security number", "social_security_number", "socialsecuritynumber", "ssn_number"]),
    (Cues::CARD, &["card", "credit card", "debit card", "card number", "card_number", "cardnumber", "creditcard", "credit_card", "ccnum", "cc number", "cc_number", "visa", "mastercard", "amex", "maestro", "american express", "discover card", "pan", "cardno", "card_no", "card no", "kreditkarte", "kartennummer", "tarjeta", "carte bancaire", "paid with", "paid by", "pay with", "charged to", "billed to"]),
    (Cues::NATIONAL, &[
        "national id", "national_id", "nationalid", "national identity", "national insurance", "national_insurance", "identity number", "id number", "id_number",
        "id card", "id_card", "personal id", "personal_id", "personal number", "personal code", "tax id", "tax_id", "taxid", "tax number", "tax_number", "tin", "itin",
        "nhs", "nhs number", "nhs_number", "nino", "bsn", "burgerservicenummer", "dni", "nie", "nif", "codice fiscale", "codice_fiscale", "codicefiscale", "pesel", "cpf", "cnpj", "nir",
        "numéro de sécurité sociale", "steuer-id", "steuer_id", "steuerid", "steuernummer", "steueridentifikationsnummer", "idnr",
        "sin", "social insurance", "social_insurance", "tfn", "tax file number", "tax_file_number", "aadhaar", "aadhar", "personnummer", "henkilötunnus", "hetu",
        "fødselsnummer", "fodselsnummer", "cpr", "curp", "nric", "fin number", "resident id", "ahv", "avs number", "rijksregisternummer", "oib", "isikukood", "egn", "cnp", "tckn", "kimlik", "rrn",
    ]),
    (Cues::DOCUMENT, &[
        "passport", "passport number", "passport_number", "passport no", "driver's license", "driver’s license", "drivers license", "driver license", "drivers_license", "driver_license", "driverslicense",
        "driverlicense", "driver's licence", "driving licence", "driving license", "driving_licence", "driving_license", "dl number", "führerschein",
        "national id", "national_id", "nationalid", "identity number", "id card", "id_card", "personal id", "personal_id", "driver's license number", "drivers license number", "driver_license_number", "drivers_license_number",
    ]),
    (Cues::BIRTH, &[
        "dob", "d.o.b", "date of birth", "date_of_birth", "dateofbirth", "birthdate", "birth date", "birth_date", "birthday", "birth_day", "born", "geboren", "geburtsdatum",
        "fecha de nacimiento", "date de naissance", "né le", "née le", "data di nascita", "geboortedatum",
    ]),
    (Cues::ADDRESS, &[
        "address", "address_line", "addressline", "address_line_1", "address1", "address2", "street", "street_address", "streetaddress", "street address", "home address", "home_address", "mailing address",
        "shipping address", "shipping_address", "billing address", "billing_address", "postal address", "postal_address", "lives at", "resides at", "anschrift", "wohnort", "adresse", "direccion", "dirección", "indirizzo", "endereço",
    ]),
    (Cues::PERSON, &[
        "first_name", "firstname", "first name", "name first", "last_name", "lastname", "last name", "name last", "full_name", "fullname", "full name", "given_name", "givenname", "given name", "name given",
        "family_name", "familyname", "family name", "name family", "surname", "middle_name", "middlename", "middle name", "maiden_name", "maiden name", "customer_name", "customername", "customer name", "contact_name",
        "contactname", "contact name", "patient_name", "patientname", "patient name", "employee_name", "employeename", "employee name", "cardholder", "cardholder_name", "cardholder name", "account_holder", "account holder", "accountholder",
        "recipient_name", "recipient name", "sender_name", "sender name", "lead_name", "person_name", "guest_name", "guest name", "passenger_name", "passenger name", "student_name", "student name", "holder_name", "nachname", "vorname", "apellido", "cognome",
    ]),
    (Cues::NAME, &["name", "customer", "patient", "employee", "passenger", "assignee", "author", "reporter", "recipient", "attendee", "attendees", "manager", "doctor", "owner", "display_name", "displayname", "display name", "real_name", "realname", "contact", "sender", "participant", "approver", "reviewer", "organizer", "organiser", "nombre"]),
    (Cues::EMAIL, &["email", "e-mail", "email_address", "emailaddress", "mail"]),
    (Cues::PASSWORD, &["password", "passwd", "pwd", "passphrase", "passcode", "passwort", "contraseña", "mot de passe"]),
    (Cues::SECRET, &[
        "secret", "token", "api_key", "apikey", "api key", "api-key", "access_key", "accesskey", "access-key", "access key", "secret_key", "secretkey", "secret-key", "secret key", "client_secret", "clientsecret", "auth_key", "authkey",
        "auth_token", "authtoken", "private_key", "privatekey", "signing_key", "encryption_key", "encryptionkey", "session_key", "account_key", "accountkey", "subscription_key", "subscription-key", "license_key", "licensekey", "credential", "authorization", "sharedaccesskey", "master_key", "deploy_key",
        "x-amz-signature", "connection_string",
    ]),
    (Cues::PROVIDER, &[
        "adafruit", "adobe", "airtable", "algolia", "alibaba", "asana", "atlassian", "beamer", "bitbucket", "bittrex", "cloudflare", "codecov", "cohere", "coinbase", "confluent", "contentful", "datadog", "discord", "droneci", "dropbox",
        "etsy", "facebook", "fastly", "finicity", "finnhub", "flickr", "freshbooks", "gitter", "heroku", "hubspot", "intercom", "jfrog", "kraken", "kucoin", "launchdarkly", "linkedin", "lob", "looker", "mailchimp", "mailgun", "mapbox",
        "mattermost", "meraki", "messagebird", "netlify", "newrelic", "new_relic", "nytimes", "okta", "plaid", "rapidapi", "sendbird", "sentry", "snyk", "sonar", "squarespace", "sumologic", "telegram", "travis", "twitch", "twitter", "typeform", "yandex", "zendesk",
    ]),
    (Cues::ID, &["id", "ids"]),
    (Cues::THING, &[
        "order", "invoice", "ticket", "ref", "reference", "tracking", "timestamp", "isbn", "zip", "zipcode", "zip code", "postal", "postcode", "sku", "build", "commit", "port", "price", "amount", "total", "epoch", "time", "date", "size",
        "bytes", "count", "serial", "hash", "sha", "revision", "pid", "uuid", "guid", "lat", "lng", "lon", "latitude", "longitude", "created", "updated", "modified", "duration", "offset", "ean", "upc", "gtin", "doi", "pmid", "issn", "expires", "since", "until", "balance", "quantity", "seq", "sequence",
        "transaction", "created_at", "updated_at", "checksum", "etag", "index", "line", "row", "case", "part", "model number", "batch", "lot", "score", "population", "views", "nonce", "block",
    ]),
    (Cues::GOODS, &[
        "part", "part number", "part_number", "partnumber", "part no", "part_no", "p/n", "mpn", "sku", "item", "item_no", "article", "serial", "serial number", "sn", "model", "model number", "batch", "lot", "catalog", "catalogue",
        "component", "order", "order_id", "invoice", "tracking", "shipment", "rev", "revision", "spare", "asset", "bin", "drawing", "stock", "artikel", "artikelnummer", "teil", "teile", "teilenummer", "bestellung", "rechnung", "isbn", "issn", "ean", "upc", "gtin", "pièce", "référence", "pieza", "pedido", "品番", "部品", "在庫", "零件",
    ]),
    (Cues::PLAIN, &[
        "page", "next", "previous", "cursor", "continuation", "counts", "max", "min", "limit", "type", "file", "filename", "path", "url", "uri", "endpoint", "ttl", "usage", "length", "format", "header", "env", "variable", "ip", "ip_address", "mac", "mac_address", "web", "wallet", "contract", "memory",
        "eth", "btc", "host", "hostname", "server", "bind", "listen", "description", "title", "prompt", "completion", "input", "output", "used", "arn", "scope", "required", "policy", "status", "project", "repo", "repository", "branch", "tool", "package", "product", "company", "organization", "organisation",
        "class", "function", "method", "user_name", "username", "user name", "login", "domain", "event", "table", "column", "field", "bucket", "queue", "topic", "region", "brand", "category", "symbol", "app", "application", "service", "module", "library", "display", "algorithm", "sort", "reset", "blockchain",
        // No telephone.
        "tel aviv", "tel-aviv", "tel_aviv",
    ]),
    (Cues::PAGING, &["page", "next", "previous", "cursor", "continuation", "max", "min", "limit", "prompt", "completion", "input", "output", "used", "sync", "total", "num"]),
    (Cues::VERSION, &["version", "ver", "release", "upgrade", "firmware", "driver"]),
    (Cues::TITLE, &["mr", "mrs", "ms", "miss", "mx", "dr", "prof", "professor", "herr", "frau", "señor", "señora", "monsieur", "madame"]),
    (Cues::GREETING, &["dear", "my name is", "name is", "signed by"]),
    (Cues::STREET, &["street", "avenue", "ave", "road", "rd", "boulevard", "blvd", "lane", "ln", "drive", "court", "place", "terrace", "square", "st", "parkway", "pkwy", "highway", "hwy", "way", "crescent", "close"]),
    (Cues::MONTH, &[
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
    ]),
    (Cues::BEARER, &["bearer", "authorization: basic", "authorization: token", "authorization: bearer", "proxy-authorization: basic"]),
];

const MARKS: &[(Word, &[&str])] = &[
    (Word::Armor, &["-----begin "]),
    (Word::Jwt, &["eyj", "ewog"]),
    (Word::Url, &["://", "www."]),
    (Word::EncodedAt, &["%40"]),
];

struct Lexicon {
    automaton: Option<AhoCorasick>,
    words: Vec<Word>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    // A word may be in two lists: its cues are joined.
    let mut entries: Vec<(&str, Word)> = Vec::new();
    for (cues, words) in CUES {
        for word in *words {
            match entries.iter_mut().find(|(known, _)| known == word) {
                Some((_, Word::Cue(known))) => *known |= *cues,
                _ => entries.push((word, Word::Cue(*cues))),
            }
        }
    }
    for (mark, words) in MARKS {
        entries.extend(words.iter().map(|word| (*word, *mark)));
    }
    entries.extend(SECRETS.iter().enumerate().map(|(place, s)| (s.prefix, Word::Secret(place))));
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(entries.iter().map(|(word, _)| word))
        .ok();
    Lexicon { automaton, words: entries.into_iter().map(|(_, word)| word).collect() }
});

/// Finds the words of a text, from left to right, without those inside of longer ones. Cues are whole
/// words, also inside of `snake_case` and `camelCase`; the others are as they come.
///
/// All matches are looked at: of `accessToken` a search that takes the first would find `st`.
pub(crate) fn hits(text: &str) -> Vec<Hit> {
    let Some(automaton) = &LEXICON.automaton else { return Vec::new() };
    let bytes = text.as_bytes();
    let mut hits: Vec<Hit> = Vec::new();
    for found in automaton.find_overlapping_iter(text) {
        let (start, end) = (found.start(), found.end());
        let word = LEXICON.words[found.pattern().as_usize()];
        let held = hits.last().is_some_and(|last| last.start <= start && end <= last.end);
        if held || (matches!(word, Word::Cue(_)) && !is_word(bytes, start, end)) {
            continue;
        }
        while hits.last().is_some_and(|last| start <= last.start) {
            hits.pop();
        }
        hits.push(Hit { start, end, word });
    }
    hits
}

fn is_word(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_letter = |b: u8| b.is_ascii_alphabetic() || b >= 0x80;
    let begins = start == 0
        || !is_letter(bytes[start - 1])
        || (bytes[start - 1].is_ascii_lowercase() && bytes[start].is_ascii_uppercase())
        || is_after_escape(bytes, start);
    let goes_on = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_lowercase() || *b >= 0x80);
    let all_capitals = bytes[end - 1].is_ascii_uppercase();
    let ends = if all_capitals {
        !bytes.get(end).is_some_and(|b| is_letter(*b)) || (bytes[end] == b's' && !goes_on(end + 1))
    } else {
        !goes_on(end) || (bytes[end] == b's' && !goes_on(end + 1))
    };
    begins && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cues(text: &str) -> Cues {
        hits(text).iter().fold(Cues::NONE, |cues, hit| match hit.word {
            Word::Cue(more) => cues | more,
            _ => cues,
        })
    }

    #[test]
    fn the_automaton_can_be_built() {
        assert!(LEXICON.automaton.is_some());
    }

    #[test]
    fn cues_are_whole_words_also_in_identifiers() {
        for text in [
            "phone",
            "Phone:",
            "homePhone",
            "home_phone_2",
            "PHONE_NUMBER",
            "phones",
            "phoneNumber",
        ] {
            assert!(cues(text).any(Cues::PHONE), "{text}");
        }
        for text in ["headphones", "phonetic", "PHONETIC", "smartphone"] {
            assert!(!cues(text).any(Cues::PHONE), "{text}");
        }
    }
}
