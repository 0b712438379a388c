//! What others do to pools, clocks and the program.

use api_types::{FailureClass, SpaceBudget};
use services::autosnap::policy::Policy;
use services::autosnap::state::State;
use services::clock::Clock;
use services::time::{DAY, Time};
use stdx::prng::Prng;

use crate::policies::{budget, zones};
use crate::sim::{Sim, seconds};
use crate::world::SERVICE;

/// One thing out of many.
pub fn something(sim: &mut Sim) {
    let dataset = any_dataset(sim);
    match sim.random.weighted(&[6, 4, 4, 3, 3, 8, 6, 3, 4, 6, 4, 4, 3]) {
        0 => names(sim, dataset),
        1 => flags(sim, dataset),
        2 => others_snapshot(sim, dataset),
        3 => others_destroy_or_rename(sim, dataset),
        4 => promote(sim, dataset),
        5 => needs(sim, dataset),
        6 => clocks(sim),
        7 => administrator(sim),
        8 => failures(sim),
        9 => {
            let bytes = sim.random.range(1, 1 << 30);
            sim.world.write(dataset, bytes, &mut sim.random);
        }
        10 => restart(sim),
        11 => properties(sim),
        _ => reboot(sim),
    }
}

fn any_dataset(sim: &mut Sim) -> u64 {
    let all: Vec<u64> = sim.world.data.keys().copied().collect();
    sim.random.pick(&all).copied().unwrap_or(0)
}

fn any_snapshot(sim: &mut Sim, dataset: u64) -> Option<u64> {
    let snapshots = &sim.world.data.get(&dataset)?.view.snapshots;
    sim.random.pick(snapshots).map(|it| it.guid)
}

/// Datasets come, go and are renamed.
fn names(sim: &mut Sim, dataset: u64) {
    let name = sim.world.data[&dataset].view.dataset.name.clone();
    let number = sim.random.below(6);
    match sim.random.below(4) {
        0 => sim.world.add(&format!("tank/home/u{number}")),
        1 if name.contains('/') && sim.world.data.len() > 4 => sim.world.drop(&name),
        2 => {
            // A target comes back by its name.
            sim.world.add("tank/home");
            sim.world.add("dozer");
        }
        _ if name.contains('/') => {
            let to = format!("tank/r{number}");
            let to = if name == "tank/home" { "tank/moved".to_owned() } else { to };
            let to = if name == "tank/moved" { "tank/home".to_owned() } else { to };
            let home = sim.random.chance(1, 2) && sim.world.by_name("tank/home").is_some();
            let to = if home && name != "tank/home" { format!("tank/home/r{number}") } else { to };
            if sim.world.by_name(&to).is_none() && !to.starts_with(&format!("{name}/")) {
                sim.world.rename(&name, &to);
                sim.tried("rename");
                sim.note(format!("{name} is {to} now"));
            }
        }
        _ => {}
    }
    sim.survey();
}

fn flags(sim: &mut Sim, dataset: u64) {
    let which = sim.random.below(4);
    let Some(data) = sim.world.data.get_mut(&dataset) else { return };
    let it = &mut data.view.dataset;
    match which {
        0 => it.receiving = !it.receiving,
        1 => it.replica = !it.replica,
        2 => it.writable = !it.writable,
        _ => it.available = if it.available == 0 { 1 << 34 } else { 0 },
    }
    // Most is over soon.
    if sim.random.chance(2, 3) {
        for data in sim.world.data.values_mut() {
            let it = &mut data.view.dataset;
            (it.receiving, it.replica, it.writable, it.available) = (false, false, true, 1 << 34);
        }
    }
}

/// Snapshots of people and of other programs, some with names like ours.
fn others_snapshot(sim: &mut Sim, dataset: u64) {
    sim.world.txg += 1;
    let now = sim.now;
    let stamp = sim.random.below(10);
    let name = match sim.random.below(5) {
        0 => format!("before-upgrade-{now}"),
        1 => format!("autosnap_2026-11-28_05:24:{now}_hourly"),
        2 => format!("zfs-auto-snap_hourly-2026-11-28-{now}"),
        3 => format!("auto-daily-2020-11-28T05:24:22Z-{now}"),
        _ => format!("auto-hourly-2020-01-01T00:00:00Z-{now}"),
    };
    let stamped = match stamp {
        0 => Some("auto-2 daily 1".to_owned()),
        1 => Some("auto-1 daily".to_owned()),
        2 => Some("auto-11 daily 1".to_owned()),
        _ => None,
    };
    let truth = sim.truth(false);
    if sim.world.snapshot(dataset, &name, stamped.as_deref(), truth) {
        sim.tried(if stamped.is_some() { "stamp of another" } else { "imitation" });
    }
}

fn others_destroy_or_rename(sim: &mut Sim, dataset: u64) {
    let Some(guid) = any_snapshot(sim, dataset) else { return };
    sim.made.retain(|(made, _), _| *made != dataset);
    if sim.random.chance(1, 2) {
        sim.world.destroy(dataset, guid);
    } else if let Some(data) = sim.world.data.get_mut(&dataset) {
        let renamed = data.view.snapshots.iter_mut().find(|it| it.guid == guid);
        renamed.expect("it is there").name = format!("kept-{guid}");
    }
}

