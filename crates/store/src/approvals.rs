//! Approvals: calls that wait for a person's yes or no, each good for one call.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    StoreError,
    audit::{self, NewEntry},
    database::{Database, Result, Row, args},
    limits::{self, PENDING_APPROVALS, SHOWN_BYTES},
    queries::approvals as sql,
};

/// What is over is kept for so long, in milliseconds.
const HISTORY: i64 = 30 * 24 * 60 * 60 * 1000;

/// The approvals of all principals.
#[derive(Clone, Copy, Debug)]
pub struct Approvals<'a> {
    pub(crate) database: &'a Database,
}

/// A call that a person is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NewApproval {
    pub id: String,
    pub namespace: String,
    /// Who wants to call.
    pub principal: String,
    /// The server and its tool, as `server.tool`.
    pub tool: String,
    /// What is approved is the call with these arguments, and no other.
    pub arguments_hash: String,
    /// What the person reads, without personal data.
    pub shown: String,
    /// Why a person is asked.
    pub why: String,
    pub expires_at: i64,
}

/// A call that a person was asked about, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approval {
    pub id: String,
    pub namespace: String,
    pub principal: String,
    pub tool: String,
    pub arguments_hash: String,
    pub shown: String,
    pub why: String,
    pub expires_at: i64,
    pub state: ApprovalState,
    pub created_at: i64,
    pub decided_at: Option<i64>,
    pub decided_by: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Allowed,
    Denied,
    /// Somebody acted on the decision, or a later one has replaced it.
    Used,
}

impl ApprovalState {
    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Used => "used",
        }
    }

    /// Whatever is not surely another one is used, and allows nothing.
    fn of(name: &str) -> Self {
        let others = [Self::Pending, Self::Allowed, Self::Denied];
        others.into_iter().find(|state| state.name() == name).unwrap_or(Self::Used)
    }
}

impl Approvals<'_> {
    /// Asks a person. If the same principal asks about the same call already, that one is given.
    pub async fn ask(&self, new: &NewApproval, now: i64) -> Result<Approval> {
        check(new)?;
        let NewApproval { id, namespace, principal, tool, arguments_hash, .. } = new;
        let mut write = self.database.begin().await?;
        let seq = write.number(sql::NEXT, args![]).await?;
        let same = args![principal, tool, arguments_hash, now];
        if let Some(row) = write.row(sql::SAME, same).await? {
            return approval(&row);
        }
        if write.number(sql::PENDING, args![principal, now]).await? >= PENDING_APPROVALS {
            let (principal, limit) = (principal.clone(), PENDING_APPROVALS);
            return Err(StoreError::TooManyApprovals { principal, limit });
        }
        let args = args![
            id,
            seq,
            namespace,
            principal,
            tool,
            arguments_hash,
            &new.shown,
            &new.why,
            now,
            new.expires_at,
        ];
        let row = write.one(sql::ADD, args).await?;
        write.commit().await?;
        approval(&row)
    }

    /// Takes the latest decision about a call, if it is still good. Nobody else gets it: a yes is
    /// for one call, and after a no the next call asks anew. Its state says what was decided.
    pub async fn take(
        &self,
        principal: &str,
        tool: &str,
        arguments_hash: &str,
        now: i64,
    ) -> Result<Option<Approval>> {
        let mut write = self.database.begin().await?;
        let row = write.row(sql::TAKE, args![principal, tool, arguments_hash, now]).await?;
        write.commit().await?;
        row.as_ref().map(approval).transpose()
    }

    /// Decides on a pending one. A no also withdraws what was allowed of the same call before and
    /// not used.
    pub async fn decide(&self, id: &str, allow: bool, by: &str, now: i64) -> Result<Approval> {
        limits::name("principal", by)?;
        let (state, action) = match allow {
            true => (ApprovalState::Allowed, "approval.allow"),
            false => (ApprovalState::Denied, "approval.deny"),
        };
        let mut write = self.database.begin().await?;
        let Some(row) = write.row(sql::DECIDE, args![id, state.name(), by, now]).await? else {
            drop(write);
            return Err(self.why_not(id).await?);
        };
        let approval = approval(&row)?;
        let Approval { principal, tool, arguments_hash, .. } = &approval;
        if !allow {
            write.run(sql::WITHDRAW, args![principal, tool, arguments_hash, now]).await?;
        }
        let details = json!({ "id": id, "for": principal, "arguments_hash": arguments_hash });
        let entry = NewEntry::done(by, &approval.namespace, action, tool, details);
        audit::append(&mut write, &[entry]).await?;
        write.commit().await?;
        Ok(approval)
    }

    /// Why there was nothing to decide.
    async fn why_not(&self, id: &str) -> Result<StoreError> {
        let id = id.to_owned();
        Ok(match self.get(&id).await? {
            None => StoreError::NoApproval { id },
            Some(found) if found.state == ApprovalState::Pending => {
                StoreError::ApprovalExpired { id }
            }
            Some(_) => StoreError::ApprovalDecided { id },
        })
    }

    /// The newest ones, of one state or of all. One that has expired is no longer pending.
    pub async fn list(
        &self,
        state: Option<ApprovalState>,
        limit: usize,
        now: i64,
    ) -> Result<Vec<Approval>> {
        let args = args![state.map(ApprovalState::name), now, limits::rows(limit)];
        self.database.rows(sql::LIST, args).await?.iter().map(approval).collect()
    }

    pub async fn get(&self, id: &str) -> Result<Option<Approval>> {
        self.database.row(sql::GET, args![id]).await?.as_ref().map(approval).transpose()
    }

    /// Removes what has been over for 30 days, and says how many that were.
    pub async fn sweep(&self, now: i64) -> Result<u64> {
        let mut write = self.database.begin().await?;
        let swept = write.run(sql::SWEEP, args![now - HISTORY]).await?;
        write.commit().await?;
        Ok(swept)
    }
}

fn check(new: &NewApproval) -> Result<()> {
    limits::name("id", &new.id)?;
    limits::name("namespace", &new.namespace)?;
    limits::name("principal", &new.principal)?;
    limits::name("hash of the arguments", &new.arguments_hash)?;
    limits::tool(&new.tool)?;
    limits::text("text that is shown", &new.shown, SHOWN_BYTES)?;
    limits::text("reason", &new.why, SHOWN_BYTES)
}

fn approval(row: &Row) -> Result<Approval> {
    let mut columns = row.columns();
    Ok(Approval {
        id: columns.get()?,
        namespace: columns.get()?,
        principal: columns.get()?,
        tool: columns.get()?,
        arguments_hash: columns.get()?,
        shown: columns.get()?,
        why: columns.get()?,
        expires_at: columns.get()?,
        created_at: columns.get()?,
        decided_at: columns.get()?,
        decided_by: columns.get()?,
        state: ApprovalState::of(columns.get()?),
    })
}
