//! What is told of a database, and what is refused before it is told.

use rusqlite::Connection;

use super::*;

/// The contents of a copy of the database, after somebody has done this to the copy.
fn examined(machine: &Machine, folder: &Folder, sql: &str) -> Result<Contents, Fault> {
    let (copy, checked) = (folder.file("copy"), folder.file("checked"));
    machine.backup(&copy).expect("written");
    Connection::open(&copy).and_then(|db| db.execute_batch(sql)).expect("done");
    Machine::examine(&copy, &checked)
}

#[test]
fn what_counts_has_another_digest_and_what_does_not_has_the_same() {
    let (machine, world, folder) = machine();
    let before = machine.contents().expect("read");
    let generation = machine.generation();
    world.pass(100);
    login(&machine, "ann");
    machine.note(&[]).expect("noted");
    assert_eq!(machine.contents().expect("read"), before, "who has logged in does not count");
    assert_eq!(examined(&machine, &folder, "").expect("whole"), before);

    let mut digests = vec![before.digest];
    let mut changed = || {
        let digest = machine.contents().expect("read").digest;
        assert!(!digests.contains(&digest));
        digests.push(digest);
    };
    machine.change_user("ann", &UserChange { disabled: Some(true), ..UserChange::default() }).expect("done");
    changed();
    add(&machine, "joe", Role::Operator).expect("added");
    changed();
    machine.begin_totp("joe").expect("offered");
    changed();
    let password = Some("another correct horse".to_owned());
    machine.change_user("joe", &UserChange { password, ..UserChange::default() }).expect("done");
    changed();
    let roots = Some("x".repeat(64 << 10));
    let (domains, directory) = (vec!["a.example".to_owned()], "https://ca.example/".to_owned());
    machine.set_acme(&AcmeWanted { domains, email: None, directory, roots }).expect("set");
    changed();
    let set = machine.acme().expect("read").expect("set");
    machine.keep_acme_account(set.id, "account and key").expect("kept");
    changed();
    assert!(machine.generation() > generation);

    let after = machine.contents().expect("read");
    assert_eq!(after.accounts.keys().collect::<Vec<_>>(), ["ann", "joe", "root"]);
    assert_eq!(after.accounts["root"], before.accounts["root"]);
    assert_eq!(after.accounts["ann"].secrets, before.accounts["ann"].secrets);
    assert!(after.accounts["ann"].state.disabled && !before.accounts["ann"].state.disabled);
}

#[test]
fn what_is_examined_has_no_sessions_and_may_take_the_place_of_the_database() {
    let (machine, world, folder) = machine();
    let session = login(&machine, "ann");
    let contents = examined(&machine, &folder, "").expect("whole");
    assert_eq!(contents.accounts.len(), 2);
    add(&machine, "joe", Role::Operator).expect("added");
    drop(machine);
    Machine::restore(&folder.0, &folder.file("checked")).expect("restored");
    let (machine, _) = open(&folder, &world);
    assert_eq!(names(&machine), ["ann", "root"]);
    assert_eq!(machine.session(&session.secret).expect("read"), None);
}

#[test]
fn a_database_that_nobody_here_has_written_is_refused() {
    let (machine, _, folder) = machine();
    let many = "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO users (name, password, role, uid, created)
            SELECT 'u' || i, '', 'read-only', i + 1000000, 0 FROM n";
    for sql in [
        many,
        "UPDATE users SET name = hex(zeroblob(9000)) WHERE name = 'ann'",
        "UPDATE users SET password = hex(zeroblob(9000))",
        "INSERT INTO acme (domains, directory) VALUES ('a', hex(zeroblob(200000)))",
        "CREATE TRIGGER t AFTER INSERT ON users BEGIN DELETE FROM audit; END",
        "CREATE TABLE more (x)",
        "PRAGMA application_id = 7",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'tokens'",
    ] {
        let refused = examined(&machine, &folder, sql);
        assert!(matches!(refused, Err(Fault::Damaged(_))), "{sql}: {refused:?}");
    }
    let newer = examined(&machine, &folder, "PRAGMA user_version = 1000");
    assert!(matches!(newer, Err(Fault::NewerVersion { found: 1000, .. })), "{newer:?}");
    std::fs::write(folder.file("copy"), b"no database").expect("written");
    let refused = Machine::examine(&folder.file("copy"), &folder.file("checked"));
    assert!(matches!(refused, Err(Fault::Damaged(_))), "{refused:?}");
}
