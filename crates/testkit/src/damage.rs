//! Input for property tests of readers: valid seeds with damage in them.

use std::fmt::Debug;

use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, RngSeed},
};

/// Returns settings for so many cases, without files about those that failed, and the same cases in
/// every run: what nobody thought of is for the fuzzer to find, not for a test that fails now and then.
pub fn same_cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..Config::default() }
}

/// Returns seeds in which bytes are replaced, removed and repeated, and arbitrary bytes. The bytes that
/// mean something to a reader come more often.
pub fn damaged<T>(
    seeds: &'static [T],
    telling: &'static [u8],
) -> impl Strategy<Value = Vec<u8>> + use<T>
where
    T: AsRef<[u8]> + Clone + Debug + 'static,
{
    let byte = || prop_oneof![3 => prop::sample::select(telling), 1 => any::<u8>()];
    let edit = (any::<Index>(), any::<Index>(), byte(), 0..5);
    let edits = prop::collection::vec(edit, 0..6);
    let damaged = (prop::sample::select(seeds), edits).prop_map(|(seed, edits)| {
        let mut bytes = seed.as_ref().to_vec();
        for (at, other, byte, edit) in edits {
            let (at, other) = (at.index(bytes.len() + 1), other.index(bytes.len() + 1));
            let range = at.min(other)..at.max(other);
            match edit {
                0 => bytes.insert(at, byte),
                1 => drop(bytes.drain(range.start..range.end.min(range.start + 8))),
                2 => bytes.extend_from_within(range),
                3 => bytes.truncate(at.max(bytes.len() / 2)),
                _ => {
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
            }
        }
        bytes
    });
    prop_oneof![3 => damaged, 1 => prop::collection::vec(byte(), 0..120)]
}
