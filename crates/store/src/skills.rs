//! Skills: functions that agents keep, in versions that never change.

use narrows_model::EventAction;
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    audit::{self, NewEntry, hex},
    clock::now,
    database::{Columns, Database, Result, Row, Write, args},
    limits::{self, CODE_BYTES, VALUE_BYTES},
    queries::skills as sql,
};

/// The skills of all namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Skills<'a> {
    pub(crate) database: &'a Database,
}

/// A skill to be saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NewSkill {
    pub namespace: String,
    pub name: String,
    pub code: String,
    pub description: String,
    pub tags: Vec<String>,
    /// What the code says of itself, for listings.
    pub signature: String,
    pub doc: String,
    /// The tools and skills that it uses, with their pins.
    pub uses: Value,
    /// Recorded results of tools, for its tests.
    pub tests: Value,
    /// Where it was installed from, or null.
    pub origin: Value,
    pub author: String,
}

/// The result of saving a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SaveResult {
    pub version: i64,
    pub revision: i64,
    /// False if the newest version is the same already.
    pub is_new: bool,
}

/// A version of a skill, without its code and tests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkillHead {
    pub namespace: String,
    pub name: String,
    pub version: i64,
    /// When it changed, counted over all skills of the store.
    pub revision: i64,
    pub removed: bool,
    /// SHA-256 of the code, in hexadecimal.
    pub hash: String,
    pub author: String,
    pub created_at: i64,
    pub description: String,
    pub tags: Vec<String>,
    pub signature: String,
    pub doc: String,
    pub origin: Value,
    pub uses: Value,
}

/// A version of a skill with all there is to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    #[serde(flatten)]
    pub head: SkillHead,
    pub tests: Value,
    pub code: String,
}

/// One line of a skill's history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkillVersion {
    pub version: i64,
    pub revision: i64,
    pub hash: String,
    pub author: String,
    pub created_at: i64,
    pub description: String,
}

impl Skills<'_> {
    /// Saves a new version, unless code, description, tags and pins are those of the newest.
    pub async fn save(&self, skill: &NewSkill) -> Result<SaveResult> {
        let text = Texts::of(skill)?;
        let mut change = Change::begin(self.database).await?;
        let saved = text.save(&mut change).await?;
        change.commit().await?;
        Ok(saved)
    }

    /// Saves all of them, or none.
    pub async fn save_all(&self, skills: &[NewSkill]) -> Result<Vec<SaveResult>> {
        let texts = skills.iter().map(Texts::of).collect::<Result<Vec<_>>>()?;
        let mut change = Change::begin(self.database).await?;
        let mut all = Vec::with_capacity(skills.len());
        for text in texts {
            all.push(text.save(&mut change).await?);
        }
        change.commit().await?;
        Ok(all)
    }

    /// Returns the newest version, unless the skill was removed; or the version that is asked for.
    pub async fn get(
        &self,
        namespace: &str,
        name: &str,
        version: Option<i64>,
    ) -> Result<Option<Skill>> {
        let row = match version {
            None => self.database.row(sql::GET, args![namespace, name]).await?,
            Some(version) => {
                self.database.row(sql::GET_VERSION, args![namespace, name, version]).await?
            }
        };
        row.map(|row| {
            let mut columns = row.columns();
            let head = head(&mut columns)?;
            Ok(Skill { head, tests: columns.json("skill_versions")?, code: columns.get()? })
        })
        .transpose()
    }

    /// Returns all versions, oldest first, also of a skill that was removed.
    pub async fn versions(&self, namespace: &str, name: &str) -> Result<Vec<SkillVersion>> {
        let rows = self.database.rows(sql::VERSIONS, args![namespace, name]).await?;
        let version = |row: &Row| {
            let mut columns = row.columns();
            Ok(SkillVersion {
                version: columns.get()?,
                revision: columns.get()?,
                hash: columns.get()?,
                author: columns.get()?,
                created_at: columns.get()?,
                description: columns.get()?,
            })
        };
        rows.iter().map(version).collect()
    }

    /// Marks a skill as removed. Returns false if there is none. Its versions stay, and if it is saved
    /// again they go on counting.
    pub async fn remove(&self, namespace: &str, name: &str, author: &str) -> Result<bool> {
        limits::name("author", author)?;
        let mut change = Change::begin(self.database).await?;
        let args = args![namespace, name, change.revision + 1];
        let Some(row) = change.write.row(sql::REMOVE, args).await? else {
            return Ok(false);
        };
        let details = json!({ "version": row.columns().get::<i64>()? });
        change.note(NewEntry::done(author, namespace, EventAction::SkillRemove, name, details));
        change.commit().await?;
        Ok(true)
    }

    /// Returns the skills of a namespace that come after a name, by name.
    pub async fn list(
        &self,
        namespace: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SkillHead>> {
        let after = after.unwrap_or_default();
        let rows =
            self.database.rows(sql::LIST, args![namespace, after, limits::rows(limit)]).await?;
        rows.iter().map(|row| head(&mut row.columns())).collect()
    }

    /// Returns what changed after a revision, in the order of the changes, removed ones too; of each
    /// skill its newest version. Whoever goes on from the last revision of the answer misses nothing.
    pub async fn changed_since(
        &self,
        namespaces: &[String],
        revision: i64,
        limit: usize,
    ) -> Result<Vec<SkillHead>> {
        // One query for each namespace. What is saved between them must not be seen in one and
        // missed in another, so that all of them end at the same revision.
        let newest = self.revision().await?;
        let mut all = Vec::new();
        for namespace in namespaces {
            let args = args![namespace, revision, newest, limits::rows(limit)];
            for row in self.database.rows(sql::CHANGED, args).await? {
                all.push(head(&mut row.columns())?);
            }
        }
        all.sort_by_key(|head| head.revision);
        all.truncate(limit);
        Ok(all)
    }

    /// Returns the revision of the last change of any skill, in whatever namespace. It costs little to
    /// ask whether it is still the same.
    pub async fn revision(&self) -> Result<i64> {
        self.database.number(sql::REVISION, args![]).await
    }
}

