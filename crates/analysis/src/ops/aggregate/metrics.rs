//! Reads which figures are asked for.

use narrows_model::nearest;
use serde_json::Value;

use crate::{
    aliases::parameters::FIGURE,
    error::{AnalysisError, Result, available},
    ops::params::{self, ParamName, Params, one_or_more, pairs, short},
};

/// One figure of each group.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) path: String,
    /// None counts rows.
    pub(crate) field: Option<ParamName>,
    pub(crate) function: FigureFunction,
    /// The name of its column.
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FigureFunction {
    Count,
    CountDistinct,
    Sum,
    Mean,
    Min,
    Max,
    Deviation,
    Variance,
    First,
    Last,
    /// A fraction from 0 to 1.
    Quantile(f64),
    Mode,
    Collect,
    Top(Top),
}

/// The rows of each group with the largest or smallest values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Top {
    pub(crate) count: usize,
    pub(crate) largest: bool,
}

impl FigureFunction {
    /// Tells whether the order of rows matters.
    pub(crate) fn is_ordered(&self) -> bool {
        matches!(self, Self::First | Self::Last | Self::Collect | Self::Top(_))
    }
}

const FUNCTIONS: &[(&str, FigureFunction)] = &[
    ("count", FigureFunction::Count),
    ("count_distinct", FigureFunction::CountDistinct),
    ("sum", FigureFunction::Sum),
    ("mean", FigureFunction::Mean),
    ("median", FigureFunction::Quantile(0.5)),
    ("min", FigureFunction::Min),
    ("max", FigureFunction::Max),
    ("std", FigureFunction::Deviation),
    ("var", FigureFunction::Variance),
    ("first", FigureFunction::First),
    ("last", FigureFunction::Last),
    ("mode", FigureFunction::Mode),
    ("collect", FigureFunction::Collect),
    ("distinct", FigureFunction::CountDistinct),
    ("nunique", FigureFunction::CountDistinct),
    ("avg", FigureFunction::Mean),
    ("average", FigureFunction::Mean),
    ("stddev", FigureFunction::Deviation),
    ("variance", FigureFunction::Variance),
    ("list", FigureFunction::Collect),
    ("size", FigureFunction::Count),
];

/// The functions with parameters of their own.
const WITH_PARAMETERS: &[&str] = &["percentile", "quantile", "top", "bottom"];

/// How many names of plain functions a message lists.
const TOLD: usize = 13;

/// Reads `{"amount": "sum"}`, `{"amount": ["sum", "mean"]}`, `{"total": {"field": "amount",
/// "function": "sum"}}` or a list of `{"field": "amount", "function": "sum", "as": "total"}`.
pub(crate) fn read(path: &str, value: &Value) -> Result<Vec<Figure>> {
    match value {
        Value::Object(_) if !is_figure(value) => {
            let mut figures = Vec::new();
            for (column, functions) in pairs(path, value)? {
                if names_a_field(functions) {
                    let mut figure = read_one(&column.path, functions, None)?;
                    figure.name = column.name;
                    figures.push(figure);
                    continue;
                }
                if let Some(mut figure) = named_pair(&column, functions) {
                    figure.name = column.name;
                    figures.push(figure);
                    continue;
                }
                for (path, function) in one_or_more(&column.path, functions) {
                    figures.push(read_one(&path, function, Some(&column))?);
                }
            }
            Ok(figures)
        }
        value => {
            let figures = one_or_more(path, value);
            figures.iter().map(|(path, value)| read_one(path, value, None)).collect()
        }
    }
}

/// Reads `"total": ["amount", "sum"]`, as pandas names a figure. None if the first word is a function.
fn named_pair(name: &ParamName, value: &Value) -> Option<Figure> {
    let [field @ Value::String(text), function @ Value::String(_)] = value.as_array()?.as_slice()
    else {
        return None;
    };
    if read_function(&name.path, text, None).is_ok() {
        return None;
    }
    let field = ParamName { path: name.path.clone(), name: params::name_text("", field).ok()? };
    read_one(&name.path, function, Some(&field)).ok()
}

fn names_a_field(figure: &Value) -> bool {
    let is_field = |key: &String| FIGURE.canonical(key) == Some("field");
    figure.as_object().is_some_and(|fields| fields.keys().any(is_field))
}

/// Reads functions that are written without a column, as pandas has them for all: `"sum"`,
/// `["sum", "mean"]`. None if columns are written with them.
pub(crate) fn read_bare(
    path: &str,
    value: &Value,
    columns: &[ParamName],
) -> Option<Result<Vec<Figure>>> {
    let functions = one_or_more(path, value);
    if functions.is_empty() || !functions.iter().all(|(_, function)| function.is_string()) {
        return None;
    }
    let figures = columns
        .iter()
        .flat_map(|column| functions.iter().map(move |function| (column, function)))
        .map(|(column, (path, function))| read_one(path, function, Some(column)));
    Some(figures.collect())
}

/// Reads the function for a column that is given elsewhere.
pub(crate) fn read_for(path: &str, function: &Value, column: &ParamName) -> Result<Figure> {
    read_one(path, function, Some(column))
}

