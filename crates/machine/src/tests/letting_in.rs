//! Logins, second factors, sessions and tokens.

use super::*;
use totp_rs::{Builder, Secret};

/// The code of now.
pub(super) fn code(secret: &str, world: &World) -> String {
    let secret = Secret::try_from_base32(secret).expect("base32");
    let now = u64::try_from(world.now()).expect("after 1970");
    Builder::new().with_secret(secret).build().expect("long enough").generate(now).to_string()
}

#[test]
fn nobody_learns_whether_an_account_exists() {
    let (machine, _world, _folder) = machine();
    add(&machine, "off", Role::Operator).expect("added");
    let disabled = UserChange { disabled: Some(true), ..UserChange::default() };
    machine.change_user("off", &disabled).expect("changed");
    let tries = [("ann", "wrong horse"), ("off", PASSWORD), ("nobody", PASSWORD), ("NOBODY\0", PASSWORD)];
    for (name, password) in tries {
        assert_eq!(refusal(try_login(&machine, name, password, None)), Denied::Wrong, "{name:?}");
    }
    // The fifth failure of this address: the next one waits, whoever it is.
    assert_eq!(refusal(try_login(&machine, "ann", "", None)), Denied::Wrong);
    for name in ["ann", "nobody"] {
        let refused = refusal(try_login(&machine, name, PASSWORD, None));
        assert_eq!(refused, Denied::Throttled { seconds: 1 }, "a right password, too");
    }
}

#[test]
fn a_login_is_an_identity_until_it_ends() {
    let (machine, world, _folder) = machine();
    let begun = login(&machine, "ann");
    assert_eq!((begun.identity.user.as_str(), begun.identity.role), ("ann", Role::ReadOnly));
    assert_eq!(machine.session(&begun.secret), Ok(Some(begun.identity.clone())));
    let ann = machine.users().expect("read").into_iter().find(|user| user.name == "ann");
    assert_eq!(ann.expect("there").last_login, Some(START));
    let Credential::Session { id, csrf } = begun.identity.by else { panic!("it is a session") };
    assert!(csrf.len() == 43 && !begun.secret.contains(&csrf));
    assert_eq!(machine.sessions(Some("ann")).expect("read").len(), 1);
    assert_eq!(machine.sessions(Some("root")).expect("read").len(), 0);
    // A shell of it is the account.
    let of_shell = machine.of_shell(id).expect("read").expect("it lasts");
    assert_eq!((of_shell.uid, of_shell.by), (begun.identity.uid, Credential::Shell { session: id }));
    machine.log_out(id).expect("ended");
    assert_eq!(machine.of_shell(id), Ok(None));
    assert_eq!(machine.of_shell(u64::MAX), Ok(None));
    machine.log_out(id).expect("twice is fine");
    machine.log_out(u64::MAX).expect("so is none");
    assert_eq!(machine.session(&begun.secret), Ok(None));

    let idle = login(&machine, "ann");
    world.pass(30 * 60 - 1);
    assert!(machine.session(&idle.secret).expect("read").is_some());
    world.pass(30 * 60 - 1);
    assert!(machine.session(&idle.secret).expect("read").is_some(), "the use before counts");
    let Credential::Session { id, .. } = idle.identity.by else { panic!("it is a session") };
    world.pass(30 * 60 - 1);
    assert!(machine.of_shell(id).expect("read").is_some());
    world.pass(1);
    assert_eq!(machine.of_shell(id), Ok(None), "a shell is no use of it");
    assert_eq!(machine.session(&idle.secret), Ok(None));

    let busy = login(&machine, "ann");
    for _ in 0..12 * 6 - 1 {
        world.pass(10 * 60);
        assert!(machine.session(&busy.secret).expect("read").is_some());
    }
    world.pass(10 * 60);
    assert_eq!(machine.session(&busy.secret), Ok(None), "twelve hours are the most");
}

#[test]
fn the_oldest_of_fifty_sessions_ends() {
    let (machine, _world, _folder) = machine();
    let sessions: Vec<NewSession> = (0..51).map(|_| login(&machine, "ann")).collect();
    assert_eq!(machine.session(&sessions[0].secret), Ok(None));
    assert!(machine.session(&sessions[1].secret).expect("read").is_some());
    assert_eq!(machine.sessions(None).expect("read").len(), 50);
}

