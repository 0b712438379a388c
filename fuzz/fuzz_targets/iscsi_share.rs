#![no_main]
//! See `fuzzing::TARGETS`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| (fuzzing::by_name("iscsi_share").run)(data));
