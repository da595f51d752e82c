//! The audit: searches, and a chain that shows every change.

use narrows_model::{EventAction, EventOutcome};
use narrows_store::{Damage, Entry, Filter, NewEntry, Verification};
use narrows_testkit::Chance;
use ring::digest::{SHA256, digest};
use serde_json::json;

use crate::home::{Home, on_both};

const ACTIONS: [EventAction; 5] = [
    EventAction::SkillSave,
    EventAction::SkillRemove,
    EventAction::CallBegin,
    EventAction::Call,
    EventAction::BoardPost,
];
const OUTCOMES: [EventOutcome; 3] = [EventOutcome::Ok, EventOutcome::Failed, EventOutcome::Refused];

fn note(chance: &mut Chance, number: usize) -> NewEntry {
    NewEntry {
        principal: chance.one_of(&["ada", "bob", "eve"]).to_owned(),
        namespace: chance.one_of(&["team", "team2"]).to_owned(),
        action: chance.one_of(&ACTIONS),
        target: format!("t{}", chance.below(9)),
        outcome: OUTCOMES[number % OUTCOMES.len()],
        details: json!({ "number": number }),
    }
}

/// Tells whether a search should find an entry, the slow way.
pub(crate) fn fits(entry: &Entry, filter: &Filter) -> bool {
    let same = |asked: &Option<String>, is: &str| asked.as_deref().is_none_or(|asked| asked == is);
    same(&filter.principal, &entry.principal)
        && same(&filter.namespace, &entry.namespace)
        && same(&filter.target, &entry.target)
        && filter.outcome.is_none_or(|outcome| outcome.as_str() == entry.outcome)
        && filter.action.as_ref().is_none_or(|prefix| entry.action.starts_with(prefix.as_str()))
        && filter.since.is_none_or(|since| entry.at >= since)
        && filter.until.is_none_or(|until| entry.at < until)
}

/// Returns the hash of an entry with another word for its outcome, as whoever has the export computes
/// it.
fn hash_of(entry: &Entry, outcome: &str) -> String {
    let (seq, at, details) =
        (entry.seq.to_string(), entry.at.to_string(), entry.details.to_string());
    let Entry { previous, principal, namespace, action, target, .. } = entry;
    let parts = [previous, &seq, &at, principal, namespace, action, target, outcome, &details];
    let text: String = parts.map(|part| format!("{}:{part}", part.len())).concat();
    let hash = digest(&SHA256, text.as_bytes());
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) async fn noted(home: &Home, count: usize) {
    let mut chance = Chance::new(5);
    let entries: Vec<_> = (0..count).map(|number| note(&mut chance, number)).collect();
    home.store.audit().append_all(&entries).await.unwrap();
}

pub(crate) async fn verify(home: &Home) -> Verification {
    home.store.audit().verify().await.unwrap()
}

