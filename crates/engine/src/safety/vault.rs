//! The vault: the values of tokens, encrypted in the store.
//!
//! Tokens are keyed hashes, so that a value has the same token wherever an agent sees it, without a
//! lookup. Each agent has a key of its own: the tokens of one say nothing to another, and the value
//! shows to whom a token belongs. New values are written to the store before an answer is complete.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use narrows_pii::{Form, Revealed, TokenMaker};
use narrows_store::{EncryptedValue, Store, StoreError, VALUE_BYTES};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey},
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use thiserror::Error;
use tokio::sync::OnceCell;

use crate::{compute::without_place, hex::hex, state::now};

/// The source of the key, which is asked when the key is first needed.
pub type KeySource = Arc<dyn Fn() -> Result<[u8; 32], String> + Send + Sync>;

/// The most values of a namespace that wait to be written. If the store is unreachable for so long, the
/// waiting values are dropped, and their tokens cannot be replaced by them any more.
const MAX_WAITING: usize = 50_000;

/// The largest value that the store takes after encryption, which adds the nonce, the form and the tag.
/// The value of a larger one cannot be restored from its token.
const MAX_VALUE_BYTES: usize = VALUE_BYTES - NONCE_LEN - 1 - MAX_TAG_LEN;

/// The fixed cost of encrypting or decrypting a value, as a number of bytes.
const VALUE_OVERHEAD: usize = 256;

/// The reason why values could not be stored or restored.
#[derive(Clone, Debug, Error)]
pub enum VaultError {
    #[error("the vault's key cannot be had: {0}; tokens of now cannot be turned back later")]
    NoKey(String),
    #[error(
        "the vault was made with another key; give the right one ([pii] in narrows.toml), or \
         empty the vault with `narrows pii forget --all`"
    )]
    WrongKey,
    #[error("the vault's entry for {0} is damaged; it is left alone")]
    Damaged(String),
    #[error("the vault cannot be used: {0}")]
    Store(String),
}

impl From<StoreError> for VaultError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

/// The values of tokens.
pub struct Vault {
    source: KeySource,
    keys: OnceLock<Keys>,
    /// How long a value is kept after it was last seen.
    keep: Duration,
    /// Values that are not yet in the store, by namespace and token.
    waiting: Mutex<HashMap<String, HashMap<String, Secret>>>,
    /// Held while values are written: a reader waits for it, so that it finds them in the store.
    writing: tokio::sync::Mutex<()>,
    claimed: OnceCell<()>,
}

struct Keys {
    master: hmac::Key,
    seal: LessSafeKey,
    digest: hmac::Key,
    /// Identifies the key without revealing it.
    check: String,
    /// The reason why the key is a random one that lasts only as long as this process.
    problem: Option<String>,
    /// By namespace and principal.
    makers: Mutex<HashMap<(String, String), Arc<TokenMaker>>>,
}

#[derive(Clone)]
struct Secret {
    /// The maker of its token.
    maker: Arc<TokenMaker>,
    kind: String,
    value: String,
    form: Form,
}

impl Keys {
    fn new(bytes: &[u8; 32], problem: Option<String>) -> Option<Self> {
        let master = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let derive = |purpose: &str| hmac::sign(&master, purpose.as_bytes());
        let seal =
            UnboundKey::new(&CHACHA20_POLY1305, derive("narrows vault seal").as_ref()).ok()?;
        Some(Self {
            seal: LessSafeKey::new(seal),
            digest: hmac::Key::new(hmac::HMAC_SHA256, derive("narrows digest").as_ref()),
            check: hex(&derive("narrows vault check").as_ref()[..16]),
            problem,
            makers: Mutex::default(),
            master,
        })
    }
}

impl Vault {
    pub(super) fn new(source: KeySource, keep: Duration) -> Self {
        Self {
            source,
            keys: OnceLock::new(),
            keep,
            waiting: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            claimed: OnceCell::new(),
        }
    }

