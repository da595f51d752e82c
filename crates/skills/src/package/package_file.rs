//! A skill as one file, `NAME.skill.json`, with its manifest, its tests and a signature. The file may
//! also contain the skills that it needs.
//!
//! The signature covers the canonical form of everything else in the file. It tells who made the file,
//! and not that the code is harmless.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    manifest::{Manifest, ManifestDetails, ManifestError},
    recorded::Recording,
    signature::{KeyFile, Signature, SignatureError, Signed},
};
use crate::{
    canonical::canonical,
    code::CodeReader,
    import_cycle::{Cycle, find_cycle},
    pins::Pin,
};

const FORMAT: &str = "narrows-skill/1";
/// The one field that the signature does not cover.
const SIGNATURE: &str = "signature";
/// The size of a file that is read, because it may come from anywhere.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// How many other skills one file may contain.
const MAX_BUNDLED: usize = 100;

/// The reason for which a file is not a package, or not one that can be trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PackageError {
    #[error("the package has more than {MAX_BYTES} bytes: a skill is code, keep data elsewhere")]
    TooLarge,
    #[error("this is no skill package: {0}")]
    NotPackage(String),
    #[error(
        "the package has the format {0:?}, and {FORMAT:?} is read here: a newer Narrows may read it"
    )]
    Format(String),
    #[error("the package of {name} is refused: {reason}")]
    Manifest { name: String, reason: ManifestError },
    #[error("the package of {name} is refused: {reason}")]
    Signature { name: String, reason: SignatureError },
    #[error("the bundle of {name} is refused: {reason}")]
    Bundle { name: String, reason: String },
    #[error("the skills of {name} import one another in a circle: {cycle}")]
    Cycle { name: String, cycle: Cycle },
}

/// A skill with its manifest, tests and signature. The parts are checked to match one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    manifest: Manifest,
    code: String,
    tests: Recording,
    bundle: Vec<Package>,
    signed: Signed,
    /// The skills that the code imports, whatever the manifest says.
    imports: Vec<String>,
    /// The file as it was written, so that signatures still match when it is passed on.
    file: Value,
}

/// The file, field by field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackageFile {
    format: String,
    manifest: Manifest,
    code: String,
    #[serde(default, skip_serializing_if = "is_empty")]
    tests: Recording,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bundle: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
}

fn is_empty(recording: &Recording) -> bool {
    recording.0.is_empty()
}

impl Package {
    /// Packs a skill, without a signature. The code is read and checked again.
    pub fn new(
        name: &str,
        code: &str,
        about: ManifestDetails,
        pins: &[Pin],
        tests: Recording,
        reader: &dyn CodeReader,
    ) -> Result<Self, PackageError> {
        let refused = |reason| PackageError::Manifest { name: name.to_owned(), reason };
        let manifest = Manifest::of(name, code, about, pins, reader).map_err(refused)?;
        let file = PackageFile {
            format: FORMAT.to_owned(),
            manifest,
            code: code.to_owned(),
            tests,
            bundle: Vec::new(),
            signature: None,
        };
        Self::pack(file, reader)
    }

    /// Puts the skills that it needs into the same file. This removes the signature: sign it afterwards.
    pub fn with_bundle(
        self,
        bundle: Vec<Package>,
        reader: &dyn CodeReader,
    ) -> Result<Self, PackageError> {
        let file = PackageFile {
            format: FORMAT.to_owned(),
            manifest: self.manifest,
            code: self.code,
            tests: self.tests,
            bundle: bundle.into_iter().map(|inner| inner.file).collect(),
            signature: None,
        };
        Self::pack(file, reader)
    }

    pub fn sign(mut self, key: &KeyFile, reader: &dyn CodeReader) -> Result<Self, PackageError> {
        if let Value::Object(fields) = &mut self.file {
            fields.shift_remove(SIGNATURE);
        }
        let signature = key.sign(canonical(&self.file).as_bytes());
        if let Value::Object(fields) = &mut self.file {
            fields.insert(SIGNATURE.to_owned(), json!(signature));
        }
        Self::read(&self.to_bytes(), reader)
    }

    /// Writes a package and reads it again, so that only readable ones are written.
    fn pack(file: PackageFile, reader: &dyn CodeReader) -> Result<Self, PackageError> {
        let file = serde_json::to_value(file)
            .map_err(|error| PackageError::NotPackage(error.to_string()))?;
        Self::read(&pretty(&settled(file)), reader)
    }

