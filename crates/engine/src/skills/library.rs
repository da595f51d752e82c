//! The library of skills: saves, loads, lists and imports them.

use std::collections::{BTreeMap, HashMap};

use narrows_model::Access;
use narrows_sandbox::ModuleSource;
use narrows_store::{NewSkill, SaveResult, Skill, SkillHead, SkillVersion};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::{Analysed, SkillError, search_index::SkillIndexes};
use narrows_model::{Nearest, nearest};
use narrows_skills::{Cycle, PackageError, Pin, Pins, Recording, ToolChange, compare, find_cycle};

use crate::{
    broker::Broker,
    compute::ALWAYS_APART,
    state::{Agent, StateError},
};

/// The default number of skills in a list.
const LISTED: usize = 50;
/// The most names that are compared with a misspelt one.
const MAX_NAMES: usize = 5_000;
/// The most tools whose definitions are kept with a skill. Stops code that consists of tool names from
/// having servers asked about each of them.
const MAX_PINNED: usize = 200;

/// The reason why a skill was not saved or not found.
#[derive(Debug, Error)]
pub enum LibraryError {
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error("skills may not import one another in a circle: {0}; nothing was saved")]
    Cycle(Cycle),
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error("there is no skill {name:?}{near}")]
    Missing { name: String, near: Nearest },
    #[error("the skill {name:?} has no version {version}; it has {known}")]
    NoVersion { name: String, version: i64, known: String },
}

/// The search indexes of all skills.
#[derive(Debug, Default)]
pub struct Library {
    shelves: SkillIndexes,
}

/// A skill that an agent wants to save.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillDraft {
    pub name: String,
    pub code: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    /// Recorded tool results for its tests.
    #[serde(default)]
    pub tests: Value,
    /// The origin, if it was installed.
    #[serde(skip)]
    pub origin: Value,
}

/// A saved skill, as the agent is told about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SavedSkill {
    pub name: String,
    pub version: i64,
    /// Whether it differs from the version before.
    pub is_new: bool,
    pub signature: String,
    /// The tools that it uses, whose current definitions were kept with it.
    pub tools: Vec<String>,
    pub tests: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A skill in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedSkill {
    pub name: String,
    pub namespace: String,
    pub version: i64,
    pub signature: String,
    pub description: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The changes of the tools that it uses since it was saved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The score of the match with the query.
    #[serde(skip)]
    pub score: f32,
}

/// The dependencies that are saved with a skill: the definitions of its tools, and the skills that it
/// imports.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedUses {
    #[serde(default)]
    pub(super) pins: Vec<Pin>,
    #[serde(default)]
    pub(super) skills: Vec<String>,
}

impl SavedUses {
    pub(super) fn of(value: &Value) -> Self {
        Self::deserialize(value).unwrap_or_default()
    }
}

impl Agent {
    /// Checks a skill and saves it as its next version. If anything is wrong, nothing is saved.
    pub async fn save_skill(
        &self,
        broker: &Broker,
        draft: SkillDraft,
    ) -> Result<SavedSkill, StateError> {
        let namespace = self.namespace(draft.namespace.as_deref(), Access::Write)?.to_owned();
        let analysing = || Analysed::of(&draft.name, &draft.code);
        let analysed = self.compute(draft.code.len(), analysing).await;
        let analysed = analysed.map_err(LibraryError::from)?;
        let missing = self.refuse_cycle(&analysed).await?;
        let mut notes = Vec::new();
        let pins = self.pin(broker, &analysed, &mut notes).await;
        for needed in missing {
            notes.push(format!("it imports the skill {needed:?}, which there is none of yet"));
        }
        let description = match draft.description.trim() {
            "" => analysed.description(),
            given => given.to_owned(),
        };
        let tools: Vec<String> = pins.iter().map(|pin| pin.tool.clone()).collect();
        let skill = NewSkill {
            namespace,
            name: draft.name,
            code: draft.code,
            description,
            tags: draft.tags,
            signature: analysed.signature.clone(),
            doc: analysed.doc.clone().unwrap_or_default(),
            uses: json!(SavedUses { pins, skills: analysed.skills.clone() }),
            tests: draft.tests,
            origin: draft.origin,
            author: self.name().to_owned(),
        };
        let saved = self.store().await?.skills().save(&skill).await?;
        Ok(SavedSkill {
            name: skill.name,
            version: saved.version,
            is_new: saved.is_new,
            signature: analysed.signature,
            tools,
            tests: analysed.tests,
            notes,
        })
    }

