//! An audit whose beginning was cut off: the rest is proven, and nobody else can cut it.

use narrows_model::EventOutcome;
use narrows_store::{AuditSize, Damage, Entry, Filter, NewEntry, PruneReport, Store, Verification};

use crate::{
    audit::{fits, noted, verify},
    home::{Home, on_both},
};

/// What is counted for an entry beside its texts.
const BESIDE: usize = 512;

/// Entries at the times 1000, 2000, and so on. Their hashes are no longer right.
async fn noted_by_the_second(home: &Home, count: usize) {
    noted(home, count).await;
    home.tamper("UPDATE audit SET at = seq * 1000").await;
}

async fn prune(store: &Store, before: Option<i64>, max_bytes: Option<i64>) -> PruneReport {
    store.audit().prune(before, max_bytes).await.unwrap()
}

async fn all(store: &Store) -> Vec<Entry> {
    store.audit().export(&Filter::default(), 0, 1_000_000).await.unwrap()
}

fn bytes(entries: &[Entry]) -> i64 {
    let text = |entry: &Entry| {
        let details = entry.details.to_string();
        let texts =
            [&entry.principal, &entry.namespace, &entry.action, &entry.target, &entry.outcome];
        BESIDE + details.len() + texts.map(String::len).iter().sum::<usize>()
    };
    i64::try_from(entries.iter().map(text).sum::<usize>()).unwrap()
}

fn broken(seq: i64, what: Damage) -> Verification {
    Verification::Broken { seq, what }
}

