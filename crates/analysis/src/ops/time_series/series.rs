//! The series of a group.

use super::parameters::{Fill, SeriesRequest, Window};
use crate::{
    ops::names::free_name,
    stats::{
        rolling::rolling,
        series::{Change, change, cumulative, fill_linear, fill_previous},
    },
};

/// Times in their order, and columns of values, where NaN is a missing one.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeSeries {
    pub(super) times: Vec<i64>,
    pub(super) columns: Vec<SeriesColumn>,
}

#[derive(Clone, Debug)]
pub(super) struct SeriesColumn {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
    /// Counts are whole numbers, and none is zero.
    pub(super) is_count: bool,
}

impl SeriesColumn {
    pub(super) fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values, is_count: false }
    }
}

impl TimeSeries {
    pub(super) fn new(names: &[String]) -> Self {
        let columns = names.iter().map(|name| SeriesColumn::new(name, Vec::new())).collect();
        Self { times: Vec::new(), columns }
    }

    pub(super) fn push(&mut self, time: i64, values: &mut dyn Iterator<Item = f64>) {
        self.times.push(time);
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.values.push(value));
    }

    /// Sorts by time; rows of the same time stay in their order.
    pub(super) fn sort(&mut self) {
        if self.times.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by_key(|&at| self.times[at]);
        self.times = order.iter().map(|&at| self.times[at]).collect();
        for column in &mut self.columns {
            column.values = order.iter().map(|&at| column.values[at]).collect();
        }
    }

    /// Fills what is missing and adds what was asked for.
    pub(super) fn finish(mut self, asked: &SeriesRequest) -> Self {
        for column in &mut self.columns {
            fill(column, asked.fill);
        }
        let mut added: Vec<SeriesColumn> = Vec::new();
        let starts = asked.rolling.as_ref().map(|windows| self.starts(windows.window));
        for column in &self.columns {
            if let (Some(windows), Some(starts)) = (&asked.rolling, &starts) {
                for (name, function) in &windows.functions {
                    let values = rolling(&column.values, starts, *function, windows.min);
                    added.push(SeriesColumn::new(rolling_name(&column.name, name), values));
                }
            }
            if let Some((periods, kind)) = asked.change {
                let values = change(&column.values, periods, kind);
                added.push(SeriesColumn::new(change_name(&column.name, kind), values));
            }
            for (name, kind) in &asked.cumulative {
                let values = cumulative(&column.values, *kind);
                added.push(SeriesColumn::new(cumulative_name(&column.name, name), values));
            }
        }
        for mut column in added {
            let names: Vec<String> =
                self.columns.iter().map(|column| column.name.clone()).collect();
            column.name = free_name(&column.name, &names);
            self.columns.push(column);
        }
        self
    }

    /// Returns where the window of each row begins. A window of time includes its end but not its
    /// beginning.
    fn starts(&self, window: Window) -> Vec<usize> {
        let mut start = 0;
        let mut starts = Vec::with_capacity(self.times.len());
        for (at, time) in self.times.iter().enumerate() {
            match window {
                Window::Rows(rows) => start = (at + 1).saturating_sub(rows),
                Window::Time(micros) => {
                    while self.times[start] <= time.saturating_sub(micros) {
                        start += 1;
                    }
                }
            }
            starts.push(start);
        }
        starts
    }
}

pub(super) fn rolling_name(column: &str, function: &str) -> String {
    format!("{column}_rolling_{function}")
}

pub(super) fn change_name(column: &str, kind: Change) -> String {
    format!("{column}_change{}", suffix(kind))
}

pub(super) fn cumulative_name(column: &str, function: &str) -> String {
    format!("{column}_cumulative_{function}")
}

/// Returns the suffix of a column of changes, so that nobody takes a tenth for a tenth of a per cent.
fn suffix(kind: Change) -> &'static str {
    match kind {
        Change::Absolute => "",
        Change::Percent => "_percent",
        Change::Fraction => "_fraction",
        Change::Log => "_log",
    }
}

fn fill(column: &mut SeriesColumn, fill: Fill) {
    match fill {
        _ if column.is_count => zero(&mut column.values),
        Fill::None | Fill::Null => {}
        Fill::Zero => zero(&mut column.values),
        Fill::Previous => fill_previous(&mut column.values),
        Fill::Linear => fill_linear(&mut column.values),
    }
}

fn zero(values: &mut [f64]) {
    values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
}
