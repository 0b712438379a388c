use super::*;

#[test]
fn user_properties_have_a_colon_and_plain_characters() {
    assert!(is_user_prop("com.example:backup-1"));
    assert!(!is_user_prop("backup"));
    assert!(!is_user_prop("a:B"));
}
