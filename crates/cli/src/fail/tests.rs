use super::*;

#[test]
fn sentences_are_said_once() {
    let problem = |kind: &str, detail: &str| Problem {
        kind: kind.into(),
        title: String::new(),
        status: 409,
        detail: detail.into(),
        exit: 1,
    };
    let say = |problem: &Problem| sentence("cannot create 'tank'", problem, Noun::Pool);
    assert_eq!(say(&problem(kind::EXISTS, "already exists")), "cannot create 'tank': pool already exists");
    assert_eq!(
        say(&problem(kind::REFUSED, "cannot label 'sda': try again")),
        "cannot label 'sda': try again"
    );
    assert_eq!(say(&problem(kind::INVALID, "bad ashift")), "cannot create 'tank': bad ashift");
}
