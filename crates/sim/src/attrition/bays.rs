//! Where disks can be: at the places of the pool as it is made, and at others beside them, of which
//! some have larger disks.

use stdx::prng::Prng;

use crate::machine::World;
use crate::swarm::{CALM_SIZE as SIZE, Swarm};

/// Disks beside those of the pool at first, and others that are larger, with the size of these.
const FREE: usize = 3;
const LARGE: usize = 2;
const LARGE_SIZE: u64 = 96 << 20;

/// Disks that no pool has at first: paths and sizes.
pub fn free_paths() -> impl Iterator<Item = (String, u64)> {
    let large = (1..=LARGE).map(|n| (format!("/sim/large{n}"), LARGE_SIZE));
    (1..=FREE).map(|n| (format!("/sim/free{n}"), SIZE)).chain(large)
}

/// Whether a disk at this path is one of the larger ones.
pub fn is_large(path: &str) -> bool {
    free_paths().any(|(free, size)| free == path && size == LARGE_SIZE)
}

/// Paths of all disks there are.
pub fn all_paths(swarm: &Swarm) -> impl Iterator<Item = String> {
    swarm.all_paths().into_iter().chain(free_paths().map(|(path, _)| path))
}

/// New disks for these circumstances.
pub fn new_world(swarm: Swarm, prng: &mut Prng) -> World {
    let world = World::of(swarm, prng);
    free_paths().for_each(|(path, size)| world.disks.add(&path, size, world.swarm.sector));
    world
}
