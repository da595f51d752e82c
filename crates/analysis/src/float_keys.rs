//! Maps floats to integers in the same order.
//!
//! The query engine looks for the smallest number of a group from the largest finite one downwards, so
//! that it never finds infinity. Integers have no such end.

/// Returns the integer that stands for a float.
pub(crate) fn key(number: f64) -> i64 {
    mirrored(number.to_bits() as i64)
}

/// Returns the float that a key stands for.
pub(crate) fn number(key: i64) -> f64 {
    f64::from_bits(mirrored(key) as u64)
}

/// Reverses the order of negative numbers, whose bits grow with the distance from zero. Applied twice,
/// it changes nothing.
fn mirrored(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [
            f64::NEG_INFINITY,
            f64::MIN,
            -2.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            1.0,
            f64::MAX,
            f64::INFINITY,
        ];
        let keys = numbers.map(key);
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(keys.map(|key| number(key).to_bits()), numbers.map(f64::to_bits));
        assert!(keys[0] > i64::MIN && keys[numbers.len() - 1] < i64::MAX);
    }
}
