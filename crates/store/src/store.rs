//! The store itself: opened once, cloned cheaply, one handle for each subject.

use std::sync::Arc;

use crate::{
    Approvals, Audit, Boards, Files, Sessions, Shared, Skills, StoreUrl, Vault, connect,
    database::{Database, Result},
    queries,
};

/// A handle to everything that lasts. Clones share the connections.
#[derive(Clone, Debug)]
pub struct Store(Arc<Database>);

impl Store {
    /// Opens the store, and creates it or migrates it to the version of this program if need be.
    pub async fn open(place: &StoreUrl) -> Result<Self> {
        Ok(Self(Arc::new(connect::open(place).await?)))
    }

    /// Checks whether the store that is there could be opened. Nothing is made or changed.
    pub async fn look(place: &StoreUrl) -> Result<()> {
        connect::look(place).await
    }

    /// Waits until nothing uses the store any more, and closes it.
    pub async fn close(&self) {
        self.0.close().await;
    }

    pub fn place(&self) -> &StoreUrl {
        &self.0.place
    }

    /// Checks that the tables are as they should be, by having the database prepare every query there
    /// is.
    pub async fn check(&self) -> Result<()> {
        for (name, sql) in queries::ALL {
            self.0.prepare(*sql).await.inspect_err(|error| {
                tracing::error!(query = name, %error, "a query does not fit the database");
            })?;
        }
        Ok(())
    }

    pub fn skills(&self) -> Skills<'_> {
        Skills { database: &self.0 }
    }

    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { database: &self.0 }
    }

    pub fn boards(&self) -> Boards<'_> {
        Boards { database: &self.0 }
    }

    pub fn shared(&self) -> Shared<'_> {
        Shared { database: &self.0 }
    }

    pub fn files(&self) -> Files<'_> {
        Files { database: &self.0 }
    }

    pub fn vault(&self) -> Vault<'_> {
        Vault { database: &self.0 }
    }

    pub fn approvals(&self) -> Approvals<'_> {
        Approvals { database: &self.0 }
    }

    pub fn audit(&self) -> Audit<'_> {
        Audit { database: &self.0 }
    }
}
