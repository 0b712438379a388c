//! The power goes while a group is made durable that changes the labels, and goes again while the
//! pool is imported: it must be found whole after that, and be the pool that it became, though half
//! of the labels were of no use and the other half was being written.

use engine_api::{Change, NewVdevs, VdevSpec};
use env::OpenMode;
use sim::disk::Loss;
use sim::machine::{Machine, POOL, World};
use sim::swarm::{Layout, Swarm};
use stdx::prng::Prng;
use storage::labels::Device;

/// A disk that joins.
const NEW: &str = "/sim/new";
/// How often the power goes during the import after each event, and in which flush at the latest.
const IMPORTS: u64 = 8;
const FLUSHES: u64 = 12;

/// `change` is given the disks' guids.
fn check(layout: Layout, change: &dyn Fn(&[u64]) -> Change) {
    let mut prng = Prng::new(11);
    let swarm = Swarm::draw(&mut prng).calm(layout, &[]);
    let mut world = World::of(swarm, &mut prng);
    let sector = world.swarm.sector;
    world.disks.add(NEW, world.swarm.disk_size, sector);
    let machine = world.boot();
    let api = machine.create(&world.swarm).expect("a pool");
    let pool = machine.engine.pool_below(POOL).expect("it is imported");
    pool.core().txgs.sync_now().expect("a group");
    let guids: Vec<u64> = pool.core().storage.leaves().iter().map(|leaf| leaf.guid).collect();
    drop(pool);
    let before = machine.newest_group();
    world.disks.start_tape();
    api.commit(&change(&guids), "").expect("the change");
    let tape = world.disks.take_tape().expect("it runs");
    let guid = guid_of(&machine);
    drop(api);
    drop(machine);
    let mut player = tape.play();
    let mut cuts = 0;
    for at in 0..tape.len() {
        player.forward(at);
        let images = tape.paths().iter().zip(player.images());
        for n in 0..IMPORTS {
            for (path, image) in images.clone() {
                let mut image = image.clone();
                image.crash(sector, Loss { kept: 100, torn: 0 }, &mut prng);
                world.disks.set_image(path, image);
            }
            let machine = world.boot();
            let is_durable = machine.newest_group() > before;
            if n == 0 && !(is_durable && tape.paths().iter().any(|path| has_two_opinions(&machine, path))) {
                break;
            }
            cuts += 1;
            world.disks.cut_near_flush(prng.below(FLUSHES), 0);
            let imported = machine.import().map(drop);
            assert!(imported.is_ok() || !world.disks.is_on(), "event {at}: {imported:?}");
            drop(machine);
            world.disks.restart(Loss { kept: 0, torn: 100 });
            let machine = world.boot();
            let imported = machine.import().map(drop);
            assert!(imported.is_ok(), "event {at} of {}, {n}: {imported:?}", tape.len());
            assert_eq!(
                guid_of(&machine),
                guid,
                "event {at} of {}, {n}: what was durable is undone",
                tape.len()
            );
            drop(machine);
            world.disks.restart(Loss { kept: 100, torn: 0 });
        }
    }
    assert!(cuts > 0);
}

fn guid_of(machine: &Machine) -> u64 {
    machine.engine.pool_below(POOL).expect("it is imported").guid()
}

/// Whether the labels that are written last lack what the others say.
fn has_two_opinions(machine: &Machine, path: &str) -> bool {
    let disk = machine.env.disks.open(path, OpenMode::ReadOnly).expect("it is there");
    let configs = Device::locate(disk).expect("it has a size").read_labels().configs;
    configs[0] != configs[1]
}

#[test]
fn a_disk_that_was_added_is_found() {
    let data = vec![VdevSpec::Leaf(NEW.to_owned())];
    let vdevs = NewVdevs { data, ..NewVdevs::default() };
    check(Layout::Single, &|_| Change::AddVdevs { vdevs: vdevs.clone(), force: true });
}

#[test]
fn the_last_side_of_a_mirror_is_found() {
    check(Layout::Mirror, &|guids| Change::DetachVdev { guid: guids[1] });
}

#[test]
fn a_pool_with_a_new_guid_is_found() {
    check(Layout::Mirror, &|_| Change::Reguid { guid: None });
}
