//! Packages: a skill as one file, with its manifest, its tests and a signature.

mod manifest;
mod package_file;
mod recorded;
mod signature;
#[cfg(test)]
mod tests;

pub(crate) use manifest::is_plain;
pub use manifest::{Manifest, ManifestDetails, ManifestError, NeededTool};
pub(crate) use package_file::MAX_BYTES;
pub use package_file::{Package, PackageError};
pub use recorded::{NotRecorded, RecordedCall, RecordedReply, Recording};
pub use signature::{Fingerprint, KeyError, KeyFile, SignatureError, Signed};
