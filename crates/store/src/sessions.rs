//! The state of sessions, and which process works with one.
//!
//! A session is leased: who takes it is its holder until the lease runs out, and renews it while
//! working. Leases are measured by the clocks of the processes, which have to agree to much less
//! than a lease. If they do not, nothing is mixed up: of two holders only one can save. A lease that is
//! longer than one can be was made by a clock that was ahead, and does not hold.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::{
    StoreError,
    clock::now,
    database::{Database, Result, Row, args},
    limits::{self, STATE_BYTES},
    queries::sessions as sql,
};

/// The longest lease of a session without a renewal.
const MAX_LEASE: Duration = Duration::from_secs(3_600);

/// The sessions of all namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Sessions<'a> {
    pub(crate) database: &'a Database,
}

/// The result of taking a session.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseResult {
    Yours(SessionState),
    /// Another holder has it, for so long at least unless it is given back.
    Held {
        holder: String,
        for_ms: i64,
    },
}

#[derive(Clone, PartialEq)]
pub struct SessionState {
    /// Rises by one each time that it is saved; no other session of this name had or will have it.
    pub generation: i64,
    /// None if it was never saved.
    pub state: Option<Vec<u8>>,
    /// What could not be kept.
    pub lost: Value,
    /// What its programs have read.
    pub flow: Value,
}

/// The state of a session after a program, to be saved.
#[derive(Clone, Copy)]
pub struct SessionSnapshot<'a> {
    /// None if nothing was ever kept.
    pub state: Option<&'a [u8]>,
    /// What could not be kept.
    pub lost: &'a Value,
    /// What the programs have read.
    pub flow: &'a Value,
}

/// A session, without its state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    pub id: String,
    pub generation: i64,
    pub author: String,
    pub updated_at: i64,
    /// Who has it now.
    pub holder: Option<String>,
    pub lost: Value,
    /// The size of the state.
    pub bytes: i64,
}

impl Sessions<'_> {
    /// Takes a session, and creates it if there is none. Whoever has it already may take it again.
    pub async fn take(
        &self,
        namespace: &str,
        id: &str,
        holder: &str,
        lease: Duration,
        author: &str,
    ) -> Result<LeaseResult> {
        limits::name("namespace", namespace)?;
        limits::name("session id", id)?;
        limits::name("holder", holder)?;
        limits::name("author", author)?;
        let mut write = self.database.begin().await?;
        let now = now();
        let args = args![namespace, id, author, now, holder, end(now, lease)];
        if let Some(row) = write.row(sql::TAKE, args).await? {
            let mut columns = row.columns();
            let generation = columns.get()?;
            let lost = columns.json("sessions")?;
            let flow = columns.json("sessions")?;
            let state = columns.get()?;
            write.commit().await?;
            return Ok(LeaseResult::Yours(SessionState { generation, state, lost, flow }));
        }
        // The statement above has locked the row: the holder is still there.
        let row = write.one(sql::HOLDER, args![namespace, id]).await?;
        let mut columns = row.columns();
        let (holder, until): (String, i64) = (columns.get()?, columns.get()?);
        Ok(LeaseResult::Held { holder, for_ms: until - now })
    }

    /// Renews the lease. Returns false if the session is not the holder's any more.
    pub async fn renew(
        &self,
        namespace: &str,
        id: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool> {
        let mut write = self.database.begin().await?;
        let args = args![namespace, id, holder, end(now(), lease)];
        let rows = write.run(sql::RENEW, args).await?;
        write.commit().await?;
        Ok(rows > 0)
    }

    /// Saves the state and returns its generation. Fails with [`StoreError::SessionMoved`] if somebody
    /// else has taken the session, or it was saved since this generation.
    pub async fn save(
        &self,
        namespace: &str,
        id: &str,
        holder: &str,
        generation: i64,
        left: &SessionSnapshot<'_>,
    ) -> Result<i64> {
        let SessionSnapshot { state, lost, flow } = *left;
        limits::size("state of the session", state.map_or(0, <[u8]>::len), STATE_BYTES)?;
        let lost = limits::json("list of what was lost", lost)?;
        let flow = limits::json("list of what was read", flow)?;
        let mut write = self.database.begin().await?;
        let args = args![namespace, id, holder, generation, now(), &lost, &flow, state];
        let Some(row) = write.row(sql::SAVE, args).await? else {
            return Err(StoreError::SessionMoved { id: id.to_owned() });
        };
        let generation = row.columns().get()?;
        write.commit().await?;
        Ok(generation)
    }

    /// Ends the lease, if it is still the holder's.
    pub async fn give_back(&self, namespace: &str, id: &str, holder: &str) -> Result<()> {
        let mut write = self.database.begin().await?;
        write.run(sql::GIVE_BACK, args![namespace, id, holder]).await?;
        write.commit().await
    }

    pub async fn list(&self, namespace: &str) -> Result<Vec<SessionRow>> {
        let now = now();
        let session = |row: &Row| {
            let mut columns = row.columns();
            let (id, generation) = (columns.get()?, columns.get()?);
            let (author, updated_at) = (columns.get()?, columns.get()?);
            let (holder, until): (Option<String>, i64) = (columns.get()?, columns.get()?);
            let (lost, bytes) = (columns.json("sessions")?, columns.get()?);
            let holder = holder.filter(|_| (now + 1..=end(now, MAX_LEASE)).contains(&until));
            Ok(SessionRow { id, generation, author, updated_at, holder, lost, bytes })
        };
        self.database.rows(sql::LIST, args![namespace]).await?.iter().map(session).collect()
    }

    /// Removes a session, whoever has it. Returns false if there is none.
    pub async fn remove(&self, namespace: &str, id: &str) -> Result<bool> {
        let mut write = self.database.begin().await?;
        let rows = write.run(sql::REMOVE, args![namespace, id]).await?;
        write.commit().await?;
        Ok(rows > 0)
    }

    /// Removes the sessions of all namespaces that were not used since a time (milliseconds since 1970)
    /// and that nobody has. Returns how many.
    pub async fn expire(&self, before_ms: i64) -> Result<u64> {
        let mut write = self.database.begin().await?;
        let now = now();
        let rows = write.run(sql::EXPIRE, args![before_ms, now, end(now, MAX_LEASE)]).await?;
        write.commit().await?;
        Ok(rows)
    }
}

fn end(now: i64, lease: Duration) -> i64 {
    now.saturating_add(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX))
}

/// Leaves the state out: it is large, and the agent's.
impl std::fmt::Debug for SessionSnapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionSnapshot")
            .field("bytes", &self.state.map(<[u8]>::len))
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SessionState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionState")
            .field("generation", &self.generation)
            .field("bytes", &self.state.as_ref().map(Vec::len))
            .field("lost", &self.lost)
            .finish()
    }
}
