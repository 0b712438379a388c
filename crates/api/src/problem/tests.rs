use super::*;
use engine_api::refusal::Action;

#[test]
fn errors_keep_their_words_and_get_a_status() {
    let told = |error: Error| Refusal::from(error).0;
    let was_in_use = Reason::Os { message: "pool was previously in use".into() };
    let why = Refused::new(Action::Import { pool: "x".into() }, was_in_use);
    let refused = told(why.clone().into());
    assert_eq!((refused.status, refused.exit), (409, 1));
    assert_eq!(refused.detail, "cannot import 'x': pool was previously in use");
    assert_eq!(refused.refused, Some(Box::new(why)));
    let cancelled = Refused::new(Action::Import { pool: "x".into() }, ImportFault::Cancelled);
    assert_eq!((told(cancelled.into()).kind, refused.kind), (kind::CANCELLED.into(), kind::REFUSED.into()));
    assert_eq!(told(Error::NotFound).refused, None);
    assert_eq!(told(Error::NotFound).status, 404);
    assert_eq!(told(Error::NoSpace).kind, kind::NO_SPACE);
    assert_eq!(told(Error::Corrupt { object: 1, block: 2 }).detail, "permanent damage in object 1, block 2");
    assert_eq!(told(Error::Unsupported("x".into())).status, 501);
    assert_eq!(refuse(kind::BAD_REQUEST, "x").0.exit, 2);
}
