use engine_api::{FsId, Served, Time, Verifier};
use model::{MemEngine, MemFs};
use nfs::{Server, ServerConfig};

use super::*;

#[test]
fn blocks_in_order_end_or_begin_anew() {
    let blocks = Blocks { block: 4, size: 10, is_random: false };
    let mut once = blocks.places(false, 0);
    assert_eq!([once.next(), once.next(), once.next()], [Some(0), Some(1), None]);
    let mut endless = blocks.places(true, 0);
    assert_eq!([endless.next(), endless.next(), endless.next()], [Some(0), Some(1), Some(0)]);
    assert_eq!(blocks.offset(1), 4);
}

#[test]
fn blocks_at_random_stay_in_the_file_and_are_the_same_again() {
    let blocks = Blocks { block: 512, size: 1 << 20, is_random: true };
    let draw = || -> Vec<u64> {
        let mut places = blocks.places(false, 3);
        (0..100).map(|_| places.next().expect("endless")).collect()
    };
    assert!(draw().iter().all(|place| *place < 2048));
    assert_eq!(draw(), draw());
}

#[test]
fn blocks_that_follow_each_other_have_no_bytes_in_common() {
    for len in [512_usize, 4096, 8192, 16 << 10, 64 << 10, 128 << 10] {
        let payload = Payload::new(len as u32, 0);
        let at = |i| payload.block(i, len as u32).as_ptr() as usize;
        let near = ((64 << 10) / len).max(1) as u64;
        let apart = |i, j| at(i).abs_diff(at(j)) >= len;
        assert!((0..100).all(|i| (i + 1..=i + near).all(|j| apart(i, j))), "blocks of {len} bytes");
    }
}

#[test]
fn percentiles_are_of_all_operations() {
    let millis = |n| Duration::from_millis(n);
    let outcome = Outcome::new(5000, millis(2000), (1..=1000).rev().map(millis).collect());
    assert_eq!((outcome.operations, outcome.rate(), outcome.throughput()), (1000, 500.0, 2500.0));
    assert_eq!([500, 990, 999].map(|n| outcome.latency(n)), [501, 991, 1000].map(millis));
    assert_eq!(Outcome::default().latency(999), Duration::ZERO);
}

#[test]
fn idle_time_is_not_counted() {
    let stat = "cpu  10 1 5 9000 700 2 3 50 0 0\ncpu0 10 1 5 9000 700 2 3 50 0 0\n";
    assert_eq!(usage::busy(stat), Duration::from_millis(210));
    assert!(process_time("self") <= machine_time());
    assert_eq!(process_time("no process"), Duration::ZERO);
}

/// Every work once: what it measures is the machine's affair.
fn every_work(run: impl Fn(Work, Crowd) -> Result<Outcome, Fail>) {
    let run_all = |work| run(work, Crowd::new(1, Duration::from_secs(10))).unwrap();
    let run_some = |work, writers| run(work, Crowd::new(writers, Duration::from_millis(20)).over(3)).unwrap();
    let in_order = Blocks { block: 4096, size: 40_960, is_random: false };
    let at_random = Blocks { is_random: true, ..in_order };
    let written = run_all(Work::Write { blocks: in_order, is_sync: false });
    assert_eq!((written.operations, written.bytes), (10, 40_960));
    assert!(run_some(Work::Write { blocks: at_random, is_sync: true }, 4).operations >= 4);
    assert!(run_some(Work::Read { blocks: in_order }, 4).operations >= 4);
    assert!(run_some(Work::Append { block: 512 }, 5).bytes >= 5 * 512);
    assert!(run_some(Work::SmallFile { bytes: 100 }, 2).operations >= 2);
    assert!(run_some(Work::SmallFile { bytes: 100 }, 4).bytes >= 400);
    assert_eq!(run_all(Work::Create { files: 5 }).operations, 5);
    assert!(run_some(Work::Stat { files: 5 }, 1).operations > 0);
    assert_eq!(run_all(Work::Unlink { files: 5 }).operations, 5);
}

