//! Budgets: the limits that measurements are compared with.

use std::fmt;

use serde::Serialize;

use crate::{app::Exit, printer::Printer};

/// A figure, and the most or the least that it may be.
#[derive(Clone, Debug, Serialize)]
pub(in crate::bench) struct Budget {
    /// With the unit, and with "at least" or "at most".
    pub(in crate::bench) what: String,
    pub(in crate::bench) measured: f64,
    pub(in crate::bench) budget: f64,
    pub(in crate::bench) holds: bool,
}

impl Budget {
    pub(in crate::bench) fn at_most(what: impl fmt::Display, measured: f64, budget: f64) -> Self {
        let what = format!("{what}, at most");
        Self { what, measured, budget, holds: measured <= budget }
    }

    pub(in crate::bench) fn at_least(what: impl fmt::Display, measured: f64, budget: f64) -> Self {
        let what = format!("{what}, at least");
        Self { what, measured, budget, holds: measured >= budget }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, measured, budget, holds } = self;
        let verdict = if *holds { "" } else { "  MISSED" };
        write!(f, "{what:50} {measured:8.2}  (budget {budget}){verdict}")
    }
}

/// A report with budgets. A budget that cannot be measured here is left out, for example where there is
/// nothing to compare with.
pub(in crate::bench) trait Budgeted {
    fn budgets(&self) -> Vec<Budget>;
}

/// Names the budgets that were missed, each with its figure.
pub(in crate::bench) fn check(budgets: &[Budget], printer: Printer) -> Exit {
    let mut exit = Exit::Success;
    for Budget { what, measured, budget, .. } in budgets.iter().filter(|budget| !budget.holds) {
        printer.error(format!("the budget was missed: {what} {budget}, measured {measured:.2}"));
        exit = Exit::Failure;
    }
    exit
}

#[cfg(test)]
mod tests {
    use crate::printer::ColorWhen;

    use super::*;

    #[test]
    fn a_missed_budget_fails_the_check_and_one_that_holds_does_not() {
        let printer = Printer::new(ColorWhen::Never);
        let good = [Budget::at_most("a", 1.0, 1.0), Budget::at_least("b", 1.0, 1.0)];
        assert_eq!(check(&good, printer), Exit::Success);
        for missed in [Budget::at_most("a", 1.1, 1.0), Budget::at_least("b", 0.9, 1.0)] {
            assert!(missed.to_string().ends_with("(budget 1)  MISSED"), "{missed}");
            assert_eq!(check(&[good[0].clone(), missed], printer), Exit::Failure);
        }
    }
}
