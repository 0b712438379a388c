use super::*;

#[test]
fn names_columns_and_strangers() {
    assert_eq!(dataset_property("available").map(|row| row.column), Some("AVAIL"));
    assert_eq!(dataset_property("avail").map(|row| row.name), Some("available"));
    assert_eq!(pool_property("alloc").map(|row| row.name), Some("allocated"));
    assert_eq!(dataset_property("nonsense"), None);
    assert!(
        is_user_property("com.example:backup") && !is_user_property("plain") && !is_user_property("UP:x")
    );
    assert!(is_dataset_at_property("userquota@bob") && is_dataset_at_property("written#b"));
    assert!(is_dataset_at_property("userquota@"), "whose is asked later");
    assert!(!is_dataset_at_property("written@") && !is_dataset_at_property("feature@x"));
}

#[test]
fn what_may_be_set() {
    let row = |name| dataset_property(name).expect(name);
    assert_eq!(row("used").edit, Edit::Never);
    assert_eq!(row("casesensitivity").edit, Edit::AtCreation);
    assert_eq!((row("recordsize").edit, row("recordsize").default), (Edit::Always, "131072"));
    assert!(row("mountpoint").inherit && !row("quota").inherit);
}
