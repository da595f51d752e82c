//! Finds words of a command line or an address that look like secrets.
//!
//! People type keys into commands, whatever documents say. Messages about a server must not repeat
//! them; hiding a word too many costs nothing.

/// Names of options, variables and parameters whose value is a secret.
const SECRET_NAMES: [&str; 12] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pass",
    "credential",
    "auth",
    "bearer",
    "dsn",
    "connection",
];

/// Prefixes of the tokens of well-known services.
const SECRET_STARTS: [&str; 23] = [
    "SG.",
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "hf_",
    "npm_",
    "eyJ",
];

/// Shorter words with such a prefix are names.
const MIN_TOKEN_LEN: usize = 12;
/// Shorter words without a prefix are not considered random.
const MIN_RANDOM_LEN: usize = 24;

/// The schemes before the secret in a header: `Authorization: Bearer …`.
const SCHEMES: [&str; 5] = ["bearer", "basic", "token", "apikey", "digest"];

/// Returns the parts of words that look like secrets: values of options, variables, headers and fields
/// with such names, user names, passwords and queries of addresses, and tokens. A word may be a whole
/// command line, a connection string or JSON.
pub fn secrets_in<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<String> {
    let mut reader = Reader::default();
    for word in words {
        reader.read(word);
    }
    reader.secrets.retain(|secret| !secret.is_empty());
    reader.secrets
}

/// A reader of words, which remembers what the last one announced.
#[derive(Default)]
struct Reader {
    secrets: Vec<String>,
    announced: Announced,
}

/// The meaning of the next word, as far as the last one tells.
#[derive(Clone, Copy, Default, PartialEq)]
enum Announced {
    #[default]
    Nothing,
    /// The last word is the name of a secret, and `:` or `=` may follow: `{"apiKey": "…"}`.
    Name,
    /// The last word is an option such as `--token`, so the next one is its value, unless it is an
    /// option itself.
    Option,
    /// The next word is a secret, or a scheme with the secret behind it: `Authorization: Bearer …`.
    Value,
}

impl Reader {
    fn read(&mut self, word: &str) {
        let is_option = word.starts_with('-');
        if matches!(self.announced, Announced::Value | Announced::Option)
            && !(is_option || is_scheme(word))
        {
            self.secrets.push(word.to_owned());
        }
        if let Some((name, value)) = word.split_once('=')
            && is_secret_name(name)
        {
            self.secrets.push(value.to_owned());
        }
        if let Some((_, rest)) = word.split_once("://") {
            self.secrets.extend(of_address(rest));
        }
        // Only what directly follows in the same word belongs to a field.
        if self.announced == Announced::Name {
            self.announced = Announced::Nothing;
        }
        let mut at = 0;
        for piece in word.split(is_separator) {
            let quote = word[..at].chars().next_back().filter(|c| matches!(c, '"' | '\''));
            let rest = &word[at..];
            at += piece.len() + word[at + piece.len()..].chars().next().map_or(0, char::len_utf8);
            if !piece.is_empty() {
                let quoted = quote.and_then(|quote| rest.split(quote).next());
                self.read_piece(piece, quoted.unwrap_or(piece));
            }
        }
    }

    /// Reads a piece between separators; `quoted` is the quoted text that it begins, or the piece
    /// itself.
    fn read_piece(&mut self, piece: &str, quoted: &str) {
        let is_option = piece.starts_with('-');
        match self.announced {
            Announced::Name if matches!(piece, ":" | "=") => {
                self.announced = Announced::Value;
                return;
            }
            Announced::Value if is_scheme(piece) || piece == ":" => return,
            Announced::Option if is_option => {}
            Announced::Option | Announced::Value => {
                self.secrets.extend([piece, quoted].map(str::to_owned));
            }
            Announced::Name | Announced::Nothing => {}
        }
        // `--header=Authorization:`
        let label = piece.strip_suffix(':').and_then(|label| label.rsplit('=').next());
        self.announced = match label {
            Some(name) if names_secret(name) => Announced::Value,
            _ if is_option && !piece.contains('=') && is_secret_name(piece) => Announced::Option,
            _ if names_secret(piece) => Announced::Name,
            _ => Announced::Nothing,
        };
        for (sign, _) in piece.match_indices('=') {
            if is_secret_name(&piece[..sign]) {
                self.secrets.push(piece[sign + 1..].to_owned());
            }
        }
        let field = piece.split_once(':').filter(|(_, value)| !value.starts_with("//"));
        if let Some((name, value)) = field
            && names_secret(name)
        {
            self.secrets.push(value.to_owned());
        }
        if let Some((_, rest)) = piece.split_once("://") {
            self.secrets.extend(of_address(rest));
        } else {
            let value = piece.split_once('=').map_or(piece, |(_, value)| value);
            // Some tokens have a number before a colon.
            let named = field.filter(|(name, _)| !name.bytes().all(|b| b.is_ascii_digit()));
            let likely = [piece, value].into_iter().chain(named.map(|(_, value)| value));
            let likely = likely.filter(|word| looks_secret(word));
            self.secrets.extend(likely.map(str::to_owned));
        }
    }
}

/// Tells whether a word is a token by itself: it has the prefix of a known service, or is long and
/// looks random.
pub fn looks_secret(word: &str) -> bool {
    let starts = SECRET_STARTS.iter().any(|start| word.starts_with(start));
    if starts && word.len() >= MIN_TOKEN_LEN {
        return true;
    }
    let has_parts = word.contains(['/', '.', ':']);
    let is_plain =
        word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+=/.:".contains(&byte));
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if word.len() < MIN_RANDOM_LEN || !is_plain || letters < 3 {
        return false;
    }
    if has_parts { digits >= 1 && is_mixed(word) } else { digits >= 3 }
}

