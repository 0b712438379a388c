use super::*;

#[test]
fn round_trips() {
    let scan = ScanPhys { func: FUNC_SCRUB, state: STATE_FINISHED, flags: 1, ..Default::default() };
    let bytes = scan.encode();
    assert_eq!(bytes[184..192], 1u64.to_le_bytes());
    assert_eq!(ScanPhys::decode(&bytes), Ok(scan));
    assert_eq!(ScanPhys::from_words(&scan.to_words()), Ok(scan));
    assert_eq!(ScanPhys::from_words(&[2, 1]).map(|scan| scan.func), Ok(FUNC_RESILVER));
}
