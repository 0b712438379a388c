//! All disks of a pool lose their power at any write or flush, and the machine goes on: the pool is
//! suspended, the disks come back with what their caches had kept, an operator clears the pool, and
//! everybody gets what he was promised.
//!
//! The work is that of `sim::writers`, with its checks; it must notice nothing. Now and then the
//! machine's power goes too.

use std::time::{Duration, Instant};

use sim::caught;
use sim::operator::Operator;
use sim::swarm::Swarm;
use sim::writers::{Vex, Writers};

/// Outages of the test, and the time after which it is content with fewer.
const OUTAGES: u64 = 4_000;
const TIME: Duration = Duration::from_secs(45);
/// Lives of one pool, and outages of one life.
const LIVES: u64 = 12;
const PER_LIFE: u64 = 6;
/// Operations between two outages.
const OPERATIONS: u64 = 25;

/// From an import to a power failure, through some outages; gives how many of them there were.
fn live(writers: &mut Writers, turn: u64) -> Result<u64, String> {
    let life = writers.begin()?;
    let pool = life.pool()?;
    let operator = Operator::new(&pool, &writers.world.disks, writers.prng.fork());
    let _ends_with_the_pool = env::Driver::spawn(&*life.machine.driver, Box::new(operator));
    let mut outages = 0;
    for n in 0..PER_LIFE {
        let loss = Swarm::draw_loss(&mut writers.prng);
        writers.world.disks.outage_after(1 + (turn * PER_LIFE + n) * 3 % 101, loss);
        for _ in 0..OPERATIONS {
            writers.step(&life)?;
        }
        pool.core().txgs.sync_now().map_err(|error| format!("a group that waits for its disks: {error}"))?;
        outages += u64::from(!writers.world.disks.has_outage_planned());
    }
    if turn % 4 == 3 {
        life.verify()?;
    }
    writers.world.disks.cut_after(writers.prng.below(40));
    for _ in 0..OPERATIONS {
        if !writers.world.disks.is_on() {
            break;
        }
        writers.step(&life)?;
    }
    drop(pool);
    drop(life);
    writers.power_cycle();
    Ok(outages)
}

#[test]
fn an_outage_of_all_disks_costs_time_and_nothing_else() {
    let begun = Instant::now();
    let (mut outages, mut seed) = (0, 7_000);
    while outages < OUTAGES && (outages == 0 || begun.elapsed() < TIME) {
        let met = caught(|| {
            let mut writers = Writers::new(seed, &[], Vex::Fail)?;
            writers.world.has_operator = true;
            (0..LIVES).map(|turn| live(&mut writers, turn)).sum::<Result<u64, String>>()
        });
        outages += met.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        seed += 1;
    }
    println!("{outages} outages");
    assert!(outages > 0);
}