    /// Pins the current definitions of the tools that a skill names.
    async fn pin(&self, broker: &Broker, analysed: &Analysed, notes: &mut Vec<String>) -> Vec<Pin> {
        let mut definitions: HashMap<String, Value> = HashMap::new();
        // For an unknown tool, its server is asked to list its tools once more.
        for tool in analysed.named_tools().take(MAX_PINNED) {
            if let Some(definition) = definition(broker, tool).await {
                definitions.insert(tool.to_owned(), definition);
            }
        }
        let pinned = Pins::of(analysed.named_tools(), |tool| definitions.get(tool).cloned());
        for tool in pinned.unknown {
            notes.push(format!(
                "the tool {tool} is not known here, so its changes will not be seen"
            ));
        }
        pinned.pins
    }

    /// Refuses a skill that imports itself, directly or through others. Returns those of its imports
    /// that do not exist.
    async fn refuse_cycle(&self, analysed: &Analysed) -> Result<Vec<String>, StateError> {
        // First collects all skills that can be reached, then searches them for a way back.
        let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
        imports.insert(analysed.name.clone(), analysed.skills.clone());
        let mut next = analysed.skills.clone();
        let mut missing = Vec::new();
        while let Some(name) = next.pop() {
            if imports.contains_key(&name) {
                continue;
            }
            let needs = match self.find_skill(&name).await? {
                Some(skill) => SavedUses::of(&skill.head.uses).skills,
                None => {
                    missing.push(name.clone());
                    Vec::new()
                }
            };
            next.extend(needs.iter().cloned());
            imports.insert(name, needs);
        }
        let lookup = |name: &str| imports.get(name).cloned().unwrap_or_default();
        if let Some(cycle) = find_cycle(&analysed.name, lookup) {
            return Err(LibraryError::Cycle(cycle).into());
        }
        missing.retain(|name| analysed.skills.contains(name));
        missing.sort();
        Ok(missing)
    }

    /// Loads a skill by its name, from the home namespace first.
    pub async fn load_skill(
        &self,
        name: &str,
        version: Option<i64>,
        namespace: Option<&str>,
    ) -> Result<Skill, StateError> {
        let skills = self.store().await?.skills();
        for namespace in self.readable(namespace)? {
            if let Some(skill) = skills.get(namespace, name, version).await? {
                return Ok(skill);
            }
            if let Some(version) = version {
                let known = skills.versions(namespace, name).await?;
                if !known.is_empty() {
                    let known: Vec<String> =
                        known.iter().map(|one| one.version.to_string()).collect();
                    let known = known.join(", ");
                    let name = name.to_owned();
                    return Err(LibraryError::NoVersion { name, version, known }.into());
                }
            }
        }
        Err(self.missing(name, namespace).await?.into())
    }

