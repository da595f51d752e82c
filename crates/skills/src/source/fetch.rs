//! Fetches skills from their sources, without installing them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use reqwest::{ClientBuilder, Url};

use narrows_model::nearest;

use super::{
    directory::{self, FetchResult},
    skill_source::{SkillSource, SourceError},
    web::{self, Web},
};
use crate::{
    code::CodeReader,
    folder::AgentSkill,
    package::{self, Package},
    registry::{INDEX, Index, MAX_INDEX_BYTES, differs},
};

/// A fetched skill, and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetched {
    pub skill: FetchedSkill,
    /// A path or a URL, without secrets.
    pub from: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FetchedSkill {
    Package(Box<Package>),
    Folder(Box<AgentSkill>),
}

impl Fetched {
    pub(crate) fn package(package: Package, from: String) -> Self {
        Self { skill: FetchedSkill::Package(Box::new(package)), from }
    }

    pub fn name(&self) -> &str {
        match &self.skill {
            FetchedSkill::Package(package) => &package.manifest().name,
            FetchedSkill::Folder(folder) => &folder.name,
        }
    }

    /// Tells whether this is `NAME`, or `NAME@VERSION` of a package. A folder's title counts too.
    fn is(&self, wanted: &str) -> bool {
        let (name, version) = match wanted.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (wanted, None),
        };
        match &self.skill {
            FetchedSkill::Package(package) => {
                let known = package.manifest().version.to_string();
                self.name() == name && version.is_none_or(|version| version == known)
            }
            FetchedSkill::Folder(folder) => {
                version.is_none() && (folder.name == name || folder.title == name)
            }
        }
    }
}

/// A client that fetches skills. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fetcher {
    web: Web,
    reader: Arc<dyn CodeReader>,
}

impl Fetcher {
    /// Makes a fetcher with the caller's HTTP client, except that each redirect is checked here.
    pub fn new(client: ClientBuilder, reader: Arc<dyn CodeReader>) -> Result<Self, SourceError> {
        Ok(Self { web: Web::new(client)?, reader })
    }

    /// Fetches all skills of a source, or the one that is wanted: `NAME`, or `NAME@VERSION`.
    pub async fn fetch(
        &self,
        source: &SkillSource,
        wanted: Option<&str>,
    ) -> Result<Vec<Fetched>, SourceError> {
        match source {
            SkillSource::File(path) => {
                let looked = self.look(path.clone(), wanted, directory::file).await?;
                chosen(looked, wanted, path.display().to_string())
            }
            SkillSource::Directory(path) => {
                let looked = self.look(path.clone(), wanted, directory::all).await?;
                chosen(looked, wanted, path.display().to_string())
            }
            SkillSource::Git(url) => {
                let checkout = url.cloned().await?;
                let root = checkout.path().to_owned();
                let looked = self.look(root.clone(), wanted, directory::all).await?;
                let mut found = chosen(looked, wanted, url.to_string())?;
                // The directory of the checkout is temporary, so its path would mean nothing later.
                for one in &mut found {
                    let below = one.from.strip_prefix(&*root.to_string_lossy()).unwrap_or_default();
                    one.from = format!("git+{url}{}", below.replacen('/', "#", 1));
                }
                Ok(found)
            }
            SkillSource::Package(url) => {
                let looked = self.package(url).await;
                chosen(vec![looked], wanted, web::shown(url))
            }
            SkillSource::Registry(base) => self.of_registry(base, wanted).await,
        }
    }

    /// Fetches the index of a registry on the web.
    pub async fn index(&self, base: &Url) -> Result<Index, SourceError> {
        let from = web::shown(base);
        let url = base.join(INDEX).map_err(|_| SourceError::Url(from.clone()))?;
        let bytes = self.web.get(&url, MAX_INDEX_BYTES).await?;
        Index::read(&bytes).map_err(|source| SourceError::Index { from, source })
    }

    async fn of_registry(
        &self,
        base: &Url,
        wanted: Option<&str>,
    ) -> Result<Vec<Fetched>, SourceError> {
        let from = web::shown(base);
        let index = self.index(base).await?;
        let wanted = match wanted {
            Some(wanted) => wanted.to_owned(),
            None => directory::only(&index, &from)?,
        };
        let (entry, version, file) = index
            .find(&wanted)
            .map_err(|source| SourceError::Index { from: from.clone(), source })?;
        let url = base.join(&file).map_err(|_| SourceError::Url(from))?;
        let fetched = self.package(&url).await?;
        if let FetchedSkill::Package(package) = &fetched.skill
            && let Some(what) = differs(entry, version, package)
        {
            return Err(SourceError::Differs { from: fetched.from, what });
        }
        Ok(vec![fetched])
    }

    async fn package(&self, url: &Url) -> FetchResult {
        let bytes = self.web.get(url, package::MAX_BYTES).await?;
        let from = web::shown(url);
        match Package::read(&bytes, &*self.reader) {
            Ok(package) => Ok(Fetched::package(package, from)),
            Err(source) => Err(SourceError::Package { from, source }),
        }
    }

    /// Searches a file or a directory on a thread for blocking work.
    async fn look(
        &self,
        path: PathBuf,
        wanted: Option<&str>,
        look: Look,
    ) -> Result<Vec<FetchResult>, SourceError> {
        let (wanted, reader) = (wanted.map(str::to_owned), Arc::clone(&self.reader));
        let looking = move || look(&path, wanted.as_deref(), &*reader);
        tokio::task::spawn_blocking(looking).await.map_err(|_| SourceError::Stopped)?
    }
}

/// A function that searches a file or a directory.
type Look = fn(&Path, Option<&str>, &dyn CodeReader) -> Result<Vec<FetchResult>, SourceError>;

/// Returns the wanted skill, or all of them if none is broken.
fn chosen(
    looked: Vec<FetchResult>,
    wanted: Option<&str>,
    from: String,
) -> Result<Vec<Fetched>, SourceError> {
    let Some(wanted) = wanted else {
        let all: Vec<Fetched> = looked.into_iter().collect::<Result<_, _>>()?;
        return if all.is_empty() { Err(SourceError::Empty(from)) } else { Ok(all) };
    };
    let (mut fine, mut broken) = (Vec::new(), Vec::new());
    for one in looked {
        match one {
            Ok(fetched) => fine.push(fetched),
            Err(error) => broken.push(error),
        }
    }
    if let Some(at) = fine.iter().position(|fetched| fetched.is(wanted)) {
        return Ok(vec![fine.swap_remove(at)]);
    }
    // The wanted skill may be the broken one.
    if let Some(error) = broken.into_iter().next() {
        return Err(error);
    }
    if fine.is_empty() {
        return Err(SourceError::Empty(from));
    }
    let known: Vec<String> = fine.iter().map(|fetched| fetched.name().to_owned()).collect();
    let hint = nearest(wanted, known.iter().map(String::as_str));
    let known = known.into_iter().take(20).collect();
    Err(SourceError::NotThere { from, wanted: wanted.to_owned(), hint, known })
}
