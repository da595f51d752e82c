//! Measures how fast a full store is, compared with an empty one.

use std::{fmt, path::Path, sync::Arc, time::Instant};

use anyhow::bail;
use narrows_engine::{
    broker::Broker,
    skills::SkillDraft,
    state::{Agent, AuditFilter, State},
};
use narrows_model::{EventAction, EventOutcome, Principal, Template};
use narrows_store::{NewEntry, NewSkill};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    arguments::StoreBenchArgs,
    budget::{Budget, Budgeted},
    statistics::LatencySummary,
};
use crate::{
    app,
    config::{AppDirs, Config},
    printer::Printer,
};

/// The budget at p95, in milliseconds.
const BUDGET: f64 = 5.0;
const AT_ONCE: usize = 5_000;
const VERBS: [&str; 10] = [
    "filter",
    "fetch",
    "summarise",
    "rank",
    "convert",
    "merge",
    "export",
    "check",
    "score",
    "group",
];
const KINDS: [&str; 10] = [
    "high_risk",
    "overdue",
    "open",
    "weekly",
    "duplicate",
    "large",
    "recent",
    "failed",
    "unread",
    "monthly",
];
const THINGS: [&str; 10] = [
    "leads",
    "issues",
    "invoices",
    "emails",
    "orders",
    "reports",
    "tickets",
    "customers",
    "prices",
    "events",
];

#[derive(Debug, Serialize)]
pub(super) struct StoreReport {
    store: String,
    skills: usize,
    audit: usize,
    operations: Vec<StoreOperation>,
    budget_ms: f64,
}

#[derive(Debug, Serialize)]
struct StoreOperation {
    what: &'static str,
    time: LatencySummary,
    /// The same in an empty store.
    empty: LatencySummary,
    ratio_p50: f64,
}

pub(super) async fn measure(args: StoreBenchArgs, printer: Printer) -> anyhow::Result<StoreReport> {
    let StoreBenchArgs { skills, audit, samples, url, .. } = args;
    let home = tempfile::tempdir()?;
    let (full, broker) = open(&home.path().join("full"), url.as_deref())?;
    let (empty, _) = open(&home.path().join("empty"), url.as_deref())?;
    let store = full.store().await?;
    let name = store.place().to_string();
    if store.audit().count().await? > 0 {
        bail!("{name} is in use: what is measured stays in it, so give an empty database");
    }
    printer.note(format!("filling {name} with {skills} skills and {audit} audit entries"));
    fill(&full, skills, audit).await?;
    let full = full.agent(Arc::new(Principal::local()));
    // In a shared PostgreSQL the empty one is another namespace.
    let nobody = Principal::new("nobody", "bench-empty");
    let empty = empty.agent(Arc::new(nobody));
    // The first search reads all skills.
    full.list_skills(&broker, Some("anything"), None, Some(10)).await?;
    let mut operations = Vec::new();
    for (deed, what) in DEEDS {
        let mut times = (Vec::new(), Vec::new());
        for number in 0..samples {
            // One after the other, so that both meet the same machine.
            times.0.push(one(&full, &broker, deed, number).await?);
            times.1.push(one(&empty, &broker, deed, number).await?);
        }
        let (time, empty) = (LatencySummary::of(times.0), LatencySummary::of(times.1));
        let ratio_p50 = time.p50_ms / empty.p50_ms;
        operations.push(StoreOperation { what, time, empty, ratio_p50 });
    }
    full.close().await;
    empty.close().await;
    Ok(StoreReport { store: name, skills, audit, operations, budget_ms: BUDGET })
}

/// An operation that is measured.
#[derive(Clone, Copy, Debug)]
enum Deed {
    ListSkills,
    SearchSkills,
    SaveSkill,
    LoadSkill,
    AppendToAudit,
    SearchAudit,
    PostMessage,
    SetSharedValue,
}

const DEEDS: [(Deed, &str); 8] = [
    (Deed::ListSkills, "list skills"),
    (Deed::SearchSkills, "search skills"),
    (Deed::SaveSkill, "save a skill"),
    (Deed::LoadSkill, "load a skill"),
    (Deed::AppendToAudit, "append to the audit"),
    (Deed::SearchAudit, "search the audit"),
    (Deed::PostMessage, "post a message"),
    (Deed::SetSharedValue, "set a shared value"),
];