on_both! {
    async fn the_rest_is_proven_after_the_oldest_are_gone(home) {
        // More than go with one write.
        noted(&home, 1_300).await;
        let audit = home.store.audit();
        let last = audit.get(1_200).await.unwrap().unwrap();
        // Of entries that were noted at once, none is older than the others.
        assert_eq!(prune(&home.store, Some(last.at), None).await, PruneReport { entries: 0, first: 1 });
        let most = bytes(&all(&home.store).await[1_200..]);
        let pruned = prune(&home.store, None, Some(most)).await;
        assert_eq!(pruned, PruneReport { entries: 1_200, first: 1_201 });
        assert_eq!(verify(&home).await, Verification::Intact { entries: 101, first: 1_201 });
        assert_eq!(audit.get(1_200).await.unwrap(), None);
        assert_eq!(all(&home.store).await[0].seq, 1_201);
        assert_eq!(audit.count().await.unwrap(), 101);

        let prune_entry = audit.get(1_301).await.unwrap().unwrap();
        assert_eq!(prune_entry.action, "audit.prune");
        assert_eq!(prune_entry.details["seq"], 1_200);
        assert_eq!(prune_entry.details["hash"], last.hash);
        assert_eq!(prune_entry.details["entries"], 1_200);

        // The chain goes on, and can be cut again, with the entry of the first time in it.
        noted(&home, 10).await;
        assert_eq!(prune(&home.store, Some(i64::MAX), None).await.first, 1_312);
        assert_eq!(verify(&home).await, Verification::Intact { entries: 1, first: 1_312 });
        noted(&home, 1).await;
        assert_eq!(verify(&home).await, Verification::Intact { entries: 2, first: 1_312 });
    }

    async fn entries_from_before_a_time_go_and_no_others(home) {
        noted_by_the_second(&home, 30).await;
        let pruned = prune(&home.store, Some(20_000), None).await;
        assert_eq!(pruned, PruneReport { entries: 19, first: 20 });
        let seqs: Vec<_> = all(&home.store).await.iter().map(|entry| entry.seq).collect();
        assert_eq!(seqs, (20..=31).collect::<Vec<_>>());
        // There is nothing more to do, and so nothing to note.
        assert_eq!(prune(&home.store, Some(20_000), None).await, PruneReport { entries: 0, first: 20 });
        assert_eq!(prune(&home.store, None, None).await, PruneReport { entries: 0, first: 20 });
        assert_eq!(home.store.audit().count().await.unwrap(), 12);
    }

    async fn as_many_go_as_are_too_many_bytes_and_no_more(home) {
        noted(&home, 2_000).await;
        let before = all(&home.store).await;
        let most = bytes(&before) / 3;
        let pruned = prune(&home.store, None, Some(most)).await;
        let kept = usize::try_from(pruned.entries).unwrap();
        assert!(bytes(&before[kept..]) <= most && bytes(&before[kept - 1..]) > most);
        assert_eq!(prune(&home.store, Some(0), Some(i64::MAX)).await.entries, 0);
    }

    async fn the_size_is_known_without_looking(home) {
        let empty = AuditSize { entries: 0, bytes: 0, oldest: None, newest: None };
        assert_eq!(home.store.audit().size().await.unwrap(), empty);
        for most in [i64::MAX, 300_000, 100_000, 0] {
            noted(&home, 1_100).await;
            prune(&home.store, None, Some(most)).await;
            let entries = all(&home.store).await;
            let expected = AuditSize {
                entries: i64::try_from(entries.len()).unwrap(),
                bytes: bytes(&entries),
                oldest: entries.first().map(|entry| entry.at),
                newest: entries.last().map(|entry| entry.at),
            };
            assert_eq!(home.store.audit().size().await.unwrap(), expected);
        }
    }

    async fn a_beginning_that_somebody_else_cut_off_is_found(home) {
        noted(&home, 30).await;
        home.tamper("DELETE FROM audit WHERE seq <= 10").await;
        assert_eq!(verify(&home).await, broken(1, Damage::Missing));
        // Even with an anchor that fits the chain: no entry says that it was moved.
        home.tamper("UPDATE audit_anchor SET seq = 10,
                     hash = (SELECT previous FROM audit WHERE seq = 11)").await;
        assert_eq!(verify(&home).await, broken(10, Damage::Anchor));
    }

    async fn a_forged_anchor_is_found(home) {
        let intact = cut_after_ten(&home).await;
        for (forgery, seq) in [
            ("hash = (SELECT hash FROM audit WHERE seq = 11)", 10),
            ("seq = 11, hash = (SELECT hash FROM audit WHERE seq = 11)", 11),
            ("seq = 9", 9),
            ("seq = 0, hash = '0000000000000000000000000000000000000000000000000000000000000000'", 0),
            ("seq = 1000", 1000),
        ] {
            home.tamper("CREATE TABLE before AS SELECT * FROM audit_anchor").await;
            home.tamper(&format!("UPDATE audit_anchor SET {forgery}")).await;
            assert_eq!(verify(&home).await, broken(seq, Damage::Anchor), "{forgery}");
            home.tamper("UPDATE audit_anchor SET seq = (SELECT seq FROM before),
                         hash = (SELECT hash FROM before); DROP TABLE before").await;
            assert_eq!(verify(&home).await, intact);
        }
    }

    async fn an_entry_of_a_cut_that_was_changed_or_removed_is_found(home) {
        cut_after_ten(&home).await;
        home.tamper("CREATE TABLE before AS SELECT * FROM audit").await;
        home.tamper("UPDATE audit SET details = '{\"seq\":11}' WHERE seq = 31").await;
        assert_eq!(verify(&home).await, broken(10, Damage::Anchor));
        home.tamper("UPDATE audit SET target = 'x',
                     details = (SELECT details FROM before WHERE seq = 31) WHERE seq = 31").await;
        assert_eq!(verify(&home).await, broken(31, Damage::Changed));
        home.tamper("DELETE FROM audit WHERE seq = 31").await;
        assert_eq!(verify(&home).await, broken(10, Damage::Anchor));
    }

    async fn what_an_interrupted_cut_left_is_proven_too_and_goes_the_next_time(home) {
        noted(&home, 30).await;
        home.tamper("CREATE TABLE before AS SELECT * FROM audit").await;
        let most = bytes(&all(&home.store).await[20..]);
        assert_eq!(prune(&home.store, None, Some(most)).await.first, 21);
        for first in [1, 2, 15, 20] {
            let left = format!("INSERT INTO audit SELECT * FROM before WHERE seq BETWEEN {first} AND 20");
            home.tamper(&left).await;
            home.tamper("UPDATE audit_anchor SET bytes = 0").await;
            let intact = Verification::Intact { entries: 32 - first, first };
            assert_eq!(verify(&home).await, intact);
            assert_eq!(prune(&home.store, None, None).await, PruneReport { entries: 0, first: 21 });
            assert_eq!(verify(&home).await, Verification::Intact { entries: 11, first: 21 });
        }
    }

    async fn nothing_hides_among_what_an_interrupted_cut_left(home) {
        noted(&home, 30).await;
        home.tamper("CREATE TABLE before AS SELECT * FROM audit").await;
        let most = bytes(&all(&home.store).await[20..]);
        prune(&home.store, None, Some(most)).await;
        let insert = "INSERT INTO audit SELECT seq, at, principal, namespace, action, target,
                      outcome, previous, hash, details FROM before WHERE";
        for (hidden, found) in [
            // A gap, an end that is not the anchor, the beginning of another chain.
            ("seq IN (14, 15, 17, 18, 19, 20)", broken(16, Damage::Missing)),
            ("seq BETWEEN 5 AND 12", broken(13, Damage::Missing)),
            ("seq = 1", broken(2, Damage::Missing)),
        ] {
            home.tamper(&format!("{insert} {hidden}")).await;
            assert_eq!(verify(&home).await, found, "{hidden}");
            home.tamper("DELETE FROM audit WHERE seq <= 20").await;
        }
        home.tamper(&format!("{insert} seq = 20")).await;
        home.tamper("UPDATE audit SET target = 'x' WHERE seq = 20").await;
        assert_eq!(verify(&home).await, broken(20, Damage::Changed));
        home.tamper("DELETE FROM audit WHERE seq = 20").await;
        // An entry that is whole in itself, in the place of the last one that was removed.
        let other = Home::sqlite().await;
        noted(&other, 19).await;
        other.store.audit().append(&NewEntry::default()).await.unwrap();
        let Entry { at, previous, hash, .. } = other.store.audit().get(20).await.unwrap().unwrap();
        home.tamper(&format!(
            "INSERT INTO audit VALUES (20, {at}, '', '', 'run', '', 'ok', '{previous}', '{hash}', 'null')"
        )).await;
        assert_eq!(verify(&home).await, broken(21, Damage::Foreign));
    }

    async fn who_writes_does_not_wait_for_the_end_of_a_cut(home) {
        // On a busy machine it may be that nothing is written between the beginning and the end of
        // one cut. If everybody had to wait for the end, it would be so each time.
        for _ in 0..20 {
            noted(&home, 6_000).await;
            let before = home.store.audit().size().await.unwrap().entries;
            let store = home.another().await;
            let pruning = tokio::spawn(async move { prune(&store, None, Some(100_000)).await });
            let (mut writes, mut between) = (0, false);
            while !pruning.is_finished() {
                home.store.audit().append(&NewEntry::default()).await.unwrap();
                writes += 1;
                // So many of the old ones are still there.
                let left = home.store.audit().size().await.unwrap().entries - writes;
                between |= (before - 5_000..before - 200).contains(&left);
            }
            assert!(pruning.await.unwrap().entries > 5_000);
            if between {
                return;
            }
        }
        panic!("nothing was ever written during a cut");
    }

    async fn a_chain_that_is_cut_and_written_to_by_several_is_intact_at_every_moment(home) {
        noted(&home, 4_000).await;
        let mut tasks = tokio::task::JoinSet::new();
        for most in [1_000_000, 300_000] {
            let store = home.another().await;
            tasks.spawn(async move {
                prune(&store, None, Some(most)).await;
            });
        }
        let store = home.another().await;
        tasks.spawn(async move {
            for _ in 0..50 {
                store.audit().append(&NewEntry::default()).await.unwrap();
            }
        });
        while !tasks.is_empty() {
            let found = verify(&home).await;
            assert!(matches!(found, Verification::Intact { .. }), "{found:?}");
            while let Some(done) = tasks.try_join_next() {
                done.unwrap();
            }
        }
        let found = verify(&home).await;
        assert!(matches!(found, Verification::Intact { first: 3_000.., .. }), "{found:?}");
        assert_eq!(home.store.audit().size().await.unwrap().bytes, bytes(&all(&home.store).await));
    }

    async fn an_export_has_everything_in_order_page_by_page(home) {
        noted_by_the_second(&home, 2_300).await;
        let filters = [
            Filter::default(),
            Filter { principal: Some("ada".to_owned()), ..Filter::default() },
            Filter { action: Some("skill.".to_owned()), target: Some("t1".to_owned()), ..Filter::default() },
            Filter { since: Some(400_000), until: Some(1_900_001), ..Filter::default() },
            Filter { namespace: Some("team2".to_owned()), since: Some(2_200_000), ..Filter::default() },
            Filter { outcome: Some(EventOutcome::Refused), ..Filter::default() },
            Filter { since: Some(9_000_000), ..Filter::default() },
        ];
        let mut all = home.store.audit().search(&Filter::default(), None, 10_000).await.unwrap();
        all.reverse();
        for filter in filters {
            let (mut exported, mut last) = (Vec::new(), 0);
            loop {
                let page = home.store.audit().export(&filter, last, 170).await.unwrap();
                assert!(page.len() <= 170);
                let Some(entry) = page.last() else { break };
                last = entry.seq;
                exported.extend(page);
            }
            let expected: Vec<_> = all.iter().filter(|it| fits(it, &filter)).cloned().collect();
            assert_eq!(exported, expected, "{filter:?}");
        }
    }
}

/// An audit of 30 entries of which ten were cut off, with the entry about that.
async fn cut_after_ten(home: &Home) -> Verification {
    noted(home, 30).await;
    let most = bytes(&all(&home.store).await[10..]);
    prune(&home.store, None, Some(most)).await;
    let intact = Verification::Intact { entries: 21, first: 11 };
    assert_eq!(verify(home).await, intact);
    intact
}
