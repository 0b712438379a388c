use super::*;

#[test]
fn a_dataset_is_one_segment() {
    assert_eq!(at(DATASET_RENAME, "tank/a b"), "/v1/datasets/tank%2Fa%20b/rename");
    assert_eq!(at(POOLS, "x"), POOLS);
    assert_eq!(segment("a@b#ü"), "a%40b%23%C3%BC");
}

#[test]
fn contents_of_files_are_streams_and_nothing_beside_them_is_taken_for_one() {
    assert!(gives_contents(&at(DATASET_FILE, "tank/a@file")));
    assert!(is_stream(&at(DATASET_FILE, "tank@s")));
    for other in [at(DATASET_FILES, "tank"), at(DATASET_FILE_VERSIONS, "file"), at(DATASET_DIFF, "file")] {
        assert!(!gives_contents(&other), "{other}");
    }
    assert!(!gives_contents("/v1/datasets/file") && !gives_contents("/v1/datasets/a/b/file"));
}