    async fn missing(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<LibraryError, StateError> {
        let names = self.names(namespace).await?;
        let looking = || nearest(name, names.iter().map(String::as_str));
        let near = self.compute(ALWAYS_APART, looking).await;
        Ok(LibraryError::Missing { name: name.to_owned(), near })
    }

    /// Returns the names of all skills, or those that are similar to `near`.
    pub(crate) async fn skill_names(&self, near: Option<&str>) -> Result<Vec<String>, StateError> {
        let names = self.names(None).await?;
        Ok(match near {
            Some(near) => {
                let looking = || nearest(near, names.iter().map(String::as_str)).0;
                self.compute(ALWAYS_APART, looking).await
            }
            None => names,
        })
    }

    async fn names(&self, namespace: Option<&str>) -> Result<Vec<String>, StateError> {
        let mut names = Vec::new();
        for namespace in self.readable(namespace)? {
            let heads = self.store().await?.skills().list(namespace, None, MAX_NAMES).await?;
            names.extend(heads.into_iter().map(|head| head.name));
        }
        Ok(names)
    }

    /// Finds the newest version of a skill, in the home namespace first.
    async fn find_skill(&self, name: &str) -> Result<Option<Skill>, StateError> {
        let skills = self.store().await?.skills();
        for namespace in self.readable(None)? {
            if let Some(found) = skills.get(namespace, name, None).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the namespace that a request names, or all that this principal may read.
    fn readable<'a>(&'a self, named: Option<&'a str>) -> Result<Vec<&'a str>, StateError> {
        match named {
            Some(_) => Ok(vec![self.namespace(named, Access::Read)?]),
            None => Ok(self.principal().namespaces().collect()),
        }
    }

    /// Lists the versions of a skill, oldest first.
    pub async fn skill_versions(&self, name: &str) -> Result<Vec<SkillVersion>, StateError> {
        let skills = self.store().await?.skills();
        for namespace in self.readable(None)? {
            let versions = skills.versions(namespace, name).await?;
            if !versions.is_empty() {
                return Ok(versions);
            }
        }
        Err(self.missing(name, None).await?.into())
    }

    /// Saves a skill again, with recorded tool results for its tests.
    pub async fn record_skill(
        &self,
        skill: Skill,
        recording: &Recording,
    ) -> Result<SaveResult, StateError> {
        let head = skill.head;
        self.namespace(Some(&head.namespace), Access::Write)?;
        let again = NewSkill {
            namespace: head.namespace,
            name: head.name,
            code: skill.code,
            description: head.description,
            tags: head.tags,
            signature: head.signature,
            doc: head.doc,
            uses: head.uses,
            tests: json!(recording),
            origin: head.origin,
            author: self.name().to_owned(),
        };
        Ok(self.store().await?.skills().save(&again).await?)
    }

    /// Removes a skill, but keeps its versions in the store. Tells whether it existed.
    pub async fn remove_skill(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<bool, StateError> {
        let namespace = self.namespace(namespace, Access::Write)?;
        Ok(self.store().await?.skills().remove(namespace, name, self.name()).await?)
    }

    /// Writes how a skill is imported and called, if it exists.
    pub async fn skill_definition(&self, name: &str) -> Option<String> {
        let name = name.strip_prefix("skills.").unwrap_or(name);
        let head = self.find_skill(name).await.ok().flatten()?.head;
        let description = head.description.replace('\n', "\n    ");
        Some(format!("from skills import {name}\n{}\n    {description}\n", head.signature))
    }

    /// Lists the skills that match a query best, or all by name.
    pub async fn list_skills(
        &self,
        broker: &Broker,
        query: Option<&str>,
        namespace: Option<&str>,
        limit: Option<usize>,
    ) -> Result<Vec<ListedSkill>, StateError> {
        let limit = limit.unwrap_or(LISTED);
        let namespaces = self.readable(namespace)?;
        let store = self.store().await?;
        let query = query.map(str::trim).filter(|query| !query.is_empty());
        let found: Vec<(f32, SkillHead)> = match query {
            Some(query) => {
                let shelves = &self.library().shelves;
                shelves.search(store, &namespaces, query, limit).await?
            }
            None => {
                let mut all = Vec::new();
                for namespace in namespaces {
                    let heads = store.skills().list(namespace, None, limit - all.len()).await?;
                    all.extend(heads.into_iter().map(|head| (0.0, head)));
                    if all.len() >= limit {
                        break;
                    }
                }
                all
            }
        };
        Ok(found.into_iter().map(|(score, head)| listed(broker, score, head)).collect())
    }

    /// Returns the source of the module `skills.NAME`. If the tools of the skill have changed, it gives
    /// a warning when it is imported.
    pub(crate) async fn skill_module(&self, broker: &Broker, name: &str) -> Option<ModuleSource> {
        let skill = self.find_skill(name).await.ok().flatten()?;
        let changed: Vec<String> = changes(broker, &SavedUses::of(&skill.head.uses).pins)
            .iter()
            .filter(|change| change.may_break())
            .map(ToolChange::to_string)
            .collect();
        let mut source = skill.code;
        if !changed.is_empty() {
            let words = format!(
                "the skill {name} was saved for tools that have changed: {}",
                changed.join("; ")
            );
            // Appended to the code, so that its lines keep their numbers.
            source += &format!("\n__import__('warnings').warn({})\n", json!(words));
        }
        Some(ModuleSource { source, is_package: false })
    }
}

fn listed(broker: &Broker, score: f32, head: SkillHead) -> ListedSkill {
    let changed = changes(broker, &SavedUses::of(&head.uses).pins);
    ListedSkill {
        changed: changed.iter().map(ToolChange::to_string).collect(),
        name: head.name,
        namespace: head.namespace,
        version: head.version,
        signature: head.signature,
        description: head.description,
        tags: head.tags,
        score,
    }
}

/// Returns the changes of tools since they were pinned, as far as their servers have listed them.
fn changes(broker: &Broker, pins: &[Pin]) -> Vec<ToolChange> {
    let catalog = broker.catalog();
    let changed = pins.iter().filter_map(|pin| {
        let (server, _) = pin.tool.split_once('.')?;
        catalog.listing(catalog.server_of(server)?)?;
        let now = catalog.find(&pin.tool, None).ok();
        compare(pin, now.as_ref().map(|tool| &tool.raw))
    });
    changed.collect()
}

async fn definition(broker: &Broker, tool: &str) -> Option<Value> {
    Some(broker.find_exactly(tool, None).await.ok()?.ok()?.raw.clone())
}
