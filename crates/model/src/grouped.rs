//! Large numbers for people.

/// Writes `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        let grouped: Vec<String> = [0, 999, 1_000, 1_234_567, u64::MAX].map(grouped).to_vec();
        assert_eq!(grouped, ["0", "999", "1,000", "1,234,567", "18,446,744,073,709,551,615"]);
    }
}
