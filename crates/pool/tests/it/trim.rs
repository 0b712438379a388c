//! Disks that are told which of their space is free, or have it written to: in the background,
//! across exports, and by themselves.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use api_types::VdevSpec;
use ondisk::trim::{STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE, STATE_SUSPENDED};
use pool::Pool;
use pool::change::Change;
use pool::spa::create::create;
use pool::sweep::{SweepCommand, SweepKind};
use pool::verify::{Options, verify};
use refusal::SweepFault;

use crate::create::spec;
use crate::import::again;
use crate::support::{Dir, around, zdb, zdb_accepts};

const SIZE: u64 = 192 << 20;

fn leaves(pool: &Pool) -> Vec<u64> {
    pool.core().storage.leaves().iter().map(|leaf| leaf.guid).collect()
}

fn wait_for(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn make(dir: &Dir) -> std::sync::Arc<Pool> {
    let sides = ["a.img", "b.img"].map(|name| {
        let path = dir.image(name, SIZE);
        // Free space that takes room, as on a disk that was in use before.
        std::fs::write(&path, vec![0x77; SIZE as usize]).unwrap();
        VdevSpec::Leaf(path)
    });
    create(&around(), &spec("tank", vec![VdevSpec::Mirror(sides.to_vec())])).unwrap()
}

fn room(dir: &Dir, name: &str) -> u64 {
    std::fs::metadata(dir.image_path(name)).unwrap().blocks() * 512
}

#[test]
fn all_free_space_is_given_back_and_zdb_is_content() {
    let dir = Dir::new("trim");
    let pool = make(&dir);
    let all = leaves(&pool);
    let state =
        |pool: &Pool, n: usize| pool.core().sweeps.of(all[n], SweepKind::Trim).map_or(0, |trim| trim.state);
    let ask = |pool: &Pool, command| pool.sweep(&all, SweepKind::Trim, command, "").unwrap().1;
    let not_running = [(all[0], SweepFault::NoTrim), (all[1], SweepFault::NoTrim)];
    assert_eq!(ask(&pool, SweepCommand::Suspend), not_running);
    assert_eq!(
        pool.sweep(&[1], SweepKind::Trim, SweepCommand::Start { how: None }, "").unwrap().1,
        [(1, SweepFault::NoDevice)]
    );
    // Slowly, stopped, and on after an import.
    assert_eq!(ask(&pool, SweepCommand::Start { how: Some(1 << 20) }), []);
    assert_eq!(
        ask(&pool, SweepCommand::Start { how: None }),
        [(all[0], SweepFault::Trimming), (all[1], SweepFault::Trimming)]
    );
    wait_for("a first step", || {
        pool.core().sweeps.of(all[0], SweepKind::Trim).is_some_and(|trim| trim.next > 0)
    });
    assert_eq!(ask(&pool, SweepCommand::Suspend), []);
    assert_eq!([state(&pool, 0), state(&pool, 1)], [STATE_SUSPENDED; 2]);
    let was = pool.core().sweeps.of(all[0], SweepKind::Trim).unwrap();
    pool.export().unwrap();
    drop(pool);
    let pool = again(&dir);
    assert_eq!(pool.core().sweeps.of(all[0], SweepKind::Trim), Some(was));
    assert_eq!(ask(&pool, SweepCommand::Cancel), []);
    assert_eq!(state(&pool, 0), STATE_CANCELED);
    assert_eq!(ask(&pool, SweepCommand::Start { how: None }), []);
    // Meanwhile things are written and freed.
    for n in 0..6 {
        let name = format!("tank/fs{n}");
        pool.dsl
            .commit(Change::CreateFilesystem { name: name.clone(), parents: false, props: Vec::new() }, "")
            .unwrap();
        if n % 2 == 0 {
            pool.dsl.commit(Change::Destroy { names: vec![name], defer: false }, "").unwrap();
        }
    }
    wait_for("the end", || [0, 1].iter().all(|n| state(&pool, *n) == STATE_COMPLETE));
    // Nobody writes anything any more, and it is written down all the same.
    let told = || pool.dsl.history(true).unwrap().iter().filter(|it| it.text.ends_with(" complete")).count();
    wait_for("a group of its own", || told() == 2);
    assert!(verify(&pool, Options { data: true }, &mut |_, _| {}).unwrap().is_clean());
    pool.export().unwrap();
    for name in ["a.img", "b.img"] {
        assert!(room(&dir, name) < 32 << 20, "{name} takes {}", room(&dir, name));
    }
    zdb_accepts(&dir, "tank");
    // As OpenZFS names it, in the disk's ZAP.
    let said = zdb(&dir, &["-dddd", "tank"]);
    assert!(said.contains("org.zfsonlinux:vdev_trim_state"), "{said}");
}

#[test]
fn trimming_goes_on_after_an_import() {
    let dir = Dir::new("trim-on");
    let pool = make(&dir);
    let all = leaves(&pool);
    pool.sweep(&all, SweepKind::Trim, SweepCommand::Start { how: Some(1 << 10) }, "").unwrap();
    pool.export().unwrap();
    drop(pool);
    let pool = again(&dir);
    assert_eq!(pool.core().sweeps.of(all[0], SweepKind::Trim).unwrap().state, STATE_ACTIVE);
    let slowly = pool.core().sweeps.of(all[0], SweepKind::Trim).unwrap().next;
    assert!(slowly < SIZE);
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn what_is_freed_is_trimmed_by_itself() {
    let dir = Dir::new("autotrim");
    let pool = make(&dir);
    let on = Change::SetPoolProperties { props: vec![("autotrim".into(), "on".into())] };
    pool.dsl.commit(on, "").unwrap();
    pool.follow_props().unwrap();
    let before = room(&dir, "a.img");
    for n in 0..200 {
        let name = format!("tank/fs{n}");
        pool.dsl
            .commit(Change::CreateFilesystem { name: name.clone(), parents: false, props: Vec::new() }, "")
            .unwrap();
        if n % 10 != 9 {
            pool.dsl.commit(Change::Destroy { names: vec![name], defer: false }, "").unwrap();
        }
    }
    wait_for("freed space", || room(&dir, "a.img") < before && room(&dir, "b.img") < before);
    assert!(verify(&pool, Options { data: true }, &mut |_, _| {}).unwrap().is_clean());
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn initializing_goes_on_after_an_import_and_is_forgotten() {
    let dir = Dir::new("initialize");
    let pool = make(&dir);
    let all = leaves(&pool);
    let value = 0x5151_5151_5151_5151;
    let ask = |pool: &Pool, command| pool.sweep(&all[..1], SweepKind::Initialize, command, "").unwrap().1;
    let now = |pool: &Pool| pool.core().sweeps.of(all[0], SweepKind::Initialize).unwrap();
    assert_eq!(ask(&pool, SweepCommand::Suspend), [(all[0], SweepFault::NoInitialization)]);
    assert_eq!(ask(&pool, SweepCommand::Start { how: Some(value) }), []);
    wait_for("a first step", || now(&pool).next > 0);
    ask(&pool, SweepCommand::Suspend);
    let was = now(&pool);
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
    let pool = again(&dir);
    assert_eq!(now(&pool), was);
    assert_eq!(ask(&pool, SweepCommand::Start { how: None }), []);
    wait_for("the end", || now(&pool).state == STATE_COMPLETE);
    assert_eq!(now(&pool).how, value, "what it was begun with");
    pool.core().txgs.sync_empty().unwrap();
    assert!(verify(&pool, Options { data: true }, &mut |_, _| {}).unwrap().is_clean());
    let filled = |name: &str| {
        let disk = std::fs::read(dir.image_path(name)).unwrap();
        disk.iter().filter(|byte| **byte == 0x51).count() as u64
    };
    assert!(filled("a.img") > SIZE * 8 / 10 && filled("b.img") < SIZE / 10);
    assert!(zdb(&dir, &["-dddd", "tank"]).contains("com.delphix:vdev_initialize_state"));
    assert_eq!(ask(&pool, SweepCommand::Forget), []);
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
    assert!(!zdb(&dir, &["-dddd", "tank"]).contains("com.delphix:vdev_initialize_state"));
}