#[test]
fn ten_thousand_secrets_that_were_never_given_let_nobody_in() {
    let (machine, _, folder) = machine();
    let session = login(&machine, "ann");
    let (_, token) = machine.add_token(&new_token("ann", "t", Role::ReadOnly)).expect("made");
    let mut numbers = Prng::new(99);
    for id in 0..5_000_i64 {
        let mut bytes = [0; 32];
        numbers.fill(&mut bytes);
        let random: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let random = &random[..43];
        assert_eq!(machine.session(&secret::join("session", id % 3, random)), Ok(None));
        assert_eq!(machine.token(&secret::join("cistern", id % 3, random)), Ok(None));
    }
    assert!(machine.session(&session.secret).expect("read").is_some());
    assert!(machine.token(&token).expect("read").is_some());
    assert_eq!(machine.token(&session.secret), Ok(None));
    assert_eq!(machine.session(&token), Ok(None));
    // None of the secrets is in the files.
    for file in fs::read_dir(&folder.0).expect("a folder") {
        let bytes = fs::read(file.expect("a file").path()).expect("read");
        for secret in [&session.secret[10..], &token[10..], PASSWORD] {
            assert!(!bytes.windows(secret.len()).any(|found| found == secret.as_bytes()));
        }
    }
}

#[test]
fn a_second_factor_counts_once_it_is_confirmed() {
    let (machine, world, _folder) = machine();
    assert_eq!(refusal(machine.confirm_totp("ann", "000000")), Denied::NotFound);
    let offer = machine.begin_totp("ann").expect("offered");
    assert!(offer.url.0.contains(&offer.secret.0) && offer.url.0.starts_with("otpauth://totp/Cistern:ann?"));
    login(&machine, "ann");
    assert_eq!(refusal(machine.confirm_totp("ann", "abcdef")), Denied::Wrong);
    let used = code(&offer.secret.0, &world);
    let recovery = machine.confirm_totp("ann", &used).expect("confirmed");
    assert_eq!(recovery.len(), 10);
    assert!(is_asked_for_more(&refusal(try_login(&machine, "ann", PASSWORD, None))));
    assert_eq!(refusal(try_login(&machine, "ann", "wrong horse", Some(&used))), Denied::Wrong);
    assert_eq!(refusal(try_login(&machine, "ann", PASSWORD, Some(&used))), Denied::Wrong, "used");
    world.pass(30);
    let next = code(&offer.secret.0, &world);
    world.pass(30);
    try_login(&machine, "ann", PASSWORD, Some(&next)).expect("one step late");
    assert_eq!(refusal(try_login(&machine, "ann", PASSWORD, Some(&next))), Denied::Wrong, "used");
    world.pass(300);
    assert_eq!(refusal(try_login(&machine, "ann", PASSWORD, Some(&next))), Denied::Wrong, "old");
    world.pass(3_700);
    let typed = recovery[3].to_lowercase();
    try_login(&machine, "ann", PASSWORD, Some(&typed)).expect("a recovery code");
    assert_eq!(refusal(try_login(&machine, "ann", PASSWORD, Some(&recovery[3]))), Denied::Wrong);
    let dropped = UserChange { drop_totp: true, ..UserChange::default() };
    assert!(!machine.change_user("ann", &dropped).expect("changed").has_totp);
    login(&machine, "ann");
}

#[test]
fn a_right_password_allows_no_more_codes() {
    let (machine, world, _folder) = machine();
    let offer = machine.begin_totp("ann").expect("offered");
    machine.confirm_totp("ann", &code(&offer.secret.0, &world)).expect("confirmed");
    for _ in 0..5 {
        assert_eq!(refusal(try_login(&machine, "ann", PASSWORD, Some("abcdef"))), Denied::Wrong);
        if let Err(refused) = try_login(&machine, "ann", PASSWORD, None) {
            assert!(is_asked_for_more(&refused) || matches!(refused, Denied::Throttled { .. }));
        }
    }
    let refused = refusal(try_login(&machine, "ann", PASSWORD, Some("abcdef")));
    assert!(matches!(refused, Denied::Throttled { .. }), "{refused:?}");
}

