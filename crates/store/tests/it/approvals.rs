//! Approvals: each is decided once by a person, and used for one call.

use std::sync::Arc;

use narrows_store::{
    Approval, ApprovalState, CallKey, Filter, NewApproval, SHOWN_BYTES, Scope, Store, StoreError,
    Verdict,
};
use tokio::sync::Barrier;

use crate::home::on_both;

const NOW: i64 = 1_800_000_000_000;
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;
const REASONS: &str = r#"["destructive"]"#;

fn call(id: &str, hash: &str) -> NewApproval {
    NewApproval {
        id: id.to_owned(),
        namespace: "team".to_owned(),
        principal: "ada".to_owned(),
        tool: "mail.send".to_owned(),
        arguments_hash: hash.to_owned(),
        shown: "to: [EMAIL_abcdefghijkl]\nnaïve".to_owned(),
        why: "the rule `mail` asks".to_owned(),
        reasons: REASONS.to_owned(),
        run: Some("r1".to_owned()),
        session: Some("s1".to_owned()),
        expires_at: NOW + 10 * MINUTE,
    }
}

async fn ask(store: &Store, new: &NewApproval) -> Approval {
    store.approvals().ask(new, NOW).await.unwrap()
}

async fn decide(store: &Store, id: &str, allow: bool, now: i64) -> Approval {
    store.approvals().decide(id, verdict(allow), "bob", now).await.unwrap()
}

fn verdict(allow: bool) -> Verdict {
    if allow { Verdict::Allow(Scope::Once) } else { Verdict::Deny }
}

/// Returns the call that `call` asks about.
fn key(hash: &str) -> CallKey<'_> {
    CallKey {
        principal: "ada",
        tool: "mail.send",
        arguments_hash: hash,
        reasons: REASONS,
        run: Some("r1"),
        session: Some("s1"),
    }
}

async fn take(store: &Store, hash: &str, now: i64) -> Option<Approval> {
    take_call(store, &key(hash), now).await
}

async fn take_call(store: &Store, call: &CallKey<'_>, now: i64) -> Option<Approval> {
    let taken = store.approvals().take_all(std::slice::from_ref(call), now).await.unwrap();
    taken.into_iter().next().unwrap()
}

async fn ids(store: &Store, state: Option<ApprovalState>, now: i64) -> Vec<String> {
    let listed = store.approvals().list(state, 10, now).await.unwrap();
    listed.into_iter().map(|it| it.id).collect()
}

