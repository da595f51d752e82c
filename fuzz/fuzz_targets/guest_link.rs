#![no_main]
#![allow(dead_code, reason = "the builder uses more of it")]

#[path = "../../guest/builder/src/link/mod.rs"]
mod link;

libfuzzer_sys::fuzz_target!(|data: &[u8]| link::fuzz::guest_link(data));
