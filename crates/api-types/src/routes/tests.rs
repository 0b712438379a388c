use super::*;

#[test]
fn a_dataset_is_one_segment() {
    assert_eq!(at(DATASET_RENAME, "tank/a b"), "/v1/datasets/tank%2Fa%20b/rename");
    assert_eq!(at(POOLS, "x"), POOLS);
    assert_eq!(segment("a@b#ü"), "a%40b%23%C3%BC");
}
