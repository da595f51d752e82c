//! Ranks, with ties.

/// The rank of each value from 1 on, where equal values share the mean of their ranks, and the size of
/// each tie.
#[derive(Debug)]
pub(super) struct Ranks {
    pub ranks: Vec<f64>,
    pub ties: Vec<u64>,
}

impl Ranks {
    pub(super) fn of(values: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut ranks = vec![0.0; values.len()];
        let mut ties = Vec::new();
        let mut before = 0;
        for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let rank = before as f64 + 0.5 * (equal.len() + 1) as f64;
            equal.iter().for_each(|&place| ranks[place] = rank);
            if equal.len() > 1 {
                ties.push(equal.len() as u64);
            }
            before += equal.len();
        }
        Self { ranks, ties }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_rank() {
        let Ranks { ranks, ties } = Ranks::of(&[3.0, -0.0, 3.0, 0.0, 7.0, 3.0]);
        assert_eq!(ranks, [4.0, 1.5, 4.0, 1.5, 6.0, 4.0]);
        assert_eq!(ties, [2, 3]);
    }
}
