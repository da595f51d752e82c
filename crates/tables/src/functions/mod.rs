//! Functions of tables that the query engine lacks or takes long for.

mod bits;
mod compare;
mod distribution;
mod json;
mod part;
mod quantiles;
mod scatter;
mod series;
mod single;
mod tally;

pub use bits::bits;
pub use compare::compare;
pub use distribution::distribution;
pub use json::{json_has, json_is_list};
pub use part::{fields_of, part};
pub use quantiles::{quantile, quantiles};
pub use scatter::scatter;
pub use series::RunningFunction;
pub use tally::{TallyOutput, tally};

use single::Single;
