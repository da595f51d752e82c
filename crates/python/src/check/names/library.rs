//! Tables of names that programs use without having them: modules of the standard library, their
//! contents, and packages that are not available.

/// Modules that need an import, and the attributes that programs use of them. Their names may well be
/// those of variables, and only such an attribute tells that the module is meant. Modules without
/// attributes here reach all others, and a program has to import them itself.
const MODULES: &[(&str, &[&str])] = &[
    ("abc", &["ABC", "ABCMeta", "abstractmethod"]),
    (
        "argparse",
        &[
            "Action",
            "ArgumentError",
            "ArgumentParser",
            "FileType",
            "HelpFormatter",
            "Namespace",
            "SUPPRESS",
        ],
    ),
    ("array", &["array", "typecodes"]),
    (
        "ast",
        &["NodeTransformer", "NodeVisitor", "dump", "literal_eval", "parse", "unparse", "walk"],
    ),
    (
        "binascii",
        &[
            "Error",
            "a2b_base64",
            "a2b_hex",
            "b2a_base64",
            "b2a_hex",
            "crc32",
            "hexlify",
            "unhexlify",
        ],
    ),
    ("builtins", &[]),
    (
        "calendar",
        &[
            "Calendar",
            "HTMLCalendar",
            "MONDAY",
            "SUNDAY",
            "TextCalendar",
            "day_abbr",
            "day_name",
            "isleap",
            "leapdays",
            "month_abbr",
            "month_name",
            "monthcalendar",
            "monthrange",
            "timegm",
            "weekday",
        ],
    ),
    (
        "cmath",
        &[
            "e", "exp", "inf", "isclose", "isnan", "log", "log10", "nan", "phase", "pi", "polar",
            "rect", "sqrt", "tau",
        ],
    ),
    (
        "codecs",
        &[
            "BOM_UTF8",
            "decode",
            "encode",
            "getincrementaldecoder",
            "getreader",
            "getwriter",
            "iterdecode",
            "lookup",
            "open",
        ],
    ),
    (
        "colorsys",
        &["hls_to_rgb", "hsv_to_rgb", "rgb_to_hls", "rgb_to_hsv", "rgb_to_yiq", "yiq_to_rgb"],
    ),
    ("concurrent", &["futures"]),
    (
        "configparser",
        &["ConfigParser", "Error", "NoOptionError", "NoSectionError", "RawConfigParser"],
    ),
    ("email", &["message_from_bytes", "message_from_string", "mime", "parser", "policy", "utils"]),
    ("fnmatch", &["filter", "fnmatch", "fnmatchcase", "translate"]),
    ("gc", &[]),
    ("graphlib", &["CycleError", "TopologicalSorter"]),
    ("html", &["entities", "escape", "parser", "unescape"]),
    ("http", &["HTTPMethod", "HTTPStatus"]),
    ("importlib", &[]),
    ("keyword", &["iskeyword", "issoftkeyword", "kwlist"]),
    (
        "locale",
        &[
            "LC_ALL",
            "atof",
            "atoi",
            "currency",
            "format_string",
            "getlocale",
            "localeconv",
            "setlocale",
        ],
    ),
    ("mimetypes", &["guess_all_extensions", "guess_extension", "guess_type", "types_map"]),
    ("numbers", &["Complex", "Integral", "Number", "Rational", "Real"]),
    (
        "platform",
        &["machine", "platform", "python_implementation", "python_version", "system", "uname"],
    ),
    ("queue", &["Empty", "Full", "LifoQueue", "PriorityQueue", "Queue", "SimpleQueue"]),
    (
        "secrets",
        &[
            "SystemRandom",
            "choice",
            "compare_digest",
            "randbelow",
            "randbits",
            "token_bytes",
            "token_hex",
            "token_urlsafe",
        ],
    ),
    ("shlex", &["join", "quote", "shlex", "split"]),
    ("stat", &["S_IMODE", "S_ISDIR", "S_ISLNK", "S_ISREG", "filemode"]),
    (
        "string",
        &[
            "Formatter",
            "Template",
            "ascii_letters",
            "ascii_lowercase",
            "ascii_uppercase",
            "capwords",
            "digits",
            "hexdigits",
            "octdigits",
            "printable",
            "punctuation",
            "whitespace",
        ],
    ),
    (
        "threading",
        &[
            "Condition",
            "Event",
            "Lock",
            "RLock",
            "Semaphore",
            "Thread",
            "Timer",
            "active_count",
            "current_thread",
            "get_ident",
            "local",
        ],
    ),
    ("timeit", &["Timer", "default_timer", "repeat", "timeit"]),
    ("tomllib", &["TOMLDecodeError", "load", "loads"]),
    (
        "types",
        &[
            "AsyncGeneratorType",
            "CoroutineType",
            "FunctionType",
            "GeneratorType",
            "MappingProxyType",
            "MethodType",
            "ModuleType",
            "NoneType",
            "SimpleNamespace",
        ],
    ),
    ("warnings", &["catch_warnings", "filterwarnings", "simplefilter", "warn"]),
    (
        "weakref",
        &["WeakKeyDictionary", "WeakSet", "WeakValueDictionary", "finalize", "proxy", "ref"],
    ),
    ("xml", &["dom", "etree", "parsers", "sax"]),
];