/// Tells whether lower case, capitals and digits alternate as in random words. They seldom do in paths,
/// host names and versions, apart from capitals at the beginning of words.
fn is_mixed(word: &str) -> bool {
    let is_path = word.starts_with(['/', '.', '~']);
    let sort = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_digit());
    let (mut pairs, mut changes) = (0, 0);
    for pair in word.as_bytes().windows(2) {
        if pair.iter().all(u8::is_ascii_alphanumeric) {
            let begins_word = pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase();
            pairs += 1;
            changes += usize::from(sort(pair[0]) != sort(pair[1]) && !begins_word);
        }
    }
    !is_path && pairs >= MIN_RANDOM_LEN / 2 && changes * 5 >= pairs
}

/// Tells whether a character separates the words of a command line, a connection string or JSON.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || ";,\"'{}[]()".contains(c)
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
}

/// Tells whether a header or field name is that of a secret: `X-API-Key`, `apiKey`. `auth-server:v2`
/// and `keycloak:26` are images with their versions.
fn names_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    is_name
        && !name.starts_with('-')
        && (["authorization", "cookie", "credentials", "passphrase"]
            .iter()
            .any(|end| lower.ends_with(end))
            || SECRET_NAMES.iter().any(|end| lower.ends_with(end)))
}

/// Returns the secrets in an address after `://`: user name and password, values of the query, parts of
/// the path that look random.
fn of_address(rest: &str) -> Vec<String> {
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let mut secrets = Vec::new();
    if let Some((user, _)) = host.rsplit_once('@') {
        secrets.push(user.to_owned());
        secrets.extend(user.split_once(':').map(|(_, password)| password.to_owned()));
    }
    let values = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
    secrets.extend(values.map(|(_, value)| value.to_owned()));
    secrets.extend(path.split('/').filter(|part| looks_secret(part)).map(str::to_owned));
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_called_secrets_or_look_like_them_are_found() {
        for words in [
            &["--api-key", "s3cret"][..],
            &["--token=s3cret"],
            &["run", "-e", "DB_PASSWORD=s3cret", "image"],
            &["postgres://user:s3cret@host/db"],
            &["https://host/mcp?api_key=s3cret&x=1"],
            &["--header", "Authorization: Bearer s3cret"],
            &["--header=Authorization: Bearer s3cret"],
            &["-H", "X-API-Key: s3cret"],
            &["-H", "X-API-Key:s3cret"],
            &["-H", "X-API-Key:", "s3cret"],
            &["--config", r#"{"apiKey":"s3cret"}"#],
            &["--config", r#"{"url": "x", "auth": {"apiKey" : "s3cret", "n": 1}}"#],
            &[r#"--config={'token': 's3cret'}"#],
            &["--config=apiKey=s3cret"],
            &["Server=db;User Id=sa;Password=s3cret"],
            &["run --token s3cret now"],
            &["-c", "curl -H 'Authorization: token s3cret' https://host"],
            &["--token", "-", "--password", "s3cret"],
        ] {
            assert!(secrets_in(words.iter().copied()).contains(&"s3cret".to_owned()), "{words:?}");
        }
        for token in [
            "sk-abcdef0123456789",
            "ghp_abcdefghijklmnop",
            "xoxb-123456789012-abc",
            "0f8fad5b7d9c4f0e8a3c2b1d",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
            "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",
        ] {
            assert_eq!(secrets_in([token, "plain"]), [token, token], "{token}");
            let of = |word: String| secrets_in([word.as_str()]);
            for word in [format!("run {token} now"), format!("x=[{token}]"), format!("X:{token}")] {
                assert!(of(word.clone()).contains(&token.to_owned()), "{word}");
            }
            if !token.contains('/') {
                assert!(!of(format!("https://h/s/{token}/mcp")).is_empty(), "{token}");
            }
        }
        // All of what stands in quotes belongs to it.
        let secrets = secrets_in([r#"{"password": "correct, horse"}"#]);
        assert!(secrets.contains(&"correct, horse".to_owned()), "{secrets:?}");
    }

    #[test]
    fn ordinary_words_are_none() {
        for words in [
            &["-y", "@modelcontextprotocol/server-filesystem", "/home/user/documents"][..],
            &["--verbose", "stdio", "--port", "8080", "--root=/srv/data"],
            &["run", "--rm", "-i", "ghcr.io/github/github-mcp-server:v0.20.1"],
            &["https://mcp.example.com/v1/mcp"],
            &["sk-learn", "mcp-server-for-a-database-of-books"],
            &["run", "/srv/MyApp2/releases/20240115T101500Z/bin/server.js", "src/Main2Server.java"],
            &["com.example.tools.MyServer:V1.2.3-build20240115", "node_modules/pkg/dist/index2.js"],
            &[
                "ec2-203-0-113-25.eu-west-1.compute.example.com:8080",
                "ghcr.io/org/auth-server:v2.0.1",
            ],
            &["keycloak:26.0.1", "localhost:8080", "C:/Users/me/Documents/Project2024/server.exe"],
            &["sh", "-c", "cd /srv/app && exec ./server --port 8080; echo done: 'ok'"],
            &[r#"{"mcpServers": {"port": 8080, "root": "/srv/data/2024"}}"#],
        ] {
            assert_eq!(secrets_in(words.iter().copied()), [""; 0], "{words:?}");
        }
    }
}
