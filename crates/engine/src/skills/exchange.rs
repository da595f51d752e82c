//! Packs skills of the store into packages, and installs packages into it.

use std::collections::BTreeSet;

use chrono::{DateTime, SecondsFormat};
use narrows_skills::{KeyFile, ManifestDetails, Package, PackageError};
use narrows_store::Skill;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LibraryError, PythonReader, SavedSkill, SkillDraft, library::SavedUses};
use crate::{
    broker::Broker,
    state::{Agent, StateError},
};

/// The origin of an installed skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillOrigin {
    /// The source as a person named it, and the name of the skill that they wanted from it.
    pub source: String,
    pub wanted: String,
    /// The exact file that it came from.
    pub from: String,
    pub hash: String,
    pub signed: String,
}

impl Agent {
    /// Lists the skills of the home namespace that were installed, with their origins.
    pub async fn installed_skills(&self) -> Result<Vec<(String, SkillOrigin)>, StateError> {
        let heads =
            self.store().await?.skills().list(&self.principal().home, None, usize::MAX).await?;
        let installed = heads.into_iter().filter_map(|head| {
            let origin: SkillOrigin = serde_json::from_value(head.origin).ok()?;
            // A skill that came along with another is updated with that one.
            (origin.wanted == head.name).then_some((head.name, origin))
        });
        Ok(installed.collect())
    }

    /// Packs a skill into one file, together with the skills that it needs if they are wanted.
    pub async fn pack_skill(
        &self,
        name: &str,
        version: Option<i64>,
        with_needed: bool,
        key: Option<&KeyFile>,
    ) -> Result<Package, StateError> {
        let skill = self.load_skill(name, version, None).await?;
        let mut package = packed(&skill)?;
        if with_needed {
            let mut known = BTreeSet::from([skill.head.name.clone()]);
            let mut next = SavedUses::of(&skill.head.uses).skills;
            let mut bundle = Vec::new();
            while let Some(name) = next.pop() {
                if known.insert(name.clone()) {
                    let needed = self.load_skill(&name, None, None).await?;
                    next.extend(SavedUses::of(&needed.head.uses).skills);
                    bundle.push(packed(&needed)?);
                }
            }
            if !bundle.is_empty() {
                package = package.with_bundle(bundle, &PythonReader).map_err(refused)?;
            }
        }
        match key {
            Some(key) => Ok(package.sign(key, &PythonReader).map_err(refused)?),
            None => Ok(package),
        }
    }

    /// Saves all skills of a package, each after those that it needs. Reading the package has already
    /// checked them.
    pub async fn install_skill(
        &self,
        broker: &Broker,
        package: &Package,
        origin: SkillOrigin,
    ) -> Result<Vec<SavedSkill>, StateError> {
        let mut saved = Vec::new();
        for skill in package.in_order() {
            let manifest = skill.manifest();
            let origin = SkillOrigin {
                hash: manifest.hash.clone(),
                signed: skill.signed().to_string(),
                ..origin.clone()
            };
            let draft = SkillDraft {
                name: manifest.name.clone(),
                code: skill.code().to_owned(),
                description: manifest.description.clone(),
                tags: manifest.tags.clone(),
                namespace: None,
                tests: match skill.tests().0.is_empty() {
                    true => Value::Null,
                    false => json!(skill.tests()),
                },
                origin: json!(origin),
            };
            saved.push(self.save_skill(broker, draft).await?);
        }
        Ok(saved)
    }
}

fn packed(skill: &Skill) -> Result<Package, StateError> {
    let head = &skill.head;
    let created = DateTime::from_timestamp_millis(head.created_at).unwrap_or_default();
    let about = ManifestDetails {
        version: head.version,
        description: head.description.clone(),
        tags: head.tags.clone(),
        author: head.author.clone(),
        created_at: created.to_rfc3339_opts(SecondsFormat::Secs, true),
    };
    let pins = SavedUses::of(&head.uses).pins;
    let recording = serde_json::from_value(skill.tests.clone()).unwrap_or_default();
    Package::new(&head.name, &skill.code, about, &pins, recording, &PythonReader).map_err(refused)
}

fn refused(error: PackageError) -> StateError {
    LibraryError::from(error).into()
}
