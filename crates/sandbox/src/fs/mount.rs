//! A workspace together with what a program may do with it.

use std::sync::Arc;

use super::Workspace;

/// The workspace of one run: the directory, and whether the program may change anything in it.
#[derive(Clone, Debug)]
pub struct WorkspaceMount {
    workspace: Arc<Workspace>,
    access: MountAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MountAccess {
    ReadOnly,
    ReadWrite,
}

impl WorkspaceMount {
    /// Mounts a workspace that the program may read, and change nothing in.
    pub fn read_only(workspace: Arc<Workspace>) -> Self {
        Self { workspace, access: MountAccess::ReadOnly }
    }

    pub fn writable(workspace: Arc<Workspace>) -> Self {
        Self { workspace, access: MountAccess::ReadWrite }
    }

    /// Returns the workspace, for something that only reads.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Returns the workspace, for something that changes it, or `None` if nothing may.
    pub fn to_write(&self) -> Option<&Arc<Workspace>> {
        (!self.is_read_only()).then_some(&self.workspace)
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.access == MountAccess::ReadOnly
    }

    /// Tells whether it is the same directory with the same access.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.workspace, &other.workspace) && self.access == other.access
    }
}
