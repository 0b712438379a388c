use super::*;

#[test]
fn a_scene_survives_the_way_to_the_child() {
    let device = Nanos::from_micros(20);
    let reads = Load::Read { bytes: 16 << 10, in_memory: 0.25 };
    for load in [Load::Write { bytes: 512 }, Load::SmallFile { bytes: 512 }, reads] {
        let sent = Scene { load, callers: 8, device, in_turn: true };
        assert_eq!(scene(&words(&sent)[2..]), Some(sent));
    }
    let wrong = "write 512 0 0 20 false".split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(scene(&wrong), None, "nobody calls");
}

#[test]
fn a_load_is_played_in_memory() {
    for load in [Load::Write { bytes: 4096 }, Load::Read { bytes: 16 << 10, in_memory: 0.33 }] {
        let scene = Scene { load, callers: 2, device: Nanos::from_micros(20), in_turn: false };
        let Played { rest, work } = play(&scene).unwrap();
        assert!(rest > 0.0 && work > 0.0, "{rest} {work}");
    }
}
