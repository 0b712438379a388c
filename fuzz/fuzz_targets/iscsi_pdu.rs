#![no_main]
//! See `fuzzing::TARGETS`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| (fuzzing::by_name("iscsi_pdu").run)(data));