/// Names that programs use without an import, and the module to import them from.
const ELSEWHERE: &[(&str, &str)] = &[
    ("Any", "typing"),
    ("BytesIO", "io"),
    ("Callable", "typing"),
    ("ChainMap", "collections"),
    ("Counter", "collections"),
    ("Decimal", "decimal"),
    ("Dict", "typing"),
    ("Enum", "enum"),
    ("Fraction", "fractions"),
    ("IntEnum", "enum"),
    ("List", "typing"),
    ("Literal", "typing"),
    ("NamedTuple", "typing"),
    ("Optional", "typing"),
    ("OrderedDict", "collections"),
    ("Path", "pathlib"),
    ("Set", "typing"),
    ("StrEnum", "enum"),
    ("StringIO", "io"),
    ("Tuple", "typing"),
    ("TypedDict", "typing"),
    ("Union", "typing"),
    ("ZoneInfo", "zoneinfo"),
    ("accumulate", "itertools"),
    ("asdict", "dataclasses"),
    ("attrgetter", "operator"),
    ("b64decode", "base64"),
    ("b64encode", "base64"),
    ("cache", "functools"),
    ("ceil", "math"),
    ("chain", "itertools"),
    ("choice", "random"),
    ("combinations", "itertools"),
    ("contextmanager", "contextlib"),
    ("dataclass", "dataclasses"),
    ("date", "datetime"),
    ("dedent", "textwrap"),
    ("deepcopy", "copy"),
    ("defaultdict", "collections"),
    ("deque", "collections"),
    ("field", "dataclasses"),
    ("floor", "math"),
    ("gather", "asyncio"),
    ("groupby", "itertools"),
    ("heappop", "heapq"),
    ("heappush", "heapq"),
    ("islice", "itertools"),
    ("itemgetter", "operator"),
    ("log", "math"),
    ("lru_cache", "functools"),
    ("mean", "statistics"),
    ("median", "statistics"),
    ("namedtuple", "collections"),
    ("partial", "functools"),
    ("permutations", "itertools"),
    ("pi", "math"),
    ("pprint", "pprint"),
    ("product", "itertools"),
    ("quote", "urllib.parse"),
    ("randint", "random"),
    ("reduce", "functools"),
    ("sha256", "hashlib"),
    ("sleep", "asyncio"),
    ("sqrt", "math"),
    ("stdev", "statistics"),
    ("suppress", "contextlib"),
    ("timedelta", "datetime"),
    ("timezone", "datetime"),
    ("urlencode", "urllib.parse"),
    ("urlparse", "urllib.parse"),
    ("uuid4", "uuid"),
    ("wraps", "functools"),
    ("zip_longest", "itertools"),
];

/// Packages that are not available, by the names under which programs use them.
const PACKAGES: &[(&str, &str)] = &[
    ("duckdb", "DuckDB"),
    ("matplotlib", "Matplotlib"),
    ("np", "NumPy"),
    ("numpy", "NumPy"),
    ("pandas", "pandas"),
    ("pd", "pandas"),
    ("pl", "Polars"),
    ("plt", "Matplotlib"),
    ("polars", "Polars"),
    ("pyarrow", "PyArrow"),
    ("scipy", "SciPy"),
    ("sklearn", "scikit-learn"),
    ("statsmodels", "statsmodels"),
];

/// Packages that would reach the network.
const CLIENTS: [&str; 4] = ["aiohttp", "httpx", "requests", "urllib3"];

/// Returns advice about an undefined name, if there is any.
pub(crate) fn elsewhere(name: &str) -> Option<String> {
    if let Some((_, module)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return Some(format!("add `from {module} import {name}`"));
    }
    if CLIENTS.contains(&name) {
        return Some("there is no network here; call a tool of a server".to_owned());
    }
    let (_, package) = PACKAGES.iter().find(|(known, _)| *known == name)?;
    Some(format!(
        "there is no {package} here; use `await sql(...)`, `await analyze(...)` or plain Python"
    ))
}

/// Returns the module of the library that `name.attribute` surely means, if nothing binds the name.
pub(crate) fn used(name: &str, attribute: &str) -> Option<&'static str> {
    let (module, parts) = MODULES.iter().find(|(module, _)| *module == name)?;
    parts.contains(&attribute).then_some(module)
}

/// Returns the advice to import a module of the library.
pub(crate) fn advice(name: &str) -> Option<String> {
    let is_known = MODULES.iter().any(|(module, _)| *module == name);
    is_known.then(|| format!("add `import {name}`"))
}
