//! What is known of workspace files.

use narrows_store::{FileOrigin, FileRow, StoreError, Total};

use crate::home::on_both;

fn file(path: &str, bytes: i64, origin: FileOrigin, modified_at: i64) -> FileRow {
    let (media_type, author) = ("text/csv".to_owned(), "ada".to_owned());
    FileRow { path: path.to_owned(), bytes, media_type, origin, author, modified_at }
}

on_both! {
    async fn files_are_noted_changed_listed_and_forgotten(home) {
        let files = home.store.files();
        let rows = [
            file("b.csv", 2, FileOrigin::Agent, 30),
            file("a/ä.csv", 3, FileOrigin::Agent, 20),
            file("out/2.txt", 5, FileOrigin::Output, 20),
            file("out/1.txt", 7, FileOrigin::Output, 10),
        ];
        files.put("team", "here", &rows).await.unwrap();
        files.put("other", "here", &rows[..1]).await.unwrap();
        let all = files.list("team", "here").await.unwrap();
        let paths: Vec<_> = all.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a/ä.csv", "b.csv", "out/1.txt", "out/2.txt"]);
        assert_eq!(files.outputs("team", "here").await.unwrap(), [rows[3].clone(), rows[2].clone()]);
        assert_eq!(files.total("team").await.unwrap(), Total { files: 4, bytes: 17 });

        let changed = FileRow { bytes: 100, origin: FileOrigin::Agent, ..rows[3].clone() };
        files.put("team", "here", std::slice::from_ref(&changed)).await.unwrap();
        assert_eq!(files.get("team", "here", "out/1.txt").await.unwrap(), Some(changed));
        assert_eq!(files.outputs("team", "here").await.unwrap(), [rows[2].clone()]);

        files.remove("team", "here", &["out/1.txt".to_owned(), "none".to_owned()]).await.unwrap();
        assert_eq!(files.get("team", "here", "out/1.txt").await.unwrap(), None);
        assert_eq!(files.total("team").await.unwrap(), Total { files: 3, bytes: 10 });
        assert_eq!(files.total("nobody").await.unwrap(), Total::default());
        assert_eq!(files.total("other").await.unwrap(), Total { files: 1, bytes: 2 });
    }

    async fn places_have_files_of_their_own_and_know_of_one_another(home) {
        let files = home.store.files();
        let (ours, theirs) =
            (file("a", 1, FileOrigin::Output, 1), file("a", 2, FileOrigin::Output, 2));
        files.put("team", "here", std::slice::from_ref(&ours)).await.unwrap();
        files.put("team", "there", std::slice::from_ref(&theirs)).await.unwrap();
        assert_eq!(files.list("team", "here").await.unwrap(), std::slice::from_ref(&ours));
        assert_eq!(files.outputs("team", "there").await.unwrap(), std::slice::from_ref(&theirs));
        let elsewhere = files.elsewhere("team", "here").await.unwrap();
        assert_eq!(elsewhere, [("there".to_owned(), theirs)]);
        files.remove("team", "there", &["a".to_owned()]).await.unwrap();
        assert_eq!(files.list("team", "here").await.unwrap(), [ours]);
        assert!(files.elsewhere("team", "here").await.unwrap().is_empty());
    }

    async fn all_files_are_noted_or_none(home) {
        let rows = [file("good", 1, FileOrigin::Agent, 1), file("a\nb", 1, FileOrigin::Agent, 1)];
        let refused = home.store.files().put("team", "here", &rows).await.unwrap_err();
        assert!(matches!(refused, StoreError::Name { what: "path", .. }), "{refused}");
        assert_eq!(home.store.files().total("team").await.unwrap(), Total::default());
    }

    async fn two_that_note_the_same_files_do_not_block_each_other(home) {
        let rows: Vec<_> =
            (0..40).map(|i| file(&format!("f{i}"), i, FileOrigin::Agent, i)).collect();
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..4 {
            let (store, mut rows) = (home.another().await, rows.clone());
            tasks.spawn(async move {
                for turn in 0..5 {
                    rows.rotate_left(task * 9 + turn);
                    store.files().put("team", "here", &rows).await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        assert_eq!(home.store.files().total("team").await.unwrap().files, 40);
    }
}
