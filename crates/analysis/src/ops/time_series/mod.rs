//! The analysis `time_series`.

mod gaps;
mod interval;
mod load;
mod overview;
mod parameters;
mod resample;
mod rows;
mod run;
mod series;
mod table;

pub(super) use run::run;

#[cfg(test)]
mod tests;