fn head(columns: &mut Columns<'_>) -> Result<SkillHead> {
    const TABLE: &str = "skill_versions";
    Ok(SkillHead {
        namespace: columns.get()?,
        name: columns.get()?,
        version: columns.get()?,
        revision: columns.get()?,
        removed: columns.get::<i64>()? != 0,
        hash: columns.get()?,
        author: columns.get()?,
        created_at: columns.get()?,
        description: columns.get()?,
        tags: columns.json(TABLE)?,
        signature: columns.get()?,
        doc: columns.get()?,
        origin: columns.json(TABLE)?,
        uses: columns.json(TABLE)?,
    })
}

/// Changes of skills, each with the next revision and an entry in the audit.
struct Change {
    write: Write,
    revision: i64,
    entries: Vec<NewEntry>,
}

impl Change {
    async fn begin(database: &Database) -> Result<Self> {
        let mut write = database.begin().await?;
        let revision = write.number(sql::LOCK_REVISION, args![]).await?;
        Ok(Self { write, revision, entries: Vec::new() })
    }

    fn note(&mut self, entry: NewEntry) {
        self.revision += 1;
        self.entries.push(entry);
    }

    async fn commit(mut self) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        self.write.run(sql::PUT_REVISION, args![self.revision]).await?;
        audit::append(&mut self.write, &self.entries).await?;
        self.write.commit().await
    }
}

/// A skill that was checked, and its parts as they are kept.
struct Texts<'a> {
    skill: &'a NewSkill,
    hash: String,
    tags: String,
    origin: String,
    uses: String,
    tests: String,
}

impl<'a> Texts<'a> {
    fn of(skill: &'a NewSkill) -> Result<Self> {
        limits::name("namespace", &skill.namespace)?;
        limits::name("name of the skill", &skill.name)?;
        limits::name("author", &skill.author)?;
        limits::text("code", &skill.code, CODE_BYTES)?;
        limits::text("description", &skill.description, VALUE_BYTES)?;
        limits::text("signature", &skill.signature, VALUE_BYTES)?;
        limits::text("documentation", &skill.doc, VALUE_BYTES)?;
        Ok(Self {
            skill,
            hash: hex(digest(&SHA256, skill.code.as_bytes()).as_ref()),
            tags: limits::json("list of tags", &Value::from(skill.tags.clone()))?,
            origin: limits::json("origin", &skill.origin)?,
            uses: limits::json("list of pins", &skill.uses)?,
            tests: limits::json("recorded results", &skill.tests)?,
        })
    }

    async fn save(&self, change: &mut Change) -> Result<SaveResult> {
        let NewSkill { namespace, name, author, .. } = self.skill;
        let write = &mut change.write;
        let head = write.row(sql::HEAD, args![namespace, name]).await?;
        let (version, removed): (i64, bool) = match &head {
            None => (0, false),
            Some(row) => {
                let mut columns = row.columns();
                (columns.get()?, columns.get::<i64>()? != 0)
            }
        };
        if !removed && let Some(revision) = self.same(write, version).await? {
            return Ok(SaveResult { version, revision, is_new: false });
        }
        let (version, revision) = (version + 1, change.revision + 1);
        self.add(write, version, revision).await?;
        let details = json!({ "version": version, "hash": self.hash });
        change.note(NewEntry::done(author, namespace, EventAction::SkillSave, name, details));
        Ok(SaveResult { version, revision, is_new: true })
    }

    /// Returns the revision of a version, if it is the same as this.
    async fn same(&self, write: &mut Write, version: i64) -> Result<Option<i64>> {
        let NewSkill { namespace, name, description, .. } = self.skill;
        let args = args![
            namespace,
            name,
            version,
            &self.hash,
            description,
            &self.tags,
            &self.uses,
            &self.tests,
            &self.origin,
        ];
        let row = write.row(sql::SAME, args).await?;
        row.map(|row| row.columns().get()).transpose()
    }

    async fn add(&self, write: &mut Write, version: i64, revision: i64) -> Result<()> {
        let NewSkill { namespace, name, author, description, signature, doc, code, .. } =
            self.skill;
        write.run(sql::PUT_HEAD, args![namespace, name, version, revision]).await?;
        let args = args![
            namespace,
            name,
            version,
            revision,
            &self.hash,
            author,
            now(),
            description,
            &self.tags,
            signature,
            doc,
            &self.origin,
            &self.uses,
            &self.tests,
            code,
        ];
        write.run(sql::ADD_VERSION, args).await?;
        Ok(())
    }
}
