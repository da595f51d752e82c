//! Counts the tokens of a text with the o200k encoding.

/// The most bytes of a text that are counted; the rest is estimated at the same rate. Counting a text
/// of many megabytes would take seconds, and the numbers are estimates anyway.
const MAX_COUNTED: usize = 256 << 10;

/// The bytes per token that are assumed where there is no time to count.
const BYTES_PER_TOKEN: usize = 4;

/// Counts the tokens of a text. Long texts are estimated from their beginning.
pub fn tokens(text: &str) -> u64 {
    UncountedText::new(text).tokens()
}

/// A text that is to be counted later.
#[derive(Clone, Debug, Default)]
pub(super) struct UncountedText {
    beginning: String,
    bytes: usize,
}

impl UncountedText {
    pub(super) fn new(text: &str) -> Self {
        let end = text.floor_char_boundary(MAX_COUNTED);
        Self { beginning: text[..end].to_owned(), bytes: text.len() }
    }

    /// Returns the bytes of memory that it holds until it is counted.
    pub(super) fn held(&self) -> usize {
        self.beginning.len()
    }

    /// Keeps only its length, by which it is estimated.
    pub(super) fn forget_text(&mut self) {
        self.beginning = String::new();
    }

    pub(super) fn tokens(&self) -> u64 {
        if self.beginning.is_empty() {
            return self.guess();
        }
        let counted = narrows_analysis::count_tokens(&self.beginning);
        if self.beginning.len() == self.bytes {
            return counted as u64;
        }
        let ratio = self.bytes as f64 / self.beginning.len() as f64;
        (counted as f64 * ratio) as u64
    }

    /// Estimates the tokens by the length, without counting.
    pub(super) fn guess(&self) -> u64 {
        (self.bytes / BYTES_PER_TOKEN) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_as_o200k_does() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("hello world"), 2);
        // def| f|(x|):\n|   | return| x|\n
        assert_eq!(tokens("def f(x):\n    return x\n"), 8);
    }

    #[test]
    fn a_long_text_is_estimated_from_its_beginning() {
        let line = "the quick brown fox jumps over the lazy dog\n";
        let text = line.repeat(20_000);
        let exact = tokens(line) * 20_000;
        let estimated = tokens(&text);
        assert!(estimated.abs_diff(exact) * 100 < exact, "{estimated} is not about {exact}");
    }
}