async fn one(
    agent: &Agent,
    broker: &Broker,
    deed: Deed,
    number: u32,
) -> anyhow::Result<std::time::Duration> {
    let at = number as usize;
    let (verb, kind, thing) = (VERBS[at % 10], KINDS[at / 3 % 10], THINGS[at / 7 % 10]);
    let store = agent.store().await?;
    let start = Instant::now();
    match deed {
        Deed::ListSkills => drop(agent.list_skills(broker, None, None, Some(50)).await?),
        Deed::SearchSkills => {
            let query = format!("{verb} {kind} {thing}");
            drop(agent.list_skills(broker, Some(&query), None, Some(10)).await?);
        }
        Deed::SaveSkill => {
            let name = format!("bench_{number}");
            let code = format!("def {name}(rows: list[dict]) -> list[dict]:\n    return rows\n");
            let description = format!("{verb} the {kind} {thing}");
            let draft = SkillDraft { name, code, description, ..SkillDraft::default() };
            drop(agent.save_skill(broker, draft).await?);
        }
        Deed::LoadSkill => {
            let name = format!("bench_{number}");
            drop(agent.load_skill(&name, None, None).await?);
        }
        Deed::AppendToAudit => {
            store.audit().append(&entry(at)).await?;
        }
        Deed::SearchAudit => {
            let filter = AuditFilter {
                principal: Some(format!("agent-{}", at % 10)),
                action: Some("run".into()),
                ..AuditFilter::default()
            };
            drop(store.audit().search(&filter, None, 50).await?);
        }
        Deed::PostMessage => drop(agent.post("bench", &json!({ "n": number }), None).await?),
        Deed::SetSharedValue => {
            let expected = narrows_store::Expected::Anything;
            let value = Some(json!(number));
            drop(agent.set_shared("bench", value.as_ref(), expected, None).await?);
        }
    }
    Ok(start.elapsed())
}

fn open(dir: &Path, url: Option<&str>) -> anyhow::Result<(Arc<State>, Broker)> {
    let places = AppDirs::below(dir);
    let mut config = Config::default();
    config.keeping.store = url.map(Template::new);
    Ok((app::state(&places, &config)?, app::broker(&places, Vec::new())?))
}

async fn fill(state: &State, skills: usize, audit: usize) -> anyhow::Result<()> {
    let store = state.store().await?;
    let numbers: Vec<usize> = (0..skills).collect();
    for numbers in numbers.chunks(AT_ONCE) {
        let page: Vec<NewSkill> = numbers.iter().copied().map(skill).collect();
        store.skills().save_all(&page).await?;
    }
    // Saving skills has written to the audit already.
    let numbers: Vec<usize> = (0..audit.saturating_sub(skills)).collect();
    for numbers in numbers.chunks(AT_ONCE) {
        let page: Vec<NewEntry> = numbers.iter().copied().map(entry).collect();
        store.audit().append_all(&page).await?;
    }
    Ok(())
}

fn skill(number: usize) -> NewSkill {
    let (verb, kind, thing) =
        (VERBS[number % 10], KINDS[number / 10 % 10], THINGS[number / 100 % 10]);
    let name = format!("{verb}_{kind}_{thing}_{number}");
    NewSkill {
        namespace: Principal::DEFAULT_HOME.into(),
        code: format!("def {name}(rows: list[dict]) -> list[dict]:\n    return rows\n"),
        description: format!("{verb} the {kind} {thing} of project {}", number / 1000),
        tags: vec![thing.into()],
        signature: format!("{name}(rows: list[dict]) -> list[dict]"),
        doc: String::new(),
        uses: Value::Null,
        tests: Value::Null,
        origin: Value::Null,
        author: "bench".into(),
        name,
    }
}

fn entry(number: usize) -> NewEntry {
    NewEntry {
        principal: format!("agent-{}", number % 10),
        namespace: Principal::DEFAULT_HOME.into(),
        action: if number.is_multiple_of(3) { EventAction::Run } else { EventAction::Call },
        target: format!("server-{}.tool", number % 100),
        outcome: EventOutcome::Ok,
        details: json!({ "milliseconds": number % 1000 }),
    }
}

impl Budgeted for StoreReport {
    fn budgets(&self) -> Vec<Budget> {
        let operations = self.operations.iter();
        let budget = |StoreOperation { what, time, .. }: &StoreOperation| {
            Budget::at_most(format!("{what}, ms at p95"), time.p95_ms, self.budget_ms)
        };
        operations.map(budget).collect()
    }
}

impl fmt::Display for StoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} skills, {} audit entries", self.store, self.skills, self.audit)?;
        for operation in &self.operations {
            let StoreOperation { what, time, ratio_p50, .. } = operation;
            write!(f, "\n{what:<22} {time}, {ratio_p50:.1} times that of an empty store")?;
        }
        write!(f, "\nbudget: {} ms at p95", self.budget_ms)
    }
}
