//! Projects: given to files old and new, handed on, limited; and counted as zdb counts them.

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, Engine, Error, FileSystem, ImportOptions, NewNode, NodeId, Pool, PoolSpec,
    Project, RenameMode, SetAttr, Spender, Stable, VdevSpec, XattrMode,
};
use env::Env;

use crate::disks::{Dir, new_pool, prop, zdb, zdb_finds_no_leak};

const ROOT: Cred = Cred::root();
const JOE: Cred = Cred::user(1000, 100);
const NONE: Project = Project { id: 0, inherit: false };

fn attr() -> SetAttr {
    SetAttr { mode: Some(0o777), uid: Some(1000), gid: Some(100), ..SetAttr::default() }
}

fn dir(fs: &dyn FileSystem, at: NodeId, name: &str) -> NodeId {
    fs.make(&ROOT, at, name.as_bytes(), &NewNode::Dir, &attr()).unwrap().attr.node
}

fn file(fs: &dyn FileSystem, at: NodeId, name: &str, len: usize) -> Result<NodeId, Error> {
    let file = fs.create(&ROOT, at, name.as_bytes(), CreateMode::Guarded, &attr())?.attr.node;
    let data: Vec<u8> = (0..len).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 7) as u8).collect();
    fs.write(&ROOT, file, 0, &data, Stable::Unstable).map(|_| file)
}

fn set(pool: &dyn Pool, name: &str, value: &str) {
    let change = Change::SetProperties { name: "ours/p".into(), props: vec![prop(name, value)] };
    pool.commit(&change, "zfs set").unwrap();
}

/// Bytes and objects of a project.
fn used(pool: &dyn Pool, project: u64) -> (u64, u64) {
    pool.sync().unwrap();
    let all = pool.space_use("ours/p", Spender::Project).unwrap();
    let one = all.iter().find(|one| one.id == project);
    one.map_or((0, 0), |one| (one.used.unwrap(), one.objects_used.unwrap()))
}

