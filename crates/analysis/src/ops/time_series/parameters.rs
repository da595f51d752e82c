//! Reads the parameters of `time_series`.

use serde_json::{Map, Value};

use super::interval::Interval;
use crate::{
    aliases::parameters::{CHANGE, GAPS, ROLLING, SHIFT},
    error::{AnalysisError, Result},
    kind::AnalysisType,
    ops::{
        names::{Names, word},
        params::{Params, count, one_or_more, text, wrong},
    },
    stats::{
        rolling::Rolling,
        series::{Change, Cumulative},
    },
};

/// A function of the values of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeriodFunction {
    Mean,
    Sum,
    Min,
    Max,
    First,
    Last,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeParameter {
    One(PeriodFunction),
    /// Open, high, low and close.
    Ohlc,
}

const FUNCTIONS: [(&str, &[&str], TimeParameter); 8] = [
    ("mean", &["avg", "average"], TimeParameter::One(PeriodFunction::Mean)),
    ("sum", &["total"], TimeParameter::One(PeriodFunction::Sum)),
    ("min", &["minimum", "low"], TimeParameter::One(PeriodFunction::Min)),
    ("max", &["maximum", "high"], TimeParameter::One(PeriodFunction::Max)),
    ("first", &["open"], TimeParameter::One(PeriodFunction::First)),
    ("last", &["close"], TimeParameter::One(PeriodFunction::Last)),
    ("count", &["n", "size"], TimeParameter::One(PeriodFunction::Count)),
    ("ohlc", &["candles"], TimeParameter::Ohlc),
];

/// How periods without values are filled.
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

const ROLLINGS: [(&str, &[&str], Rolling); 8] = [
    ("var", &["variance"], Rolling::Variance),
    ("count", &["size"], Rolling::Count),
    ("mean", &["avg", "average"], Rolling::Mean),
    ("sum", &["total"], Rolling::Sum),
    ("min", &["minimum"], Rolling::Min),
    ("max", &["maximum"], Rolling::Max),
    ("std", &["stddev", "deviation"], Rolling::Deviation),
    ("median", &[], Rolling::Median),
];

/// The kinds of change by their names. pandas' `pct_change` is a fraction, and so it is here.
const CHANGES: [(&str, &[&str], Change); 4] = [
    ("absolute", &["diff", "difference"], Change::Absolute),
    ("percent", &["pct", "percentage", "%"], Change::Percent),
    ("fraction", &["pct_change", "relative", "share", "ratio", "return"], Change::Fraction),
    ("log", &["log_return", "ln"], Change::Log),
];

