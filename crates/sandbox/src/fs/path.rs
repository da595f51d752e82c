//! Paths inside the sandbox, with nothing in them that could lead out.

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

const MAX_PATH_LEN: usize = 4096;
const MAX_NAME_LEN: usize = 255;

/// An absolute path: names only, no `.`, no `..`, no empty name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VirtualPath(Vec<String>);

/// Which part of the tree a path is in, and the rest of the path there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Tmp(String),
    Workspace(String),
    Nowhere,
}

impl VirtualPath {
    /// Follows `path` from here. `..` stops at the root, as it does on every system.
    pub(super) fn join(&self, path: &str) -> Result<Self, ErrorCode> {
        if path.len() > MAX_PATH_LEN {
            return Err(ErrorCode::NameTooLong);
        }
        let mut names = if path.starts_with('/') { Vec::new() } else { self.0.clone() };
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop();
                }
                name if name.len() > MAX_NAME_LEN => return Err(ErrorCode::NameTooLong),
                name if name.contains('\0') => return Err(ErrorCode::Invalid),
                name => names.push(name.to_owned()),
            }
        }
        Ok(Self(names))
    }

    pub(super) fn place(&self) -> Place {
        match self.0.split_first() {
            None => Place::Root,
            Some((mount, rest)) => match mount.as_str() {
                "tmp" => Place::Tmp(rest.join("/")),
                "workspace" => Place::Workspace(rest.join("/")),
                _ => Place::Nowhere,
            },
        }
    }
}

/// The names with slashes between them, relative to where the path is used.
impl std::fmt::Display for VirtualPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        VirtualPath::default().join(path).map(|path| path.place()).unwrap_or(Place::Nowhere)
    }

    #[test]
    fn dots_never_lead_above_the_root() {
        assert_eq!(place("../../workspace/a/../b"), Place::Workspace("b".into()));
        assert_eq!(place("workspace/../../etc/passwd"), Place::Nowhere);
        assert_eq!(place("workspace/../tmp/./x//y"), Place::Tmp("x/y".into()));
        assert_eq!(place("/"), Place::Root);
    }

    #[test]
    fn odd_names_are_refused() {
        let root = VirtualPath::default();
        assert_eq!(root.join("workspace/a\0b"), Err(ErrorCode::Invalid));
        assert_eq!(root.join(&"x".repeat(256)), Err(ErrorCode::NameTooLong));
        assert_eq!(root.join(&"x/".repeat(3000)), Err(ErrorCode::NameTooLong));
    }
}
