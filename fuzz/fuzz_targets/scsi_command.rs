#![no_main]
//! See `fuzzing::TARGETS`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| (fuzzing::by_name("scsi_command").run)(data));
