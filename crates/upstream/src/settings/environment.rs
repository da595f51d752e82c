//! The part of the gateway's environment that a server process inherits.
//!
//! The environment of the gateway has the vault's key and the credentials of all servers in it, and
//! a server is code of somebody else. So each is given what every program needs, as the official
//! SDKs do it, what it takes to reach the network from here, and what its entry names.

use std::ffi::OsString;

/// Where a program finds its files and its commands, who the user is, and how they write. A `*`
/// stands for the rest of a name.
#[cfg(not(windows))]
const USUAL: &[&str] = &[
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
    "XDG_*",
];
#[cfg(windows)]
const USUAL: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES*",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TZ",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Files with the certificates of a company's proxy, without which `npx` and `uvx` fetch nothing.
const CERTIFICATES: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Addresses of proxies. One with a password in it is a credential, and has to be named.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// Shorter words of a message are not taken for names of variables.
const MIN_NAME_LEN: usize = 4;

/// The part of the gateway's environment that one server is given.
#[derive(Default)]
pub(crate) struct Inherited {
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The values of the variables that only its entry lets it have: whoever names one has a reason.
    pub(crate) secrets: Vec<String>,
    /// Names of existing variables that it is not given.
    withheld: Vec<String>,
    /// A variable of a proxy that it is not given because of the password in its address.
    withheld_proxy: Option<String>,
}

impl Inherited {
    /// Takes the usual variables, and those that are named, out of an environment.
    pub(crate) fn new(
        named: &[String],
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let mut inherited = Self::default();
        for (name, value) in environment {
            let Some(text) = name.to_str() else { continue };
            // An exported function of a shell is code, not a value.
            let is_function = value.as_encoded_bytes().starts_with(b"()");
            let is_proxy = PROXIES.iter().any(|proxy| proxy.eq_ignore_ascii_case(text));
            let has_password = is_proxy && value.as_encoded_bytes().contains(&b'@');
            let is_usual =
                USUAL.iter().chain(CERTIFICATES).any(|usual| matches(usual, text)) || is_proxy;
            if named.iter().any(|pattern| matches(pattern, text)) && !is_function {
                if !is_usual || has_password {
                    inherited.secrets.extend(value.to_str().map(str::to_owned));
                }
                inherited.variables.push((name, value));
            } else if is_usual && !is_function && !has_password {
                inherited.variables.push((name, value));
            } else if has_password {
                inherited.withheld_proxy = Some(text.to_owned());
            } else {
                inherited.withheld.push(text.to_owned());
            }
        }
        inherited
    }

    /// Returns advice about a variable whose lack may have ended a server: one that its last words
    /// name, and that exists and was not given to it, or else a proxy with a password.
    pub(crate) fn hint(&self, server: &str, last_words: &str) -> Option<String> {
        let mut words = last_words
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .filter(|word| word.len() >= MIN_NAME_LEN);
        if let Some(name) = words.find(|word| self.withheld.iter().any(|name| name == word)) {
            return Some(format!(
                "the gateway has the environment variable {name} and does not give it to servers; \
                 if this one needs it, add inherit_env = [{name:?}] to [servers.{server}]"
            ));
        }
        let proxy = self.withheld_proxy.as_ref()?;
        Some(format!(
            "{proxy} has a password in it and is not given to servers; if this one needs it, add \
             inherit_env = [{proxy:?}] to [servers.{server}]"
        ))
    }
}

/// Tells whether a pattern covers a name. The case of names does not matter on Windows only.
fn matches(pattern: &str, name: &str) -> bool {
    let same = |one: &str, other: &str| match cfg!(windows) {
        true => one.eq_ignore_ascii_case(other),
        false => one == other,
    };
    match pattern.strip_suffix('*') {
        Some(start) => name.get(..start.len()).is_some_and(|begin| same(begin, start)),
        None => same(pattern, name),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn inherited(named: &[&str]) -> Inherited {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let environment = [
            ("PATH", "/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("NARROWS_VAULT_KEY", "s3cret-key"),
            ("GITHUB_TOKEN", "s3cret-token"),
            ("AWS_SECRET", "s3cret-aws"),
            ("SSL_CERT_FILE", "/etc/ca.pem"),
            ("https_proxy", "http://proxy:3128"),
            ("HTTP_PROXY", "http://me:s3cret-proxy@proxy:3128"),
            ("XDG_FUNCTION", "() { evil; }"),
        ];
        Inherited::new(&named, environment.map(|(name, value)| (name.into(), value.into())))
    }

    fn names(inherited: &Inherited) -> Vec<&str> {
        inherited.variables.iter().map(|(name, _)| name.to_str().unwrap()).collect()
    }

    #[test]
    fn a_server_is_given_what_every_program_needs_and_no_credentials() {
        assert_eq!(names(&inherited(&[])), ["PATH", "LC_ALL", "SSL_CERT_FILE", "https_proxy"]);
        assert!(inherited(&[]).secrets.is_empty());
    }

    #[test]
    fn what_is_named_is_given_too_and_is_a_secret() {
        let given = inherited(&["GITHUB_TOKEN", "AWS_*", "PATH"]);
        for name in ["GITHUB_TOKEN", "AWS_SECRET", "PATH"] {
            assert!(names(&given).contains(&name), "{name}");
        }
        assert!(!names(&given).contains(&"NARROWS_VAULT_KEY"));
        assert_eq!(given.secrets, ["s3cret-token", "s3cret-aws"]);
        assert!(names(&inherited(&["HTTP_PROXY"])).contains(&"HTTP_PROXY"));
        assert!(names(&inherited(&["*"])).contains(&"NARROWS_VAULT_KEY"));
        assert!(!names(&inherited(&["*"])).contains(&"XDG_FUNCTION"));
    }

    #[test]
    fn a_variable_that_a_server_misses_and_the_gateway_has_is_told() {
        let hint = |named: &[&str], words| inherited(named).hint("github", words);
        let told = hint(&[], "error: $GITHUB_TOKEN is not set").unwrap();
        assert!(told.contains(r#"inherit_env = ["GITHUB_TOKEN"] to [servers.github]"#), "{told}");
        assert!(hint(&[], "no route to host").unwrap().starts_with("HTTP_PROXY has a password"));
        assert_eq!(hint(&["HTTP_PROXY"], "OTHER_TOKEN is not set"), None);
        assert_eq!(hint(&["HTTP_PROXY", "GITHUB_TOKEN"], "GITHUB_TOKEN is wrong"), None);
    }
}
