//! Numbers that look random enough for a test, and are the same every time.

/// A generator of numbers that look random.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Creates a generator. The seed must not be 0.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number from 0 to one less than the limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }

    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
