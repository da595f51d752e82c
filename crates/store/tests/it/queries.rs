//! Every query that there is can be read by both databases.

use crate::home::on_both;

on_both! {
    async fn every_query_fits_the_tables(home) {
        home.store.check().await.unwrap();
    }

    async fn a_table_that_is_not_as_it_should_be_is_noticed(home) {
        home.tamper("ALTER TABLE boards RENAME COLUMN last TO newest").await;
        home.store.check().await.unwrap_err();
    }
}
