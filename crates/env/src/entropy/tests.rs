use super::*;

#[test]
fn long_and_short_requests_are_filled() {
    let mut long = vec![0; 100_000];
    OsEntropy.fill(&mut long);
    let zeros = long.iter().filter(|&&b| b == 0).count();
    assert!((150..700).contains(&zeros), "{zeros} zero bytes of 100,000");
    assert_ne!(OsEntropy.u64(), OsEntropy.u64());
    OsEntropy.fill(&mut []);
}
