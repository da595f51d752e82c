//! What is asked of a series.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::interval::Interval;
use crate::{
    error::{AnalysisError, Result},
    ops::names::{Names, word},
    request,
    stats::{
        rolling::Rolling,
        series::{Change, Cumulative},
    },
};

const KNOWN: [&str; 14] = [
    "time",
    "value",
    "values",
    "group_by",
    "resample",
    "function",
    "functions",
    "fill",
    "rolling",
    "change",
    "cumulative",
    "gaps",
    "timezone",
    "limit",
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parameters {
    time: Option<String>,
    value: Option<Names>,
    values: Option<Names>,
    group_by: Names,
    resample: Option<String>,
    function: Option<Names>,
    functions: Option<Names>,
    fill: Option<String>,
    rolling: Option<RollingParameters>,
    change: Option<ChangeParameters>,
    cumulative: Names,
    gaps: Option<GapsParameters>,
    timezone: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RollingParameters {
    Window(Length),
    Full(FullRolling),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FullRolling {
    window: Length,
    #[serde(default)]
    function: Option<Names>,
    #[serde(default)]
    functions: Option<Names>,
    #[serde(default)]
    min_periods: Option<usize>,
}

/// A number of rows, or a length of time.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Length {
    Rows(usize),
    Time(String),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ChangeParameters {
    Flag(bool),
    Kind(String),
    Full(FullChange),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FullChange {
    #[serde(default)]
    periods: Option<usize>,
    #[serde(default)]
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GapsParameters {
    Flag(bool),
    Full(FullGaps),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FullGaps {
    #[serde(default)]
    expected: Option<String>,
}

/// What is made of the values of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Mean,
    Sum,
    Min,
    Max,
    First,
    Last,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    One(Function),
    /// Open, high, low and close.
    Ohlc,
}

const FUNCTIONS: [(&str, &[&str], Wanted); 8] = [
    ("mean", &["avg", "average"], Wanted::One(Function::Mean)),
    ("sum", &["total"], Wanted::One(Function::Sum)),
    ("min", &["minimum", "low"], Wanted::One(Function::Min)),
    ("max", &["maximum", "high"], Wanted::One(Function::Max)),
    ("first", &["open"], Wanted::One(Function::First)),
    ("last", &["close"], Wanted::One(Function::Last)),
    ("count", &["n", "size"], Wanted::One(Function::Count)),
    ("ohlc", &["candles"], Wanted::Ohlc),
];

/// What becomes of periods without values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    None,
    Null,
    Zero,
    Previous,
    Linear,
}

const FILLS: [(&str, &[&str], Fill); 5] = [
    ("none", &["drop", "skip"], Fill::None),
    ("null", &["nan", "missing"], Fill::Null),
    ("zero", &["0"], Fill::Zero),
    ("previous", &["ffill", "forward", "pad", "last"], Fill::Previous),
    ("linear", &["interpolate", "interpolation"], Fill::Linear),
];

const ROLLINGS: [(&str, &[&str], Rolling); 6] = [
    ("mean", &["avg", "average"], Rolling::Mean),
    ("sum", &["total"], Rolling::Sum),
    ("min", &["minimum"], Rolling::Min),
    ("max", &["maximum"], Rolling::Max),
    ("std", &["stddev", "deviation"], Rolling::Deviation),
    ("median", &[], Rolling::Median),
];

const CHANGES: [(&str, &[&str], Change); 3] = [
    ("absolute", &["diff", "difference"], Change::Absolute),
    ("percent", &["pct", "relative", "pct_change", "percentage"], Change::Percent),
    ("log", &["log_return", "ln"], Change::Log),
];

const CUMULATIVES: [(&str, &[&str], Cumulative); 3] = [
    ("sum", &["cumsum", "total"], Cumulative::Sum),
    ("min", &["cummin"], Cumulative::Min),
    ("max", &["cummax"], Cumulative::Max),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Rows(usize),
    /// Microseconds.
    Time(i64),
}

#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub(super) window: Window,
    /// With their names.
    pub(super) functions: Vec<(&'static str, Rolling)>,
    pub(super) least: usize,
}

/// The parameters, with their words understood.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) time: Option<String>,
    pub(super) values: Option<Names>,
    pub(super) group_by: Names,
    pub(super) resample: Option<Interval>,
    /// What is made of each period, with the ending of its column if there are several.
    pub(super) functions: Vec<(&'static str, Function)>,
    pub(super) fill: Fill,
    pub(super) rolling: Option<Windows>,
    pub(super) change: Option<(usize, Change)>,
    pub(super) cumulative: Vec<(&'static str, Cumulative)>,
    /// Whether gaps are looked for, and the expected length of a step if it is given.
    pub(super) gaps: Option<Option<Interval>>,
    pub(super) timezone: Option<String>,
    pub(super) limit: Option<usize>,
    /// Whether the functions are open, high, low and close, and nothing else.
    pub(super) is_ohlc: bool,
    has_fill: bool,
}

impl Asked {
    pub(super) fn read(given: &Map<String, Value>) -> Result<Self> {
        let given: Parameters = request::parameters(given, &KNOWN)?;
        let resample =
            given.resample.as_deref().map(|text| Interval::parse("resample", text)).transpose()?;
        if resample == Some(Interval::Weekdays) {
            let reason =
                "periods of weekdays are not known here; 1d with `fill` none has none of others";
            return Err(AnalysisError::parameter("resample", reason));
        }
        let functions = either(given.function, given.functions, "functions")?;
        let (functions, is_ohlc) = read_functions(&functions.unwrap_or_default())?;
        if resample.is_none() && !functions.is_empty() {
            let reason = "a function is for the values of a period; `resample` says how long it is";
            return Err(AnalysisError::parameter("function", reason));
        }
        let asked = Self {
            time: given.time,
            values: either(given.value, given.values, "values")?,
            group_by: given.group_by,
            resample,
            functions: if functions.is_empty() {
                vec![("mean", Function::Mean)]
            } else {
                functions
            },
            is_ohlc,
            has_fill: given.fill.is_some(),
            fill: given.fill.map_or(Ok(Fill::None), |fill| word("fill", &fill, &FILLS))?,
            rolling: given.rolling.map(windows).transpose()?,
            change: given.change.map(change).transpose()?.flatten(),
            cumulative: named("cumulative", &given.cumulative, &CUMULATIVES)?,
            gaps: given.gaps.map(gaps).transpose()?.flatten(),
            timezone: given.timezone,
            limit: given.limit,
        };
        if asked.gaps.is_some() && asked.makes_a_table() {
            let reason = "gaps are looked for in the times as they are, without `resample`, \
                          `rolling`, `change`, `cumulative` or `fill`";
            return Err(AnalysisError::parameter("gaps", reason));
        }
        Ok(asked)
    }

    fn makes_a_table(&self) -> bool {
        self.resample.is_some()
            || self.rolling.is_some()
            || self.change.is_some()
            || !self.cumulative.is_empty()
            || self.has_fill
    }

    /// The length of a period, or of an expected step.
    pub(super) fn step(&self) -> Option<Interval> {
        self.resample.or(self.gaps.flatten())
    }

    /// Whether nothing is to be done with the series.
    pub(super) fn is_overview(&self) -> bool {
        self.gaps.is_none() && !self.makes_a_table()
    }
}

/// One of two spellings of a parameter.
fn either(one: Option<Names>, many: Option<Names>, name: &str) -> Result<Option<Names>> {
    match (one, many) {
        (Some(_), Some(_)) => {
            Err(AnalysisError::parameter(name, format!("either `{name}` or without the s")))
        }
        (one, many) => Ok(one.or(many)),
    }
}

/// Words with their meanings, each once.
fn named<T: Copy + PartialEq>(
    parameter: &str,
    names: &Names,
    words: &[(&'static str, &[&str], T)],
) -> Result<Vec<(&'static str, T)>> {
    let mut all: Vec<(&'static str, T)> = Vec::new();
    for (path, name) in names.with_paths(parameter) {
        let meaning = word(&path, name, words)?;
        let is_known = all.iter().any(|(_, known)| *known == meaning);
        let word = words.iter().find(|(_, _, known)| *known == meaning);
        all.extend(word.filter(|_| !is_known).map(|(word, _, _)| (*word, meaning)));
    }
    Ok(all)
}

fn read_functions(names: &Names) -> Result<(Vec<(&'static str, Function)>, bool)> {
    let wanted = named("functions", names, &FUNCTIONS)?;
    let mut functions = Vec::new();
    for (name, wanted) in &wanted {
        match wanted {
            Wanted::One(function) => functions.push((*name, *function)),
            Wanted::Ohlc => functions.extend([
                ("open", Function::First),
                ("high", Function::Max),
                ("low", Function::Min),
                ("close", Function::Last),
            ]),
        }
    }
    Ok((functions, matches!(wanted[..], [(_, Wanted::Ohlc)])))
}

fn windows(given: RollingParameters) -> Result<Windows> {
    let (window, functions, least) = match given {
        RollingParameters::Window(window) => (window, None, None),
        RollingParameters::Full(full) => {
            let functions = either(full.function, full.functions, "rolling.functions")?;
            (full.window, functions, full.min_periods)
        }
    };
    let window = match window {
        Length::Rows(0) => {
            return Err(AnalysisError::parameter("rolling.window", "it has at least one row"));
        }
        Length::Rows(rows) => Window::Rows(rows),
        Length::Time(text) => {
            let interval = Interval::parse("rolling.window", &text)?;
            let micros = interval.micros().ok_or_else(|| {
                let reason = format!("{text:?} is not always of the same length; use days");
                AnalysisError::parameter("rolling.window", reason)
            })?;
            Window::Time(micros)
        }
    };
    let least = match (window, least) {
        (Window::Rows(rows), Some(least)) if least > rows => {
            let reason = format!("a window of {rows} rows never has {least} values");
            return Err(AnalysisError::parameter("rolling.min_periods", reason));
        }
        (_, Some(least)) => least,
        (Window::Rows(rows), None) => rows,
        (Window::Time(_), None) => 1,
    };
    let mut functions = named("rolling.functions", &functions.unwrap_or_default(), &ROLLINGS)?;
    if functions.is_empty() {
        functions.push(("mean", Rolling::Mean));
    }
    Ok(Windows { window, functions, least })
}

fn change(given: ChangeParameters) -> Result<Option<(usize, Change)>> {
    let (periods, kind) = match given {
        ChangeParameters::Flag(false) => return Ok(None),
        ChangeParameters::Flag(true) => (None, None),
        ChangeParameters::Kind(kind) => (None, Some(kind)),
        ChangeParameters::Full(full) => (full.periods, full.kind),
    };
    let periods = periods.unwrap_or(1);
    if periods == 0 {
        return Err(AnalysisError::parameter("change.periods", "it is at least 1"));
    }
    let kind = kind.map_or(Ok(Change::Absolute), |kind| word("change.kind", &kind, &CHANGES))?;
    Ok(Some((periods, kind)))
}

fn gaps(given: GapsParameters) -> Result<Option<Option<Interval>>> {
    Ok(match given {
        GapsParameters::Flag(false) => None,
        GapsParameters::Flag(true) => Some(None),
        GapsParameters::Full(full) => {
            let expected = full.expected.as_deref();
            Some(expected.map(|text| Interval::parse("gaps.expected", text)).transpose()?)
        }
    })
}
