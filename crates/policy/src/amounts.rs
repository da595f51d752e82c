//! Times and sizes in units that people read.

use std::time::Duration;

pub(super) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

pub(super) fn bytes(bytes: u64) -> String {
    let units = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match units.iter().find(|(size, _)| bytes >= *size && bytes.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{} {unit}", bytes / size),
        None => format!("{bytes} bytes"),
    }
}
