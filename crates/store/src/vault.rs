//! The vault: the values that tokens stand for, sealed by whoever has the key. The store has no key,
//! and cannot read them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{MutexGuard, PoisonError},
};

use narrows_model::EventAction;
use serde::Serialize;
use serde_json::json;

use crate::{
    StoreError,
    audit::{self, NewEntry},
    clock::now,
    database::{Arg, Database, Result, Row, Write, args},
    limits::{self, VALUE_BYTES},
    queries::{TOKENS_AT_ONCE, vault as sql},
    wipe,
};

/// How long until another use of a value is noted, in milliseconds: looking it up is a read, but for
/// once in an hour.
const USED_AGAIN: i64 = 60 * 60 * 1000;

/// How many values are put with one statement.
const PUT_AT_ONCE: usize = 10;

/// The vaults of all namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Vault<'a> {
    pub(crate) database: &'a Database,
}

/// A value that only the holder of the key can read.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptedValue {
    pub token: String,
    pub kind: String,
    /// A keyed hash of the value: by it two values are known to be the same.
    pub fingerprint: Vec<u8>,
    pub sealed: Vec<u8>,
}

impl fmt::Debug for EncryptedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncryptedValue({}, {} bytes)", self.token, self.sealed.len())
    }
}

/// The values to forget: those that match all the fields that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSelection {
    pub kind: Option<String>,
    pub token: Option<String>,
    /// Not used since this time, give or take an hour.
    pub before: Option<i64>,
}

/// The values of one kind in a namespace, with those that have expired and are not yet swept away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VaultCount {
    pub namespace: String,
    pub kind: String,
    pub values: i64,
    /// When the oldest was kept first.
    pub oldest: i64,
    /// When the last of them expires.
    pub expires: i64,
}

impl Vault<'_> {
    /// Claims the vault for a key, by a text that proves the key and does not tell it. Returns the
    /// proof that the vault has: another one means another key. A vault without a key takes this one.
    pub async fn claim_key(&self, check: &str) -> Result<String> {
        limits::name("proof of the key", check)?;
        *self.key() = Some(check.to_owned());
        if let Some(row) = self.database.row(sql::KEY, args![]).await? {
            return row.columns().get();
        }
        let mut write = self.database.begin().await?;
        let kept = write.one(sql::CLAIM_KEY, args![check]).await?.columns().get()?;
        write.commit().await?;
        Ok(kept)
    }

    /// Keeps all values, or none. A value that is there already gets the later expiry.
    pub async fn keep(
        &self,
        namespace: &str,
        values: &[EncryptedValue],
        expires_at: i64,
    ) -> Result<()> {
        limits::name("namespace", namespace)?;
        let values = distinct(values)?;
        if values.is_empty() {
            return Ok(());
        }
        let check = self.key().clone().ok_or(StoreError::VaultUnclaimed)?;
        let mut write = self.database.begin().await?;
        // The key is claimed again, in case that all was forgotten in the meantime.
        let kept: String = write.one(sql::CLAIM_KEY, args![&check]).await?.columns().get()?;
        if kept != check {
            return Err(StoreError::VaultKey);
        }
        let tens = values.chunks_exact(PUT_AT_ONCE);
        let rest = tens.remainder().chunks(1);
        for (statement, some) in
            tens.map(|ten| (sql::PUT_TEN, ten)).chain(rest.map(|one| (sql::PUT, one)))
        {
            let mut args = args![namespace, now(), expires_at].to_vec();
            for value in some {
                args.extend(args![&value.token, &value.kind, &*value.fingerprint, &*value.sealed]);
            }
            if write.run(statement, &args).await? < some.len() as u64 {
                return Err(taken(&mut write, namespace, some).await?);
            }
        }
        write.commit().await
    }

    /// Returns the values of those tokens that are known and have not expired.
    pub async fn get(
        &self,
        namespace: &str,
        tokens: &[String],
        now: i64,
    ) -> Result<Vec<EncryptedValue>> {
        let (mut found, mut is_stale) = (Vec::new(), false);
        for some in tokens.chunks(TOKENS_AT_ONCE) {
            let rows = self.database.rows(sql::GET, &token_list(namespace, now, some)).await?;
            for row in &rows {
                let (value, used_at) = sealed(row)?;
                is_stale |= used_at <= now - USED_AGAIN;
                found.push(value);
            }
        }
        if is_stale && let Err(error) = self.note_use(namespace, tokens, now).await {
            // Not an error: what was found is right all the same.
            tracing::warn!(%error, "the use of values in the vault could not be noted");
        }
        Ok(found)
    }

    async fn note_use(&self, namespace: &str, tokens: &[String], now: i64) -> Result<()> {
        let mut write = self.database.begin().await?;
        write.row(sql::TAKE_KEY, args![]).await?;
        for some in tokens.chunks(TOKENS_AT_ONCE) {
            write.run(sql::USED, &token_list(namespace, now, some)).await?;
        }
        write.commit().await
    }

    /// Removes values for good, of one namespace or of all, and returns how many. In SQLite nothing of
    /// them stays in the files; with PostgreSQL it may in the server's log and its backups. When the
    /// vault is empty then, another key can be claimed.
    pub async fn forget(
        &self,
        namespace: Option<&str>,
        what: &TokenSelection,
        by: &str,
    ) -> Result<u64> {
        limits::name("principal", by)?;
        let (kind, token) = (what.kind.as_deref(), what.token.as_deref());
        let mut write = self.database.begin().await?;
        write.row(sql::TAKE_KEY, args![]).await?;
        let values = write.run(sql::FORGET, args![namespace, kind, token, what.before]).await?;
        write.run(sql::FORGET_KEY, args![]).await?;
        let details = json!({
            "values": values, "kind": kind, "one_token": token.is_some(), "before": what.before,
        });
        let target = kind.unwrap_or_default();
        let place = namespace.unwrap_or_default();
        let entry = NewEntry::done(by, place, EventAction::VaultForget, target, details);
        audit::append(&mut write, &[entry]).await?;
        write.commit().await?;
        wipe::vault(self.database).await?;
        Ok(values)
    }

    /// Counts the values by namespace and kind.
    pub async fn counts(&self, namespace: Option<&str>) -> Result<Vec<VaultCount>> {
        let rows = self.database.rows(sql::COUNTS, args![namespace]).await?;
        rows.iter()
            .map(|row| {
                let mut columns = row.columns();
                Ok(VaultCount {
                    namespace: columns.get()?,
                    kind: columns.get()?,
                    values: columns.get()?,
                    oldest: columns.get()?,
                    expires: columns.get()?,
                })
            })
            .collect()
    }

    /// Removes what has expired, and returns how many values that were. Bytes of them may stay in the
    /// files until something is forgotten.
    pub async fn sweep(&self, now: i64) -> Result<u64> {
        let mut write = self.database.begin().await?;
        write.row(sql::TAKE_KEY, args![]).await?;
        let swept = write.run(sql::SWEEP, args![now]).await?;
        write.commit().await?;
        Ok(swept)
    }

    fn key(&self) -> MutexGuard<'_, Option<String>> {
        self.database.vault_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the values, and returns each token once.
