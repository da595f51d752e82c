#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    narrows_tables::fuzz::csv(data);
    narrows_engine::fuzz::text_tables(data);
});
