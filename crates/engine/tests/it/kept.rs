//! The program dies and the machine goes on: what volumes had answered is there, flushed or not.

use std::sync::Arc;

use engine::facade::{LocalEngine, Options};
use engine_api::{Change, Engine, ImportOptions, Pool, PoolSpec, PropertyChange, Stable, VdevSpec, Volume};
use env::{Env, Keepsake, MemDisks, MemKeepsake};
use stdx::prng::Prng;

use crate::disks::{Dir, prop, zdb_is_content};

const DISK: &str = "/disks/a";
const SIZE: usize = 8 << 20;

/// A machine that goes on while programs die on it.
struct Machine {
    disk: Vec<u8>,
    memory: Arc<MemKeepsake>,
}

/// A program with one pool and a volume.
struct Program {
    disks: Arc<MemDisks>,
    engine: Arc<LocalEngine>,
}

impl Machine {
    /// With a pool `ours` and a volume `ours/v` on it, and so much memory that outlives programs.
    fn new(memory: usize) -> (Machine, Program) {
        let disks = Arc::new(MemDisks::new());
        disks.add(DISK, 96 << 20);
        let memory = Arc::new(MemKeepsake::new(memory));
        let engine = engine(&disks, Some(memory.clone()));
        let vdevs = vec![VdevSpec::Leaf(DISK.into())];
        let spec =
            PoolSpec { name: "ours".into(), vdevs, mountpoint: Some("none".into()), ..PoolSpec::default() };
        let pool = engine.create(&spec).unwrap();
        create(&*pool, "ours/v");
        (Machine { disk: Vec::new(), memory }, Program { disks, engine })
    }

    fn memory(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.memory.size() as usize];
        self.memory.read(0, &mut bytes).unwrap();
        bytes
    }

    /// kill -9: what disks were told is there, and what is in memory that outlives it. Both as of
    /// one moment: no group ended between.
    fn kill(&mut self, program: &Program) {
        let left = loop {
            let before = self.memory();
            self.disk = program.disks.image(DISK);
            if self.memory() == before {
                break before;
            }
        };
        // The dead program may go on as it likes: it reaches nothing of this any more.
        self.memory = Arc::new(MemKeepsake::new(left.len()));
        self.memory.write(0, &[&left]).unwrap();
    }

    fn start(&self) -> Program {
        self.start_with(Some(self.memory.clone()))
    }

    fn start_with(&self, memory: Option<Arc<MemKeepsake>>) -> Program {
        let disks = Arc::new(MemDisks::new());
        disks.add_image(DISK, self.disk.clone());
        Program { engine: engine(&disks, memory), disks }
    }

    fn again(&mut self, program: &Program) -> Program {
        self.kill(program);
        self.start()
    }
}

impl Program {
    fn import_as(&self, options: ImportOptions) -> Arc<dyn Pool> {
        self.engine.import("ours", &ImportOptions { force: true, ..options }).unwrap()
    }

    fn pool(&self) -> Arc<dyn Pool> {
        self.engine.pool("ours").unwrap_or_else(|_| self.import_as(ImportOptions::default()))
    }

    fn volume(&self) -> Arc<dyn Volume> {
        self.pool().open_volume("ours/v").unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        self.volume().read(0, SIZE).unwrap().to_vec()
    }
}

fn engine(disks: &Arc<MemDisks>, memory: Option<Arc<MemKeepsake>>) -> Arc<LocalEngine> {
    let options = Options { search: vec!["/disks".into()], ..Options::default() };
    let keepsake = memory.map(|memory| memory as Arc<dyn Keepsake>);
    LocalEngine::new(Env { keepsake, disks: disks.clone(), ..Env::real() }, options)
}

fn create(pool: &dyn Pool, name: &str) {
    let props: Vec<PropertyChange> = vec![prop("volsize", "8M"), prop("volblocksize", "16K")];
    let change = Change::CreateVolume { name: name.into(), parents: false, sparse: true, props };
    pool.commit(&change, "").unwrap();
}

