//! Social security numbers of the United States.

use std::ops::Range;

use super::cluster::{Cluster, Gap};

/// Returns the number that the cluster begins with. With dashes the shape is enough, unless it is said
/// to number goods; with spaces or without either it takes a word before it.
pub(super) fn find(cluster: &Cluster, near_ssn: bool, near_goods: bool) -> Option<Range<usize>> {
    if cluster.plus {
        return None;
    }
    if cluster.starts_with_groups(&[3, 2, 4]) {
        let dashes = cluster.gaps(3) == [Gap::Dash; 2];
        let even = cluster.gaps(3)[0] == cluster.gaps(3)[1];
        // Numbers that are longer than this have more groups.
        let whole = cluster.groups() == 3
            || !matches!(cluster.gaps(4)[2], Gap::Dash | Gap::Dot | Gap::Slash);
        let good = is_valid(cluster.digits(3), near_ssn) && whole;
        return (good && ((dashes && !near_goods) || (even && near_ssn))).then(|| cluster.range(3));
    }
    let bare = near_ssn && cluster.group_length(0) == 9 && is_valid(cluster.digits(1), near_ssn);
    bare.then(|| cluster.range(1))
}

/// Tells whether a number may have been given out. Those from 900 on never were, but whoever calls one
/// a social security number means it: it may be a taxpayer's number instead.
fn is_valid(digits: &[u8], near_ssn: bool) -> bool {
    let area = &digits[..3];
    area != [0, 0, 0]
        && area != [6, 6, 6]
        && (area[0] != 9 || near_ssn)
        && digits[3..5] != [0, 0]
        && digits[5..] != [0, 0, 0, 0]
}
