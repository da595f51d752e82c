//! Signatures of packages, with Ed25519 keys that are kept in private files.

use std::{
    fmt::{self, Display},
    io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use narrows_model::hex;
use narrows_system::private_file::{self, Durability};

use crate::canonical::sha256;

const ALGORITHM: &str = "ed25519";
/// The size of a key file. An Ed25519 key in PKCS#8 has about 85 bytes.
const MAX_KEY_BYTES: u64 = 1 << 10;

/// The reason for which there is no key to sign with.
#[derive(Debug, Error)]
pub enum KeyError {
    #[error("the signing key {path} cannot be read or made: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not an Ed25519 key in PKCS#8: move it away, and a new one is made")]
    NotKey { path: PathBuf },
    #[error(
        "others can read the signing key {path}: make it private (chmod 600), or move it away and a new one is made"
    )]
    NotPrivate { path: PathBuf },
    #[error("no key can be made: the system gives no random numbers")]
    NoChance,
}

/// The reason for which a signature is not valid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SignatureError {
    #[error("it is signed by {algorithm:?}, which is not known here: a newer Narrows may read it")]
    Algorithm { algorithm: String },
    #[error("its signature or key is not written as it should be: get the file again")]
    Malformed,
    #[error(
        "its signature does not match: it was changed after it was signed; get it again from its author"
    )]
    Mismatch,
}

/// A signature as it is written into a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signature {
    algorithm: String,
    /// The public key, in base64.
    key: String,
    /// In base64.
    value: String,
}

impl Signature {
    /// Verifies that this is a signature of `text`, and returns the fingerprint of its key.
    pub(crate) fn verify(&self, text: &[u8]) -> Result<Fingerprint, SignatureError> {
        if self.algorithm != ALGORITHM {
            return Err(SignatureError::Algorithm { algorithm: self.algorithm.clone() });
        }
        let decode = |text: &str| STANDARD.decode(text).map_err(|_| SignatureError::Malformed);
        let (key, value) = (decode(&self.key)?, decode(&self.value)?);
        let key = UnparsedPublicKey::new(&ED25519, key);
        key.verify(text, &value).map_err(|_| SignatureError::Mismatch)?;
        Ok(Fingerprint::of(key.as_ref()))
    }
}

/// The fingerprint of a key, short enough for people to compare: `1f2e-3d4c-…`, half of its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    fn of(public_key: &[u8]) -> Self {
        let hash = sha256(public_key);
        let groups: Vec<&str> = (0..8).filter_map(|n| hash.get(4 * n..4 * n + 4)).collect();
        Self(groups.join("-"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a package is signed, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signed {
    No,
    By(Fingerprint),
}

impl Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::No => f.write_str("not signed"),
            Self::By(key) => write!(f, "signed by {key}"),
        }
    }
}

/// The key with which this machine signs skills.
pub struct KeyFile {
    pair: Ed25519KeyPair,
}

/// Shows the public half only.
impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyFile({})", hex(self.pair.public_key().as_ref()))
    }
}

impl KeyFile {
    /// Reads the key, or makes one on first use.
    pub fn open_or_create(path: &Path) -> Result<Self, KeyError> {
        let io = |source| KeyError::Io { path: path.to_owned(), source };
        // Two processes at once must not make two keys, one of which is lost.
        let lock = private_file::open(&path.with_extension("lock")).map_err(io)?;
        lock.lock().map_err(io)?;
        let pkcs8 = match std::fs::metadata(path) {
            Ok(data) if !is_private(&data) => {
                return Err(KeyError::NotPrivate { path: path.to_owned() });
            }
            Ok(data) if !data.is_file() || data.len() > MAX_KEY_BYTES => {
                return Err(KeyError::NotKey { path: path.to_owned() });
            }
            Ok(_) => std::fs::read(path).map_err(io)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
                    .map_err(|_| KeyError::NoChance)?;
                private_file::write(path, made.as_ref(), Durability::Kept).map_err(io)?;
                made.as_ref().to_vec()
            }
            Err(error) => return Err(io(error)),
        };
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8)
            .map_err(|_| KeyError::NotKey { path: path.to_owned() })?;
        Ok(Self { pair })
    }

    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.pair.public_key().as_ref())
    }

    pub(crate) fn sign(&self, text: &[u8]) -> Signature {
        Signature {
            algorithm: ALGORITHM.to_owned(),
            key: STANDARD.encode(self.pair.public_key()),
            value: STANDARD.encode(self.pair.sign(text)),
        }
    }
}

#[cfg(unix)]
fn is_private(data: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(_data: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys/skills.key");
        let made = KeyFile::open_or_create(&path).unwrap();
        let again = KeyFile::open_or_create(&path).unwrap();
        assert_eq!(made.fingerprint(), again.fingerprint());
        assert_eq!(made.fingerprint().as_str().len(), 39);
        assert!(is_private(&std::fs::metadata(&path).unwrap()));
        let other = KeyFile::open_or_create(&dir.path().join("other.key")).unwrap();
        assert_ne!(made.fingerprint(), other.fingerprint());
    }

    #[test]
    fn processes_that_start_at_once_have_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skills.key");
        let keys: Vec<String> = std::thread::scope(|scope| {
            let open = || KeyFile::open_or_create(&path).unwrap().fingerprint().to_string();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skills.key");
        KeyFile::open_or_create(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = KeyFile::open_or_create(&path).unwrap_err();
        assert!(matches!(error, KeyError::NotPrivate { .. }), "{error}");
    }

    #[test]
    fn what_is_no_key_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skills.key");
        private_file::write(&path, b"no key", Durability::Kept).unwrap();
        let error = KeyFile::open_or_create(&path).unwrap_err();
        assert!(matches!(error, KeyError::NotKey { .. }), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"no key");
    }

    #[test]
    fn only_the_text_that_was_signed_verifies() {
        let dir = tempfile::tempdir().unwrap();
        let key = KeyFile::open_or_create(&dir.path().join("a.key")).unwrap();
        let other = KeyFile::open_or_create(&dir.path().join("b.key")).unwrap();
        let signature = key.sign(b"text");
        assert_eq!(signature.verify(b"text"), Ok(key.fingerprint()));
        assert_eq!(signature.verify(b"Text"), Err(SignatureError::Mismatch));
        let forged = Signature { key: other.sign(b"text").key, ..signature.clone() };
        assert_eq!(forged.verify(b"text"), Err(SignatureError::Mismatch));
        let malformed = Signature { value: "?".to_owned(), ..signature.clone() };
        assert_eq!(malformed.verify(b"text"), Err(SignatureError::Malformed));
        let unknown = Signature { algorithm: "none".to_owned(), ..signature };
        assert!(matches!(unknown.verify(b"text"), Err(SignatureError::Algorithm { .. })));
    }
}
