//! Words of a command line or an address that look like secrets.
//!
//! People type keys into commands, whatever documents say. What is said about a server must not
//! repeat them; to hide a word too many costs nothing.

/// What options, variables and parameters are called that have a secret as their value.
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

/// How tokens of well-known services begin.
const SECRET_STARTS: [&str; 22] = [
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

/// Shorter words with such a beginning are names.
const SHORTEST_TOKEN: usize = 12;
/// Shorter words without one are no random ones.
const SHORTEST_RANDOM: usize = 24;

/// Returns the parts of words that look like secrets: values of options and variables that are
/// called so, what stands before the host and behind the `?` of an address, and tokens.
pub fn secrets_in<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut is_announced = false;
    for word in words {
        let is_option = word.starts_with('-');
        if is_announced && !is_option {
            secrets.push(word.to_owned());
        }
        is_announced = is_option && !word.contains('=') && is_secret_name(word);
        if let Some((name, value)) = word.split_once('=')
            && is_secret_name(name)
        {
            secrets.push(value.to_owned());
        }
        if let Some((_, rest)) = word.split_once("://") {
            secrets.extend(of_address(rest));
        }
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        secrets.extend([word, value].into_iter().filter(|word| looks_secret(word)).map(Into::into));
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

/// Whether a word is a token by itself: it begins as those of a known service, or is long and looks
/// random.
pub fn looks_secret(word: &str) -> bool {
    let starts = SECRET_STARTS.iter().any(|start| word.starts_with(start));
    if starts && word.len() >= SHORTEST_TOKEN {
        return true;
    }
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+=".contains(&byte));
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.len() >= SHORTEST_RANDOM && is_plain && digits >= 3 && letters >= 3
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
}

/// What is behind `://`: name and password, values of the query, parts of the path that look random.
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
        ] {
            assert!(secrets_in(words.iter().copied()).contains(&"s3cret".to_owned()), "{words:?}");
        }
        for token in [
            "sk-abcdef0123456789",
            "ghp_abcdefghijklmnop",
            "xoxb-123456789012-abc",
            "0f8fad5b7d9c4f0e8a3c2b1d",
        ] {
            assert_eq!(secrets_in([token, "plain"]), [token, token], "{token}");
            assert!(!secrets_in([format!("https://h/s/{token}/mcp").as_str()]).is_empty());
        }
    }

    #[test]
    fn ordinary_words_are_none() {
        for words in [
            &["-y", "@modelcontextprotocol/server-filesystem", "/home/user/documents"][..],
            &["--verbose", "stdio", "--port", "8080", "--root=/srv/data"],
            &["run", "--rm", "-i", "ghcr.io/github/github-mcp-server:v0.20.1"],
            &["https://mcp.example.com/v1/mcp"],
            &["sk-learn", "mcp-server-for-a-database-of-books"],
        ] {
            assert_eq!(secrets_in(words.iter().copied()), [""; 0], "{words:?}");
        }
    }
}
