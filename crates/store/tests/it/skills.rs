//! Skills: versions, listings, changes.

use std::{collections::BTreeMap, time::Instant};

use narrows_store::{Filter, NewSkill, SaveResult, SkillHead, Store, StoreError};
use serde_json::json;

use crate::home::{PATIENCE, on_both};

pub(crate) fn skill(namespace: &str, name: &str, code: &str) -> NewSkill {
    NewSkill {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        code: code.to_owned(),
        description: format!("what {name} does"),
        tags: vec!["one".to_owned(), "two".to_owned()],
        signature: format!("async def {name}(rows: list) -> dict"),
        doc: "It does.".to_owned(),
        uses: json!({ "tools": { "crm.get_lead": "9f2c" }, "skills": {} }),
        tests: json!([{ "call": "crm.get_lead", "result": { "id": 7 } }]),
        origin: json!({ "url": "https://skills.example/index.json" }),
        author: "ada".to_owned(),
    }
}

fn names(heads: &[SkillHead]) -> Vec<&str> {
    heads.iter().map(|head| head.name.as_str()).collect()
}

async fn count(store: &Store, namespace: &str) -> usize {
    store.skills().list(namespace, None, 1_000).await.unwrap().len()
}

on_both! {
    async fn a_skill_comes_back_as_it_was_saved(home) {
        let new = skill("team", "résumé", "def f():\n    return 'naïve \u{1f600}'\n");
        let saved = home.store.skills().save(&new).await.unwrap();
        assert_eq!(saved, SaveResult { version: 1, revision: 1, is_new: true });
        let other = home.another().await;
        let found = other.skills().get("team", "résumé", None).await.unwrap().unwrap();
        let head = &found.head;
        assert_eq!((&head.namespace, &head.name), (&new.namespace, &new.name));
        assert_eq!((&head.description, &head.tags), (&new.description, &new.tags));
        assert_eq!((&head.signature, &head.doc), (&new.signature, &new.doc));
        assert_eq!((&head.uses, &head.origin, &head.author), (&new.uses, &new.origin, &new.author));
        assert_eq!((&found.code, &found.tests), (&new.code, &new.tests));
        assert_eq!((head.version, head.revision, head.removed), (1, 1, false));
        assert!(head.created_at > 1_700_000_000_000);
        assert_eq!(home.store.skills().get("other", "résumé", None).await.unwrap(), None);
    }

    async fn the_hash_is_that_of_the_code(home) {
        home.store.skills().save(&skill("team", "f", "abc")).await.unwrap();
        let found = home.store.skills().get("team", "f", None).await.unwrap().unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(found.head.hash, known);
    }

    async fn each_change_is_a_version_and_the_same_again_is_not(home) {
        let skills = home.store.skills();
        let first = skill("team", "f", "one");
        let changes: [fn(&mut NewSkill); 4] = [
            |skill| skill.code = "two".to_owned(),
            |skill| skill.description = "other".to_owned(),
            |skill| skill.tags.push("three".to_owned()),
            |skill| skill.uses = json!({ "tools": { "crm.get_lead": "0000" } }),
        ];
        assert!(skills.save(&first).await.unwrap().is_new);
        let (mut new, mut version) = (first.clone(), 1);
        for change in changes {
            change(&mut new);
            version += 1;
            let saved = skills.save(&new).await.unwrap();
            assert_eq!((saved.version, saved.is_new), (version, true));
            let by_bob = NewSkill { author: "bob".to_owned(), ..new.clone() };
            let again = skills.save(&by_bob).await.unwrap();
            assert_eq!(again, SaveResult { is_new: false, ..saved });
        }
        assert_eq!(skills.revision().await.unwrap(), 5);
        let old = skills.get("team", "f", Some(1)).await.unwrap().unwrap();
        assert_eq!((old.code.as_str(), old.head.version), ("one", 1));
        let versions = skills.versions("team", "f").await.unwrap();
        assert_eq!(versions.iter().map(|v| v.version).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(skills.get("team", "f", Some(6)).await.unwrap(), None);
    }

    async fn a_removed_skill_keeps_its_versions_and_goes_on_counting(home) {
        let skills = home.store.skills();
        let new = skill("team", "f", "one");
        skills.save(&new).await.unwrap();
        assert!(skills.remove("team", "f", "bob").await.unwrap());
        assert!(!skills.remove("team", "f", "bob").await.unwrap());
        assert!(!skills.remove("team", "never", "bob").await.unwrap());
        assert_eq!(skills.get("team", "f", None).await.unwrap(), None);
        assert_eq!(count(&home.store, "team").await, 0);
        assert!(skills.get("team", "f", Some(1)).await.unwrap().unwrap().head.removed);
        let changed = skills.changed_since(&["team".to_owned()], 1, 10).await.unwrap();
        assert!(changed[0].removed);
        assert_eq!((changed[0].revision, skills.revision().await.unwrap()), (2, 2));

        let again = skills.save(&new).await.unwrap();
        assert_eq!((again.version, again.is_new), (2, true));
        assert!(!skills.get("team", "f", None).await.unwrap().unwrap().head.removed);
    }

    async fn a_list_is_in_the_order_of_the_bytes_and_has_pages(home) {
        let skills = home.store.skills();
        let all = ["B", "Z_9", "_a", "a", "a0", "a_", "b", "ä"];
        for name in all.iter().rev() {
            skills.save(&skill("team", name, "code")).await.unwrap();
        }
        skills.save(&skill("team2", "elsewhere", "code")).await.unwrap();
        assert_eq!(names(&skills.list("team", None, 100).await.unwrap()), all);
        let mut seen: Vec<String> = Vec::new();
        loop {
            let page = skills.list("team", seen.last().map(String::as_str), 3).await.unwrap();
            seen.extend(page.iter().map(|head| head.name.clone()));
            if page.len() < 3 {
                break;
            }
        }
        assert_eq!(seen, all);
    }

    async fn changes_come_in_their_order_and_only_the_newest_of_each(home) {
        let skills = home.store.skills();
        for (namespace, name, code) in [
            ("a", "one", "1"), ("b", "two", "1"), ("c", "secret", "1"), ("a", "three", "1"),
            ("a", "one", "2"),
        ] {
            skills.save(&skill(namespace, name, code)).await.unwrap();
        }
        let mine = ["a".to_owned(), "b".to_owned()];
        let all = skills.changed_since(&mine, 0, 10).await.unwrap();
        assert_eq!(names(&all), ["two", "three", "one"]);
        assert_eq!(names(&skills.changed_since(&mine, 0, 2).await.unwrap()), ["two", "three"]);
        assert_eq!(names(&skills.changed_since(&mine, 4, 10).await.unwrap()), ["one"]);
        assert!(skills.changed_since(&mine, 5, 10).await.unwrap().is_empty());
        assert!(skills.changed_since(&[], 0, 10).await.unwrap().is_empty());
    }

    async fn who_follows_the_changes_misses_none_while_others_save(home) {
        const WRITERS: usize = 4;
        const SAVES: usize = 40;
        // Many between the two, so that something happens while they are asked one after the other.
        let mut namespaces: Vec<_> = (0..30).map(|number| format!("empty{number}")).collect();
        namespaces.insert(0, "a".to_owned());
        namespaces.push("b".to_owned());
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let store = home.another().await;
            writers.spawn(async move {
                for turn in 0..SAVES {
                    let namespace = if (writer + turn) % 2 == 0 { "a" } else { "b" };
                    let name = format!("f{}", turn % 7);
                    let code = format!("{writer} {turn}");
                    store.skills().save(&skill(namespace, &name, &code)).await.unwrap();
                }
            });
        }
        let mut index = BTreeMap::new();
        let mut last = 0;
        let end = i64::try_from(WRITERS * SAVES).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while last < end {
            assert!(Instant::now() < deadline, "seen up to {last} of {end}");
            for head in home.store.skills().changed_since(&namespaces, last, 5).await.unwrap() {
                assert!(head.revision > last);
                last = head.revision;
                index.insert((head.namespace, head.name), head.hash);
            }
            tokio::task::yield_now().await;
        }
        writers.join_all().await;
        for namespace in &namespaces {
            for head in home.store.skills().list(namespace, None, 100).await.unwrap() {
                assert_eq!(index.remove(&(head.namespace, head.name)), Some(head.hash));
            }
        }
        assert!(index.is_empty());
    }

    async fn what_cannot_be_kept_is_refused_and_leaves_no_trace(home) {
        let skills = home.store.skills();
        let good = skill("team", "f", "code");
        let refuse = async |change: fn(&mut NewSkill)| {
            let mut bad = good.clone();
            change(&mut bad);
            skills.save_all(&[good.clone(), bad]).await.unwrap_err()
        };
        for change in [
            (|s| s.name = String::new()) as fn(&mut NewSkill),
            |s| s.name = "x".repeat(257),
            |s| s.name = "a\nb".to_owned(),
            |s| s.namespace = "a\0b".to_owned(),
            |s| s.author = "\u{7f}".to_owned(),
        ] {
            assert!(matches!(refuse(change).await, StoreError::Name { .. }));
        }
        let large = refuse(|s| s.code = "x".repeat((1 << 20) + 1)).await;
        assert!(matches!(large, StoreError::TooLarge { what: "code", .. }), "{large}");
        let large = refuse(|s| s.tests = json!("x".repeat(1 << 20))).await;
        assert!(matches!(large, StoreError::TooLarge { what: "recorded results", .. }), "{large}");
        let nul = refuse(|s| s.code = "a\0".to_owned()).await;
        assert!(matches!(nul, StoreError::Nul { what: "code" }), "{nul}");
        assert_eq!((count(&home.store, "team").await, skills.revision().await.unwrap()), (0, 0));
        assert_eq!(home.store.audit().count().await.unwrap(), 0);

        let longest = NewSkill { name: "x".repeat(256), code: "x".repeat(1 << 20), ..good };
        assert!(skills.save(&longest).await.unwrap().is_new);
    }

    async fn names_are_values_and_never_part_of_a_query(home) {
        let name = "'; DROP TABLE skills; -- \" $1 %s \\";
        home.store.skills().save(&skill(name, name, name)).await.unwrap();
        let found = home.store.skills().get(name, name, None).await.unwrap().unwrap();
        assert_eq!(found.code, name);
    }

    async fn every_change_is_in_the_audit(home) {
        let skills = home.store.skills();
        let new = skill("team", "f", "code");
        skills.save(&new).await.unwrap();
        skills.save(&new).await.unwrap();
        skills.remove("team", "f", "bob").await.unwrap();
        let entries = home.store.audit().search(&Filter::default(), None, 10).await.unwrap();
        let told: Vec<_> = entries
            .iter()
            .map(|e| (e.principal.as_str(), e.action.as_str(), e.target.as_str()))
            .collect();
        assert_eq!(told, [("bob", "skill.remove", "f"), ("ada", "skill.save", "f")]);
        assert!(entries.iter().all(|entry| entry.details["version"] == 1));
    }

    async fn many_are_saved_at_once(home) {
        let all: Vec<_> = (0..50).map(|i| skill("team", &format!("f{i:02}"), "code")).collect();
        let saved = home.store.skills().save_all(&all).await.unwrap();
        assert!(saved.iter().all(|saved| saved.is_new && saved.version == 1));
        assert_eq!(count(&home.store, "team").await, 50);
        assert_eq!(home.store.audit().count().await.unwrap(), 50);
        // What is the same uses no revision up, or who compares revisions would look for a change.
        let mixed = [skill("team", "f01", "new"), all[2].clone()];
        let saved = home.store.skills().save_all(&mixed).await.unwrap();
        assert_eq!((saved[0].is_new, saved[1].is_new), (true, false));
        assert_eq!(home.store.skills().revision().await.unwrap(), saved[0].revision);
        let twice = [skill("team", "g", "1"), skill("team", "g", "2"), skill("team", "g", "2")];
        let saved = home.store.skills().save_all(&twice).await.unwrap();
        assert_eq!(saved.iter().map(|saved| saved.version).collect::<Vec<_>>(), [1, 2, 2]);
    }
}