/// Tells whether an object is one figure, and not columns with functions.
fn is_figure(value: &Value) -> bool {
    let is_function = |(key, value): (&String, &Value)| {
        FIGURE.canonical(key) == Some("function") && value.is_string()
    };
    value.as_object().is_some_and(|fields| fields.iter().any(is_function))
        && value
            .as_object()
            .is_some_and(|fields| fields.keys().all(|key| FIGURE.canonical(key).is_some()))
}

fn read_one(path: &str, value: &Value, column: Option<&ParamName>) -> Result<Figure> {
    let every_row = |column: &ParamName| column.name == "*";
    let (written, given) = match value {
        Value::String(function) => (function.as_str(), None),
        Value::Object(_) => {
            let given = Params::object(path, value, &FIGURE)?;
            let function = given.text("function")?;
            (function.ok_or_else(|| given.missing("function"))?, Some(given))
        }
        other => {
            let reason = format!("must be a function or an object with one, not {}", short(other));
            return Err(AnalysisError::parameter(path, reason));
        }
    };
    let field = match &given {
        Some(given) => given.name("field")?,
        None => None,
    };
    let field = field.or_else(|| column.cloned()).filter(|column| !every_row(column));
    let function = read_function(path, written, given.as_ref())?;
    let by = given.as_ref().map(|given| given.name("by")).transpose()?.flatten();
    let field = if matches!(function, FigureFunction::Top(_)) { by.or(field) } else { field };
    if field.is_none() && function != FigureFunction::Count {
        let path = given.map_or(path.to_owned(), |given| given.path("field"));
        return Err(AnalysisError::parameter(path, format!("{written} needs a field")));
    }
    let name = match given.as_ref().map(|given| given.text("as")).transpose()? {
        Some(Some(name)) => name.to_owned(),
        _ => default_name(field.as_ref(), written, &function),
    };
    Ok(Figure { path: path.to_owned(), field, function, name })
}

/// Returns the name of a figure's column, such as `amount_sum`, with the function as it was written.
fn default_name(field: Option<&ParamName>, written: &str, function: &FigureFunction) -> String {
    let written = match function {
        FigureFunction::Quantile(fraction) if written.trim().to_lowercase() != "median" => {
            percentile_name(*fraction)
        }
        _ => written.trim().to_lowercase(),
    };
    match field {
        Some(field) => format!("{}_{written}", field.name),
        None => written,
    }
}

/// Names a percentile: `p95` for 0.95.
pub(crate) fn percentile_name(fraction: f64) -> String {
    // 0.07 * 100 is not exactly 7.
    let percent = (fraction * 100.0 * 1e9).round() / 1e9;
    format!("p{percent}")
}

fn read_function(path: &str, written: &str, given: Option<&Params<'_>>) -> Result<FigureFunction> {
    let plain = written.trim().to_lowercase().replace([' ', '-'], "_");
    if let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == plain) {
        return Ok(function.clone());
    }
    if let Some(percent) = plain.strip_prefix('p').and_then(|rest| rest.parse::<f64>().ok()) {
        return Ok(FigureFunction::Quantile(fraction(path, percent, 100.0)?));
    }
    let number = |name: &str, other: &str| -> Result<Option<(String, f64)>> {
        let found = given.and_then(|given| given.value(name).or_else(|| given.value(other)));
        found.map(|(path, value)| Ok((path.clone(), params::number(&path, value)?))).transpose()
    };
    let missing = |name: &str, example: &str| {
        let reason = format!("{written} needs {name:?}, such as {example}");
        AnalysisError::parameter(path, reason)
    };
    match plain.as_str() {
        "quantile" => {
            let (path, number) = number("q", "p")?.ok_or_else(|| missing("q", "0.95"))?;
            Ok(FigureFunction::Quantile(fraction(&path, number, 1.0)?))
        }
        "percentile" => {
            let (path, number) = number("p", "q")?.ok_or_else(|| missing("p", "95"))?;
            // Nobody asks for less than the first percentile: 0.95 is the 95th.
            let whole = if number > 0.0 && number < 1.0 { 1.0 } else { 100.0 };
            Ok(FigureFunction::Quantile(fraction(&path, number, whole)?))
        }
        "top" | "bottom" => {
            let count = given.map(|given| given.count("n")).transpose()?.flatten();
            Ok(FigureFunction::Top(Top { count: count.unwrap_or(1), largest: plain == "top" }))
        }
        _ => {
            let told = FUNCTIONS[..TOLD].iter().map(|(name, _)| *name);
            let told = told.chain(WITH_PARAMETERS.iter().copied());
            let near = nearest(written, told.clone());
            let reason = format!("no function {written:?}{near}{}", available(told));
            Err(AnalysisError::parameter(path, reason))
        }
    }
}

fn fraction(path: &str, number: f64, whole: f64) -> Result<f64> {
    if (0.0..=whole).contains(&number) {
        return Ok(number / whole);
    }
    Err(AnalysisError::parameter(path, format!("must be from 0 to {whole}, not {number}")))
}