#[test]
fn one_code_at_two_logins_lets_one_in() {
    let (machine, world, _folder) = machine();
    let offer = machine.begin_totp("ann").expect("offered");
    machine.confirm_totp("ann", &code(&offer.secret.0, &world)).expect("confirmed");
    world.pass(60);
    let code = code(&offer.secret.0, &world);
    let (machine, code) = (&machine, code.as_str());
    let let_in = std::thread::scope(|scope| {
        let threads =
            [(); 4].map(|()| scope.spawn(move || try_login(machine, "ann", PASSWORD, Some(code)).is_ok()));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    assert_eq!(let_in.iter().filter(|let_in| **let_in).count(), 1);
}

#[test]
fn a_hash_of_older_parameters_is_made_anew_at_login() {
    let (machine, world, folder) = machine();
    drop(machine);
    let passwords = Passwords::with(Params::new(16, 1, 1, None).expect("small parameters"));
    let (machine, _) = Machine::open_with(&folder.0, world, schema::STEPS, passwords).expect("it opens");
    login(&machine, "ann");
    let hash = |name: &str| {
        let found = machine.store.read(|db| users::find(db, name)).expect("read");
        found.expect("there").hash
    };
    assert!(hash("ann").contains("$m=16,t=1,p=1$"));
    assert!(hash("root").contains("$m=8,t=1,p=1$"), "nobody knows the password");
    login(&machine, "ann");
}

#[test]
fn a_place_of_a_login_stays_known_after_a_restart() {
    let (machine, world, folder) = machine();
    login(&machine, "ann");
    assert_eq!(machine.places(), Ok(vec![home()]));
    drop(machine);
    let (machine, _) = open(&folder, &world);
    let from = |last: u8, password| {
        let address = IpAddr::from([198, 51, 100, last]);
        machine.log_in(&LogIn { name: "ann", password, second: None, address, site: None })
    };
    for last in 0..5 {
        assert_eq!(refusal(from(last, "wrong horse")), Denied::Wrong);
    }
    assert_eq!(refusal(from(9, PASSWORD)), Denied::Throttled { seconds: 1 });
    login(&machine, "ann");
    for last in 10..19 {
        world.pass(60);
        from(last, PASSWORD).expect("let in");
    }
    let places = machine.places().expect("read");
    assert!(places.len() == 8 && !places.contains(&home()), "the last eight: {places:?}");
    machine.remove_user("ann").expect("removed");
    assert_eq!(machine.places(), Ok(Vec::new()));
}

#[test]
fn a_second_factor_is_given_once_more_with_the_password() {
    let (machine, world, _folder) = machine();
    let both = |password, second: Option<&str>| {
        let second = second.map(Second::Code);
        machine.confirm_both(&LogIn { name: "ann", password, second, address: home(), site: None })
    };
    assert_eq!(both(PASSWORD, None), Ok(()));
    assert_eq!(both("wrong horse", None), Err(Denied::Wrong));
    let offer = machine.begin_totp("ann").expect("offered");
    let recovery = machine.confirm_totp("ann", &code(&offer.secret.0, &world)).expect("confirmed");
    assert!(is_asked_for_more(&refusal(both(PASSWORD, None))));
    assert_eq!(both(PASSWORD, Some("abcdef")), Err(Denied::Wrong));
    assert_eq!(both("wrong horse", Some(recovery[0].as_str())), Err(Denied::Wrong));
    assert_eq!(both(PASSWORD, Some(recovery[0].as_str())), Ok(()));
    assert_eq!(both(PASSWORD, Some(recovery[0].as_str())), Err(Denied::Wrong), "used");
}

#[test]
fn a_session_that_would_begin_later_is_ended_by_the_next_login() {
    let (machine, world, _folder) = machine();
    let year = 365 * 24 * 60 * 60;
    world.pass(year);
    let future = login(&machine, "ann");
    world.pass(-year);
    login(&machine, "ann");
    world.pass(year);
    assert_eq!(machine.session(&future.secret), Ok(None));
}

#[test]
fn a_disk_that_refuses_writes_keeps_nobody_out_who_is_in() {
    let (machine, world, _folder) = machine();
    let session = login(&machine, "ann");
    let (_, token) = machine.add_token(&new_token("ann", "t", Role::ReadOnly)).expect("made");
    machine.store.read(|db| db.pragma_update(None, "query_only", true)).expect("as if it were read-only");
    world.pass(120);
    assert!(machine.session(&session.secret).expect("read").is_some());
    assert!(machine.token(&token).expect("read").is_some());
}

#[test]
fn a_token_makes_none_that_outlives_it() {
    let (machine, _world, _folder) = machine();
    let hour = NewToken { expires: Some(START + 3_600), ..new_token("root", "hour", Role::Administrator) };
    let (made, _) = machine.add_token(&hour).expect("made");
    let by = |name, expires| {
        let new = NewToken { expires, maker: Some(made.id), ..new_token("ann", name, Role::ReadOnly) };
        machine.add_token(&new).map(drop)
    };
    assert_eq!(by("a", None), Err(Denied::OutlivesMaker));
    assert_eq!(by("a", Some(START + 3_601)), Err(Denied::OutlivesMaker));
    assert_eq!(by("a", Some(START + 3_600)), Ok(()));
    machine.remove_token(made.id).expect("removed");
    assert_eq!(by("b", Some(START + 10)), Err(Denied::NotFound));
}

#[test]
fn whoever_gives_the_password_once_more_is_throttled_too() {
    let (machine, _world, _folder) = machine();
    assert_eq!(machine.confirm_password("ann", PASSWORD, home()), Ok(()));
    for _ in 0..5 {
        assert_eq!(machine.confirm_password("ann", "wrong", home()), Err(Denied::Wrong));
    }
    let refused = machine.confirm_password("ann", PASSWORD, home());
    assert_eq!(refused, Err(Denied::Throttled { seconds: 1 }));
}

fn new_token<'a>(user: &'a str, name: &'a str, role: Role) -> NewToken<'a> {
    NewToken { user, name, role, expires: None, dataset: None, maker: None }
}

#[test]
fn a_token_never_may_more_than_its_user() {
    let (machine, _world, _folder) = machine();
    add(&machine, "op", Role::Operator).expect("added");
    let above = machine.add_token(&new_token("op", "t", Role::Administrator));
    assert_eq!(refusal(above), Denied::AboveUser);
    let within = NewToken { dataset: Some("tank/a"), ..new_token("op", "t", Role::Operator) };
    let (made, secret) = machine.add_token(&within).expect("made");
    assert_eq!(secret, format!("cistern_{}_{}", made.id, &secret[secret.len() - 43..]));
    let role = |secret: &str| machine.token(secret).expect("read").map(|identity| identity.role);
    let identity = machine.token(&secret).expect("read").expect("let in");
    assert_eq!(identity.dataset.as_deref(), Some("tank/a"));
    assert_eq!(identity.by, Credential::Token { id: made.id, name: "t".to_owned() });
    let lesser = UserChange { role: Some(Role::ReadOnly), ..UserChange::default() };
    machine.change_user("op", &lesser).expect("changed");
    assert_eq!(role(&secret), Some(Role::ReadOnly));
    let disabled = UserChange { disabled: Some(true), ..UserChange::default() };
    machine.change_user("op", &disabled).expect("changed");
    assert_eq!(role(&secret), None);
    machine.remove_user("op").expect("removed");
    assert!(machine.tokens(None).expect("read").is_empty());
}

#[test]
fn tokens_expire_and_are_bounded() {
    let (machine, world, _folder) = machine();
    let past = NewToken { expires: Some(START), ..new_token("ann", "past", Role::ReadOnly) };
    assert_eq!(refusal(machine.add_token(&past)), Denied::BadExpiry);
    let soon = NewToken { expires: Some(START + 10), ..new_token("ann", "soon", Role::ReadOnly) };
    let (made, secret) = machine.add_token(&soon).expect("made");
    assert_eq!(refusal(machine.add_token(&soon)), Denied::Exists);
    world.pass(9);
    assert!(machine.token(&secret).expect("read").is_some());
    assert_eq!(machine.tokens(Some("ann")).expect("read")[0].last_used, Some(START + 9));
    world.pass(1);
    assert_eq!(machine.token(&secret), Ok(None));
    for number in 0..100 {
        machine.add_token(&new_token("ann", &format!("t{number}"), Role::ReadOnly)).expect("made");
    }
    assert!(machine.tokens(Some("ann")).expect("read").iter().all(|token| token.id != made.id));
    let one_more = machine.add_token(&new_token("ann", "more", Role::ReadOnly));
    assert_eq!(refusal(one_more), Denied::TooMany(Limit::Tokens));
    let id = machine.tokens(None).expect("read")[0].id;
    machine.remove_token(id).expect("removed");
    assert_eq!(machine.remove_token(id), Err(Denied::NotFound));
    assert_eq!(machine.remove_token(u64::MAX), Err(Denied::NotFound));
    for name in ["", "a\nb", "x".repeat(65).as_str()] {
        let refused = refusal(machine.add_token(&new_token("ann", name, Role::ReadOnly)));
        assert!(matches!(refused, Denied::BadName(_)), "{name:?}");
    }
}