on_both! {
    async fn entries_come_back_as_they_were_noted(home) {
        let audit = home.store.audit();
        let new = NewEntry {
            principal: "ada".to_owned(),
            namespace: "team".to_owned(),
            action: EventAction::Call,
            target: "crm.get_lead".to_owned(),
            outcome: EventOutcome::Failed,
            details: json!({ "z": 1, "a": [1.25, null, "naïve \u{0}"] }),
        };
        assert_eq!(audit.append(&new).await.unwrap(), 1);
        assert_eq!(audit.append(&new).await.unwrap(), 2);
        let found = audit.get(2).await.unwrap().unwrap();
        assert_eq!((&found.principal, &found.namespace), (&new.principal, &new.namespace));
        assert_eq!((found.action.as_str(), &found.target), ("call", &new.target));
        assert_eq!((found.outcome.as_str(), &found.details), ("failed", &new.details));
        assert_eq!(found.stored_outcome, None);
        assert_eq!(found.previous, audit.get(1).await.unwrap().unwrap().hash);
        assert_eq!(audit.get(3).await.unwrap(), None);
        assert_eq!(audit.count().await.unwrap(), 2);
        assert_eq!(audit.append_all(&[]).await.unwrap(), 2);
        assert_eq!(verify(&home).await, Verification::Intact { entries: 2, first: 1 });
    }

    async fn a_strange_name_does_not_keep_a_deed_out_of_the_audit(home) {
        let new = NewEntry {
            principal: "a\0b".to_owned(),
            target: "\n".repeat(5_000),
            details: json!("x".repeat(1 << 20)),
            ..NewEntry::default()
        };
        let seq = home.store.audit().append(&new).await.unwrap();
        let found = home.store.audit().get(seq).await.unwrap().unwrap();
        assert_eq!(found.principal, "a\u{fffd}b");
        assert!(found.target.len() <= 1_024 && found.target.ends_with('…'));
        assert_eq!(found.details["bytes"], (1 << 20) + 2);
        assert_eq!(verify(&home).await, Verification::Intact { entries: 1, first: 1 });
    }

    async fn a_search_finds_what_fits_newest_first(home) {
        noted(&home, 600).await;
        // Times one second apart, so that they can be searched for.
        home.tamper("UPDATE audit SET at = seq * 1000").await;
        let all: Vec<_> = home.store.audit().search(&Filter::default(), None, 1_000).await.unwrap();
        assert_eq!(all.len(), 600);
        assert!(all.is_sorted_by(|a, b| a.seq > b.seq));
        let mut chance = Chance::new(7);
        let mut hits = 0;
        for _ in 0..150 {
            let mut maybe = |texts: &[&str]| {
                (chance.below(2) == 0).then(|| chance.one_of(texts).to_owned())
            };
            let filter = Filter {
                principal: maybe(&["ada", "bob", "nobody"]),
                namespace: maybe(&["team", "team2"]),
                action: maybe(&["", "s", "skill.", "skill.save", "call", "none"]),
                target: maybe(&["t1", "t2"]),
                outcome: maybe(&["ok", "error", "busy"]).map(|word| word.parse().unwrap()),
                since: maybe(&["100000", "300000", "999999999"]).map(|at| at.parse().unwrap()),
                until: maybe(&["400000", "500000", "0"]).map(|at| at.parse().unwrap()),
            };
            let before = (chance.below(2) == 0).then_some(450);
            let found = home.store.audit().search(&filter, before, 20).await.unwrap();
            let early = |entry: &&Entry| before.is_none_or(|before| entry.seq < before);
            let expected: Vec<_> =
                all.iter().filter(early).filter(|e| fits(e, &filter)).take(20).cloned().collect();
            assert_eq!(found, expected, "{filter:?} {before:?}");
            hits += found.len();
        }
        assert!(hits > 200, "{hits}");
    }

    // Entries of earlier versions keep their words, which are part of their hash.
    async fn words_of_earlier_versions_are_shown_and_found_as_those_of_today(home) {
        let audit = home.store.audit();
        let of = |outcome| NewEntry { outcome, ..NewEntry::default() };
        // As an earlier version wrote them: with the hash of its word.
        let entries = [of(EventOutcome::Ok), of(EventOutcome::Failed), of(EventOutcome::Busy)];
        for (entry, word) in entries.iter().zip(["success", "error", "word of tomorrow"]) {
            let seq = audit.append(entry).await.unwrap();
            let entry = audit.get(seq).await.unwrap().unwrap();
            let hash = hash_of(&entry, word);
            home.tamper(&format!(
                "UPDATE audit SET outcome = '{word}', hash = '{hash}' WHERE seq = {seq};
                 UPDATE audit_head SET hash = '{hash}'"
            )).await;
        }
        audit.append_all(&entries[..2]).await.unwrap();
        assert_eq!(verify(&home).await, Verification::Intact { entries: 5, first: 1 });
        let words = |entry: &Entry| (entry.outcome.clone(), entry.stored_outcome.clone());
        let all = audit.export(&Filter::default(), 0, 10).await.unwrap();
        let shown: Vec<_> = all.iter().map(words).collect();
        let old = |word: &str, stored: &str| (word.to_owned(), Some(stored.to_owned()));
        let new = |word: &str| (word.to_owned(), None);
        let expected = [
            old("ok", "success"),
            old("failed", "error"),
            new("word of tomorrow"),
            new("ok"),
            new("failed"),
        ];
        assert_eq!(shown, expected);
        for (word, found) in [("ok", [4, 1]), ("success", [4, 1]), ("error", [5, 2])] {
            let outcome = Some(word.parse().unwrap());
            let filter = Filter { outcome, ..Filter::default() };
            let searched = audit.search(&filter, None, 10).await.unwrap();
            let numbers = searched.iter().map(|entry| entry.seq);
            assert_eq!(numbers.collect::<Vec<_>>(), found, "{word}");
            let mut exported = audit.export(&filter, 0, 10).await.unwrap();
            exported.reverse();
            assert_eq!(exported, searched, "{word}");
        }
    }

    async fn the_chain_holds_when_several_write_to_it(home) {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..4 {
            let store = home.another().await;
            tasks.spawn(async move {
                let mut chance = Chance::new(task + 1);
                for number in 0..40 {
                    store.audit().append(&note(&mut chance, number)).await.unwrap();
                    let two = [note(&mut chance, 0), note(&mut chance, 1)];
                    store.audit().append_all(&two).await.unwrap();
                }
            });
        }
        while !tasks.is_empty() {
            assert!(matches!(verify(&home).await, Verification::Intact { .. }));
            while let Some(done) = tasks.try_join_next() {
                done.unwrap();
            }
        }
        assert_eq!(verify(&home).await, Verification::Intact { entries: 480, first: 1 });
        let all = home.store.audit().search(&Filter::default(), None, 1_000).await.unwrap();
        assert!(all.is_sorted_by(|a, b| a.at >= b.at));
    }

    async fn times_never_fall_even_if_a_clock_does(home) {
        noted(&home, 1).await;
        home.tamper("UPDATE audit_head SET at = 99999999999999").await;
        let seq = home.store.audit().append(&NewEntry::default()).await.unwrap();
        let entry = home.store.audit().get(seq).await.unwrap().unwrap();
        assert_eq!(entry.at, 99_999_999_999_999);
    }

    async fn tampering_with_any_column_is_found(home) {
        noted(&home, 30).await;
        assert_eq!(verify(&home).await, Verification::Intact { entries: 30, first: 1 });
        for column in
            ["principal", "namespace", "action", "target", "outcome", "details", "at", "hash"]
        {
            let text = if column == "at" { "at + 1" } else { "'\"x\"'" };
            home.tamper(&format!(
                "CREATE TABLE before AS SELECT * FROM audit WHERE seq = 20;
                 UPDATE audit SET {column} = {text} WHERE seq = 20"
            )).await;
            let broken = Verification::Broken { seq: 20, what: Damage::Changed };
            assert_eq!(verify(&home).await, broken, "{column}");
            home.tamper(&format!(
                "UPDATE audit SET {column} = (SELECT {column} FROM before) WHERE seq = 20;
                 DROP TABLE before"
            )).await;
            assert_eq!(verify(&home).await, Verification::Intact { entries: 30, first: 1 }, "{column}");
        }
    }

    async fn a_missing_entry_is_found(home) {
        noted(&home, 1_500).await;
        home.tamper("DELETE FROM audit WHERE seq = 1200").await;
        let missing = Verification::Broken { seq: 1_200, what: Damage::Missing };
        assert_eq!(verify(&home).await, missing);
    }

    async fn a_cut_end_is_found(home) {
        noted(&home, 30).await;
        home.tamper("DELETE FROM audit WHERE seq > 25").await;
        assert_eq!(verify(&home).await, Verification::Broken { seq: 26, what: Damage::Missing });
        home.tamper("UPDATE audit_head SET seq = 25").await;
        assert_eq!(verify(&home).await, Verification::Broken { seq: 25, what: Damage::Head });
    }

    async fn an_emptied_audit_is_found(home) {
        noted(&home, 3).await;
        home.tamper("DELETE FROM audit").await;
        assert_eq!(verify(&home).await, Verification::Broken { seq: 1, what: Damage::Missing });
    }

    async fn an_entry_that_was_put_there_is_found(home) {
        noted(&home, 30).await;
        home.tamper("INSERT INTO audit SELECT 31, at, principal, namespace, action, target, outcome,
                     previous, hash, details FROM audit WHERE seq = 30").await;
        assert_eq!(verify(&home).await, Verification::Broken { seq: 31, what: Damage::Foreign });
    }

    async fn entries_in_another_order_are_found(home) {
        noted(&home, 30).await;
        home.tamper("UPDATE audit SET seq = -10 WHERE seq = 10;
                     UPDATE audit SET seq = 10 WHERE seq = 11;
                     UPDATE audit SET seq = 11 WHERE seq = -10").await;
        assert!(matches!(verify(&home).await, Verification::Broken { seq: 10, .. }));
    }

    async fn an_entry_that_hides_before_the_first_is_found(home) {
        noted(&home, 3).await;
        home.tamper("INSERT INTO audit SELECT 0, at, principal, namespace, action, target, outcome,
                     previous, hash, details FROM audit WHERE seq = 1").await;
        assert_eq!(verify(&home).await, Verification::Broken { seq: 0, what: Damage::Foreign });
    }
}
