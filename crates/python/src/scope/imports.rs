//! The names that imports bind, and the paths that they stand for.

use ruff_python_ast::{StmtImport, StmtImportFrom};

use narrows_policy::Modules;

/// Tells whether a relative import means a module that every program has: files of a package write
/// `from ...client import x`.
pub(crate) fn is_provided(module: &str) -> bool {
    let first = module.split('.').next().unwrap_or_default();
    Modules::OWN.contains(&first)
}

/// Returns the module that names are imported from: `servers.github` of
/// `from servers.github import …`. A skill is a module of the package `skills`, so that
/// `from . import other` means another skill.
pub(crate) fn module_of(import: &StmtImportFrom) -> Option<String> {
    let module = import.module.as_deref();
    match (import.level, module) {
        (0, _) => module.map(str::to_owned),
        (_, Some(module)) if is_provided(module) => Some(module.to_owned()),
        (1, Some(module)) => Some(format!("skills.{module}")),
        (1, None) => Some("skills".to_owned()),
        _ => None,
    }
}

/// Returns the names that `import …` binds, each with the module that it stands for.
pub(super) fn imported(import: &StmtImport) -> impl Iterator<Item = (&str, &str)> {
    import.names.iter().map(|alias| match &alias.asname {
        Some(name) => (name.as_str(), alias.name.as_str()),
        None => {
            let first = alias.name.split('.').next().unwrap_or_default();
            (first, first)
        }
    })
}
