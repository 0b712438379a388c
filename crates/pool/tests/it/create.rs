use std::sync::Arc;

use api_types::{NewDevice, NewVdevs, VdevSpec};
use dmu::{Holds, ObjectSpec};
use env::{Disk, DiskError, Disks, Env, OpenMode};
use ondisk::object_type::ObjectType;
use pool::Pool;
use pool::change::Change;
use pool::spa::config::Host;
use pool::spa::create::{CreateSpec, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use storage::Bias;

use crate::snapshots::{commit, is_whole, make};
use crate::support::{Dir, around, zdb_accepts};
use crate::vdevs::import_in;

const SIZE: u64 = 128 << 20;

pub fn spec(name: &str, vdevs: Vec<VdevSpec>) -> CreateSpec {
    let features = ondisk::feature::FEATURES.iter().filter(|feature| pool::feature::is_built(feature));
    CreateSpec {
        name: name.into(),
        temporary_name: None,
        version: ondisk::version::FEATURES,
        vdevs,
        logs: Vec::new(),
        special: Vec::new(),
        dedup: Vec::new(),
        cache: Vec::new(),
        spares: Vec::new(),
        features: features.collect(),
        ashift: None,
        props: Vec::new(),
        fs_props: Default::default(),
        compatibility: None,
        comment: None,
        altroot: None,
        host: Host { id: 77, name: "here".into() },
        force: false,
        history: "zpool create".into(),
    }
}

fn host() -> Host {
    Host { id: 77, name: "here".into() }
}

#[test]
fn an_empty_pool_is_accepted_and_found_again() {
    let dir = Dir::new("empty");
    let leaf = VdevSpec::Leaf(dir.image("a.img", SIZE));
    let around = around();
    let pool = create(&around, &spec("tank", vec![leaf])).unwrap();
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    let found = search(&around.env, &[dir.path()]);
    assert_eq!(found.len(), 1);
    let again = import(&around, &found[0], &ImportSpec { host: host(), ..ImportSpec::default() }).unwrap();
    assert_eq!(again.name(), "tank");
    again.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn devices_that_cannot_be_had_are_refused_in_openzfs_words() {
    let dir = Dir::new("refused");
    let refusal = |vdevs: &[&String]| {
        let vdevs = vdevs.iter().map(|&path| VdevSpec::Leaf(path.clone())).collect();
        create(&around(), &spec("tank", vdevs)).map(|_| ()).unwrap_err().to_string()
    };
    let (good, small) = (dir.image("good.img", SIZE), dir.image("small.img", (64 << 20) - 512));
    assert_eq!(
        refusal(&[&good, &small]),
        "cannot create 'tank': one or more devices is less than the minimum size (64M)"
    );
    assert_eq!(
        refusal(&[&good, &good]),
        "cannot create 'tank': one or more vdevs refer to the same device, or one of\n\
         the devices is part of an active md or lvm device"
    );
    let gone = format!("{}/gone.img", dir.path());
    assert_eq!(refusal(&[&gone]), format!("cannot create 'tank': {gone}: no such device"));
    // 64 MiB to the byte will do, and nothing was left on the device that was refused along with a
    // small one.
    let least = dir.image("least.img", 64 << 20);
    let leaf = |path: &String| VdevSpec::Leaf(path.clone());
    create(&around(), &spec("tank", vec![leaf(&good), leaf(&least)])).unwrap().export().unwrap();
}

#[test]
fn stripes_of_mirrors_are_accepted() {
    let dir = Dir::new("mirrors");
    let leaf = |name: &str| VdevSpec::Leaf(dir.image(name, SIZE));
    let mirrors = vec![
        VdevSpec::Mirror(vec![leaf("a.img"), leaf("b.img")]),
        VdevSpec::Mirror(vec![leaf("c.img"), leaf("d.img")]),
    ];
    let pool = create(&around(), &spec("wide", mirrors)).unwrap();
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "wide");
}

/// zdb of before 2.2 does not know this checksum: our verifier reads every block again.
#[test]
fn blake3_protects_where_the_pool_has_it() {
    let dir = Dir::new("blake3");
    let around = around();
    let mut with_blake3 = spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", SIZE))]);
    with_blake3.features.push(ondisk::feature::by_name("blake3").unwrap());
    let pool = create(&around, &with_blake3).unwrap();
    commit(&pool, make("tank/a", "off")).unwrap();
    let props = [("checksum", "blake3"), ("dedup", "blake3,verify")];
    let props = props.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    commit(&pool, Change::SetProperties { name: "tank/a".into(), props }).unwrap();
    let dataset = pool.dsl.open_dataset("tank/a").unwrap();
    let tx = dataset.objset().begin(Holds::new(1 << 20, 16)).unwrap();
    let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(128 << 10);
    let dnode = dataset.objset().alloc(spec, &tx).unwrap();
    let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    dnode.write(0, &bytes, &tx).unwrap();
    let object = dnode.object();
    drop((tx, dnode, dataset));
    pool.core().txgs.sync_now().unwrap();
    assert_eq!(pool.core().features.count("blake3"), Some(1));
    pool.export().unwrap();
    drop(pool);
    let found = search(&around.env, &[dir.path()]);
    let pool = import(&around, &found[0], &ImportSpec { host: host(), ..ImportSpec::default() }).unwrap();
    is_whole(&pool);
    let dataset = pool.dsl.open_dataset("tank/a").unwrap();
    assert!(dataset.objset().hold(object).unwrap().read_bytes(0, 1 << 20).unwrap() == bytes);
}

/// Block devices for all to see, under paths outside of /dev; files behind.
struct Devices(Arc<dyn Disks>);

impl Disks for Devices {
    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError> {
        self.0.open(path, mode)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, DiskError> {
        self.0.list(dir)
    }

    fn is_block_device(&self, path: &str) -> bool {
        path.ends_with(".device")
    }
}

/// What a device is decides what it is called in the pool, not where its name lies.
#[test]
fn a_disk_is_a_disk_wherever_its_path_leads() {
    let dir = Dir::new("kinds");
    let mut around = around();
    around.env.disks = Arc::new(Devices(around.env.disks.clone()));
    let leaves = ["a.img", "b.device"].map(|name| VdevSpec::Leaf(dir.image(name, SIZE)));
    let pool = create(&around, &spec("tank", leaves.to_vec())).unwrap();
    let kinds = pool.config().tree.children.iter().map(|leaf| leaf.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds, [storage::VdevKind::File, storage::VdevKind::Disk]);
    pool.export().unwrap();
    // Nor is a file a device because it lies below /dev.
    assert!(
        !Env::real().disks.is_block_device("/dev/null") && !Env::real().disks.is_block_device(&dir.path())
    );
}

#[test]
fn special_and_dedup_vdevs_are_made_and_used() {
    let dir = Dir::new("classes");
    let image = |name: &str| VdevSpec::Leaf(dir.image(name, SIZE));
    let around = around();
    let without =
        CreateSpec { features: Vec::new(), special: vec![image("s")], ..spec("tank", vec![image("a")]) };
    let refused = create(&around, &without).err().map(|error| error.to_string());
    assert!(refused.unwrap().contains("cannot create 'tank': unsupported version or feature"));
    let wanted = CreateSpec {
        special: vec![VdevSpec::Mirror(vec![image("s"), image("t")])],
        dedup: vec![image("d")],
        ..spec("tank", vec![image("a")])
    };
    let pool = create(&around, &wanted).unwrap();
    let count = |pool: &Pool| pool.core().features.count("allocation_classes");
    assert_eq!(count(&pool), Some(2));
    let used = |pool: &Pool, vdev| pool.core().storage.vdev_space(vdev).unwrap().allocated;
    // All that there is is metadata.
    assert!(used(&pool, 1) > 0 && used(&pool, 0) == 0, "{} {}", used(&pool, 1), used(&pool, 0));
    let logs = vec![image("l")];
    let more = NewVdevs { special: vec![image("u")], logs, ..NewVdevs::default() };
    pool.add_vdevs(&more, false, "zpool add").unwrap();
    assert_eq!(count(&pool), Some(3));
    let biases =
        |pool: &Pool| -> Vec<Bias> { pool.report().root.children.iter().map(|top| top.stat.bias).collect() };
    let all = [Bias::None, Bias::Special, Bias::Dedup, Bias::Special, Bias::None];
    assert_eq!(biases(&pool), all);
    // One that becomes a mirror, or is one no more, stays what it is.
    let side = pool.report().root.children[2].stat.guid;
    let new = NewDevice::at(&dir.image("e", SIZE));
    pool.attach_vdev(side, &new, "zpool attach").unwrap();
    assert_eq!(biases(&pool), all);
    let new = pool.report().root.children[2].children[1].stat.guid;
    pool.detach_vdev(new, "zpool detach").unwrap();
    assert_eq!(biases(&pool), all);
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
    let pool = import_in(&around, &dir);
    assert_eq!(biases(&pool), all);
    pool.export().unwrap();
}
