//! Hides the secrets of a server's configuration in what is said about the server.

/// Shorter values are too common in ordinary text, and no secrets.
const SHORTEST: usize = 6;

/// The values of the environment and the headers that a server was given.
#[derive(Clone, Default)]
pub(super) struct Redactor(Vec<String>);

impl Redactor {
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets
            .into_iter()
            .flat_map(|secret| {
                // `Bearer TOKEN` is shown without the first word as well.
                let last = secret.rsplit(' ').next().unwrap_or_default().to_owned();
                [secret, last]
            })
            .filter(|secret| secret.len() >= SHORTEST)
            .collect();
        // A secret that contains another one goes first.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    pub(super) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.0.len())
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
}