/// In a pool that had no projects at first, so that its oldest files have no place for one.
#[test]
fn projects_are_given_handed_on_limited_and_counted() {
    let place = Dir::new("projects");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let disk = place.0.join("disk");
    std::fs::File::create(&disk).unwrap().set_len(256 << 20).unwrap();
    let spec = PoolSpec {
        name: "ours".into(),
        vdevs: vec![VdevSpec::Leaf(disk.to_str().unwrap().into())],
        props: vec![prop("feature@project_quota", "disabled")],
        fs_props: vec![prop("compression", "off"), prop("xattr", "dir")],
        mountpoint: Some("none".into()),
        ..PoolSpec::default()
    };
    let pool = engine.create(&spec).unwrap();
    let change = Change::CreateFilesystem { name: "ours/p".into(), parents: false, props: Vec::new() };
    pool.commit(&change, "zfs create").unwrap();
    let fs = pool.open_fs("ours/p").unwrap();
    let old = file(&*fs, fs.root(), "old", 100_000).unwrap();
    fs.setxattr(&ROOT, old, b"user.tag", &[9; 30_000], XattrMode::Either).unwrap();
    let unsupported = fs.set_project(&ROOT, old, Project { id: 7, inherit: false });
    assert!(matches!(unsupported, Err(Error::Unsupported(_))), "{unsupported:?}");
    let props = vec![prop("feature@project_quota", "enabled")];
    pool.commit(&Change::SetPoolProperties { props }, "zpool set").unwrap();
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    let options =
        ImportOptions { search: vec![place.0.to_str().unwrap().into()], ..ImportOptions::default() };
    let pool = engine.import("ours", &options).unwrap();
    let fs = pool.open_fs("ours/p").unwrap();
    // An old file with an attribute that is a file: file, directory and attribute are three
    // objects.
    let top = fs.root();
    assert_eq!(fs.project(old), Ok(NONE));
    fs.set_project(&JOE, old, Project { id: 7, inherit: false }).unwrap();
    // Numbers are told once a worker has been through all objects; what the default project had
    // before is not known.
    let (bytes, objects) = (0..500)
        .map(|_| used(&*pool, 7))
        .inspect(|_| std::thread::sleep(std::time::Duration::from_millis(10)))
        .find(|used| used.1 > 0)
        .unwrap();
    assert!(bytes >= 130_000 && objects == 3, "{bytes} {objects}");
    let mine = Project { id: 8, inherit: true };
    let stranger = Cred { uid: 1001, ..JOE };
    assert_eq!(fs.set_project(&stranger, old, mine), Err(Error::Denied));
    assert!(matches!(fs.set_project(&JOE, old, Project { id: u32::MAX, ..mine }), Err(Error::Invalid(_))));

    // A directory hands its project on, and takes nothing of another; what is in another directory
    // stays what it is.
    let joe = dir(&*fs, top, "joe");
    fs.set_project(&JOE, joe, mine).unwrap();
    let below = dir(&*fs, joe, "below");
    let new = file(&*fs, below, "new", 1000).unwrap();
    assert_eq!([below, new].map(|node| fs.project(node)), [Ok(mine), Ok(mine)]);
    let replace = RenameMode::Replace;
    assert_eq!(fs.rename(&ROOT, (top, b"old"), (below, b"old"), replace).err(), Some(Error::CrossDevice));
    assert_eq!(fs.link(&ROOT, old, joe, b"old").err(), Some(Error::CrossDevice));
    fs.rename(&ROOT, (below, b"new"), (top, b"new"), replace).unwrap();
    assert_eq!(fs.project(new), Ok(mine));

    // Limits: seen where the project is handed on, met by whoever owns the files.
    let all = fs.statfs(top).unwrap();
    set(&*pool, "projectquota@8", "1M");
    set(&*pool, "projectobjquota@8", "5");
    let (bytes, objects) = used(&*pool, 8);
    assert_eq!(objects, 3);
    let room = fs.statfs(below).unwrap();
    assert_eq!((room.total_bytes, room.free_bytes), (1 << 20, (1 << 20) - bytes));
    assert_eq!((room.total_files, room.free_files), (5, 2));
    assert_eq!(fs.statfs(new).unwrap().total_files, 5);
    assert!(fs.statfs(top).unwrap().total_bytes > 100 << 20 && all.total_bytes > 100 << 20);
    let large = file(&*fs, below, "large", 2 << 20).unwrap();
    pool.sync().unwrap();
    assert_eq!(fs.write(&ROOT, large, 0, b"x", Stable::Unstable).err(), Some(Error::Quota));
    assert_eq!(file(&*fs, joe, "another", 1), Err(Error::Quota));
    assert_eq!(fs.statfs(joe).unwrap().free_bytes, 0);
    assert_eq!(fs.set_project(&ROOT, old, mine), Err(Error::Quota));
    file(&*fs, top, "elsewhere", 1).unwrap();
    set(&*pool, "projectquota@8", "none");
    let last = file(&*fs, joe, "last", 1).unwrap();
    pool.sync().unwrap();
    assert_eq!(file(&*fs, joe, "one too many", 1), Err(Error::Quota));
    fs.set_project(&ROOT, last, NONE).unwrap();
    assert_eq!(used(&*pool, 8).1, 4);

    let ours = [7, 8].map(|project| used(&*pool, project));
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    let folder = place.0.to_str().unwrap();
    let text = zdb(folder, "ours/p", "-dddd");
    for (project, (bytes, objects)) in [7, 8].into_iter().zip(ours) {
        for line in [format!("{project:x} = {bytes}"), format!("obj-{project:x} = {objects}")] {
            assert!(text.lines().any(|told| told.trim() == line), "{line}: not what zdb has");
        }
    }
    zdb_finds_no_leak(folder, "ours");
}

/// What a file has beside itself becomes the new owner's with it.
#[test]
fn hidden_files_follow_their_owner() {
    let place = Dir::new("chown");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &place.0);
    let props = vec![prop("compression", "off"), prop("xattr", "dir")];
    pool.commit(&Change::CreateFilesystem { name: "ours/p".into(), parents: false, props }, "").unwrap();
    let fs = pool.open_fs("ours/p").unwrap();
    let node = file(&*fs, fs.root(), "file", 100_000).unwrap();
    for name in ["user.one", "user.two"] {
        fs.setxattr(&JOE, node, name.as_bytes(), &[9; 30_000], XattrMode::Either).unwrap();
    }
    let objects = |of: Spender, id: u64| {
        pool.sync().unwrap();
        let all = pool.space_use("ours/p", of).unwrap();
        all.iter().find(|one| one.id == id).map_or(0, |one| one.objects_used.unwrap())
    };
    // File, directory and two attributes.
    assert_eq!((objects(Spender::User, 1000), objects(Spender::Group, 100)), (4, 4));
    let to = SetAttr { uid: Some(2000), gid: Some(200), ..SetAttr::default() };
    fs.setattr(&ROOT, node, &to).unwrap();
    assert_eq!((objects(Spender::User, 1000), objects(Spender::Group, 100)), (0, 0));
    assert_eq!((objects(Spender::User, 2000), objects(Spender::Group, 200)), (4, 4));
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    zdb_finds_no_leak(place.0.to_str().unwrap(), "ours");
}
