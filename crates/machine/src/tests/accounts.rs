//! Users, the first code, the audit log.

use super::*;

fn change(machine: &Machine, name: &str, change: &UserChange) -> Result<User, Denied> {
    machine.change_user(name, change)
}

#[test]
fn only_names_of_the_rule_are_taken() {
    let (machine, _world, _folder) = machine();
    let longest = "a".repeat(32);
    for name in ["_", "b.c-d_9", longest.as_str()] {
        add(&machine, name, Role::Operator).expect(name);
    }
    let too_long = "a".repeat(33);
    let bad = [
        ("", NameFault::Empty),
        (too_long.as_str(), NameFault::TooLong),
        ("9a", NameFault::BadStart),
        ("-a", NameFault::BadStart),
        ("Ann", NameFault::BadCharacter),
        ("a b", NameFault::BadCharacter),
        ("a/../b", NameFault::BadCharacter),
        ("ann\0", NameFault::BadCharacter),
        ("größe", NameFault::BadCharacter),
    ];
    for (name, fault) in bad {
        assert_eq!(refusal(add(&machine, name, Role::Operator)), Denied::BadName(fault), "{name:?}");
    }
    assert_eq!(refusal(add(&machine, "ann", Role::Operator)), Denied::Exists);
}

#[test]
fn a_number_is_never_given_to_a_second_user() {
    let (machine, _world, _folder) = machine();
    let uid = |name: &str, uid| {
        let new = NewUser { name, password: PASSWORD, role: Role::ReadOnly, uid };
        machine.add_user(&new).map(|user| user.uid)
    };
    assert_eq!(uid("b", None), Ok(2_000_000_002));
    machine.remove_user("b").expect("removed");
    assert_eq!(uid("c", None), Ok(2_000_000_003));
    assert_eq!(uid("d", Some(2_000_000_009)), Ok(2_000_000_009));
    machine.remove_user("d").expect("removed");
    for had in [2_000_000_002, 2_000_000_009] {
        assert_eq!(uid("d", Some(had)), Err(Denied::UidTaken), "whoever asks for it");
    }
    assert_eq!(uid("e", None), Ok(2_000_000_010));
    assert_eq!(uid("f", Some(1_000)), Ok(1_000));
    assert_eq!(uid("g", Some(1_000)), Err(Denied::UidTaken));
    for bad in [0, u32::MAX, u32::MAX - 1, u32::MAX - 2, 2_100_000_001] {
        assert_eq!(uid("g", Some(bad)), Err(Denied::BadUid));
    }
    assert_eq!(uid("h", Some(2_100_000_000)), Ok(2_100_000_000));
    assert_eq!(uid("i", None), Ok(2_100_000_001), "many are left");
    let sql = "UPDATE counters SET value = 4294967294";
    machine.store.read(|db| db.execute(sql, [])).expect("as if all had been given");
    assert_eq!(uid("j", None), Err(Denied::TooMany(Limit::Uids)));
    let taken = UserChange { uid: Some(1_000), ..UserChange::default() };
    assert_eq!(refusal(change(&machine, "ann", &taken)), Denied::UidTaken);
}

#[test]
fn the_last_administrator_stays() {
    let (machine, _world, _folder) = machine();
    let demoted = UserChange { role: Some(Role::Operator), ..UserChange::default() };
    let disabled = UserChange { disabled: Some(true), ..UserChange::default() };
    add(&machine, "second", Role::Administrator).expect("added");
    change(&machine, "second", &disabled).expect("root is left");
    assert_eq!(refusal(change(&machine, "root", &demoted)), Denied::LastAdministrator);
    assert_eq!(refusal(change(&machine, "root", &disabled)), Denied::LastAdministrator);
    assert_eq!(refusal(machine.remove_user("root")), Denied::LastAdministrator);
    let root = machine.users().expect("read").into_iter().find(|user| user.name == "root");
    assert!(root.is_some_and(|root| root.role == Role::Administrator && !root.disabled));
    let enabled = UserChange { disabled: Some(false), ..UserChange::default() };
    change(&machine, "second", &enabled).expect("changed");
    machine.remove_user("root").expect("second is left");
    assert_eq!(refusal(machine.remove_user("root")), Denied::NotFound);
    assert_eq!(refusal(change(&machine, "root", &enabled)), Denied::NotFound);
}

