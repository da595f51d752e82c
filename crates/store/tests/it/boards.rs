//! Message boards.

use std::time::Instant;

use narrows_store::{BOARD_KEEPS, Filter, StoreError};
use serde_json::json;

use crate::home::{PATIENCE, on_both};

on_both! {
    async fn messages_are_read_as_they_were_posted(home) {
        let boards = home.store.boards();
        let body = json!({ "step": 1, "text": "naïve \u{0} \u{1f600}", "list": [1.5, null] });
        let first = boards.post("team", "plan", "ada", &body).await.unwrap();
        let second = boards.post("team", "plan", "bob", &json!("two")).await.unwrap();
        assert_eq!((first.seq, second.seq), (1, 2));
        boards.post("team", "other", "bob", &json!(1)).await.unwrap();
        boards.post("team2", "plan", "bob", &json!(1)).await.unwrap();

        let other = home.another().await;
        let read = other.boards().read("team", "plan", 0, 10).await.unwrap();
        assert_eq!(read, [first.clone(), second.clone()]);
        assert_eq!(read[0].body, body);
        assert_eq!(other.boards().read("team", "plan", 1, 10).await.unwrap(), [second]);
        assert_eq!(other.boards().read("team", "plan", 0, 1).await.unwrap(), [first]);
        assert_eq!(other.boards().last("team", "plan").await.unwrap(), 2);
        assert_eq!(other.boards().last("team", "none").await.unwrap(), 0);
        let list = other.boards().list("team").await.unwrap();
        let list: Vec<_> = list.iter().map(|board| (board.name.as_str(), board.last)).collect();
        assert_eq!(list, [("other", 1), ("plan", 2)]);
    }

    async fn who_reads_on_from_the_last_number_misses_nothing(home) {
        const WRITERS: i64 = 4;
        const POSTS: i64 = 50;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let store = home.another().await;
            writers.spawn(async move {
                for turn in 0..POSTS {
                    let body = json!([writer, turn]);
                    store.boards().post("team", "plan", "ada", &body).await.unwrap();
                }
            });
        }
        let mut seen = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while seen.len() < usize::try_from(WRITERS * POSTS).unwrap() {
            assert!(Instant::now() < deadline, "seen {}", seen.len());
            let last = i64::try_from(seen.len()).unwrap();
            for message in home.store.boards().read("team", "plan", last, 7).await.unwrap() {
                seen.push(message.body);
                assert_eq!(message.seq, i64::try_from(seen.len()).unwrap());
            }
            tokio::task::yield_now().await;
        }
        writers.join_all().await;
        seen.sort_by_key(|body| (body[0].as_i64(), body[1].as_i64()));
        seen.dedup();
        assert_eq!(seen.len(), usize::try_from(WRITERS * POSTS).unwrap());
    }

    async fn a_board_keeps_its_newest_messages(home) {
        let boards = home.store.boards();
        boards.post("team", "plan", "ada", &json!("first")).await.unwrap();
        // As after 10,198 more posts.
        home.tamper(
            "INSERT INTO messages (namespace, board, seq, at, author, body)
             WITH RECURSIVE n(seq) AS (SELECT 2 UNION ALL SELECT seq + 1 FROM n WHERE seq < 10199)
             SELECT 'team', 'plan', seq, 0, 'ada', '1' FROM n;
             UPDATE boards SET last = 10199",
        ).await;
        assert_eq!(boards.read("team", "plan", 0, 1).await.unwrap()[0].seq, 1);
        boards.post("team", "plan", "ada", &json!("last")).await.unwrap();
        let kept = boards.read("team", "plan", 0, 20_000).await.unwrap();
        assert_eq!(i64::try_from(kept.len()).unwrap(), BOARD_KEEPS);
        assert_eq!((kept[0].seq, kept.last().unwrap().seq), (201, 10_200));
    }

    async fn what_cannot_be_kept_is_refused_and_leaves_no_trace(home) {
        let boards = home.store.boards();
        let large = json!("x".repeat(1 << 20));
        let refused = boards.post("team", "plan", "ada", &large).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { what: "message", .. }), "{refused}");
        for (namespace, board, author) in [("", "b", "a"), ("n", "b\n", "a"), ("n", "b", "")] {
            let refused = boards.post(namespace, board, author, &json!(1)).await.unwrap_err();
            assert!(matches!(refused, StoreError::Name { .. }), "{refused}");
        }
        assert!(boards.list("team").await.unwrap().is_empty());
        assert_eq!(home.store.audit().count().await.unwrap(), 0);
    }

    async fn every_post_is_in_the_audit(home) {
        home.store.boards().post("team", "plan", "ada", &json!("hidden")).await.unwrap();
        let entries = home.store.audit().search(&Filter::default(), None, 10).await.unwrap();
        let entry = &entries[0];
        assert_eq!((entry.principal.as_str(), entry.namespace.as_str()), ("ada", "team"));
        assert_eq!((entry.action.as_str(), entry.target.as_str()), ("board.post", "plan"));
        assert_eq!(entry.details, json!({ "seq": 1 }));
    }
}
