use super::*;

fn row(of: Spender, name: Option<&str>, id: u64, used: u64) -> Row {
    let space = SpaceUse { id, used: Some(used), quota: Some(0), ..SpaceUse::default() };
    Row { of, name: name.map(str::to_owned), space }
}

#[test]
fn rows_are_in_the_order_asked_for() {
    let mut rows = [
        row(Spender::User, Some("zoe"), 1, 10),
        row(Spender::User, None, 77, 30),
        row(Spender::User, Some("adam"), 2, 20),
    ];
    let names = |rows: &[Row]| rows.iter().map(|row| cell(row, Field::Name, true)).collect::<Vec<_>>();
    let by_name = [(Field::Type, false), (Field::Name, false)];
    rows.sort_by(|a, b| compare(a, b, &by_name));
    assert_eq!(names(&rows), ["adam", "zoe", "77"]);
    rows.sort_by(|a, b| compare(a, b, &[(Field::Used, true)]));
    assert_eq!(names(&rows), ["77", "adam", "zoe"]);
}

#[test]
fn cells_are_as_openzfs_prints_them() {
    let row = row(Spender::Group, None, 5, 1536);
    let cell = |field, parsable| cell(&row, field, parsable);
    assert_eq!((cell(Field::Used, false), cell(Field::Used, true)), ("1.50K".into(), "1536".into()));
    assert_eq!((cell(Field::Quota, false), cell(Field::Quota, true)), ("none".into(), "0".into()));
    assert_eq!(cell(Field::ObjUsed, false), "-");
    assert_eq!(cell(Field::Type, false), "POSIX Group");
    assert!(fields("type,nonsense").is_err() && types("all").is_ok() && types("users").is_err());
}