#[test]
fn sessions_end_where_password_role_or_disabled_change_and_only_those_of_the_user() {
    let (machine, _world, _folder) = machine();
    let changes = [
        UserChange { role: Some(Role::Operator), ..UserChange::default() },
        UserChange { disabled: Some(true), ..UserChange::default() },
        UserChange { disabled: Some(false), ..UserChange::default() },
        UserChange { password: Some("another horse".to_owned()), ..UserChange::default() },
    ];
    let other = login(&machine, "root");
    let mut session = login(&machine, "ann");
    let same = UserChange { role: Some(Role::ReadOnly), drop_totp: true, ..UserChange::default() };
    change(&machine, "ann", &same).expect("nothing changed");
    assert!(machine.session(&session.secret).expect("read").is_some());
    for wanted in changes {
        let user = change(&machine, "ann", &wanted).expect("changed");
        assert_eq!(machine.session(&session.secret), Ok(None));
        if !user.disabled && wanted.password.is_none() {
            session = login(&machine, "ann");
        }
    }
    assert_eq!(refusal(try_login(&machine, "ann", PASSWORD, None)), Denied::Wrong);
    try_login(&machine, "ann", "another horse", None).expect("let in");
    assert!(machine.session(&other.secret).expect("read").is_some());
}

#[test]
fn a_thousand_users_are_the_bound() {
    let (machine, _world, _folder) = machine();
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 997)
        INSERT INTO users (name, password, role, uid, created) SELECT 'u' || i, '', 'operator', i, 0 FROM n";
    machine.store.read(|db| db.execute(sql, [])).expect("many");
    add(&machine, "last", Role::Operator).expect("the thousandth");
    assert_eq!(refusal(add(&machine, "one.more", Role::Operator)), Denied::TooMany(Limit::Users));
}

#[test]
fn the_first_code_makes_one_administrator() {
    let (folder, world) = (Folder::new(), world());
    let (machine, _) = open(&folder, &world);
    let user = NewUser { name: "boss", password: PASSWORD, role: Role::ReadOnly, uid: None };
    assert_eq!(machine.redeem_first_code("", &user), Err(Denied::NoFirstCode));
    let old = machine.first_code().expect("read").expect("nobody is there");
    let code = machine.first_code().expect("read").expect("nobody is there");
    assert_eq!(machine.redeem_first_code(&old, &user), Err(Denied::Wrong));
    let short = NewUser { password: "short", ..user };
    let refused = machine.redeem_first_code(&code, &short);
    assert_eq!(refused, Err(Denied::BadPassword(PasswordFault::TooShort)));
    let made = machine.redeem_first_code(&code.to_lowercase().replace('-', " "), &user).expect("made");
    assert_eq!(made.role, Role::Administrator);
    assert_eq!(machine.redeem_first_code(&code, &user), Err(Denied::NoFirstCode));
    assert_eq!(machine.first_code(), Ok(None));
}

#[test]
fn the_first_code_ends_with_the_process_and_nobody_keeps_its_owner_out() {
    let (folder, world) = (Folder::new(), world());
    let (machine, _) = open(&folder, &world);
    let user = NewUser { name: "boss", password: PASSWORD, role: Role::Administrator, uid: None };
    let code = machine.first_code().expect("read").expect("nobody is there");
    for _ in 0..100 {
        assert_eq!(machine.redeem_first_code("wrong", &user), Err(Denied::Wrong));
    }
    let short = NewUser { password: "short", ..user };
    let looked_at = machine.redeem_first_code(&code, &short);
    assert_eq!(looked_at, Err(Denied::BadPassword(PasswordFault::TooShort)));
    drop(machine);
    let (machine, _) = open(&folder, &world);
    assert_eq!(machine.redeem_first_code(&code, &user), Err(Denied::NoFirstCode));
    let code = machine.first_code().expect("read").expect("nobody is there");
    add(&machine, "root", Role::Administrator).expect("made by another way");
    assert_eq!(machine.redeem_first_code(&code, &user), Err(Denied::NoFirstCode));
}

