//! Pools made here, on disks in memory: clean as they are, and with space lost or given away behind
//! their back.

use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{Cred, Engine, FileSystem, PoolSpec, SetAttr, Stable, VdevSpec};
use env::{Disks, Env, MemDisks, OpenMode};
use ondisk::nvlist::NvValue;
use ondisk::object_type::ObjectType;
use storage::labels::Device;
use storage::{Block, WriteItem, WritePolicy};

use crate::support::{Ran, inspect_in};

const MIB: u64 = 1 << 20;

struct World {
    disks: Arc<MemDisks>,
    env: Env,
    engine: Arc<LocalEngine>,
}

impl World {
    /// A pool on a mirror, with a file system and some files in it.
    fn new() -> World {
        let disks = Arc::new(MemDisks::new());
        disks.add("/disks/a", 128 * MIB);
        disks.add("/disks/b", 128 * MIB);
        let env = Env { disks: disks.clone(), ..Env::real() };
        let engine = LocalEngine::new(env.clone(), Options { cache: 32 << 20, ..Options::default() });
        let leaf = |name: &str| VdevSpec::Leaf(name.into());
        let spec = PoolSpec {
            name: "tank".into(),
            vdevs: vec![VdevSpec::Mirror(vec![leaf("/disks/a"), leaf("/disks/b")])],
            history: "zpool create tank mirror a b".into(),
            ..PoolSpec::default()
        };
        engine.create(&spec).unwrap();
        World { disks, env, engine }
    }

    fn fs(&self) -> Arc<dyn FileSystem> {
        self.engine.pool("tank").unwrap().open_fs("tank").unwrap()
    }

    /// A file of bytes that do not compress.
    fn write(&self, name: &str, len: usize) {
        let (fs, root) = (self.fs(), Cred::root());
        let mut seed = 0x9e37_79b9_7f4a_7c15u64 ^ len as u64;
        let noise = std::iter::repeat_with(|| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed as u8
        });
        let data: Vec<u8> = noise.take(len).collect();
        let how = engine_api::CreateMode::Unchecked;
        let file = fs.create(&root, fs.root(), name.as_bytes(), how, &SetAttr::default()).unwrap();
        fs.write(&root, file.attr.node, 0, &data, Stable::Unstable).unwrap();
    }

    fn sync(&self) {
        self.engine.pool("tank").unwrap().sync().unwrap();
    }

    fn export(&self) {
        self.engine.export("tank", false).unwrap();
    }

    fn inspect(&self, options: &[&str]) -> Ran {
        let mut args = options.to_vec();
        args.push("/disks");
        inspect_in(&self.env, &args)
    }
}

#[test]
fn what_we_wrote_is_clean_before_and_after_export() {
    let world = World::new();
    world.write("large", 3 << 20);
    for n in 0..50 {
        world.write(&format!("file{n}"), n * 300);
    }
    world.sync();
    let out = world.inspect(&["-c"]).clean();
    assert!(out.contains("exactly what is referenced"), "{out}");
    world.fs().remove(&Cred::root(), world.fs().root(), b"large").unwrap();
    world.export();
    let before = (world.disks.image("/disks/a"), world.disks.image("/disks/b"));
    let out = world.inspect(&["-c"]).clean();
    assert!(out.contains("no problems"), "{out}");
    let overview = world.inspect(&[]).clean();
    assert!(overview.contains("Dataset tank [ZPL]") && overview.contains("mirror-0"), "{overview}");
    assert!(
        before == (world.disks.image("/disks/a"), world.disks.image("/disks/b")),
        "a look has changed a disk"
    );
}

#[test]
fn a_whole_side_that_is_gone_is_no_problem_and_a_bad_one_is_counted() {
    let world = World::new();
    world.write("large", 1 << 20);
    world.export();
    world.disks.edit("/disks/b", |bytes| bytes[(5 * MIB) as usize..(100 * MIB) as usize].fill(0));
    let out = world.inspect(&["-c"]).clean();
    assert!(out.contains("copies are bad") && out.contains("b: 0 read errors"), "{out}");
    world.disks.remove("/disks/b");
    let out = world.inspect(&["-c"]).clean();
    assert!(out.contains("no problems") && !out.contains("copies are bad"), "{out}");
}

#[test]
fn a_pool_with_an_unknown_feature_is_shown_by_its_labels() {
    const UNKNOWN: &str = "org.example:from_the_future";
    let world = World::new();
    world.export();
    for path in ["/disks/a", "/disks/b"] {
        let disk = world.disks.open(path, OpenMode::ReadWrite).unwrap();
        let device = Device::locate(disk).unwrap();
        let mut config = device.read_labels().config().unwrap().clone();
        let mut needed = config.nvlist("features_for_read").unwrap().clone();
        needed.set_flag(UNKNOWN);
        config.set("features_for_read", NvValue::NvList(needed));
        device.write_config(&config, true).unwrap();
        device.write_config(&config, false).unwrap();
    }
    let ran = world.inspect(&[]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("by its labels only") && ran.out.contains("newest uberblock"), "{}", ran.out);
    assert!(ran.out.contains("features needed") && ran.err.contains(UNKNOWN), "{ran:?}");
}

#[test]
fn space_that_nothing_refers_to_is_a_leak() {
    let world = World::new();
    world.write("file", 200_000);
    world.sync();
    let pool = world.engine.pool_below("tank").unwrap();
    let core = pool.core();
    // A block that is written, and forgotten.
    let item = WriteItem {
        data: Arc::new(Block::from_slice(&[0x5a; 4096])),
        policy: WritePolicy {
            compression: ondisk::CompressKind::Off,
            ..WritePolicy::data(ObjectType::PLAIN_FILE_CONTENTS)
        },
        rewrite: None,
        unless: None,
    };
    let written = core.storage.write_batch(vec![item], core.txgs.open(), &mut |_| {});
    assert!(written[0].is_ok());
    world.sync();
    world.export();
    let ran = world.inspect(&["-c"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("1 problems:") && ran.out.contains("4096 bytes at"), "{}", ran.out);
    assert!(ran.out.contains("allocated, but nothing refers to it"), "{}", ran.out);
}

#[test]
fn space_given_away_while_in_use_is_found() {
    let world = World::new();
    world.write("file", 100_000);
    world.sync();
    let pool = world.engine.pool_below("tank").unwrap();
    let core = pool.core();
    let dataset = pool.dsl.open_dataset("tank").unwrap();
    let file = world.fs().lookup(&Cred::root(), world.fs().root(), b"file").unwrap();
    let block = dataset.objset().hold(file.node.object).unwrap().phys().blkptrs[0];
    core.storage.free(&block, core.txgs.open());
    world.sync();
    world.export();
    let ran = world.inspect(&["-c"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("in use, but not allocated"), "{}", ran.out);
}