    /// Returns the keys. If the source has none, they are random: what leaves is protected in any case,
    /// but the tokens are only good for this process.
    fn keys(&self) -> &Keys {
        self.keys.get_or_init(|| {
            let (bytes, problem) = match (self.source)() {
                Ok(bytes) => (bytes, None),
                Err(why) => {
                    tracing::error!(
                        reason = why,
                        "there is no key for the vault; tokens are good for this process only"
                    );
                    (random(), Some(why))
                }
            };
            // The key has the length that the cipher wants; there is nothing else to refuse.
            #[allow(clippy::expect_used)]
            Keys::new(&bytes, problem).expect("32 bytes are a key")
        })
    }

    /// Returns the maker of a principal's tokens in a namespace.
    pub(super) fn maker(&self, namespace: &str, principal: &str) -> Arc<TokenMaker> {
        let keys = self.keys();
        let mut makers = lock(&keys.makers);
        let owner = (namespace.to_owned(), principal.to_owned());
        let maker = makers.entry(owner).or_insert_with(|| {
            let mut key = [0; 32];
            // Neither name can contain a zero byte, so the pair is unambiguous.
            let purpose = format!("narrows tokens {namespace}\0{principal}");
            key.copy_from_slice(hmac::sign(&keys.master, purpose.as_bytes()).as_ref());
            Arc::new(TokenMaker::new(&key))
        });
        Arc::clone(maker)
    }

    /// Returns a keyed hash, which says nothing to those who do not have the key.
    pub(super) fn digest(&self, text: &str) -> String {
        hex(&hmac::sign(&self.keys().digest, text.as_bytes()).as_ref()[..16])
    }

    /// Queues a value, for which a token was made, to be written to the store.
    pub(super) fn made(
        &self,
        namespace: &str,
        maker: &Arc<TokenMaker>,
        token: &str,
        kind: &str,
        value: &str,
        form: Form,
    ) {
        if value.len() > MAX_VALUE_BYTES {
            tracing::warn!(
                token,
                bytes = value.len(),
                max_bytes = MAX_VALUE_BYTES,
                "what a token stands for is too large for the vault, and cannot be turned back"
            );
            return;
        }
        let mut waiting = lock(&self.waiting);
        let of_namespace = waiting.entry(namespace.to_owned()).or_default();
        if of_namespace.len() >= MAX_WAITING {
            tracing::warn!(
                namespace,
                values = of_namespace.len(),
                "values that could not be written to the vault are given up; their tokens cannot be \
                 turned back"
            );
            of_namespace.clear();
        }
        of_namespace.entry(token.to_owned()).or_insert_with(|| Secret {
            maker: Arc::clone(maker),
            kind: kind.to_owned(),
            value: value.to_owned(),
            form,
        });
    }

    pub(crate) fn has_news(&self) -> bool {
        lock(&self.waiting).values().any(|of_namespace| !of_namespace.is_empty())
    }

    /// Tells whether values of one namespace wait to be written. Who has no new tokens need not wait
    /// for others.
    pub(crate) fn has_news_of(&self, namespace: &str) -> bool {
        lock(&self.waiting).get(namespace).is_some_and(|of_namespace| !of_namespace.is_empty())
    }

    /// Writes the waiting values to the store. They keep waiting until they are stored, so that none is
    /// lost if this future is dropped. An error in one namespace does not stop the others.
    pub(crate) async fn write(&self, store: &Store) -> Result<(), VaultError> {
        let _writing = self.writing.lock().await;
        if !self.has_news() {
            return Ok(());
        }
        self.claim(store).await?;
        let expires_at = now() + i64::try_from(self.keep.as_millis()).unwrap_or(i64::MAX / 4);
        let bytes = self.waiting_bytes();
        let all = without_place(bytes, || lock(&self.waiting).clone());
        let mut written = Ok(());
        for (namespace, secrets) in all {
            // There may be tens of thousands of values, or megabytes of them.
            let sealed = without_place(bytes, || self.seal_all(&namespace, &secrets));
            match store.vault().keep(&namespace, &sealed, expires_at).await {
                Ok(()) => {
                    if let Some(waiting) = lock(&self.waiting).get_mut(&namespace) {
                        waiting.retain(|token, _| !secrets.contains_key(token));
                    }
                }
                // The next call tries again.
                Err(error) => written = Err(error.into()),
            }
        }
        written
    }

