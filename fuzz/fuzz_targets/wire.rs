#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_upstream::fuzz::wire(data));