fn commit(pool: &dyn Pool, change: Change) {
    pool.commit(&change, "").unwrap();
}

/// Changes of all kinds, some of them flushed; and the same of bytes.
fn storm(volume: &dyn Volume, bytes: &mut [u8], rng: &mut Prng, count: usize) {
    for _ in 0..count {
        let at = rng.below(bytes.len() as u64 - 1) as usize;
        let most = 1 << (1 + rng.below(21));
        let len = (rng.below(most) as usize + 1).min(bytes.len() - at);
        let mut data = vec![0; len];
        rng.fill(&mut data);
        let stable = *rng.pick(&[Stable::Unstable, Stable::Unstable, Stable::DataSync]).unwrap();
        let place = at as u64;
        match rng.below(8) {
            0 => {
                data.fill(0);
                volume.write_zeroes(place, len as u64, stable).unwrap();
            }
            1 => volume.write_whole(place, &data, stable).unwrap(),
            2 => {
                let change = &mut |into: &mut [u8]| {
                    into.copy_from_slice(&data);
                    true
                };
                volume.modify(place, len, stable, change).unwrap();
            }
            3 => volume.write_promised(place, &data).unwrap()().unwrap(),
            4 => {
                let from = rng.below((bytes.len() - len + 1) as u64) as usize;
                volume.copy_from(volume, from as u64, place, len as u64).unwrap();
                data.copy_from_slice(&bytes[from..from + len]);
            }
            _ => volume.write(place, &data, stable).unwrap(),
        }
        bytes[at..at + len].copy_from_slice(&data);
        match rng.below(12) {
            0 => volume.flush().unwrap(),
            1 => drop(volume.read(0, 1)),
            _ => {}
        }
    }
}