    /// Reads a file, which may come from anywhere. The parts of the package match one another; whether
    /// its author is trusted is up to the person who installs it.
    pub fn read(bytes: &[u8], reader: &dyn CodeReader) -> Result<Self, PackageError> {
        if bytes.len() > MAX_BYTES {
            return Err(PackageError::TooLarge);
        }
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| PackageError::NotPackage(error.to_string()))?;
        Self::of_value(value, reader)
    }

    fn of_value(written: Value, reader: &dyn CodeReader) -> Result<Self, PackageError> {
        let mut value = written.clone();
        match value.get("format") {
            Some(Value::String(format)) if format == FORMAT => {}
            Some(Value::String(format)) => {
                return Err(PackageError::Format(format.chars().take(40).collect()));
            }
            _ => return Err(PackageError::NotPackage("it names no format".to_owned())),
        }
        let file = PackageFile::deserialize(&value)
            .map_err(|error| PackageError::NotPackage(error.to_string()))?;
        let name = file.manifest.name.clone();
        let signed = match &file.signature {
            None => Signed::No,
            Some(signature) => {
                if let Value::Object(fields) = &mut value {
                    fields.shift_remove(SIGNATURE);
                }
                let signer = signature.verify(canonical(&value).as_bytes());
                let refused = |reason| PackageError::Signature { name: name.clone(), reason };
                Signed::By(signer.map_err(refused)?)
            }
        };
        let found = file.manifest.check(&file.code, reader);
        let found =
            found.map_err(|reason| PackageError::Manifest { name: name.clone(), reason })?;
        if file.bundle.len() > MAX_BUNDLED {
            let reason =
                format!("it has {} skills, and {MAX_BUNDLED} are enough", file.bundle.len());
            return Err(PackageError::Bundle { name, reason });
        }
        // A bundle within a bundle is refused before it is read.
        if file.bundle.iter().any(|inner| inner.get("bundle").is_some()) {
            let reason = "a skill in it has a bundle of its own".to_owned();
            return Err(PackageError::Bundle { name, reason });
        }
        let bundle = file.bundle.into_iter().map(|inner| Self::of_value(inner, reader));
        let mut package = Self {
            bundle: bundle.collect::<Result<_, _>>()?,
            manifest: file.manifest,
            code: file.code,
            tests: file.tests,
            signed,
            imports: found.skills,
            file: written,
        };
        package.check_bundle()?;
        for inner in package.bundle.iter_mut().filter(|inner| inner.signed == Signed::No) {
            inner.signed = package.signed.clone();
        }
        Ok(package)
    }

    /// Returns the whole file, formatted for people to read too.
    pub fn to_bytes(&self) -> Vec<u8> {
        pretty(&self.file)
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn code(&self) -> &str {
        &self.code
    }

    /// Returns the recorded tool results for its tests.
    pub fn tests(&self) -> &Recording {
        &self.tests
    }

    /// Returns who signed it. For a skill of a bundle without a signature of its own, the signature of
    /// the whole file counts.
    pub fn signed(&self) -> &Signed {
        &self.signed
    }

    /// Returns the skills that came in the same file.
    pub fn bundle(&self) -> &[Package] {
        &self.bundle
    }

    /// Returns all skills of the file, each after those that it needs; this one is the last.
    pub fn in_order(&self) -> Vec<&Package> {
        let mut left: Vec<&Package> = self.bundle.iter().chain([self]).collect();
        let mut ordered: Vec<&Package> = Vec::new();
        while !left.is_empty() {
            let waits = |package: &&Package| {
                package.imports.iter().any(|name| left.iter().any(|other| other.name() == name))
            };
            let (later, now): (Vec<&Package>, Vec<&Package>) =
                left.iter().copied().partition(waits);
            if now.is_empty() {
                // Only a cycle leads here, and cycles are refused when a package is read.
                ordered.extend(later);
                break;
            }
            ordered.extend(now);
            left = later;
        }
        ordered
    }

    /// Returns the skills that are needed and not in the file.
    pub fn missing_skills(&self) -> Vec<&str> {
        let all = || self.bundle.iter().chain([self]);
        let mut missing: Vec<&str> = all()
            .flat_map(|package| package.imports.iter().map(String::as_str))
            .filter(|name| !all().any(|package| package.name() == *name))
            .collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    fn name(&self) -> &str {
        &self.manifest.name
    }

    fn check_bundle(&self) -> Result<(), PackageError> {
        let name = || self.name().to_owned();
        let refused = |reason: String| Err(PackageError::Bundle { name: name(), reason });
        let mut imports: HashMap<&str, &[String]> = HashMap::new();
        for package in self.bundle.iter().chain([self]) {
            if imports.insert(package.name(), &package.imports).is_some() {
                return refused(format!("it has two skills {}", package.name()));
            }
        }
        // A skill that no other one needs would be installed for no visible reason.
        let mut needed: HashSet<&str> = HashSet::new();
        let cycle = find_cycle(self.name(), |skill| {
            let known = imports.get_key_value(skill);
            needed.extend(known.map(|(name, _)| *name));
            known.map(|(_, imports)| imports.to_vec()).unwrap_or_default()
        });
        if let Some(cycle) = cycle {
            return Err(PackageError::Cycle { name: name(), cycle });
        }
        match self.bundle.iter().find(|inner| !needed.contains(inner.name())) {
            Some(stranger) => refused(format!("nothing in it needs {}", stranger.name())),
            None => Ok(()),
        }
    }
}

fn pretty(file: &Value) -> Vec<u8> {
    format!("{file:#}\n").into_bytes()
}

/// Writes and reads a file until its numbers no longer change. The parser may miss the last bit of a
/// fraction, and then a signature would no longer match.
fn settled(mut file: Value) -> Value {
    for _ in 0..4 {
        match serde_json::from_str(&file.to_string()) {
            Ok(read) if read != file => file = read,
            _ => break,
        }
    }
    file
}