    /// Returns about how many bytes there are to encrypt.
    fn waiting_bytes(&self) -> usize {
        let waiting = lock(&self.waiting);
        let secrets = waiting.values().flat_map(HashMap::values);
        secrets.map(|secret| secret.value.len() + VALUE_OVERHEAD).sum()
    }

    fn seal_all(&self, namespace: &str, secrets: &HashMap<String, Secret>) -> Vec<EncryptedValue> {
        let seal = |(token, secret): (&String, &Secret)| {
            let Secret { maker, kind, value, form } = secret;
            EncryptedValue {
                token: token.clone(),
                kind: kind.clone(),
                fingerprint: maker.fingerprint(kind, value, *form).to_vec(),
                sealed: self.seal(namespace, token, secret),
            }
        };
        secrets.iter().map(seal).collect()
    }

    /// Returns the values of these tokens in a namespace, as far as they are known.
    pub(super) async fn open(
        &self,
        store: &Store,
        namespace: &str,
        tokens: &[String],
    ) -> Result<HashMap<String, Revealed>, VaultError> {
        self.write(store).await?;
        self.claim(store).await?;
        let found = store.vault().get(namespace, tokens, now()).await?;
        let bytes = found.iter().map(|sealed| sealed.sealed.len() + VALUE_OVERHEAD).sum();
        let open = |sealed: EncryptedValue| {
            let value = self.unseal(namespace, &sealed)?;
            Ok((sealed.token, value))
        };
        without_place(bytes, || found.into_iter().map(open).collect())
    }

    /// Checks that the vault in the store was made with this key.
    async fn claim(&self, store: &Store) -> Result<(), VaultError> {
        let keys = self.keys();
        if let Some(problem) = &keys.problem {
            return Err(VaultError::NoKey(problem.clone()));
        }
        self.claimed
            .get_or_try_init(|| async {
                let kept = store.vault().claim_key(&keys.check).await?;
                if kept == keys.check { Ok(()) } else { Err(VaultError::WrongKey) }
            })
            .await
            .copied()
    }

    /// Encrypts form and value, bound to the namespace and the token, so that a row copied elsewhere in
    /// the database does not decrypt.
    fn seal(&self, namespace: &str, token: &str, secret: &Secret) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = random();
        let mut text = vec![match secret.form {
            Form::Text => b't',
            Form::Number => b'n',
        }];
        text.extend_from_slice(secret.value.as_bytes());
        let place = Aad::from(format!("{namespace}\0{token}"));
        let sealed = self.keys().seal.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            place,
            &mut text,
        );
        match sealed {
            Ok(()) => [nonce.as_slice(), &text].concat(),
            // The cipher refuses only texts of gigabytes; nothing is stored of these.
            Err(_) => Vec::new(),
        }
    }

    fn unseal(&self, namespace: &str, sealed: &EncryptedValue) -> Result<Revealed, VaultError> {
        let damaged = || VaultError::Damaged(sealed.token.clone());
        let (nonce, text) = sealed.sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(damaged)?;
        let place = Aad::from(format!("{namespace}\0{}", sealed.token));
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened =
            self.keys().seal.open_in_place(nonce, place, &mut text).map_err(|_| damaged())?;
        let (form, value) = opened.split_first().ok_or_else(damaged)?;
        let form = if *form == b'n' { Form::Number } else { Form::Text };
        let value = String::from_utf8(value.to_vec()).map_err(|_| damaged())?;
        Ok(Revealed { value, form })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns random bytes from the system. Panics if it has none, because then nothing can be protected.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[allow(clippy::expect_used)]
    SystemRandom::new().fill(&mut bytes).expect("the system gives no random numbers");
    bytes
}