#[test]
fn what_was_answered_survives_the_program_again_and_again() {
    let (mut machine, mut program) = Machine::new(16 << 20);
    let (mut bytes, mut rng) = (vec![0; SIZE], Prng::new(18));
    for turn in 0..6 {
        storm(&*program.volume(), &mut bytes, &mut rng, 30);
        if turn % 2 == 1 {
            program.pool().sync().unwrap();
            storm(&*program.volume(), &mut bytes, &mut rng, 10);
        }
        program = machine.again(&program);
        assert!(program.bytes() == bytes, "turn {turn}");
        assert!(program.engine.keeps_nothing(), "what has been done again is durable");
        if turn == 3 {
            // It dies while nobody has changed anything, or in the middle of the import.
            program = machine.again(&program);
            assert!(program.bytes() == bytes);
        }
    }
    drop(program.volume());
    program.engine.export("ours", false).unwrap();
    assert!(program.engine.keeps_nothing());
    let dir = Dir::new("kept");
    std::fs::write(dir.0.join("a"), program.disks.image(DISK)).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

/// A flushed write is in the intent log, which is replayed first: what was written before it must
/// not come back over it.
#[test]
fn a_flushed_write_stays_over_one_that_nobody_flushed() {
    let (mut machine, program) = Machine::new(16 << 20);
    let volume = program.volume();
    // The log has a chain from here on.
    volume.write(0, &[1; 4096], Stable::DataSync).unwrap();
    volume.write(0, &[2; 4096], Stable::DataSync).unwrap();
    volume.write(8192, &[3; 8192], Stable::Unstable).unwrap();
    volume.write(8192, &[4; 4096], Stable::DataSync).unwrap();
    volume.write(0, &[5; 1024], Stable::Unstable).unwrap();
    let program = machine.again(&program);
    let found = program.bytes();
    assert_eq!((found[0], found[1024], found[8192], found[12288]), (5, 2, 4, 3));
}

#[test]
fn without_room_a_write_is_answered_when_its_group_is_durable() {
    // Room for three chunks.
    let (mut machine, program) = Machine::new((3 << 20) + (64 << 10));
    let (mut bytes, mut rng) = (vec![0; SIZE], Prng::new(2));
    storm(&*program.volume(), &mut bytes, &mut rng, 60);
    let program = machine.again(&program);
    assert!(program.bytes() == bytes);
}

#[test]
fn notes_go_where_their_volume_goes() {
    let (mut machine, program) = Machine::new(16 << 20);
    let (pool, volume) = (program.pool(), program.volume());
    let at = |value: u8| volume.write(0, &[value; 4096], Stable::Unstable).unwrap();
    at(1);
    commit(&*pool, Change::Snapshot { names: vec!["ours/v@s".into()], recursive: false, props: vec![] });
    at(2);
    commit(&*pool, Change::Rollback { snapshot: "ours/v@s".into() });
    let volume = program.volume();
    assert_eq!(volume.read(0, 1).unwrap().to_vec(), [1]);
    volume.write(4096, &[3; 4096], Stable::Unstable).unwrap();
    create(&*pool, "ours/w");
    let other = pool.open_volume("ours/w").unwrap();
    other.write(0, &[4; 4096], Stable::Unstable).unwrap();
    drop(other);
    commit(&*pool, Change::Destroy { names: vec!["ours/w".into()], defer: false });
    let rename =
        Change::Rename { from: "ours/v".into(), to: "ours/n".into(), parents: false, recursive: false };
    commit(&*pool, rename);
    let volume = pool.open_volume("ours/n").unwrap();
    volume.write(8192, &[5; 4096], Stable::Unstable).unwrap();
    let size = vec![prop("volsize", "4M")];
    volume.write(6 << 20, &[6; 4096], Stable::Unstable).unwrap();
    commit(&*pool, Change::SetProperties { name: "ours/n".into(), props: size });
    volume.write(12288, &[7; 4096], Stable::Unstable).unwrap();

    let program = machine.again(&program);
    let pool = program.pool();
    let volume = pool.open_volume("ours/n").unwrap();
    let found = volume.read(0, 4 << 20).unwrap().to_vec();
    assert_eq!([found[0], found[4096], found[8192], found[12288], found[16384]], [1, 3, 5, 7, 0]);
    assert!(found[16384..].iter().all(|byte| *byte == 0));
    let snapshot = pool.open_volume("ours/n@s").unwrap().read(0, 8192).unwrap().to_vec();
    assert_eq!((snapshot[0], snapshot[4096]), (1, 0));
}

#[test]
fn a_pool_that_was_changed_elsewhere_is_left_as_it_is() {
    let (mut machine, program) = Machine::new(16 << 20);
    program.volume().write(0, &[1; 4096], Stable::DataSync).unwrap();
    program.pool().sync().unwrap();
    program.volume().write(0, &[2; 4096], Stable::Unstable).unwrap();
    machine.kill(&program);

    // Whoever only looks changes nothing: the notes are still good.
    let looked = machine.start();
    looked.import_as(ImportOptions { readonly: true, ..ImportOptions::default() });
    assert_eq!(looked.bytes()[0], 1);
    assert!(!looked.engine.keeps_nothing());
    looked.engine.export("ours", false).unwrap();
    assert!(!looked.engine.keeps_nothing());
    let here = machine.start();
    assert_eq!(here.bytes()[0], 2);

    // Another host, which knows nothing of this memory.
    let (mut machine, program) = Machine::new(16 << 20);
    program.volume().write(0, &[1; 4096], Stable::DataSync).unwrap();
    program.pool().sync().unwrap();
    program.volume().write(0, &[2; 4096], Stable::Unstable).unwrap();
    machine.kill(&program);
    let elsewhere = machine.start_with(None);
    elsewhere.volume().write(0, &[3; 4096], Stable::Unstable).unwrap();
    elsewhere.engine.export("ours", false).unwrap();
    machine.disk = elsewhere.disks.image(DISK);
    let here = machine.start();
    assert_eq!(here.bytes()[0], 3);
    assert!(here.engine.keeps_nothing());
}
