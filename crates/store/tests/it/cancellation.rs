//! A caller that goes away in the middle of a write leaves nothing behind.

use std::time::{Duration, Instant};

use narrows_store::{Filter, Verification};
use narrows_testkit::Chance;
use serde_json::json;

use crate::{
    home::{PATIENCE, on_both},
    skills::skill,
};

on_both! {
    async fn a_write_that_is_given_up_is_whole_or_not_there(home) {
        let mut chance = Chance::new(11);
        let deadline = Instant::now() + PATIENCE;
        let mut turn = 0;
        // At least so often, and until enough was written to say anything.
        while turn < 200 || home.store.skills().revision().await.unwrap() < 20 {
            assert!(Instant::now() < deadline, "nothing gets written");
            turn += 1;
            // A machine that is too busy to write anything meanwhile gets more and more time.
            let (store, delay) = (home.store.clone(), chance.below(15_000 * (1 + turn / 200)));
            let writing = tokio::spawn(async move {
                for step in 0.. {
                    let name = format!("f{turn}");
                    let code = format!("{turn} {step}");
                    store.skills().save(&skill("team", &name, &code)).await.unwrap();
                    store.boards().post("team", "plan", "ada", &json!(turn)).await.unwrap();
                }
            });
            tokio::time::sleep(Duration::from_micros(u64::try_from(delay).unwrap())).await;
            writing.abort();
            assert!(writing.await.unwrap_err().is_cancelled());
        }
        // Nothing is held: another store can write.
        home.another().await.boards().post("team", "plan", "ada", &json!("end")).await.unwrap();

        let Verification::Intact { entries, .. } = home.store.audit().verify().await.unwrap() else {
            panic!("the chain is broken");
        };
        let posts = home.store.boards().read("team", "plan", 0, 100_000).await.unwrap().len();
        let last = home.store.boards().last("team", "plan").await.unwrap();
        assert_eq!(i64::try_from(posts).unwrap(), last);
        let saves = home.store.skills().revision().await.unwrap();
        assert_eq!(saves + last, entries);
        let filter = Filter { action: Some("board.post".to_owned()), ..Filter::default() };
        let noted = home.store.audit().search(&filter, None, 100_000).await.unwrap().len();
        assert_eq!(noted, posts);
    }
}
