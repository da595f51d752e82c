//! Hides the secrets of a server's configuration in what is said about the server.

/// Shorter values are too common in ordinary text, and no secrets.
const MIN_LEN: usize = 6;

/// A filter for the secrets of a server: the values of its environment and its headers.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    secrets: Vec<String>,
    /// The server's address, and what is shown of it.
    address: Option<(String, String)>,
}

impl Redactor {
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets
            .into_iter()
            .flat_map(|secret| {
                // `Bearer TOKEN` is shown without the first word as well.
                let last = secret.rsplit(' ').next().unwrap_or_default().to_owned();
                [secret, last]
            })
            .filter(|secret| secret.len() >= MIN_LEN)
            .collect();
        // A secret that contains another one goes first.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets, address: None }
    }

    /// Shows `shown` in the place of `address`, of which otherwise nothing would be left.
    pub(crate) fn showing(self, address: &str, shown: &str) -> Self {
        Self { address: Some((address.to_owned(), shown.to_owned())), ..self }
    }

    pub(crate) fn hide(&self, text: &str) -> String {
        let hide = |text: &str| {
            let secrets = self.secrets.iter();
            secrets.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
        };
        match &self.address {
            Some((address, shown)) => {
                text.split(address.as_str()).map(hide).collect::<Vec<_>>().join(shown)
            }
            None => hide(text),
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_ordinary_words_are_not() {
        let redactor = Redactor::new(["Bearer s3cret-token".into(), "on".into()]);
        assert_eq!(redactor.hide("turned on with s3cret-token"), "turned on with ***");
        assert_eq!(redactor.hide("sent Bearer s3cret-token"), "sent ***");
    }

    #[test]
    fn of_an_address_that_part_is_shown_that_is_no_secret() {
        let address = "http://h.example/mcp?key=s3cret-key";
        let secrets = [address, "/mcp?key=s3cret-key", "key=s3cret-key"].map(str::to_owned);
        let redactor = Redactor::new(secrets).showing(address, "http://h.example/mcp");
        assert_eq!(
            redactor.hide(&format!("cannot reach {address}, with key=s3cret-key")),
            "cannot reach http://h.example/mcp, with ***"
        );
    }
}