/// Prints nothing of the contents.
impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use narrows_store::StoreUrl;

    use super::*;
    use crate::compute::tests::leaves_thread;

    const TOKEN: &str = "[EMAIL_abcdefghijkl]";

    async fn store(directory: &tempfile::TempDir) -> Store {
        Store::open(&StoreUrl::Sqlite(directory.path().join("state.db"))).await.unwrap()
    }

    fn vault() -> Vault {
        Vault::new(Arc::new(|| Ok([7; 32])), Duration::from_secs(60))
    }

    fn meet(vault: &Vault, namespace: &str, token: &str, value: &str) {
        let maker = vault.maker(namespace, "ada");
        vault.made(namespace, &maker, token, "EMAIL", value, Form::Text);
    }

    async fn opened(vault: &Vault, store: &Store, token: &str) -> Option<String> {
        let mut known = vault.open(store, "home", &[token.to_owned()]).await.unwrap();
        known.remove(token).map(|revealed| revealed.value)
    }

    #[tokio::test]
    async fn a_token_is_turned_back_while_another_writes_it_down() {
        let directory = tempfile::tempdir().unwrap();
        let (store, vault) = (store(&directory).await, vault());
        vault.claim(&store).await.unwrap();
        meet(&vault, "home", TOKEN, "ada@example.com");
        let mut writing = Box::pin(vault.write(&store));
        assert!(poll!(&mut writing).is_pending());
        let (opened, written) = tokio::join!(opened(&vault, &store, TOKEN), writing);
        assert_eq!(opened.as_deref(), Some("ada@example.com"));
        written.unwrap();
        assert!(!vault.has_news());
    }

    #[tokio::test]
    async fn a_writing_that_is_given_up_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (store, vault) = (store(&directory).await, vault());
        vault.claim(&store).await.unwrap();
        meet(&vault, "home", TOKEN, "ada@example.com");
        let mut writing = Box::pin(vault.write(&store));
        assert!(poll!(&mut writing).is_pending());
        drop(writing);
        assert_eq!(opened(&vault, &store, TOKEN).await.as_deref(), Some("ada@example.com"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn sealing_much_leaves_the_async_thread_to_others() {
        let directory = tempfile::tempdir().unwrap();
        let (store, vault) = (store(&directory).await, Arc::new(vault()));
        vault.claim(&store).await.unwrap();
        let write = async |token: &str, bytes: usize| {
            let (store, vault) = (store.clone(), Arc::clone(&vault));
            meet(&vault, "home", token, &"x".repeat(bytes));
            leaves_thread(async move { vault.write(&store).await.unwrap() }).await
        };
        let mut rounds = 0;
        while !write(TOKEN, MAX_VALUE_BYTES).await {
            rounds += 1;
            assert!(rounds < 100, "it is sealed on the thread of all others");
        }
        // Control: a small value is sealed at once.
        assert!(!write("[EMAIL_bbbbbbbbbbbb]", 10).await);
    }

    #[tokio::test]
    async fn a_value_too_large_for_the_store_does_not_keep_others_from_it() {
        let directory = tempfile::tempdir().unwrap();
        let (store, vault) = (store(&directory).await, vault());
        let (max, more) = ("[EMAIL_aaaaaaaaaaaa]", "[EMAIL_bbbbbbbbbbbb]");
        meet(&vault, "home", max, &"x".repeat(MAX_VALUE_BYTES));
        meet(&vault, "home", more, &"x".repeat(MAX_VALUE_BYTES + 1));
        vault.write(&store).await.unwrap();
        assert_eq!(opened(&vault, &store, max).await.unwrap().len(), MAX_VALUE_BYTES);
        assert_eq!(opened(&vault, &store, more).await, None);
    }

    #[tokio::test]
    async fn a_namespace_that_cannot_be_written_does_not_keep_others_from_it() {
        let directory = tempfile::tempdir().unwrap();
        let (store, vault) = (store(&directory).await, vault());
        let good: Vec<String> = (0..30).map(|number| format!("home-{number}")).collect();
        for namespace in good.iter().map(String::as_str).chain(["no\nname"]) {
            meet(&vault, namespace, TOKEN, "ada@example.com");
        }
        vault.write(&store).await.unwrap_err();
        for namespace in &good {
            let found = store.vault().get(namespace, &[TOKEN.to_owned()], now()).await.unwrap();
            assert_eq!(found.len(), 1, "{namespace}");
        }
        assert!(vault.has_news(), "what was not written waits");
    }
}