const CUMULATIVES: [(&str, &[&str], Cumulative); 4] = [
    ("sum", &["cumsum", "total"], Cumulative::Sum),
    ("product", &["cumprod", "prod"], Cumulative::Product),
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
    /// The functions with their names.
    pub(super) functions: Vec<(&'static str, Rolling)>,
    pub(super) min: usize,
}

/// The parsed parameters.
#[derive(Debug)]
pub(super) struct SeriesRequest {
    pub(super) time: Option<String>,
    /// The columns of values, with the name of their parameter.
    pub(super) values: Option<(String, Names)>,
    pub(super) group_by: Names,
    pub(super) resample: Option<Interval>,
    /// The functions of each period, with the suffix of their columns if there are several.
    pub(super) functions: Vec<(&'static str, PeriodFunction)>,
    /// The columns that come back, if each value has functions of its own.
    pub(super) wanted: Option<Vec<String>>,
    pub(super) fill: Fill,
    pub(super) rolling: Option<Windows>,
    /// The distance in rows to the value that each is compared with (negative: after it), and the kind
    /// of change.
    pub(super) change: Option<(i64, Change)>,
    pub(super) cumulative: Vec<(&'static str, Cumulative)>,
    /// By how many rows values are shifted; negative shifts towards the first row.
    pub(super) shift: Option<i64>,
    /// Whether gaps are searched, and the expected length of a step if it is given.
    pub(super) gaps: Option<Option<Interval>>,
    pub(super) timezone: Option<String>,
    pub(super) limit: Option<usize>,
    /// Whether the functions are open, high, low and close, and nothing else.
    pub(super) is_ohlc: bool,
    has_fill: bool,
}

impl SeriesRequest {
    pub(super) fn read(given: &Map<String, Value>) -> Result<Self> {
        let given = Params::parameters(AnalysisType::TimeSeries, given)?;
        let resample = given.text("resample")?;
        let resample = resample.map(|text| Interval::parse("resample", text)).transpose()?;
        if resample == Some(Interval::Weekdays) {
            let reason =
                "periods of weekdays are not known here; 1d with `fill` none has none of others";
            return Err(AnalysisError::parameter("resample", reason));
        }
        let by_column = given.value("functions").and_then(|(_, value)| value.as_object());
        let (path, functions) = match by_column {
            Some(by_column) => ("functions".to_owned(), all_functions(by_column)),
            None => names(&given, "functions")?.unwrap_or_default(),
        };
        let (functions, is_ohlc) = read_functions(&path, &functions)?;
        if resample.is_none() && !functions.is_empty() {
            let reason = "a function is for the values of a period; `resample` says how long it is";
            return Err(AnalysisError::parameter(path, reason));
        }
        let fill = given.read("fill", |path, value| match value {
            Value::Number(number) => Ok(number.to_string()),
            value => text(path, value).map(str::to_owned),
        })?;
        let asked = Self {
            time: given.text("time")?.map(str::to_owned),
            values: match by_column {
                Some(by_column) => {
                    Some(("functions".to_owned(), Names::Many(by_column.keys().cloned().collect())))
                }
                None => names(&given, "values")?,
            },
            wanted: by_column.map(wanted).transpose()?,
            group_by: given.read("group_by", Names::read)?.unwrap_or_default(),
            resample,
            functions: if functions.is_empty() {
                vec![("mean", PeriodFunction::Mean)]
            } else {
                functions
            },
            is_ohlc,
            has_fill: fill.is_some(),
            fill: fill.map_or(Ok(Fill::None), |fill| word("fill", &fill, &FILLS))?,
            rolling: given.read("rolling", windows)?,
            change: read_change(&given)?,
            cumulative: given.read("cumulative", cumulative)?.unwrap_or_default(),
            shift: given.read("shift", shift)?,
            gaps: given.read("gaps", gaps)?.flatten(),
            timezone: given.text("timezone")?.map(str::to_owned),
            limit: given.count("limit")?,
        };
        if asked.gaps.is_some() && asked.makes_a_table() {
            let reason = "gaps are looked for in the times as they are, without `resample`, \
                          `rolling`, `change`, `cumulative` or `fill`";
            return Err(AnalysisError::parameter("gaps", reason));
        }
        Ok(asked)
    }

    /// Tells whether the request needs an order of rows but no times.
    pub(super) fn is_along_rows(&self) -> bool {
        let needs_times = self.resample.is_some()
            || self.gaps.is_some()
            || self.has_fill
            || self.timezone.is_some()
            || self.rolling.as_ref().is_some_and(|it| matches!(it.window, Window::Time(_)));
        !needs_times && (self.makes_a_table() || self.shift.is_some())
    }

    fn makes_a_table(&self) -> bool {
        self.resample.is_some()
            || self.rolling.is_some()
            || self.change.is_some()
            || !self.cumulative.is_empty()
            || self.has_fill
    }

    /// Returns the length of a period, or of an expected step.
    pub(super) fn step(&self) -> Option<Interval> {
        self.resample.or(self.gaps.flatten())
    }

    /// Tells whether the request is for an overview of the series only.
    pub(super) fn is_overview(&self) -> bool {
        self.gaps.is_none() && !self.makes_a_table()
    }
}

/// Reads one name or several, with their path.
fn names(given: &Params<'_>, parameter: &str) -> Result<Option<(String, Names)>> {
    let named = |(path, value): (String, &Value)| {
        let names = Names::read(&path, value)?;
        Ok((path, names))
    };
    given.value(parameter).map(named).transpose()
}

/// Returns the functions of all columns together: `{"price": "mean", "amount": ["sum", "max"]}`.
fn all_functions(by_column: &Map<String, Value>) -> Names {
    let mut all: Vec<String> = Vec::new();
    for (_, function) in by_column.values().flat_map(|value| one_or_more("", value)) {
        let function = function.as_str().map_or_else(|| function.to_string(), str::to_owned);
        if !all.contains(&function) {
            all.push(function);
        }
    }
    Names::Many(all)
}

/// Returns the columns of the result that were asked for by column.
fn wanted(by_column: &Map<String, Value>) -> Result<Vec<String>> {
    let count = read_functions("functions", &all_functions(by_column))?.0.len();
    let mut wanted = Vec::new();
    for (column, functions) in by_column {
        let functions = Names::read(&format!("functions.{column}"), functions)?;
        for (name, _) in read_functions("functions", &functions)?.0 {
            let is_only = count == 1 && name != "ohlc";
            wanted.push(if is_only { column.clone() } else { format!("{column}_{name}") });
        }
    }
    Ok(wanted)
}

/// Reads words with their meanings, each once.
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

type Functions = Vec<(&'static str, PeriodFunction)>;

/// Reads the functions of periods. Returns too whether they are open, high, low and close only.
fn read_functions(path: &str, names: &Names) -> Result<(Functions, bool)> {
    let wanted = named(path, names, &FUNCTIONS)?;
    let mut functions = Vec::new();
    for (name, wanted) in &wanted {
        match wanted {
            TimeParameter::One(function) => functions.push((*name, *function)),
            TimeParameter::Ohlc => functions.extend([
                ("open", PeriodFunction::First),
                ("high", PeriodFunction::Max),
                ("low", PeriodFunction::Min),
                ("close", PeriodFunction::Last),
            ]),
        }
    }
    Ok((functions, matches!(wanted[..], [(_, TimeParameter::Ohlc)])))
}

/// Reads windows: `7`, `"7d"` or `{"window": 7, "function": "mean", "min_periods": 1}`.
fn windows(path: &str, value: &Value) -> Result<Windows> {
    let (window, functions, min) = match value {
        Value::Object(_) => {
            let given = Params::object(path, value, &ROLLING)?;
            let window = given.read("window", length)?;
            let window = window.ok_or_else(|| given.missing("window"))?;
            let functions = names(&given, "functions")?;
            (window, functions, given.count("min_periods")?)
        }
        short => (length(path, short)?, None, None),
    };
    let min = match (window, min) {
        (Window::Rows(rows), Some(min)) if min > rows => {
            let reason = format!("a window of {rows} rows never has {min} values");
            return Err(AnalysisError::parameter(format!("{path}.min_periods"), reason));
        }
        (_, Some(min)) => min,
        (Window::Rows(rows), None) => rows,
        (Window::Time(_), None) => 1,
    };
    let (path, functions) = functions.unwrap_or_default();
    let mut functions = named(&path, &functions, &ROLLINGS)?;
    if functions.is_empty() {
        functions.push(("mean", Rolling::Mean));
    }
    Ok(Windows { window, functions, min })
}

/// Reads a number of rows, or a length of time.
fn length(path: &str, value: &Value) -> Result<Window> {
    match value {
        Value::Number(_) => match count(path, value)? {
            0 => Err(AnalysisError::parameter(path, "it has at least one row")),
            rows => Ok(Window::Rows(rows)),
        },
        Value::String(text) => {
            let micros = Interval::parse(path, text)?.micros().ok_or_else(|| {
                let reason = format!("{text:?} is not always of the same length; use days");
                AnalysisError::parameter(path, reason)
            })?;
            Ok(Window::Time(micros))
        }
        other => Err(wrong(path, "a number of rows or a length of time, as 7 or \"7d\"", other)),
    }
}

/// Reads `change`, or as in pandas `"pct_change": true` and `"diff": 7`.
fn read_change(given: &Params<'_>) -> Result<Option<(i64, Change)>> {
    let mut changes = Vec::from_iter(given.read("change", change)?.flatten());
    for (name, kind) in [("pct_change", Change::Fraction), ("diff", Change::Absolute)] {
        let periods = |path: &str, value: &Value| match value {
            Value::Bool(is_asked) => Ok(is_asked.then_some(1)),
            value => periods(path, value).map(Some),
        };
        changes.extend(given.read(name, periods)?.flatten().map(|periods| (periods, kind)));
    }
    match changes.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(AnalysisError::parameter("change", "there are several; ask for one at a time")),
    }
}

fn periods(path: &str, value: &Value) -> Result<i64> {
    match value.as_i64() {
        Some(0) => Err(AnalysisError::parameter(path, "it is 1 or more, or -1 or less")),
        Some(periods) => Ok(periods),
        None => Err(wrong(path, "a whole number", value)),
    }
}

/// Reads a shift: `1`, `-1` or `{"periods": 1}`.
fn shift(path: &str, value: &Value) -> Result<i64> {
    match value {
        Value::Bool(true) => Ok(1),
        Value::Object(_) => {
            let given = Params::object(path, value, &SHIFT)?;
            Ok(given.read("periods", periods)?.unwrap_or(1))
        }
        value => periods(path, value),
    }
}

/// Reads a change: `true`, `"percent"` or `{"kind": "percent", "periods": 7}`.
fn change(path: &str, value: &Value) -> Result<Option<(i64, Change)>> {
    let kind = |path: &str, value: &Value| word(path, text(path, value)?, &CHANGES);
    match value {
        Value::Bool(is_asked) => Ok(is_asked.then_some((1, Change::Absolute))),
        Value::String(_) => Ok(Some((1, kind(path, value)?))),
        Value::Object(_) => {
            let given = Params::object(path, value, &CHANGE)?;
            let periods = given.read("periods", periods)?.unwrap_or(1);
            Ok(Some((periods, given.read("kind", kind)?.unwrap_or(Change::Absolute))))
        }
        other => Err(wrong(path, "true, \"percent\" or an object with `kind`, `periods`", other)),
    }
}

/// Reads running figures: `"sum"` or `["sum", "max"]`; `true` is the sum.
fn cumulative(path: &str, value: &Value) -> Result<Vec<(&'static str, Cumulative)>> {
    match value {
        Value::Bool(is_asked) => Ok(Vec::from_iter(is_asked.then_some(("sum", Cumulative::Sum)))),
        Value::String(_) | Value::Array(_) => named(path, &Names::read(path, value)?, &CUMULATIVES),
        other => Err(wrong(path, "\"sum\", \"min\", \"max\" or a list of them", other)),
    }
}

/// Reads the search for gaps: `true` or `{"expected": "1d"}`.
fn gaps(path: &str, value: &Value) -> Result<Option<Option<Interval>>> {
    match value {
        Value::Bool(is_asked) => Ok(is_asked.then_some(None)),
        Value::Object(_) => {
            let given = Params::object(path, value, &GAPS)?;
            let expected = |path: &str, value: &Value| Interval::parse(path, text(path, value)?);
            Ok(Some(given.read("expected", expected)?))
        }
        other => Err(wrong(path, "true or an object such as {\"expected\": \"1d\"}", other)),
    }
}
