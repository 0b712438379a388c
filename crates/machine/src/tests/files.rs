//! The database as a file: damaged, cut, newer, older, full, killed, restored.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;

use super::*;
use crate::files::{BACKUP, DATABASE};

/// Of a version more, for these tests.
fn newer() -> Vec<&'static str> {
    [schema::STEPS, &["ALTER TABLE users ADD COLUMN mail TEXT"]].concat()
}

/// A folder with a whole database, closed, and its automatic backup.
fn closed() -> (Folder, Arc<World>) {
    let (machine, world, folder) = machine();
    machine.keep().expect("written");
    (folder, world)
}

fn kept_and_restored(found: Found) -> (PathBuf, Option<PathBuf>) {
    match found {
        Found::Damaged { kept, restored_from } => (kept, restored_from),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nobody_else_may_read_the_files() {
    let (machine, _, folder) = machine();
    machine.backup(&folder.file("copy")).expect("written");
    machine.keep().expect("written");
    let files: Vec<PathBuf> =
        fs::read_dir(&folder.0).expect("a folder").map(|file| file.expect("a file").path()).collect();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn what_was_changed_is_there_when_it_is_opened_again_and_only_one_has_it_open() {
    let (machine, world, folder) = machine();
    assert_eq!(opened(&folder, &world, schema::STEPS).err(), Some(Fault::Busy));
    assert_eq!(Machine::restore(&folder.0, &folder.file(BACKUP)), Err(Fault::Busy));
    let session = login(&machine, "ann");
    drop(machine);
    let (machine, found) = open(&folder, &world);
    assert_eq!(found, Found::AsItWas);
    assert_eq!(names(&machine), ["ann", "root"]);
    assert!(machine.session(&session.secret).expect("read").is_some());
}

#[test]
fn a_damaged_database_is_kept_and_its_backup_takes_its_place() {
    type Harm = fn(&Path);
    let wrecks: [(&str, Harm); 5] = [
        ("no database", |path| fs::write(path, b"no database at all, and not short").expect("written")),
        ("emptied", |path| fs::write(path, b"").expect("written")),
        ("cut", |path| {
            let bytes = fs::read(path).expect("read");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
        }),
        ("pages overwritten", |path| {
            let mut bytes = fs::read(path).expect("read");
            bytes[4_096..].fill(0xa5);
            fs::write(path, bytes).expect("written");
        }),
        ("a folder", |path| {
            fs::remove_file(path).expect("there");
            fs::create_dir(path).expect("made");
        }),
    ];
    for (wreck, harm) in wrecks {
        let (folder, world) = closed();
        harm(&folder.file(DATABASE));
        let (machine, found) = open(&folder, &world);
        let (kept, restored_from) = kept_and_restored(found);
        assert!(kept.ends_with("machine.db.damaged-1") && kept.exists(), "{wreck}");
        assert_eq!(restored_from, Some(folder.file(BACKUP)), "{wreck}");
        assert_eq!(names(&machine), ["ann", "root"], "{wreck}");
        add(&machine, "new", Role::Operator).expect(wreck);
        drop(machine);
        assert_eq!(open(&folder, &world).1, Found::AsItWas, "{wreck}");
    }
}

#[test]
fn without_a_whole_backup_a_damaged_database_is_begun_anew() {
    let (folder, world) = closed();
    for number in 1..=18 {
        fs::write(folder.file(DATABASE), b"garbage").expect("written");
        fs::write(folder.file(BACKUP), b"garbage").expect("written");
        let (machine, found) = open(&folder, &world);
        let (kept, restored_from) = kept_and_restored(found);
        assert!(kept.ends_with(format!("machine.db.damaged-{}", number.min(16))));
        assert_eq!((names(&machine).len(), restored_from), (0, None));
    }
}

#[test]
fn bytes_overwritten_anywhere_are_found_or_do_no_harm() {
    let (folder, world) = closed();
    let whole = fs::read(folder.file(DATABASE)).expect("read");
    let backup = fs::read(folder.file(BACKUP)).expect("read");
    let mut numbers = Prng::new(3);
    for _ in 0..60 {
        let mut bytes = whole.clone();
        // Each field of the header means something of its own: other tests harm those.
        let at = usize::try_from(numbers.range(100, whole.len() as u64 - 64)).expect("small");
        numbers.fill(&mut bytes[at..at + 64]);
        fs::write(folder.file(DATABASE), bytes).expect("written");
        fs::write(folder.file(BACKUP), &backup).expect("written");
        let (machine, found) = open(&folder, &world);
        if let Found::Damaged { .. } = found {
            assert_eq!(names(&machine), ["ann", "root"]);
        }
        // What no check finds may be wrong, and is an answer or a fault.
        let looked = (machine.users().is_ok(), machine.audit(None, 10, &AuditFilter::default()).is_ok());
        drop((machine, looked));
    }
}

#[test]
fn the_backup_follows_accounts_and_nothing_else() {
    let (machine, world, folder) = machine();
    machine.keep().expect("written");
    machine.remove_user("ann").expect("removed");
    machine.keep().expect("written");
    let written = || fs::metadata(folder.file(BACKUP)).expect("there").modified().expect("a time");
    let before = written();
    machine.note(&[]).expect("noted");
    machine.keep().expect("nothing to do");
    assert_eq!(written(), before);
    drop(machine);
    fs::write(folder.file(DATABASE), b"garbage").expect("written");
    assert_eq!(names(&open(&folder, &world).0), ["root"], "who was removed does not come back");
}

#[test]
fn who_comes_in_waits_for_no_search() {
    let (machine, _world, _folder) = machine();
    let session = login(&machine, "ann");
    let machine = &machine;
    std::thread::scope(|scope| {
        let (begun, wait) = std::sync::mpsc::channel::<()>();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            let searched: Result<(), Fault> = machine.store.look(|_| {
                begun.send(()).expect("awaited");
                assert!(ended.recv().is_err(), "until the other end is gone");
                Ok(())
            });
            searched.expect("read");
        });
        wait.recv().expect("it has begun");
        assert!(machine.session(&session.secret).expect("read").is_some());
        add(machine, "new", Role::Operator).expect("added");
        drop(end);
    });
}

#[test]
fn a_database_that_is_gone_comes_back_from_its_backup() {
    let (folder, world) = closed();
    fs::remove_file(folder.file(DATABASE)).expect("there");
    let (machine, found) = open(&folder, &world);
    assert_eq!(found, Found::Lost { restored_from: folder.file(BACKUP) });
    assert_eq!(names(&machine), ["ann", "root"]);
}

#[test]
fn another_programs_database_and_one_with_a_trigger_are_not_ours() {
    for sql in [
        "PRAGMA application_id = 7",
        "CREATE TRIGGER t AFTER INSERT ON users BEGIN UPDATE users SET role = 'administrator'; END",
        "DROP TABLE tokens",
        "PRAGMA user_version = 0",
    ] {
        let (folder, world) = closed();
        let db = Connection::open(folder.file(DATABASE)).expect("opened");
        db.execute_batch(sql).expect(sql);
        drop(db);
        assert!(matches!(open(&folder, &world).1, Found::Damaged { .. }), "{sql}");
    }
}

#[test]
fn an_older_version_is_copied_and_migrated() {
    let folder = Folder::new();
    let db = Connection::open(folder.file(DATABASE)).expect("opened");
    db.execute_batch(schema::STEPS[0]).expect("version 1");
    db.execute_batch(
        "PRAGMA application_id = 1129534542; PRAGMA user_version = 1;
        INSERT INTO users (name, password, role, uid, created) VALUES ('old', '', 'operator', 5, 0)",
    )
    .expect("a user");
    drop(db);
    let world = world();
    let (machine, found) = opened(&folder, &world, &newer()).expect("migrated");
    let copy = folder.file("machine.db.v1");
    assert_eq!(found, Found::Migrated { from: 1, copy: copy.clone() });
    assert_eq!(names(&machine), ["old"]);
    machine.store.read(|db| db.execute("UPDATE users SET mail = 'a@b'", [])).expect("the newer version");
    drop(machine);
    // The program of before refuses it and leaves it as it is, and takes the copy.
    let known = u32::try_from(schema::STEPS.len()).expect("few");
    let later = Some(Fault::NewerVersion { found: known + 1, known });
    assert_eq!(opened(&folder, &world, schema::STEPS).err(), later);
    assert_eq!(Machine::restore(&folder.0, &folder.file(DATABASE)).err(), later);
    assert_eq!(opened(&folder, &world, &newer()).expect("opened").1, Found::AsItWas);
    Machine::restore(&folder.0, &copy).expect("restored");
    assert!(folder.file("machine.db.replaced-1").exists());
    let (machine, found) = open(&folder, &world);
    assert_eq!((found, names(&machine)), (Found::Migrated { from: 1, copy }, vec!["old".to_owned()]));
}

#[test]
fn a_migration_that_fails_changes_nothing() {
    let (folder, world) = closed();
    let wrong = "CREATE TABLE more (a); INSERT INTO nowhere VALUES (1)";
    let bad = &[schema::STEPS, &[wrong]].concat();
    assert!(matches!(opened(&folder, &world, bad).err(), Some(Fault::Defect(_))));
    let (machine, found) = open(&folder, &world);
    assert_eq!((found, names(&machine).len()), (Found::AsItWas, 2));
}

#[test]
fn a_backup_is_one_whole_file_and_restores_accounts_but_no_sessions() {
    let (machine, world, folder) = machine();
    let session = login(&machine, "ann");
    let copy = folder.file("copy");
    machine.backup(&copy).expect("written");
    assert!(!folder.file("copy-wal").exists() && !folder.file("copy.part").exists());
    machine.remove_user("ann").expect("removed");
    drop(machine);
    for bad in ["no database", ""] {
        fs::write(folder.file("bad"), bad).expect("written");
        let refused = Machine::restore(&folder.0, &folder.file("bad"));
        assert!(matches!(refused, Err(Fault::Damaged(_))), "{refused:?}");
    }
    assert!(matches!(Machine::restore(&folder.0, &folder.file("none")), Err(Fault::Io(_))));
    assert_eq!(names(&open(&folder, &world).0), ["root"], "nothing was restored yet");
    Machine::restore(&folder.0, &copy).expect("restored");
    let (machine, _) = open(&folder, &world);
    assert_eq!(names(&machine), ["ann", "root"]);
    assert_eq!(machine.session(&session.secret), Ok(None));
}

#[test]
fn a_full_disk_fails_changes_and_nothing_else() {
    let (machine, world, _folder) = machine();
    let session = login(&machine, "ann");
    let pages = |most: i64| machine.store.read(|db| db.pragma_update(None, "max_page_count", most));
    pages(1).expect("set: no page more than there are");
    let path = "x".repeat(1_024);
    let entry = || AuditEntry {
        weight: Weight::Guest,
        time: START,
        who: "ann",
        by: By::Nobody,
        address: None,
        verb: "POST",
        path: &path,
        target: None,
        status: 200,
    };
    let noted = (0..100).find_map(|_| machine.note(&[entry()]).err());
    assert_eq!(noted, Some(Fault::Full));
    let before = machine.audit(None, 1_000, &AuditFilter::default()).expect("read").len();
    assert_eq!(machine.note(&[entry()]), Err(Fault::Full));
    assert_eq!(machine.audit(None, 1_000, &AuditFilter::default()).expect("read").len(), before);
    let mut added = Ok(());
    for number in 0..200 {
        added = add(&machine, &format!("u{number}"), Role::Operator).map(drop);
        if added.is_err() {
            break;
        }
    }
    assert_eq!(added, Err(Denied::Fault(Fault::Full)));
    world.pass(120);
    assert!(machine.session(&session.secret).expect("read").is_some());
    pages(100_000).expect("space again");
    machine.note(&[entry()]).expect("noted");
}

#[test]
fn a_kill_at_any_moment_leaves_all_that_was_acknowledged() {
    let (machine, world, folder) = machine();
    for number in 0..20 {
        add(&machine, &format!("u{number:02}"), Role::Operator).expect("added");
        let after = Folder::new();
        for suffix in ["", "-wal"] {
            let name = format!("{DATABASE}{suffix}");
            fs::copy(folder.file(&name), after.file(&name)).expect("copied");
        }
        if number % 2 == 1 {
            // The kill came in the middle of the next change: half a frame is in the log.
            let log = after.file(&format!("{DATABASE}-wal"));
            let mut bytes = fs::read(&log).expect("read");
            bytes.extend_from_slice(&[0x5a; 2_000]);
            fs::write(&log, bytes).expect("written");
        }
        let (killed, found) = open(&after, &world);
        assert_eq!(found, Found::AsItWas);
        assert_eq!(names(&killed), names(&machine));
    }
}

#[test]
fn many_at_once_each_get_what_they_asked() {
    let (machine, _world, _folder) = machine();
    let machine = &machine;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for number in 0..10 {
                    let name = format!("t{thread}.{number}");
                    add(machine, &name, Role::Operator).expect("added");
                    assert!(names(machine).contains(&name));
                }
            });
        }
    });
    let mut uids: Vec<u32> = machine.users().expect("read").into_iter().map(|user| user.uid).collect();
    uids.sort_unstable();
    uids.dedup();
    assert_eq!(uids.len(), 42);
}
