//! All disks of a pool lose their power at any write or flush, and the machine goes on: the pool is suspended, the disks
//! come back with what their caches had kept, an operator clears the pool, and everybody gets what he was promised.
//!
//! The work is that of `log_crashes`, with its checks; it must notice nothing. Now and then the machine's power goes too.

use std::time::{Duration, Instant};

use pool::verify::{Options as VerifyOptions, verify};
use sim::machine::POOL;
use sim::operator::Operator;
use sim::swarm::Swarm;

use crate::log_crashes::{Vex, Writers};

/// Outages of the test, and the time after which it is content with fewer.
const OUTAGES: u64 = 4_000;
const TIME: Duration = Duration::from_secs(110);
/// Lives of one pool, and outages of one life.
const LIVES: u64 = 12;
const PER_LIFE: u64 = 6;
/// Operations between two outages.
const OPERATIONS: u64 = 25;

/// From an import to a power failure, through some outages; gives how many of them there were.
fn live(writers: &mut Writers, turn: u64) -> u64 {
    let life = writers.begin();
    writers.check(&life);
    let pool = life.machine.engine.pool_below(POOL).expect("it is imported");
    let operator = Operator::new(&pool, &writers.world.disks, writers.prng.fork());
    let _ends_with_the_pool = env::Driver::spawn(&*life.machine.driver, Box::new(operator));
    let mut outages = 0;
    for n in 0..PER_LIFE {
        let loss = Swarm::draw_loss(&mut writers.prng);
        writers.world.disks.outage_after(1 + (turn * PER_LIFE + n) * 3 % 101, loss);
        (0..OPERATIONS).for_each(|_| writers.step(&life));
        pool.core().txgs.sync_now().expect("a group waits for its disks");
        outages += u64::from(!writers.world.disks.has_outage_planned());
    }
    if turn % 4 == 3 {
        let report = verify(&pool, VerifyOptions { data: true }, &mut |_, _| {}).expect("it can be read");
        assert!(report.is_clean(), "{:?}", report.problems);
    }
    writers.world.disks.cut_after(writers.prng.below(40));
    for _ in 0..OPERATIONS {
        if !writers.world.disks.is_on() {
            break;
        }
        writers.step(&life);
    }
    drop(pool);
    drop(life);
    let loss = Swarm::draw_loss(&mut writers.prng);
    writers.world.disks.restart(loss);
    outages
}

#[test]
fn an_outage_of_all_disks_costs_time_and_nothing_else() {
    let begun = Instant::now();
    let (mut outages, mut seed) = (0, 7_000);
    while outages < OUTAGES && (outages == 0 || begun.elapsed() < TIME) {
        let met = std::panic::catch_unwind(|| {
            let mut writers = Writers::new(seed, &[], Vex::Fail);
            writers.world.has_operator = true;
            (0..LIVES).map(|turn| live(&mut writers, turn)).sum::<u64>()
        });
        outages += met.unwrap_or_else(|_| panic!("seed {seed}"));
        seed += 1;
    }
    println!("{outages} outages");
    assert!(outages > 0);
}
