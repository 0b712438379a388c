//! Power failures under synchronous writers, on pools with and without log devices, which fail,
//! lie, refuse, dawdle, are full or become what they were long ago: the pools of `sim::writers`,
//! each way of failing by itself.

use std::time::{Duration, Instant};

use engine_api::{Cred, Error, Stable};
use sim::caught;
use sim::writers::{FILES, OLD, Options, Tally, Vex, Writers, run_on};

/// Power failures of the tests of failing logs and of the others, and the time after which a test
/// is content with fewer.
const CRASHES: u64 = 1_200;
const CRASHES_OF_OTHERS: u64 = 540;
const TIME: Duration = Duration::from_secs(45);
/// What the log should be; out of the machine's sight.
const RIGHT: &str = "/old/right";
/// A write of which each takes a log block for itself.
const LARGE: usize = 120 << 10;

fn crash_on(logs: &'static [usize], vex: Vex, crashes_max: u64, first_seed: u64) {
    let begun = Instant::now();
    let mut all = Tally::default();
    for seed in first_seed.. {
        if all.crashes >= crashes_max || (all.crashes > 0 && begun.elapsed() >= TIME) {
            break;
        }
        let told = caught(|| run_on(logs, vex, &Options::new(seed)));
        all += told.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
    println!("logs {logs:?}, {vex:?}: {all:?}");
    assert_eq!(all.on_log > 0, !logs.is_empty());
}

#[test]
fn writers_without_log_devices_lose_nothing() {
    crash_on(&[], Vex::Fail, CRASHES, 1);
}

#[test]
fn writers_on_a_single_log_lose_nothing() {
    crash_on(&[1], Vex::Fail, CRASHES, 1_000);
}

#[test]
fn writers_on_a_mirrored_log_lose_nothing() {
    crash_on(&[2], Vex::Fail, CRASHES, 2_000);
}

#[test]
fn writers_on_two_logs_lose_nothing() {
    crash_on(&[1, 2], Vex::Fail, CRASHES, 3_000);
}

#[test]
fn a_side_of_a_log_that_loses_and_misdirects_writes_costs_no_promise() {
    crash_on(&[2], Vex::Lie, CRASHES_OF_OTHERS, 4_000);
}

#[test]
fn a_log_that_loses_and_misdirects_writes_brings_nothing_back_that_was_not_written() {
    crash_on(&[1], Vex::Lie, CRASHES_OF_OTHERS, 5_000);
}

#[test]
fn a_log_that_becomes_read_only_costs_no_promise() {
    crash_on(&[1], Vex::Refuse, CRASHES_OF_OTHERS, 6_000);
}

#[test]
fn a_slow_log_costs_no_promise() {
    crash_on(&[1], Vex::Dawdle, CRASHES_OF_OTHERS, 7_000);
}

#[test]
fn a_stale_log_costs_what_it_has_lost_and_nothing_later() {
    crash_on(&[1], Vex::Stale, CRASHES_OF_OTHERS, 8_000);
}

/// The log device has no room left, and what comes then is logged among the pool's own blocks.
#[test]
fn a_full_log_costs_no_promise() {
    let run = || {
        let mut writers = Writers::new(9_000, &[1], Vex::Fail)?;
        (writers.world.swarm.dirty, writers.world.swarm.small_txg) = (1 << 30, false);
        for round in 0..6 {
            let life = writers.begin()?;
            let pool = life.pool()?;
            let stats = &pool.core().zil_stats;
            while stats.normal.count.get() == 0 {
                assert!(stats.slog.allocated.get() <= writers.world.swarm.disk_size, "it is full some time");
                let mut data = vec![0; LARGE];
                writers.prng.fill(&mut data);
                writers.write(&life, 0, 0, &data, Stable::FileSync)?;
            }
            drop(pool);
            writers.world.disks.cut_after(1 + round * 7);
            while writers.world.disks.is_on() {
                writers.step(&life)?;
            }
            writers.end(life)?;
        }
        Ok(())
    };
    assert_eq!(caught(run), Ok(()));
}

/// Logs were claimed, and then their device is what it was long ago: nothing is guessed, and
/// nothing is lost when the right one is back.
#[test]
fn a_log_that_is_stale_when_it_is_to_be_replayed_is_waited_for() {
    let run = |seed| {
        let mut writers = Writers::new(seed, &[1], Vex::Stale)?;
        writers.world.disks.add(RIGHT, writers.world.swarm.disk_size, writers.world.swarm.sector);
        let life = writers.begin()?;
        for n in (0..FILES).chain(0..FILES) {
            let (offset, data) = writers.draw_write();
            writers.write(&life, n, offset, &data, Stable::FileSync)?;
        }
        drop(life);
        writers.power_cycle();
        writers.world.boot().import().expect("it can be imported");
        writers.power_cycle();
        writers.world.disks.copy(&writers.log(), RIGHT);
        writers.world.disks.copy(OLD, &writers.log());
        let life = writers.open().expect("it can be imported");
        for (fs, node) in life.open.values() {
            let written = fs.write(&Cred::root(), *node, 0, b"?", Stable::Unstable);
            assert_eq!(written.map(drop), Err(Error::ReadOnly));
        }
        drop(life);
        writers.power_cycle();
        writers.world.disks.copy(RIGHT, &writers.log());
        writers.begin().map(drop)
    };
    for seed in 9_100..9_110 {
        assert_eq!(caught(|| run(seed)), Ok(()), "seed {seed}");
    }
}

#[test]
fn a_seed_is_one_history_of_writers() {
    let options = Options { lives: 12, ..Options::new(3) };
    let run = || caught(|| run_on(&[1, 2], Vex::Fail, &options));
    let told = run();
    assert!(told.is_ok(), "{told:?}");
    assert_eq!(told, run());
}
