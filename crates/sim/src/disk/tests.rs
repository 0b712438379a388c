use super::*;
use env::IoClass::{SyncRead, SyncWrite};

const KEEP: Loss = Loss { kept: 100, torn: 0 };
const DROP: Loss = Loss { kept: 0, torn: 0 };
const TEAR: Loss = Loss { kept: 0, torn: 100 };

fn disks(seed: u64) -> SimDisks {
    let disks = SimDisks::new(Prng::new(seed), Time::default(), Trace::default());
    disks.add("/sim/a", 1 << 20, 512);
    disks
}

fn open(disks: &SimDisks) -> Arc<dyn Disk> {
    disks.open("/sim/a", OpenMode::ReadWrite).expect("free")
}

fn read(disk: &dyn Disk, offset: u64, len: usize) -> Vec<u8> {
    let mut buf = vec![0xee; len];
    disk.read_at(offset, &mut buf, SyncRead).expect("readable");
    buf
}

#[test]
fn what_is_written_reads_back_and_may_be_lost_until_flushed() {
    let disks = disks(1);
    let disk = open(&disks);
    disk.write_at(16 << 10, &[1; 1024], SyncWrite).expect("written");
    disk.flush().expect("flushed");
    disk.write_at((16 << 10) - 512, &[2; 1024], SyncWrite).expect("written");
    assert_eq!(read(&*disk, (16 << 10) - 512, 1536), [[2; 512], [2; 512], [1; 512]].concat());
    assert_eq!(disks.pending(), 1);
    disks.restart(DROP);
    assert_eq!(disk.flush(), Err(DiskError::Gone), "an old handle is dead");
    drop(disk);
    let disk = open(&disks);
    assert_eq!(read(&*disk, (16 << 10) - 512, 1536), [[0; 512], [1; 512], [1; 512]].concat());
    disk.write_at(0, &[3; 512], SyncWrite).expect("written");
    disks.restart(KEEP);
    assert_eq!(read(&*open(&disks), 0, 512), [3; 512]);
}

#[test]
fn torn_writes_land_by_whole_sectors() {
    let mut partly = 0;
    for seed in 0..50 {
        let disks = disks(seed);
        open(&disks).write_at(0, &[7; 4096], SyncWrite).expect("written");
        disks.restart(TEAR);
        let found = read(&*open(&disks), 0, 4096);
        let landed = found.chunks(512).filter(|sector| sector[0] == 7).count();
        assert!(found.chunks(512).all(|sector| sector.iter().all(|&byte| byte == sector[0])));
        partly += usize::from((1..8).contains(&landed));
    }
    assert!(partly > 20, "most are neither kept nor dropped");
}

#[test]
fn the_power_goes_at_the_chosen_event() {
    let disks = disks(1);
    let disk = open(&disks);
    disks.cut_after(2);
    disk.write_at(0, &[1; 512], SyncWrite).expect("event 0");
    disk.flush().expect("event 1");
    assert_eq!(disk.write_at(0, &[2; 512], SyncWrite), Err(DiskError::Gone));
    assert!(!disks.is_on());
    assert_eq!(disk.read_at(0, &mut [0; 512], SyncRead), Err(DiskError::Gone));
    assert_eq!(disks.open("/sim/a", OpenMode::ReadOnly).err(), Some(DiskError::Gone));
    disks.restart(KEEP);
    assert_eq!(read(&*open(&disks), 0, 512), [1; 512]);
}

#[test]
fn a_flush_in_which_the_power_goes_makes_nothing_durable() {
    let disks = disks(1);
    let disk = open(&disks);
    disk.write_at(0, &[1; 512], SyncWrite).expect("written");
    disks.cut_after(0);
    assert_eq!(disk.flush(), Err(DiskError::Gone));
    disks.restart(DROP);
    assert_eq!(read(&*open(&disks), 0, 512), [0; 512]);
}

#[test]
fn exclusive_opens_end_with_the_handle_or_the_power() {
    let disks = disks(1);
    let disk = open(&disks);
    assert_eq!(disks.open("/sim/a", OpenMode::ReadWrite).err(), Some(DiskError::Busy));
    let reader = disks.open("/sim/a", OpenMode::ReadOnly).expect("readers may");
    assert_eq!(reader.write_at(0, &[0; 512], SyncWrite), Err(DiskError::ReadOnly));
    drop(disk);
    let old = open(&disks);
    disks.restart(DROP);
    let new = open(&disks);
    drop(old);
    assert_eq!(
        disks.open("/sim/a", OpenMode::ReadWrite).err(),
        Some(DiskError::Busy),
        "the new handle holds it"
    );
    drop(new);
    assert_eq!(disks.list("/sim"), Ok(vec!["/sim/a".to_owned()]));
    assert_eq!(disks.list("/none"), Err(DiskError::NotFound));
}