on_both! {
    async fn what_was_asked_is_shown_as_it_was(home) {
        let new = call("a1", "1");
        let asked = ask(&home.store, &new).await;
        let expected = Approval {
            id: new.id,
            namespace: new.namespace,
            principal: new.principal,
            tool: new.tool,
            arguments_hash: new.arguments_hash,
            shown: new.shown,
            why: new.why,
            reasons: new.reasons,
            run: new.run,
            session: new.session,
            scope: Scope::Once,
            expires_at: new.expires_at,
            state: ApprovalState::Pending,
            created_at: NOW,
            decided_at: None,
            decided_by: None,
        };
        assert_eq!(asked, expected);
        assert_eq!(home.another().await.approvals().get("a1").await.unwrap(), Some(expected));
        assert_eq!(home.store.approvals().get("a2").await.unwrap(), None);
    }

    async fn a_yes_of_a_clock_that_was_days_ahead_is_none(home) {
        let ahead = NOW + 3 * DAY;
        for (id, hash, scope) in [("a1", "1", Scope::Once), ("a2", "2", Scope::Session)] {
            let new = NewApproval { expires_at: ahead + DAY, ..call(id, hash) };
            home.store.approvals().record(&new, scope, "bob", ahead).await.unwrap();
            assert_eq!(take(&home.store, hash, NOW).await, None, "{scope:?}");
        }
        // The positive control: clocks may differ a little, and it is good when its time has come.
        assert!(take(&home.store, "2", ahead - 10 * MINUTE).await.is_some());
        assert!(take(&home.store, "1", ahead).await.is_some());
    }

    async fn the_same_call_is_asked_about_once(home) {
        let first = ask(&home.store, &call("a1", "1")).await;
        assert_eq!(ask(&home.store, &call("a2", "1")).await, first);
        let others = [
            call("b1", "2"),
            NewApproval { principal: "eve".to_owned(), ..call("b2", "1") },
            NewApproval { tool: "mail.delete".to_owned(), ..call("b3", "1") },
        ];
        for other in others {
            assert_eq!(ask(&home.store, &other).await.id, other.id);
        }
        // One that has expired, or was decided, is none to wait for.
        let late = NewApproval { expires_at: NOW + DAY, ..call("a3", "1") };
        let again = home.store.approvals().ask(&late, first.expires_at).await.unwrap();
        assert_eq!(again.id, "a3");
        decide(&home.store, "a3", true, NOW).await;
        assert_eq!(ask(&home.store, &call("a4", "1")).await.id, "a1");
    }

    async fn the_same_call_is_asked_about_once_even_by_many_at_once(home) {
        const MANY: usize = 6;
        let ready = Arc::new(Barrier::new(MANY));
        let mut asking = tokio::task::JoinSet::new();
        for number in 0..MANY {
            let (store, ready) = (home.another().await, Arc::clone(&ready));
            asking.spawn(async move {
                let mut given = Vec::new();
                for round in 0..20 {
                    ready.wait().await;
                    let new = call(&format!("a{round}.{number}"), &round.to_string());
                    given.push(ask(&store, &new).await.id);
                }
                given
            });
        }
        let given = asking.join_all().await;
        assert!(given.iter().all(|ids| *ids == given[0]), "{given:?}");
        assert_eq!(home.store.approvals().list(None, 100, NOW).await.unwrap().len(), 20);
    }

    async fn nobody_fills_the_list_of_what_a_person_has_to_decide(home) {
        for number in 0..100 {
            ask(&home.store, &call(&format!("a{number}"), &number.to_string())).await;
        }
        let more = call("more", "more");
        let refused = home.store.approvals().ask(&more, NOW).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooManyApprovals { limit: 100, .. }), "{refused}");
        assert_eq!(ask(&home.store, &call("again", "7")).await.id, "a7");
        ask(&home.store, &NewApproval { principal: "eve".to_owned(), ..call("other", "1") }).await;
        decide(&home.store, "a3", false, NOW).await;
        ask(&home.store, &more).await;
        let later = NewApproval { expires_at: NOW + DAY, ..call("later", "later") };
        home.store.approvals().ask(&later, NOW).await.unwrap_err();
        home.store.approvals().ask(&later, NOW + 10 * MINUTE).await.unwrap();
    }

    async fn a_yes_is_for_one_call_however_many_try_to_use_it(home) {
        for round in 0..5 {
            let (id, hash) = (format!("a{round}"), format!("h{round}"));
            ask(&home.store, &call(&id, &hash)).await;
            assert_eq!(take(&home.store, &hash, NOW).await, None);
            decide(&home.store, &id, true, NOW).await;
            let mut taking = tokio::task::JoinSet::new();
            for _ in 0..4 {
                let (store, hash) = (home.another().await, hash.clone());
                taking.spawn(async move {
                    let both = tokio::join!(take(&store, &hash, NOW), take(&store, &hash, NOW));
                    [both.0, both.1]
                });
            }
            let taken: Vec<_> = taking.join_all().await.into_iter().flatten().flatten().collect();
            let [taken] = &taken[..] else { panic!("{taken:?}") };
            assert_eq!((&taken.id, taken.state), (&id, ApprovalState::Allowed));
            assert_eq!(taken.decided_by.as_deref(), Some("bob"));
            let kept = home.store.approvals().get(&id).await.unwrap().unwrap();
            assert_eq!(kept.state, ApprovalState::Used);
        }
    }

    async fn calls_that_are_made_together_use_up_nothing_until_all_are_decided(home) {
        for hash in ["1", "2", "3"] {
            ask(&home.store, &call(&format!("a{hash}"), hash)).await;
        }
        let approvals = home.store.approvals();
        let together = [key("1"), key("2"), key("3")];
        let states = async || {
            let taken = approvals.take_all(&together, NOW).await.unwrap();
            taken.into_iter().map(|taken| taken.map(|it| it.state)).collect::<Vec<_>>()
        };
        decide(&home.store, "a1", true, NOW).await;
        decide(&home.store, "a2", false, NOW).await;
        let (allowed, denied) = (Some(ApprovalState::Allowed), Some(ApprovalState::Denied));
        assert_eq!(states().await, [allowed, denied, None]);
        decide(&home.store, "a3", true, NOW).await;
        assert_eq!(states().await, [allowed, denied, allowed]);
        assert_eq!(states().await, [None, None, None], "each was for one call");
        // One yes is not for two calls that are the same.
        ask(&home.store, &call("same", "4")).await;
        decide(&home.store, "same", true, NOW).await;
        let twice = approvals.take_all(&[key("4"), key("4")], NOW).await.unwrap();
        assert!(twice[0].is_some() && twice[1].is_none(), "{twice:?}");
        assert!(take(&home.store, "4", NOW).await.is_some());
    }

    async fn a_no_is_told_once_and_then_the_call_may_ask_again(home) {
        ask(&home.store, &call("a1", "1")).await;
        decide(&home.store, "a1", false, NOW).await;
        assert_eq!(take(&home.store, "1", NOW).await.unwrap().state, ApprovalState::Denied);
        assert_eq!(take(&home.store, "1", NOW).await, None);
        assert_eq!(ask(&home.store, &call("a2", "1")).await.id, "a2");
    }

    async fn a_yes_is_for_nobody_else_and_for_no_other_call(home) {
        ask(&home.store, &call("a1", "1")).await;
        decide(&home.store, "a1", true, NOW).await;
        for other in [
            CallKey { principal: "eve", ..key("1") },
            CallKey { tool: "mail.delete", ..key("1") },
            CallKey { reasons: r#"["destructive","flow"]"#, ..key("1") },
            key("2"),
        ] {
            assert_eq!(take_call(&home.store, &other, NOW).await, None, "{other:?}");
        }
        assert_eq!(take(&home.store, "1", NOW + 10 * MINUTE).await, None, "it has expired");
        assert!(take(&home.store, "1", NOW + 10 * MINUTE - 1).await.is_some());
    }

    async fn a_yes_for_a_run_or_a_session_covers_its_other_calls_and_nothing_else(home) {
        let approvals = home.store.approvals();
        for (scope, elsewhere) in [
            (Scope::Run, CallKey { run: Some("r2"), ..key("2") }),
            (Scope::Session, CallKey { session: Some("s2"), ..key("2") }),
        ] {
            let tool = format!("mail.{}", scope.name());
            let id = scope.name();
            ask(&home.store, &NewApproval { tool: tool.clone(), ..call(id, "1") }).await;
            approvals.decide(id, Verdict::Allow(scope), "bob", NOW).await.unwrap();
            for hash in ["1", "2", "2"] {
                let covered = CallKey { tool: &tool, ..key(hash) };
                let taken = take_call(&home.store, &covered, NOW).await.unwrap();
                assert_eq!(approvals.standing(&covered, NOW).await.unwrap().unwrap(), taken);
                assert_eq!((taken.state, taken.scope), (ApprovalState::Allowed, scope));
            }
            for other in [
                elsewhere,
                CallKey { run: None, session: None, ..key("1") },
                CallKey { principal: "eve", ..key("1") },
                CallKey { reasons: r#"["flow"]"#, ..key("1") },
            ] {
                let other = CallKey { tool: &tool, ..other };
                assert_eq!(take_call(&home.store, &other, NOW).await, None, "{other:?}");
            }
            let covered = CallKey { tool: &tool, ..key("1") };
            assert_eq!(take_call(&home.store, &covered, NOW + 10 * MINUTE).await, None);
        }
    }

    async fn a_yes_that_was_given_with_the_call_is_noted_and_stands(home) {
        let approvals = home.store.approvals();
        let noted = approvals.record(&call("a1", "1"), Scope::Session, "ada", NOW).await.unwrap();
        assert_eq!((noted.state, noted.scope), (ApprovalState::Allowed, Scope::Session));
        assert!(take(&home.store, "2", NOW).await.is_some());
        let entries = home.store.audit().export(&Filter::default(), 0, 10).await.unwrap();
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        assert_eq!((&*entry.action, &entry.details["scope"]), ("approval.allow", &"session".into()));
    }

    async fn whoever_asks_last_is_who_the_answer_is_for(home) {
        ask(&home.store, &call("a1", "1")).await;
        let later = NewApproval { run: Some("r2".to_owned()), session: None, ..call("a2", "1") };
        let again = ask(&home.store, &later).await;
        assert_eq!((again.id.as_str(), again.run.as_deref(), again.session), ("a1", Some("r2"), None));
    }

    async fn the_latest_decision_counts_and_a_no_takes_back_an_unused_yes(home) {
        ask(&home.store, &call("a1", "1")).await;
        decide(&home.store, "a1", true, NOW).await;
        ask(&home.store, &call("a2", "1")).await;
        decide(&home.store, "a2", true, NOW + 1).await;
        ask(&home.store, &call("other", "2")).await;
        decide(&home.store, "other", true, NOW).await;
        assert_eq!(take(&home.store, "1", NOW + 2).await.unwrap().id, "a2");
        ask(&home.store, &call("a3", "1")).await;
        decide(&home.store, "a3", false, NOW + 3).await;
        assert_eq!(take(&home.store, "1", NOW + 4).await.unwrap().state, ApprovalState::Denied);
        assert_eq!(take(&home.store, "1", NOW + 4).await, None, "a1 was allowed before the no");
        assert_eq!(take(&home.store, "2", NOW + 4).await.unwrap().id, "other");
    }

    async fn what_cannot_be_decided_is_told_and_not_noted(home) {
        let approvals = home.store.approvals();
        ask(&home.store, &call("a1", "1")).await;
        ask(&home.store, &call("a2", "2")).await;
        let refused = approvals.decide("a1", verdict(true), "bob", NOW + 10 * MINUTE).await.unwrap_err();
        assert!(matches!(&refused, StoreError::ApprovalExpired { id } if id == "a1"), "{refused}");
        let refused = approvals.decide("none", verdict(true), "bob", NOW).await.unwrap_err();
        assert!(matches!(&refused, StoreError::NoApproval { id } if id == "none"), "{refused}");
        assert_eq!(home.store.audit().count().await.unwrap(), 0);

        let allowed = decide(&home.store, "a1", true, NOW + 5).await;
        assert_eq!((allowed.state, allowed.decided_at), (ApprovalState::Allowed, Some(NOW + 5)));
        decide(&home.store, "a2", false, NOW).await;
        take(&home.store, "2", NOW).await.unwrap();
        for (id, allow) in [("a1", false), ("a1", true), ("a2", true)] {
            let refused = approvals.decide(id, verdict(allow), "eve", NOW).await.unwrap_err();
            assert!(matches!(refused, StoreError::ApprovalDecided { .. }), "{refused}");
        }
        let noted = home.store.audit().export(&Filter::default(), 0, 10).await.unwrap();
        let noted: Vec<_> =
            noted.iter().map(|it| (&*it.action, &*it.principal, &*it.target, &it.details)).collect();
        let [("approval.allow", "bob", "mail.send", allow), ("approval.deny", "bob", _, deny)] =
            noted[..]
        else {
            panic!("{noted:?}")
        };
        assert_eq!((&allow["id"], &allow["for"], &deny["id"]), (&"a1".into(), &"ada".into(), &"a2".into()));
    }

    async fn of_two_who_decide_at_once_one_does(home) {
        let other = home.another().await;
        let (bob, eve) = (home.store.approvals(), other.approvals());
        for round in 0..10 {
            let id = format!("a{round}");
            ask(&home.store, &call(&id, &id)).await;
            let (yes, no) = tokio::join!(
                bob.decide(&id, verdict(true), "bob", NOW),
                eve.decide(&id, verdict(false), "eve", NOW),
            );
            let kept = home.store.approvals().get(&id).await.unwrap().unwrap();
            match (yes, no) {
                (Ok(yes), Err(StoreError::ApprovalDecided { .. })) => assert_eq!(yes, kept),
                (Err(StoreError::ApprovalDecided { .. }), Ok(no)) => assert_eq!(no, kept),
                both => panic!("{both:?}"),
            }
        }
        assert_eq!(home.store.audit().count().await.unwrap(), 10);
    }

    async fn lists_have_the_newest_first_and_what_expired_is_not_pending(home) {
        for (id, minutes) in [("a1", 1), ("a2", 9), ("a3", 9), ("a4", 9), ("a5", 9)] {
            let expires_at = NOW + minutes * MINUTE;
            ask(&home.store, &NewApproval { expires_at, ..call(id, id) }).await;
        }
        decide(&home.store, "a2", true, NOW).await;
        decide(&home.store, "a3", false, NOW).await;
        decide(&home.store, "a4", true, NOW).await;
        take(&home.store, "a4", NOW).await.unwrap();
        let store = &home.store;
        assert_eq!(ids(store, None, NOW).await, ["a5", "a4", "a3", "a2", "a1"]);
        assert_eq!(ids(store, Some(ApprovalState::Pending), NOW).await, ["a5", "a1"]);
        assert_eq!(ids(store, Some(ApprovalState::Pending), NOW + MINUTE).await, ["a5"]);
        assert_eq!(ids(store, Some(ApprovalState::Allowed), NOW).await, ["a2"]);
        assert_eq!(ids(store, Some(ApprovalState::Denied), NOW).await, ["a3"]);
        assert_eq!(ids(store, Some(ApprovalState::Used), NOW).await, ["a4"]);
        assert_eq!(ids(store, None, NOW + MINUTE).await.len(), 5);
        let two = store.approvals().list(None, 2, NOW).await.unwrap();
        assert_eq!(two.len(), 2);
    }

    async fn what_is_over_for_thirty_days_is_swept_away(home) {
        for id in ["expired", "used", "waits"] {
            let expires_at = if id == "expired" { NOW + 1 } else { NOW + 90 * DAY };
            ask(&home.store, &NewApproval { expires_at, ..call(id, id) }).await;
        }
        decide(&home.store, "used", true, NOW).await;
        take(&home.store, "used", NOW + 2).await.unwrap();
        let approvals = home.store.approvals();
        assert_eq!(approvals.sweep(NOW + 30 * DAY).await.unwrap(), 0);
        assert_eq!(approvals.sweep(NOW + 30 * DAY + 2).await.unwrap(), 1);
        assert_eq!(approvals.sweep(NOW + 30 * DAY + 3).await.unwrap(), 1);
        assert_eq!(ids(&home.store, None, NOW).await, ["waits"]);
    }

    async fn what_cannot_be_shown_is_refused(home) {
        let large = NewApproval { shown: "x".repeat(SHOWN_BYTES + 1), ..call("a1", "1") };
        let refused = home.store.approvals().ask(&large, NOW).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused}");
        let nul = NewApproval { why: "\0".to_owned(), ..call("a1", "1") };
        let refused = home.store.approvals().ask(&nul, NOW).await.unwrap_err();
        assert!(matches!(refused, StoreError::Nul { .. }), "{refused}");
        let nobody = NewApproval { principal: String::new(), ..call("a1", "1") };
        let refused = home.store.approvals().ask(&nobody, NOW).await.unwrap_err();
        assert!(matches!(refused, StoreError::Name { .. }), "{refused}");
        ask(&home.store, &NewApproval { shown: "x".repeat(SHOWN_BYTES), ..call("a1", "1") }).await;
    }
}
