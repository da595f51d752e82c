//! `import-not-allowed` and `dynamic-import`.

use ruff_python_ast::{ExprCall, StmtImport, StmtImportFrom};
use ruff_text_size::Ranged;

use super::{
    finding::{ReviewFindings, RuleHit, Severity},
    meaning::ResolvedPath,
    names,
    resolver::Resolver,
};
use crate::scope::ScopeId;
use narrows_policy::{Level, Modules};

/// Functions that import modules by names that may be computed at run time.
const BY_NAME: [&str; 3] =
    ["builtins.__import__", "importlib.__import__", "importlib.import_module"];
/// Objects through which a program reaches modules that it never imported.
const ALL_MODULES: [&str; 5] =
    ["sys.modules", "sys.meta_path", "sys.path_hooks", "importlib.util", "importlib.machinery"];

/// Reviews `import x`.
pub(super) fn import(import: &StmtImport, level: &Level, findings: &mut ReviewFindings<'_>) {
    for alias in &import.names {
        let at = alias.start();
        let denied = names::denied(&alias.name, findings.denied())
            .or_else(|| module_denied(&alias.name, findings));
        if let Some(found) = denied.or_else(|| not_allowed(&alias.name, level)) {
            findings.add(at, found);
        }
    }
}

/// Reviews `from x import y`.
pub(super) fn import_from(
    import: &StmtImportFrom,
    level: &Level,
    findings: &mut ReviewFindings<'_>,
) {
    // A relative import that begins with one of the modules of Narrows means that module.
    let is_own = |module: &&str| {
        let first = module.split('.').next().unwrap_or_default();
        import.level == 0 || Modules::OWN.contains(&first)
    };
    let Some(module) = import.module.as_deref().filter(is_own) else { return };
    for alias in &import.names {
        let path = match &*alias.name {
            "*" => module.to_owned(),
            name => format!("{module}.{name}"),
        };
        let meaning = ResolvedPath { path, doubtful: false };
        let named = names::denied(&meaning.path, findings.denied())
            .or_else(|| module_denied(&meaning.path, findings))
            .or_else(|| names::dynamic_code(&meaning))
            .or_else(|| by_name(&meaning));
        named.into_iter().for_each(|found| findings.add(alias.start(), found));
        if let Some(found) = not_allowed(&meaning.path, level) {
            // Reported once for the module, and not for each of its names.
            findings.add(import.start(), RuleHit { subject: module.to_owned(), ..found });
        }
    }
}

fn module_denied(path: &str, findings: &ReviewFindings<'_>) -> Option<RuleHit> {
    let mut modules = path.match_indices('.').map(|(dot, _)| &path[..dot]);
    modules.find_map(|module| names::denied(module, findings.denied()))
}

/// Returns the finding for a module or a tool that is used without an import. It is the one that its
/// import would have, so that nobody gets what is forbidden by leaving the import out.
pub(super) fn implied(path: &str, level: &Level, findings: &ReviewFindings<'_>) -> Option<RuleHit> {
    names::denied(path, findings.denied())
        .or_else(|| module_denied(path, findings))
        .or_else(|| not_allowed(path, level))
}

fn not_allowed(module: &str, level: &Level) -> Option<RuleHit> {
    if level.allows_module(module) {
        return None;
    }
    let first = module.split('.').next().unwrap_or_default();
    let instead = match first {
        "os" | "pathlib" | "shutil" | "glob" | "tempfile" => {
            "files of the workspace are read with open and read_file"
        }
        "requests" | "httpx" | "aiohttp" | "urllib" | "urllib3" | "http" | "socket" => {
            "there is no network; call a tool"
        }
        "pandas" | "numpy" | "polars" | "scipy" => {
            "for tables there are `await sql(...)` and `await analyze(...)`"
        }
        "subprocess" | "multiprocessing" | "threading" | "concurrent" => {
            "there are no processes; use asyncio"
        }
        _ => "modules for work on data, such as json, re and datetime, are there",
    };
    let level = &level.name;
    Some(RuleHit {
        rule: "import-not-allowed",
        severity: Severity::Danger,
        subject: module.to_owned(),
        message: format!("{module} cannot be imported at the isolation level {level}: {instead}"),
    })
}

/// Returns the finding for a use of `__import__`, `importlib.import_module`, `sys.modules` and others.
pub(super) fn by_name(meaning: &ResolvedPath) -> Option<RuleHit> {
    let path = meaning.path.as_str();
    let is_in = |module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let severity = match () {
        _ if BY_NAME.contains(&path) && !meaning.doubtful => Severity::Danger,
        _ if BY_NAME.contains(&path) => Severity::Warning,
        // Programs look there to see whether a module is available.
        _ if ALL_MODULES.into_iter().any(is_in) => Severity::Note,
        _ => return None,
    };
    let name = path.strip_prefix("builtins.").unwrap_or(path);
    Some(RuleHit {
        rule: "dynamic-import",
        severity,
        subject: path.to_owned(),
        message: format!(
            "{name} reaches modules by names that cannot be looked at beforehand; write import"
        ),
    })
}

/// Returns the finding for a call that imports a module by a constant name. If the module is allowed,
/// `importlib.import_module` is a warning, and `__import__`, which nobody needs for that, has none
/// here: its name is a danger by itself.
pub(super) fn call(
    call: &ExprCall,
    resolver: &Resolver<'_>,
    scope: ScopeId,
    level: &Level,
) -> Option<RuleHit> {
    let module = call.arguments.args.first().filter(|name| !name.is_starred_expr())?;
    let meanings = resolver.meanings(&call.func, scope);
    let meaning = meanings.iter().find(|meaning| BY_NAME.contains(&meaning.path.as_str()))?;
    let module = resolver.text(module, scope)?;
    let named = by_name(meaning).filter(|_| meaning.path == "importlib.import_module");
    not_allowed(&module, level).or_else(|| Some(RuleHit { severity: Severity::Warning, ..named? }))
}