#[test]
fn faults_come_as_often_as_asked_for_but_not_in_labels() {
    let disks = disks(5);
    disks.add("/sim/b", 64 << 20, 512);
    let disk = disks.open("/sim/b", OpenMode::ReadWrite).expect("free");
    let at = ondisk::label::START;
    disk.write_at(at, &[9; 512], SyncWrite).expect("written");
    disks.set_faults("/sim/b", Faults { read: 500_000, write: 1_000_000, ..Faults::default() });
    let failures = |at| (0..100).filter(|_| disk.read_at(at, &mut [0; 512], SyncRead).is_err()).count();
    assert!((20..80).contains(&failures(at)));
    assert_eq!([failures(at - 512), failures((64 << 20) - ondisk::label::END)], [0, 0]);
    assert_eq!(disk.write_at(at, &[1; 512], SyncWrite), Err(DiskError::Io(5)));
    disks.set_faults("/sim/b", Faults { corrupt: 1_000_000, ..Faults::default() });
    assert_ne!(read(&*disk, at, 512), [9; 512]);
    assert_eq!(read(&*disk, 0, 512), [0; 512]);
}

#[test]
fn a_disk_that_is_away_is_not_there_and_comes_back_as_it_was() {
    let disks = disks(1);
    let disk = open(&disks);
    disk.write_at(0, &[3; 512], SyncWrite).expect("written");
    drop(disk);
    disks.set_away("/sim/a", true);
    disks.restart(KEEP);
    assert_eq!(disks.open("/sim/a", OpenMode::ReadOnly).err(), Some(DiskError::NotFound));
    assert_eq!(disks.list("/sim"), Err(DiskError::NotFound));
    disks.set_away("/sim/a", false);
    assert_eq!(read(&*open(&disks), 0, 512), [3; 512]);
}

#[test]
fn a_lying_disk_loses_what_was_flushed() {
    let disks = disks(1);
    disks.set_lying("/sim/a", true);
    let disk = open(&disks);
    disk.write_at(0, &[1; 512], SyncWrite).expect("written");
    disk.flush().expect("a lie");
    disks.restart(DROP);
    assert_eq!(read(&*open(&disks), 0, 512), [0; 512]);
}

#[test]
fn the_power_can_go_at_a_flush_or_just_after_it() {
    for (events, flushed) in [(0, 0), (1, 1)] {
        let disks = disks(1);
        let disk = open(&disks);
        disks.cut_near_flush(1, events);
        disk.flush().expect("the first is let pass");
        disk.write_at(0, &[1; 512], SyncWrite).expect("so are writes");
        assert_eq!(disk.flush().is_ok(), flushed == 1);
        assert!(disk.write_at(0, &[2; 512], SyncWrite).is_err());
        disks.restart(DROP);
        assert_eq!(read(&*open(&disks), 0, 512), [flushed; 512]);
    }
}

#[test]
fn writes_may_be_answered_and_not_done_or_done_elsewhere() {
    const SIZE: u64 = 16 << 20;
    let disks = disks(9);
    disks.add("/sim/a", SIZE, 512);
    let disk = open(&disks);
    disks.set_faults("/sim/a", Faults { lost: 1_000_000, ..Faults::default() });
    disk.write_at(8 << 20, &[1; 4096], SyncWrite).expect("answered");
    disk.write_at(0, &[2; 512], SyncWrite).expect("labels are spared");
    assert_eq!((read(&*disk, 8 << 20, 4096), read(&*disk, 0, 512)), (vec![0; 4096], vec![2; 512]));
    disks.set_faults("/sim/a", Faults { misdirected: 1_000_000, ..Faults::default() });
    disk.write_at(8 << 20, &[3; 4096], SyncWrite).expect("answered");
    assert_eq!(read(&*disk, 8 << 20, 4096), [0; 4096]);
    let data = (label::START..SIZE - label::END).step_by(512);
    let found: Vec<u64> = data.filter(|&at| read(&*disk, at, 512) == [3; 512]).collect();
    assert_eq!(found.len(), 8, "all of it lies together somewhere else");
    assert_eq!(found[7] - found[0], 7 * 512);
}

#[test]
fn a_disk_may_refuse_writes_and_take_its_time() {
    let time = Time::default();
    let disks = SimDisks::new(Prng::new(1), time.clone(), Trace::default());
    disks.add("/sim/a", 1 << 20, 512);
    let disk = open(&disks);
    disks.set_read_only("/sim/a", true);
    assert_eq!(disk.write_at(0, &[1; 512], SyncWrite), Err(DiskError::ReadOnly));
    assert_eq!((disk.flush(), read(&*disk, 0, 512)), (Err(DiskError::ReadOnly), vec![0; 512]));
    drop(disk);
    assert!(matches!(disks.open("/sim/a", OpenMode::ReadWrite), Err(DiskError::ReadOnly)));
    disks.set_read_only("/sim/a", false);
    let disk = open(&disks);
    assert_eq!(time.now(), Nanos(0));
    disks.set_slow("/sim/a", Nanos::from_millis(1));
    (0..100).for_each(|_| disk.flush().expect("flushed"));
    assert!((Nanos::from_millis(20)..Nanos::from_millis(100)).contains(&time.now()), "{:?}", time.now());
}