/// A clone takes the snapshots of its origin.
fn promote(sim: &mut Sim, from: u64) {
    let to = any_dataset(sim);
    let Some(guid) = any_snapshot(sim, from) else { return };
    if to == from {
        return;
    }
    let txg =
        sim.world.data[&from].view.snapshots.iter().find(|it| it.guid == guid).map_or(0, |it| it.createtxg);
    sim.world.promote(from, to, txg);
    sim.made.retain(|(made, _), _| *made != from && *made != to);
    sim.tried("promote");
}

/// Holds, clones and bases come and go.
fn needs(sim: &mut Sim, dataset: u64) {
    for _ in 0..sim.random.range(1, 6) {
        let Some(guid) = any_snapshot(sim, dataset) else { return };
        let (which, clear) = (sim.random.below(3), sim.random.chance(1, 2));
        let snapshots = &mut sim.world.data.get_mut(&dataset).expect("it is there").view.snapshots;
        for it in snapshots.iter_mut().filter(|it| it.guid == guid || clear) {
            match which {
                _ if clear => (it.holds, it.clones, it.needed_by) = (0, 0, None),
                0 => it.holds += 1,
                1 => it.clones += 1,
                _ => it.needed_by = Some("replica".to_owned()),
            }
        }
    }
}

/// The wall clock leaps, and comes back sooner or later.
fn clocks(sim: &mut Sim) {
    let far = |time: Time, year: i64| (year - 1970) * 36_525 * DAY / 100 - time;
    let time = sim.world.time;
    let sign = if sim.random.chance(1, 2) { 1 } else { -1 };
    sim.world.ahead = match sim.random.below(8) {
        0 => far(time, 2099),
        1 => far(time, 1970),
        2 => sign * 3_600,
        3 => sign * seconds(sim.random.below(30 * 86_400)),
        4 => sim.world.ahead + seconds(sim.random.below(100)),
        _ => 0,
    };
    sim.note(format!("the clock is {} ahead", sim.world.ahead));
}

fn administrator(sim: &mut Sim) {
    match sim.random.below(6) {
        0 => {
            // Even where the clock is wrong.
            let before = sim.now;
            sim.now = sim.clock.agree(sim.reading()).now;
            sim.dispute = None;
            if sim.now < before {
                sim.made.clear();
            }
            sim.note("the clock is right, somebody says".to_owned());
        }
        1 | 2 => {
            sim.world.ahead = 0;
            sim.now = sim.clock.agree(sim.reading()).now;
            sim.dispute = None;
            sim.made.clear();
        }
        _ => {
            sim.state.clear();
            (sim.create_fails, sim.destroy_fails) = (None, None);
            sim.survey();
        }
    }
}

fn failures(sim: &mut Sim) {
    let class = |random: &mut Prng| match random.below(6) {
        0 => Some(FailureClass::NeedsPerson),
        1 => Some(FailureClass::Fatal),
        2 | 3 => Some(FailureClass::Retriable),
        _ => None,
    };
    sim.create_fails = class(&mut sim.random);
    sim.destroy_fails = class(&mut sim.random);
}

/// The program starts again, with what it kept or without.
fn restart(sim: &mut Sim) {
    if sim.random.chance(2, 3) {
        let kept = serde_json::to_string(&(&sim.state, &sim.clock)).expect("it can be kept");
        (sim.state, sim.clock) = serde_json::from_str(&kept).expect("it can be read");
        sim.tried("restart kept");
    } else {
        sim.state = State::default();
        sim.tried("restart lost");
    }
    if sim.random.chance(1, 8) {
        // All is lost, and what the clock says is all there is.
        sim.clock = Clock::default();
        sim.dispute = None;
        let before = sim.now;
        sim.now = sim.world.wall();
        if sim.now < before {
            sim.made.clear();
        }
    }
    sim.note("restarted".to_owned());
    sim.survey();
}

/// The machine is off for a while: for a minute, or for two months.
fn reboot(sim: &mut Sim) {
    let off = match sim.random.below(3) {
        0 => 60,
        1 => sim.random.below(86_400),
        _ => sim.random.below(60 * 86_400),
    };
    sim.world.time += seconds(off);
    sim.world.boot += 1;
    sim.world.booted = sim.world.time - 5;
    sim.note(format!("off for {off} s"));
    sim.survey();
}

/// Budgets and what is kept are set anew; a level goes, or comes back.
fn properties(sim: &mut Sim) {
    let random = &mut sim.random;
    if sim.properties.levels.len() > 1 && random.chance(1, 3) {
        let at = usize::try_from(random.below(sim.properties.levels.len() as u64)).expect("it is small");
        sim.properties.levels.remove(at);
    }
    if random.chance(1, 2) {
        for level in &mut sim.properties.levels {
            level.keep.at_least = u32::try_from(random.below(4)).expect("it is small");
        }
    }
    sim.properties.budget = budget(&sim.properties.levels, random);
    if random.chance(1, 2) {
        sim.properties.budget.space = Some(SpaceBudget::Bytes { bytes: random.range(0, 1 << 28) });
    }
    sim.policy = Policy::new(SERVICE, &sim.properties, &zones).expect("the policy is good");
    sim.note("properties are set".to_owned());
    sim.survey();
}
