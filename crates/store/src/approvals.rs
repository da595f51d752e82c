//! Approvals: calls that wait for a person's yes or no. A yes is for that call, once, or for all calls of
//! its tool in one run or one session.

use narrows_model::EventAction;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    StoreError,
    audit::{self, NewEntry},
    database::{Arg, Database, Result, Row, Write, args},
    limits::{self, PENDING_APPROVALS, SHOWN_BYTES},
    queries::approvals as sql,
};

/// How long approvals are kept that are over, in milliseconds.
const HISTORY: i64 = 30 * 24 * 60 * 60 * 1000;

/// How much the clocks of the processes that share a store may differ, in milliseconds.
const CLOCK_DIFFERENCE: i64 = 60 * 60 * 1000;

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
    /// The principal who wants to make the call.
    pub principal: String,
    /// The server and its tool, as `server.tool`.
    pub tool: String,
    /// The hash of the arguments: only the call with these is approved.
    pub arguments_hash: String,
    /// What the person reads, without personal data.
    pub shown: String,
    /// Why a person is asked.
    pub why: String,
    /// The reasons in a form for programs: a yes for more than one call covers those that a person is
    /// asked about for the same reasons.
    pub reasons: String,
    /// The run that the call belongs to, if it makes others.
    pub run: Option<String>,
    /// The session of the client, if it has one that lasts.
    pub session: Option<String>,
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
    pub reasons: String,
    pub run: Option<String>,
    pub session: Option<String>,
    pub expires_at: i64,
    pub state: ApprovalState,
    /// The calls that a yes covers.
    pub scope: Scope,
    pub created_at: i64,
    pub decided_at: Option<i64>,
    pub decided_by: Option<String>,
}

/// The calls that a yes covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call with these arguments, one time.
    Once,
    /// All calls of the tool in the same run.
    Run,
    /// All calls of the tool in the same session.
    Session,
    /// A rule was written that allows the tool. The approval itself is for this call, one time.
    Always,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::Once, Self::Run, Self::Session, Self::Always];

    /// Returns the word for it, in the database and wherever a person chooses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Run => "run",
            Self::Session => "session",
            Self::Always => "always",
        }
    }

    /// Returns the scope with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// A person's decision on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow(Scope),
    Deny,
}

/// A call that somebody wants to make, by which its decision is looked up.
#[derive(Clone, Copy, Debug)]
pub struct CallKey<'a> {
    pub principal: &'a str,
    pub tool: &'a str,
    pub arguments_hash: &'a str,
    pub reasons: &'a str,
    pub run: Option<&'a str>,
    pub session: Option<&'a str>,
}

/// The state of an approval.
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

    /// Reads a state. Whatever is not surely another one is used, and allows nothing.
    fn of(name: &str) -> Self {
        let others = [Self::Pending, Self::Allowed, Self::Denied];
        others.into_iter().find(|state| state.name() == name).unwrap_or(Self::Used)
    }
}

