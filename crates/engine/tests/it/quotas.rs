//! Space by user, group and project: counted as zdb has it, limited, and told to administrators.

use std::collections::BTreeMap;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, DatasetFilter, Engine, Error, FileSystem, NewNode, NodeId, Pool, SetAttr,
    SpaceUse, Spender, Stable,
};
use env::Env;

use crate::disks::{Dir, new_pool, prop, zdb, zdb_finds_no_leak};

const JOE: Cred = Cred::user(1000, 100);
const JANE: Cred = Cred::user(1001, 101);

fn set(pool: &dyn Pool, name: &str, value: &str) -> Result<(), Error> {
    let change = Change::SetProperties { name: "ours/q".into(), props: vec![prop(name, value)] };
    pool.commit(&change, "zfs set").map(drop)
}

fn write(fs: &dyn FileSystem, cred: &Cred, top: NodeId, name: &str, len: usize) -> Result<(), Error> {
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    let file = fs.create(cred, top, name.as_bytes(), CreateMode::Guarded, &attr)?.attr.node;
    // Not to be compressed away.
    let data: Vec<u8> =
        (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    fs.write(cred, file, 0, &data, Stable::Unstable).map(drop)
}

/// The entries of the accounting object of this number (from the end), as zdb prints them.
fn zdb_counts(text: &str, object: &str) -> BTreeMap<String, u64> {
    let mut inside = false;
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(number), Some(_), Some(_), Some(_)) if line.contains("ZFS user/group/project used") => {
                inside = number == object;
            }
            (Some("Object"), ..) => inside = false,
            (Some(name), Some("="), Some(value), None) if inside => {
                found.insert(name.to_owned(), value.parse().unwrap());
            }
            _ => {}
        }
    }
    found
}

fn ours(uses: &[SpaceUse]) -> BTreeMap<String, u64> {
    let bytes = uses.iter().map(|one| (format!("{:x}", one.id), one.used.unwrap()));
    let objects = uses.iter().map(|one| (format!("obj-{:x}", one.id), one.objects_used.unwrap()));
    bytes.chain(objects).filter(|(_, number)| *number != 0).collect()
}

#[test]
fn limits_hold_and_zdb_counts_as_we_do() {
    let dir = Dir::new("quotas");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let props = vec![prop("compression", "off"), prop("userobjquota@7", "5")];
    let change = Change::CreateFilesystem { name: "ours/q".into(), parents: false, props };
    pool.commit(&change, "zfs create").unwrap();
    let fs = pool.open_fs("ours/q").unwrap();
    let attr = SetAttr { mode: Some(0o777), ..SetAttr::default() };
    let top = fs.make(&Cred::root(), fs.root(), b"top", &NewNode::Dir, &attr).unwrap().attr.node;
    for i in 0..6 {
        write(&*fs, &JOE, top, &format!("joe {i}"), 100_000).unwrap();
        write(&*fs, &JANE, top, &format!("jane {i}"), 3000).unwrap();
    }
    pool.sync().unwrap();

    // Who has used up his bytes writes no more, to old files or new; others do, and so does he with
    // more.
    set(&*pool, "userquota@1000", "500K").unwrap();
    let old = fs.lookup(&JOE, top, b"joe 1").unwrap().node;
    assert_eq!(fs.write(&JOE, old, 0, b"x", Stable::Unstable).err(), Some(Error::Quota));
    assert_eq!(write(&*fs, &JOE, top, "new", 1), Err(Error::Quota));
    // The bytes count for who owns the file, whoever writes them, and no one gives his files to the
    // poor.
    assert_eq!(fs.write(&Cred::root(), old, 0, b"x", Stable::Unstable).err(), Some(Error::Quota));
    let jane = fs.lookup(&JANE, top, b"jane 1").unwrap().node;
    let give = SetAttr { uid: Some(1000), ..SetAttr::default() };
    assert_eq!(fs.setattr(&Cred::root(), jane, &give).err(), Some(Error::Quota));
    write(&*fs, &JANE, top, "jane new", 1).unwrap();
    set(&*pool, "userquota@1000", "2M").unwrap();
    write(&*fs, &JOE, top, "new", 1).unwrap();

    set(&*pool, "groupobjquota@101", "7").unwrap();
    pool.sync().unwrap();
    assert_eq!(write(&*fs, &JANE, top, "one too many", 1), Err(Error::Quota));
    fs.remove(&JANE, top, b"jane 0").unwrap();
    pool.sync().unwrap();
    write(&*fs, &JANE, top, "another", 1).unwrap();
    set(&*pool, "groupobjquota@101", "none").unwrap();

    let refused = |name, value, text: &str| {
        let told = set(&*pool, name, value);
        assert!(matches!(&told, Err(Error::Refused(why)) if why.to_string().contains(text)), "{told:?}");
    };
    refused("userused@5", "7", "'userused@5' is readonly");
    refused("userquota@joe", "7", "'userquota@joe' has an invalid user/group name");
    refused("projectquota@5", "lots", "bad numeric value 'lots'");

    pool.sync().unwrap();
    let users = pool.space_use("ours/q", Spender::User).unwrap();
    let joe = users.iter().find(|one| one.id == 1000).unwrap();
    assert_eq!((joe.quota, joe.objects_used, joe.objects_quota), (Some(2 << 20), Some(7), Some(0)));
    let seven = SpaceUse { id: 7, used: None, quota: None, objects_used: Some(0), objects_quota: Some(5) };
    assert!(users.contains(&seven), "{users:?}");
    let filter = DatasetFilter {
        roots: vec!["ours/q".into()],
        depth: Some(0),
        props: ["userused@1000", "userquota@1000", "groupobjused@101"].map(str::to_owned).to_vec(),
        ..DatasetFilter::default()
    };
    let shown = pool.datasets(&filter).unwrap().remove(0).props;
    let values: Vec<&str> = shown.iter().map(|prop| prop.value.as_str()).collect();
    assert_eq!(values, [&joe.used.unwrap().to_string(), "2097152", "7"]);

    let all =
        [Spender::User, Spender::Group, Spender::Project].map(|of| pool.space_use("ours/q", of).unwrap());
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    let place = dir.0.to_str().unwrap();
    let text = zdb(place, "ours/q", "-dddd");
    for (object, uses) in ["-1", "-2", "-3"].into_iter().zip(&all) {
        let theirs = zdb_counts(&text, object);
        let mine: BTreeMap<_, _> =
            ours(&uses.iter().copied().filter(|one| one.used.is_some()).collect::<Vec<_>>());
        assert_eq!(theirs, mine, "object {object}");
        assert!(!theirs.is_empty());
    }
    zdb_finds_no_leak(place, "ours");
}
