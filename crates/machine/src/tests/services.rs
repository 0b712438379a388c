//! Services: kept with their logs, and bounded.

use super::*;

fn kept(id: &str, instance: &str) -> KeptService {
    KeptService { id: id.to_owned(), instance: instance.to_owned(), memory: "{}".to_owned() }
}

fn lines(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|line| line.to_string()).collect()
}

#[test]
fn a_service_outlives_the_program_with_the_newest_lines_of_its_log() {
    let (machine, world, folder) = machine();
    assert!(machine.services().expect("read").is_empty());
    assert_eq!(machine.service_clock().expect("read"), None);
    assert!(machine.set_service(&kept("daily", "one"), &lines(0..3)).expect("set"));
    machine.note_service(&kept("daily", "two"), &lines(3..300)).expect("noted");
    machine.note_service(&kept("gone", "x"), &lines(0..3)).expect("nothing is done");
    machine.note_service_clock("then").expect("noted");
    machine.note_service_clock("now").expect("noted");
    drop(machine);
    let (machine, _) = open(&folder, &world);
    assert_eq!(machine.services().expect("read"), [kept("daily", "two")]);
    assert_eq!(machine.service_log("daily").expect("read"), lines(44..300));
    assert_eq!(machine.service_clock().expect("read").as_deref(), Some("now"));
    assert!(machine.service_log("gone").expect("read").is_empty());
    assert!(
        machine.remove_service("daily").expect("done") && !machine.remove_service("daily").expect("done")
    );
    assert!(machine.service_log("daily").expect("read").is_empty());
}

#[test]
fn what_an_administrator_sets_is_another_state_and_what_a_run_leaves_is_not() {
    let (machine, ..) = machine();
    let digest = |machine: &Machine| machine.contents().expect("read").digest;
    let before = digest(&machine);
    machine.set_service(&kept("daily", "one"), &[]).expect("set");
    let set = digest(&machine);
    assert_ne!(set, before);
    machine.note_service(&kept("daily", "two"), &lines(0..3)).expect("noted");
    assert_eq!(digest(&machine), set);
    machine.set_service(&kept("daily", "three"), &[]).expect("set");
    assert_ne!(digest(&machine), set);
}

#[test]
fn there_are_so_many_services_and_no_more() {
    let (machine, ..) = machine();
    let set = |id: u32| machine.set_service(&kept(&id.to_string(), "x"), &[]).expect("answered");
    assert!((0..256).all(set));
    assert!(!set(256) && set(255));
    assert_eq!(machine.services().expect("read").len(), 256);
}

#[test]
fn what_services_did_is_told_by_the_hour_and_bounded() {
    let (machine, ..) = machine();
    let run = Tally { runs: 1, failed: 0, done: 2, destroyed: 1 };
    for hour in 0..300 {
        machine.tally_run("home", START + hour * 3_600, run).expect("kept");
    }
    machine.tally_run("home", START + 299 * 3_600 + 60, Tally { failed: 1, ..run }).expect("kept");
    machine.tally_run("scrub", START, run).expect("kept");
    let day = machine.tallies(START + 276 * 3_600, START + 299 * 3_600).expect("read");
    assert_eq!(day.get("home"), Some(&Tally { runs: 25, failed: 1, done: 50, destroyed: 25 }));
    assert_eq!(day.get("scrub"), None);
    let all = machine.tallies(0, i64::MAX).expect("read");
    // Eight days, and the last hour twice.
    assert_eq!((all["home"].runs, all["scrub"].runs), (8 * 24 + 1, 1));
    for service in 0..600 {
        machine.tally_run(&format!("s{service}"), START + 400 * 3_600, run).expect("kept");
    }
    assert_eq!(machine.tallies(0, i64::MAX).expect("read").len(), 512);
}