impl Approvals<'_> {
    /// Asks a person. If the same principal asks about the same call already, returns that approval.
    pub async fn ask(&self, new: &NewApproval, now: i64) -> Result<Approval> {
        check(new)?;
        let NewApproval { principal, tool, arguments_hash, reasons, run, session, .. } = new;
        let mut write = self.database.begin().await?;
        let seq = write.number(sql::NEXT, args![]).await?;
        // The answer is for the run and the session that asked last.
        let (run, session) = (run.as_deref(), session.as_deref());
        let same = args![principal, tool, arguments_hash, now, reasons, run, session];
        if let Some(row) = write.row(sql::ASK_AGAIN, same).await? {
            write.commit().await?;
            return approval(&row);
        }
        if write.number(sql::PENDING, args![principal, now]).await? >= PENDING_APPROVALS {
            let (principal, limit) = (principal.clone(), PENDING_APPROVALS);
            return Err(StoreError::TooManyApprovals { principal, limit });
        }
        let row = add(&mut write, new, seq, now).await?;
        write.commit().await?;
        approval(&row)
    }

    /// Records a yes that was given when the call was made.
    pub async fn record(
        &self,
        new: &NewApproval,
        scope: Scope,
        by: &str,
        now: i64,
    ) -> Result<Approval> {
        check(new)?;
        limits::name("principal", by)?;
        let mut write = self.database.begin().await?;
        let seq = write.number(sql::NEXT, args![]).await?;
        add(&mut write, new, seq, now).await?;
        let row =
            write.one(sql::DECIDE, &decision(&new.id, Verdict::Allow(scope), by, now)).await?;
        let approval = approval(&row)?;
        note(&mut write, &approval, Verdict::Allow(scope), by).await?;
        write.commit().await?;
        Ok(approval)
    }

    /// Finds a yes for all calls of the tool in this run or session. It is not used up.
    pub async fn standing(&self, call: &CallKey<'_>, now: i64) -> Result<Option<Approval>> {
        let CallKey { principal, tool, reasons, run, session, .. } = *call;
        let standing = args![principal, tool, reasons, now, run, session, latest_creation(now)];
        let row = self.database.row(sql::STANDING, standing).await?;
        row.as_ref().map(approval).transpose()
    }

    /// Takes the decisions about calls that are made together: for each a standing yes, or else the
    /// latest decision about this very call. Nobody else gets that one: a yes is for one call, and
    /// after a no the next call asks anew. The state says what was decided. If one of the calls has no
    /// decision yet, none is used up: the caller makes no call without the others, and needs the
    /// decisions when it comes back.
    pub async fn take_all(&self, calls: &[CallKey<'_>], now: i64) -> Result<Vec<Option<Approval>>> {
        let mut decisions = Vec::with_capacity(calls.len());
        let mut write = self.database.begin().await?;
        // Two that take the same ones in another order would wait for each other.
        write.number(sql::NEXT, args![]).await?;
        for call in calls {
            let CallKey { principal, tool, arguments_hash, reasons, run, session } = *call;
            let latest = latest_creation(now);
            let standing = args![principal, tool, reasons, now, run, session, latest];
            let row = match write.row(sql::STANDING, standing).await? {
                Some(row) => Some(row),
                None => {
                    let args = args![principal, tool, arguments_hash, now, reasons, latest];
                    write.row(sql::TAKE, args).await?
                }
            };
            decisions.push(row.as_ref().map(approval).transpose()?);
        }
        if decisions.iter().all(Option::is_some) {
            write.commit().await?;
        }
        Ok(decisions)
    }

    /// Decides on a pending approval. A no also withdraws what was allowed of the same call before and
    /// not used.
    pub async fn decide(&self, id: &str, verdict: Verdict, by: &str, now: i64) -> Result<Approval> {
        limits::name("principal", by)?;
        let mut write = self.database.begin().await?;
        let Some(row) = write.row(sql::DECIDE, &decision(id, verdict, by, now)).await? else {
            drop(write);
            return Err(self.why_not(id).await?);
        };
        let approval = approval(&row)?;
        if verdict == Verdict::Deny {
            let Approval { principal, tool, arguments_hash, .. } = &approval;
            write.run(sql::WITHDRAW, args![principal, tool, arguments_hash, now]).await?;
        }
        note(&mut write, &approval, verdict, by).await?;
        write.commit().await?;
        Ok(approval)
    }

    /// Returns why there was nothing to decide.
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

    /// Returns the newest approvals, of one state or of all. One that has expired is no longer pending.
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

    /// Removes what has been over for 30 days, and returns how many that were.
    pub async fn sweep(&self, now: i64) -> Result<u64> {
        let mut write = self.database.begin().await?;
        let swept = write.run(sql::SWEEP, args![now - HISTORY]).await?;
        write.commit().await?;
        Ok(swept)
    }
}

/// Returns the latest time at which a yes that counts was asked for: one from the future was asked for
/// by a clock that was ahead, and would last until then.
fn latest_creation(now: i64) -> i64 {
    now.saturating_add(CLOCK_DIFFERENCE)
}

async fn add(write: &mut Write, new: &NewApproval, seq: i64, now: i64) -> Result<Row> {
    let args = args![
        &new.id,
        seq,
        &new.namespace,
        &new.principal,
        &new.tool,
        &new.arguments_hash,
        &new.shown,
        &new.why,
        now,
        new.expires_at,
        &new.reasons,
        new.run.as_deref(),
        new.session.as_deref(),
    ];
    write.one(sql::ADD, args).await
}

/// Returns the arguments of a query that writes a decision.
fn decision<'a>(id: &'a str, verdict: Verdict, by: &'a str, now: i64) -> [Arg<'a>; 5] {
    let (state, scope) = match verdict {
        Verdict::Allow(scope) => (ApprovalState::Allowed, scope),
        Verdict::Deny => (ApprovalState::Denied, Scope::Once),
    };
    [id.into(), state.name().into(), by.into(), now.into(), scope.name().into()]
}

/// Writes into the audit who decided what.
async fn note(write: &mut Write, approval: &Approval, verdict: Verdict, by: &str) -> Result<()> {
    let Approval { id, principal, namespace, tool, arguments_hash, scope, .. } = approval;
    let mut details = json!({ "id": id, "for": principal, "arguments_hash": arguments_hash });
    let action = match verdict {
        Verdict::Allow(_) => {
            details["scope"] = scope.name().into();
            EventAction::ApprovalAllow
        }
        Verdict::Deny => EventAction::ApprovalDeny,
    };
    let entry = NewEntry::done(by, namespace, action, tool, details);
    audit::append(write, &[entry]).await?;
    Ok(())
}

fn check(new: &NewApproval) -> Result<()> {
    limits::name("id", &new.id)?;
    limits::name("namespace", &new.namespace)?;
    limits::name("principal", &new.principal)?;
    limits::name("hash of the arguments", &new.arguments_hash)?;
    limits::tool(&new.tool)?;
    limits::text("text that is shown", &new.shown, SHOWN_BYTES)?;
    limits::text("reason", &new.why, SHOWN_BYTES)?;
    limits::text("reasons", &new.reasons, SHOWN_BYTES)?;
    if let Some(run) = &new.run {
        limits::name("run", run)?;
    }
    if let Some(session) = &new.session {
        limits::name("session", session)?;
    }
    Ok(())
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
        // A scope that is not known covers one call.
        scope: Scope::named(columns.get()?).unwrap_or(Scope::Once),
        reasons: columns.get()?,
        run: columns.get()?,
        session: columns.get()?,
        state: ApprovalState::of(columns.get()?),
    })
}