#[test]
fn two_at_once_redeem_a_code_once() {
    let (folder, world) = (Folder::new(), world());
    let (machine, _) = open(&folder, &world);
    let code = machine.first_code().expect("read").expect("nobody is there");
    let redeem = |name| {
        let user = NewUser { name, password: PASSWORD, role: Role::Administrator, uid: None };
        machine.redeem_first_code(&code, &user).is_ok()
    };
    let made = std::thread::scope(|scope| {
        let threads = ["a", "b", "c", "d"].map(|name| scope.spawn(move || redeem(name)));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
    assert_eq!(names(&machine).len(), 1);
}

fn note_all(machine: &Machine, who: &str, verb: &str, by: By, weight: Weight, count: usize) {
    let (address, target) = (Some("192.0.2.1"), Some("tank\n"));
    let entry =
        || AuditEntry { weight, time: START, who, by, address, verb, path: "/v1/pools", target, status: 403 };
    machine.note(&(0..count).map(|_| entry()).collect::<Vec<_>>()).expect("noted");
}

fn note(machine: &Machine, who: &str, verb: &str, by: By) {
    note_all(machine, who, verb, by, Weight::Refused, 1);
}

#[test]
fn the_audit_log_gives_back_what_was_noted_page_by_page() {
    let (machine, _world, _folder) = machine();
    let ways = [By::Nobody, By::Socket { uid: 7 }, By::Session { id: 8 }, By::Token { id: 9 }];
    for (who, by) in ["a", "b", "a", "a\n"].into_iter().zip(ways) {
        note(&machine, who, if who == "b" { "DELETE" } else { "POST" }, by);
    }
    let all = AuditFilter::default();
    let first = machine.audit(None, 3, &all).expect("read");
    assert_eq!(first.iter().map(|record| record.by).collect::<Vec<_>>(), [ways[3], ways[2], ways[1]]);
    assert_eq!(first[0].who, "a\\u{a}");
    assert_eq!(first[0].target.as_deref(), Some("tank\\u{a}"));
    assert_eq!((first[0].time, first[0].status), (START, 403));
    let rest = machine.audit(Some(first[2].id), 3, &all).expect("read");
    assert_eq!(rest.len(), 1);
    let of = |user: Option<&str>, verb: Option<&str>| {
        let filter = AuditFilter { user: user.map(str::to_owned), verb: verb.map(str::to_owned) };
        machine.audit(None, usize::MAX, &filter).expect("read").len()
    };
    assert_eq!((of(Some("a"), None), of(Some("a\n"), None), of(None, Some("DELETE"))), (2, 1, 1));
    assert_eq!(machine.audit(Some(u64::MAX), 9, &all).expect("read").len(), 4);
}

#[test]
fn the_oldest_records_of_a_weight_go_and_no_others() {
    let (machine, _world, _folder) = machine();
    let of = |who: &str| {
        let filter = AuditFilter { user: Some(who.to_owned()), verb: None };
        machine.audit(None, usize::MAX, &filter).expect("read").len()
    };
    let weights = [Weight::Administrator, Weight::Operator, Weight::Guest, Weight::Refused];
    for weight in weights {
        note_all(&machine, &format!("{weight:?}"), "POST", By::Nobody, weight, 1);
    }
    note_all(&machine, "flood", "POST", By::Nobody, Weight::Refused, 24_999);
    assert_eq!(weights.map(|weight| of(&format!("{weight:?}"))), [1, 1, 1, 1]);
    note_all(&machine, "last", "POST", By::Nobody, Weight::Refused, 10);
    note_all(&machine, "guest", "POST", By::Nobody, Weight::Guest, 25_000);
    assert_eq!(weights.map(|weight| of(&format!("{weight:?}"))), [1, 1, 0, 0]);
    assert_eq!(of("last"), 10);
}

#[test]
fn a_new_password_ends_the_tokens_unless_they_are_to_stay() {
    let (machine, _world, _folder) = machine();
    let token = |user: &str| {
        let dataset = None;
        let new = NewToken { user, name: "t", role: Role::ReadOnly, expires: None, dataset, maker: None };
        machine.add_token(&new).expect("made").1
    };
    let (of_ann, of_root) = (token("ann"), token("root"));
    let password = Some("another horse".to_owned());
    let kept = UserChange { password: password.clone(), keep_tokens: true, ..UserChange::default() };
    change(&machine, "ann", &kept).expect("changed");
    assert!(machine.token(&of_ann).expect("read").is_some());
    change(&machine, "ann", &UserChange { password, ..UserChange::default() }).expect("changed");
    assert_eq!(machine.token(&of_ann), Ok(None));
    assert!(machine.token(&of_root).expect("read").is_some());
}
