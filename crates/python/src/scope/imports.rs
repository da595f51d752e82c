//! What imports bind, and to what.

use ruff_python_ast::{StmtImport, StmtImportFrom};

use narrows_policy::Modules;

/// Whether a relative import is one of a module that every program has: `from ...client import x`,
/// as files of a package have it.
pub(crate) fn is_provided(module: &str) -> bool {
    let first = module.split('.').next().unwrap_or_default();
    Modules::OWN.contains(&first)
}

/// `servers.github` of `from servers.github import …`. A skill is a module of the package
/// `skills`, so that `from . import other` is another skill.
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

/// The names that `import …` binds, and what they mean.
pub(super) fn imported(import: &StmtImport) -> impl Iterator<Item = (&str, &str)> {
    import.names.iter().map(|alias| match &alias.asname {
        Some(name) => (name.as_str(), alias.name.as_str()),
        None => {
            let first = alias.name.split('.').next().unwrap_or_default();
            (first, first)
        }
    })
}
