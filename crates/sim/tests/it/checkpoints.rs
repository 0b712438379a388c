//! The power goes at any write while a pool goes back to its checkpoint, or discards it: then it is
//! all of what it was, or all of what it is to become, and nothing leaks.

use engine_api::{Change, DatasetFilter, Engine as _, ImportOptions};
use pool::verify::{Options as VerifyOptions, verify};
use sim::disk::Loss;
use sim::machine::{Machine, POOL, World};
use sim::swarm::{Layout, Swarm};
use stdx::prng::Prng;

const BEFORE: &str = "sim/before";
const AFTER: &str = "sim/after";
/// Groups that are written after the deed began.
const GROUPS: usize = 4;

fn names(api: &dyn engine_api::Pool) -> Vec<String> {
    let all = api.datasets(&DatasetFilter::default()).expect("a list");
    all.into_iter().map(|dataset| dataset.name).filter(|name| name != POOL).collect()
}

fn make(api: &dyn engine_api::Pool, name: &str) {
    let change = Change::CreateFilesystem { name: name.to_owned(), parents: false, props: Vec::new() };
    api.commit(&change, "").expect("a file system");
}

fn is_whole(machine: &Machine) {
    let pool = machine.engine.pool_below(POOL).expect("it is imported");
    let report = verify(&pool, VerifyOptions { data: true }, &mut |_, _| {}).expect("it can be read");
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Records what `deed` does to a pool that has a checkpoint, and cuts it anywhere. Tells how often
/// the pool came back as it was at the checkpoint, and how often without one.
fn cut(seed: u64, deed: &dyn Fn(&Machine)) -> (u32, u32) {
    let mut prng = Prng::new(seed);
    let mut swarm = Swarm::draw(&mut prng).calm(Layout::Mirror, &[]);
    swarm.small_txg = true;
    let mut world = World::of(swarm, &mut prng);
    let sector = world.swarm.sector;
    let machine = world.boot();
    let api = machine.create(&world.swarm).expect("a pool");
    make(&*api, BEFORE);
    api.commit(&Change::TakeCheckpoint, "").expect("a checkpoint");
    api.commit(&Change::Destroy { names: vec![BEFORE.to_owned()], defer: false }, "").expect("it goes");
    make(&*api, AFTER);
    drop(api);
    machine.engine.export(POOL, false).expect("an export");
    drop(machine);
    world.disks.restart(Loss { kept: 100, torn: 0 });
    let machine = world.boot();
    world.disks.start_tape();
    deed(&machine);
    let tape = world.disks.take_tape().expect("it runs");
    drop(machine);
    let (mut player, mut back, mut gone) = (tape.play(), 0, 0);
    for at in 0..=tape.len() {
        player.forward(at);
        let loss = Loss { kept: prng.below(101) as u32, torn: 0 };
        for (path, image) in tape.paths().iter().zip(player.images()) {
            let mut image = image.clone();
            image.crash(sector, loss, &mut prng);
            world.disks.set_image(path, image);
        }
        let machine = world.boot();
        let api = machine.import().unwrap_or_else(|error| panic!("event {at} of {}: {error:?}", tape.len()));
        let names = names(&*api);
        assert!(names == [AFTER] || names == [BEFORE], "event {at}: {names:?}");
        is_whole(&machine);
        back += u32::from(names == [BEFORE]);
        // What is being discarded goes on being so.
        while api.status().checkpoint.is_some_and(|checkpoint| checkpoint.discarding) {
            api.sync_empty().expect("a group");
        }
        gone += u32::from(api.status().checkpoint.is_none());
        is_whole(&machine);
        assert!(names != [BEFORE] || api.status().checkpoint.is_none());
        drop(api);
        machine.engine.export(POOL, false).expect("an export");
        drop(machine);
        world.disks.restart(Loss { kept: 100, torn: 0 });
    }
    let cuts = tape.len() as u32 + 1;
    assert!(gone > 0 && gone < cuts, "{gone} of {cuts}");
    (back, gone)
}

#[test]
fn a_pool_goes_back_to_its_checkpoint_whole_or_not_at_all() {
    let to_checkpoint = ImportOptions { to_checkpoint: true, ..ImportOptions::default() };
    let (back, gone) = cut(21, &|machine| {
        let api = machine.import_as(&to_checkpoint).expect("the checkpoint");
        (0..GROUPS).for_each(|_| _ = api.sync_empty().expect("a group"));
    });
    assert_eq!(back, gone);
}

#[test]
fn a_checkpoint_is_discarded_in_steps() {
    let (back, _) = cut(22, &|machine| {
        let api = machine.import().expect("the pool");
        api.commit(&Change::DiscardCheckpoint, "").expect("a group");
        while api.status().checkpoint.is_some() {
            api.sync_empty().expect("a group");
        }
    });
    assert_eq!(back, 0);
}
