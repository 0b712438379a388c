//! Ten thousand datasets: what a minute costs is what is due in it.

use services::autosnap::agenda::Agenda;
use services::autosnap::coverage::{Named, cover};
use services::autosnap::plan::plan;
use services::autosnap::policy::Policy;
use services::autosnap::state::State;
use services::time::DAY;
use stdx::prng::Prng;

use api_types::{Schedule, SnapKeep, SnapLevel, When};

use crate::policies::{self, Kind, zones};
use crate::world::{SERVICE, Truth, World};

const DATASETS: u64 = 10_000;

/// Hourly ones are due once an hour, daily ones once a day; in all other minutes nobody is looked
/// at, but for a review now and then.
#[test]
fn a_minute_with_ten_thousand_datasets_costs_what_is_due() {
    let start = 1_795_824_000;
    let mut world = World::new(start);
    for number in 0..DATASETS {
        world.add(&format!("tank/home/many{number}"));
    }
    let mut properties = policies::policy(Kind::Short, &mut Prng::new(1));
    let keep = SnapKeep { count: Some(6), ..SnapKeep::default() };
    let level =
        |name: &str, when| SnapLevel { name: name.to_owned(), schedule: Schedule { when, zone: None }, keep };
    properties.levels = vec![
        level("hourly", When::Hour { step: 1, minute: 7 }),
        level("daily", When::Day { hour: 0, minute: 7 }),
    ];
    (properties.budget, properties.skip_unchanged) = (api_types::SnapBudget::default(), false);
    let policy = Policy::new(SERVICE, &properties, &zones).expect("it is good");
    let named: Vec<Named> = world.named();
    let coverage = cover(&properties.targets, &named);
    let covered = coverage.datasets.len();
    assert!(covered >= usize::try_from(DATASETS).expect("it is small"));
    let (mut agenda, mut state, mut random) = (Agenda::default(), State::default(), Prng::new(1));
    coverage.datasets.keys().for_each(|dataset| agenda.set(*dataset, start));
    let (mut looks, mut busy, mut groups) = (0, 0, 0);
    for minute in 0..=(DAY / 60) {
        let now = start + minute * 60;
        let due = agenda.due(now, usize::MAX);
        if due.is_empty() {
            continue;
        }
        (looks, busy) = (looks + due.len(), busy + 1);
        let views = due.iter().map(|dataset| &world.data[dataset].view);
        let planned = plan(&policy, &coverage, &state, views, now);
        state.settle(&planned.plan, &[], &mut random);
        groups += planned.plan.groups.len();
        world.time = now;
        for group in &planned.plan.groups {
            world.txg += 1;
            for made in &group.creates {
                let truth = Truth { ours: true, made: now, moved: 0 };
                world.snapshot(made.dataset_guid, &made.snapshot, Some(&made.stamp), truth);
            }
        }
        for gone in &planned.plan.destroys {
            world.destroy(gone.dataset_guid, gone.guid);
        }
        planned.next.into_iter().for_each(|(dataset, next)| agenda.set(dataset, next.at));
    }
    // At first, at seven past each hour, and once more for what a look left to be destroyed: ten
    // thousand in ten minutes.
    assert!(looks <= covered * (1 + 2 * 24), "{looks} looks");
    assert!(busy <= 1 + 24 * 12, "{busy} minutes");
    assert!(groups <= 26 * 2, "{groups} groups");
}
