//! Records of the files in workspaces. The files themselves are on disk, each in one place: gateways
//! that share a store may have disks of their own.

use serde::Serialize;

use crate::{
    database::{Columns, Database, Result, Row, args},
    limits,
    queries::files as sql,
};

/// The files of all namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    pub(crate) database: &'a Database,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRow {
    pub path: String,
    pub bytes: i64,
    pub media_type: String,
    pub origin: FileOrigin,
    pub author: String,
    /// When the file was modified, as the file system says: milliseconds since 1970.
    pub modified_at: i64,
}

/// The origin of a file: who named it. Only outputs are ever cleaned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileOrigin {
    /// The agent.
    Agent,
    /// Narrows, for output that was too large for an answer.
    Output,
}

impl FileOrigin {
    fn text(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Output => "output",
        }
    }

    /// Reads an origin. Whatever is not surely an output is the agent's, and stays.
    fn of(text: &str) -> Self {
        if text == Self::Output.text() { Self::Output } else { Self::Agent }
    }
}

/// How much a workspace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    pub files: i64,
    pub bytes: i64,
}

impl Files<'_> {
    /// Records new and changed files of a place, all of them or none.
    pub async fn put(&self, namespace: &str, place: &str, files: &[FileRow]) -> Result<()> {
        limits::name("namespace", namespace)?;
        limits::name("place", place)?;
        for file in files {
            limits::path(&file.path)?;
            limits::name("media type", &file.media_type)?;
            limits::name("author", &file.author)?;
        }
        // Always in the same order: two that note the same files would else wait for each other.
        let mut files: Vec<&FileRow> = files.iter().collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut write = self.database.begin().await?;
        for FileRow { path, bytes, media_type, origin, author, modified_at } in files {
            let origin = origin.text();
            let args =
                args![namespace, place, path, *bytes, media_type, origin, author, *modified_at];
            write.run(sql::PUT, args).await?;
        }
        write.commit().await
    }

    /// Removes the records of files of a place, all of them or none.
    pub async fn remove(&self, namespace: &str, place: &str, paths: &[String]) -> Result<()> {
        let mut paths: Vec<&String> = paths.iter().collect();
        paths.sort();
        let mut write = self.database.begin().await?;
        for path in paths {
            write.run(sql::REMOVE, args![namespace, place, path]).await?;
        }
        write.commit().await
    }

    pub async fn get(&self, namespace: &str, place: &str, path: &str) -> Result<Option<FileRow>> {
        let row = self.database.row(sql::GET, args![namespace, place, path]).await?;
        row.as_ref().map(file).transpose()
    }

    /// Returns all files of a place, by path.
    pub async fn list(&self, namespace: &str, place: &str) -> Result<Vec<FileRow>> {
        let rows = self.database.rows(sql::LIST, args![namespace, place]).await?;
        rows.iter().map(file).collect()
    }

    /// Returns the files of all other places, each with its place.
    pub async fn elsewhere(&self, namespace: &str, place: &str) -> Result<Vec<(String, FileRow)>> {
        let rows = self.database.rows(sql::ELSEWHERE, args![namespace, place]).await?;
        let placed = |row: &Row| {
            let mut columns = row.columns();
            let found = columns_of_file(&mut columns)?;
            Ok((columns.get()?, found))
        };
        rows.iter().map(placed).collect()
    }

    /// Returns the files of a place that may be cleaned up, oldest first.
    pub async fn outputs(&self, namespace: &str, place: &str) -> Result<Vec<FileRow>> {
        let args = args![namespace, place, FileOrigin::Output.text()];
        self.database.rows(sql::OLDEST, args).await?.iter().map(file).collect()
    }

    /// Returns how much there is in all places together.
    pub async fn total(&self, namespace: &str) -> Result<Total> {
        let Some(row) = self.database.row(sql::TOTAL, args![namespace]).await? else {
            return Ok(Total::default());
        };
        let mut columns = row.columns();
        Ok(Total { files: columns.get()?, bytes: columns.get()? })
    }
}

fn file(row: &Row) -> Result<FileRow> {
    columns_of_file(&mut row.columns())
}

fn columns_of_file(columns: &mut Columns<'_>) -> Result<FileRow> {
    Ok(FileRow {
        path: columns.get()?,
        bytes: columns.get()?,
        media_type: columns.get()?,
        origin: FileOrigin::of(columns.get()?),
        author: columns.get()?,
        modified_at: columns.get()?,
    })
}
