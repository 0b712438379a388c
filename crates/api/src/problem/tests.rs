use super::*;

#[test]
fn errors_keep_their_words_and_get_a_status() {
    let told = of_error(&Error::Refused("cannot import 'x': pool was previously in use".into()));
    assert_eq!((told.status, told.exit), (409, 1));
    assert_eq!(told.detail, "cannot import 'x': pool was previously in use");
    assert_eq!(of_error(&Error::NotFound).status, 404);
    assert_eq!(of_error(&Error::NoSpace).kind, kind::NO_SPACE);
    assert_eq!(
        of_error(&Error::Corrupt { object: 1, block: 2 }).detail,
        "permanent damage in object 1, block 2"
    );
    assert_eq!(problem(kind::BAD_REQUEST, "x").exit, 2);
}