fn distinct(values: &[EncryptedValue]) -> Result<Vec<&EncryptedValue>> {
    let mut all: BTreeMap<&str, &EncryptedValue> = BTreeMap::new();
    for value in values {
        limits::name("token", &value.token)?;
        limits::name("kind", &value.kind)?;
        limits::size("fingerprint", value.fingerprint.len(), limits::NAME_BYTES)?;
        limits::size("sealed value", value.sealed.len(), VALUE_BYTES)?;
        let same = all.insert(&value.token, value);
        if same.is_some_and(|same| same.fingerprint != value.fingerprint) {
            return Err(StoreError::TokenTaken { token: value.token.clone() });
        }
    }
    Ok(all.into_values().collect())
}

/// Returns an error that names the value that could not be put.
async fn taken(write: &mut Write, namespace: &str, some: &[&EncryptedValue]) -> Result<StoreError> {
    let mut token = String::new();
    for value in some {
        let args = args![namespace, &value.token, &*value.fingerprint];
        if write.row(sql::OTHER, args).await?.is_some() {
            token.clone_from(&value.token);
        }
    }
    Ok(StoreError::TokenTaken { token })
}

/// Returns the arguments of a query with a list of tokens.
fn token_list<'a>(namespace: &'a str, now: i64, tokens: &'a [String]) -> Vec<Arg<'a>> {
    let mut args = args![namespace, now].to_vec();
    args.extend(tokens.iter().map(Arg::from));
    args.resize(2 + TOKENS_AT_ONCE, Arg::Text(None));
    args
}

/// Reads a value, and when it was used last.
fn sealed(row: &Row) -> Result<(EncryptedValue, i64)> {
    let mut columns = row.columns();
    let value = EncryptedValue {
        token: columns.get()?,
        kind: columns.get()?,
        fingerprint: columns.get()?,
        sealed: columns.get()?,
    };
    Ok((value, columns.get()?))
}