#[test]
fn every_work_runs_in_a_folder() {
    let path = std::env::temp_dir().join(format!("cistern-load-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    let folder = Folder::new(&path);
    every_work(|work, crowd| folder.run(work, &crowd));
    folder.forget_file().unwrap();
    let blocks = Blocks { block: 512, size: 512, is_random: false };
    let gone = folder.run(Work::Read { blocks }, &Crowd::new(1, Duration::from_secs(1)));
    assert!(gone.is_err(), "{gone:?}");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn every_work_runs_over_nfs() {
    let id = FsId { pool_guid: 1, dataset_guid: 2 };
    let fs = MemFs::with_id(id, Verifier(1), Box::new(Time::default));
    let served = Served {
        dataset: "tank/fs".to_owned(),
        id,
        mountpoint: Some("/tank/fs".to_owned()),
        sharenfs: "rw,no_root_squash,insecure".to_owned(),
        readonly: false,
        key: None,
        identity: None,
        fs,
    };
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    let server = Server::start(config, MemEngine::new(vec![served])).unwrap();
    let share = Share::new(server.addr(), "/tank/fs");
    assert!(share.answers());
    every_work(|work, crowd| share.run(work, &crowd));
    share.forget_file().unwrap();
    share.forget_file().unwrap();
    server.stop();
}

/// Every profile, on two units of a target, by one session and by two.
#[test]
fn units_are_worked_on_as_profiles_say() {
    let volumes = [0, 1].map(|number| {
        let id = engine_api::VolumeId { pool_guid: 1, dataset_guid: number };
        model::MemVolume::new(id, 4 << 20, 8192)
    });
    let engine = MemEngine::new(Vec::new());
    let served = |number: usize| engine_api::ServedVolume {
        dataset: format!("tank/v{number}"),
        share: format!("target=iqn.t:t,lun={number}"),
        created: 0,
        known_as: engine_api::Volume::id(&*volumes[number]),
        volume: volumes[number].clone(),
    };
    engine.set_volumes(vec![served(0), served(1)]);
    let portals = vec!["127.0.0.1:0".parse().unwrap()];
    let config = iscsi::ServerConfig {
        portals,
        random: std::sync::Arc::new(|| 7),
        budget: Default::default(),
        inherited: Default::default(),
        observer: Default::default(),
    };
    let server = iscsi::Server::start(config, engine).unwrap();
    let url = |lun: usize| format!("iscsi://{}/iqn.t:t/{lun}", server.portals()[0].addr);
    let units = [0, 1].map(|lun| Unit::parse(&url(lun)).unwrap());
    let mut initiator = Initiator::log_in(&units[0]).unwrap();
    initiator.greet(&units[1]).unwrap();
    assert_eq!(initiator.size(&units[0]).unwrap(), 4 << 20);
    for profile in &PROFILES {
        for connections in [1, 2] {
            units.iter().for_each(|unit| profile.fill(unit, 4 << 20).unwrap());
            let crowd = Crowd::new(profile.depth, Duration::from_millis(10)).over(connections);
            let outcome = profile.run(&units, 4 << 20, &crowd).unwrap();
            assert!(outcome.operations > 0, "{}", profile.name);
            assert_eq!(outcome.bytes, outcome.operations * u64::from(profile.block), "{}", profile.name);
        }
    }
    let data = initiator.read(&units[0], 0, 1 << 20).unwrap();
    assert!(data.iter().any(|byte| *byte != 0));
    initiator.copy(&units[0], &units[1], 4 << 20).unwrap();
    assert_eq!(initiator.read(&units[1], 0, 1 << 20).unwrap(), data);
    initiator.unmap(&units[1], 0, 4 << 20).unwrap();
    initiator.flush(&units[1]).unwrap();
    assert_eq!(initiator.read(&units[1], 0, 1 << 20).unwrap(), vec![0; 1 << 20]);
    for wrong in ["iscsi://", "iscsi://127.0.0.1/t", "iscsi://127.0.0.1/t/x", "nfs://127.0.0.1/t/0"] {
        assert!(Unit::parse(wrong).is_err(), "{wrong}");
    }
}
