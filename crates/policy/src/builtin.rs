//! The three builtin levels.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use narrows_model::Limits;

use super::{
    level::{Level, ReviewMode, ToolAccess, WorkspaceAccess},
    modules::Modules,
};

pub(super) const DEVELOPMENT: &str = "development";
pub(super) const PRODUCTION: &str = "production";
pub(super) const HARDENED: &str = "hardened";

const KIB: usize = 1024;
const MIB: u64 = 1024 * 1024;

/// Modules for work on data. Modules that reach the system, other modules by name, or the interpreter
/// itself (`os`, `sys`, `importlib`, `inspect`, `pickle`, `ctypes`) are not among them.
pub(super) const DATA_MODULES: [&str; 48] = [
    "__future__",
    "abc",
    "array",
    "asyncio",
    "base64",
    "binascii",
    "bisect",
    "calendar",
    "collections",
    "colorsys",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "graphlib",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "pprint",
    "random",
    "re",
    "secrets",
    "statistics",
    "string",
    "struct",
    "textwrap",
    "time",
    "typing",
    "unicodedata",
    "urllib.parse",
    "uuid",
    "zlib",
    "zoneinfo",
];

/// Returns the level for one's own machine, with generous limits.
fn development() -> Level {
    Level {
        name: DEVELOPMENT.to_owned(),
        limits: Limits {
            wall_time: Duration::from_secs(120),
            cpu_time: Duration::from_secs(120),
            memory_bytes: 2048 * MIB,
            output_bytes: 4 * MIB,
            result_bytes: 4 * MIB,
            tool_calls: 10_000,
            tmp_bytes: 256 * MIB,
            ..Limits::default()
        },
        ..production()
    }
}

fn production() -> Level {
    Level {
        name: PRODUCTION.to_owned(),
        limits: Limits::default(),
        longest: Duration::from_secs(120),
        modules: Modules::Any,
        denied: BTreeSet::new(),
        workspace: WorkspaceAccess::Write,
        tools: ToolAccess::All,
        tool_globs: None,
        shown_bytes: 32 * KIB,
        review: ReviewMode::Warn,
        audit_must_hold: false,
    }
}

/// Returns the level for valuable data and for programs that nobody reviews.
fn hardened() -> Level {
    Level {
        name: HARDENED.to_owned(),
        limits: Limits {
            wall_time: Duration::from_secs(10),
            cpu_time: Duration::from_secs(10),
            memory_bytes: 256 * MIB,
            output_bytes: MIB / 4,
            result_bytes: MIB / 4,
            tool_calls: 100,
            calls_in_flight: 8,
            tmp_bytes: 16 * MIB,
            ..Limits::default()
        },
        longest: Duration::from_secs(30),
        modules: Modules::Only(DATA_MODULES.map(str::to_owned).into()),
        denied: BTreeSet::new(),
        workspace: WorkspaceAccess::Read,
        tools: ToolAccess::ReadOnly,
        tool_globs: None,
        shown_bytes: 16 * KIB,
        review: ReviewMode::Block,
        audit_must_hold: true,
    }
}

/// Returns the builtin levels from the loosest to the strictest.
pub(super) fn builtin() -> [Level; 3] {
    [development(), production(), hardened()]
}

pub(super) fn by_name() -> BTreeMap<String, Level> {
    builtin().into_iter().map(|level| (level.name.clone(), level)).collect()
}
