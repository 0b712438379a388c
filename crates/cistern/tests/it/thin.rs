//! What thin volumes take of their pool, to the block. The classic experiment: a volume of 500 GiB
//! on a pool that is much smaller; data is written to it by iSCSI, then zeroes over half of that,
//! then all is unmapped. At each step what we say is what OpenZFS would count over the blocks that
//! zdb lists in the exported pool; a small volume that is not thin goes the same way.
//!
//! One GiB of data stands for the ten of the experiment, for the sake of time: a program built for
//! tests takes half a minute for ten. `THIN=10` writes as many.
//!
//! Sources of what is counted: `dsl_dataset_block_born` in module/zfs/dsl_dataset.c, BP_GET_UCSIZE
//! in include/sys/spa.h; with them the listings of OpenZFS's own pools give what its `zfs get` says
//! of their volumes.

use std::path::Path;

use load::{Initiator, Unit};
use stdx::prng::Prng;

use crate::daemon::{Daemon, Scratch, say, timed};
use crate::iscsi::{LISTEN, portal};
use crate::zdb::{stop_and_check, zdb};

const MIB: u64 = 1 << 20;
/// Of the volumes.
const BLOCK: u64 = 16 << 10;
const BLOCKS_IN_MIB: u64 = MIB / BLOCK;

/// What OpenZFS counts of a dataset's blocks, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    referenced: u64,
    /// Before and after compression.
    uncompressed: u64,
    compressed: u64,
    /// Blocks of data.
    blocks: u64,
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("'{text}' is no number"))
}

/// Lengths of the places in a block pointer, as zdb writes them: `0:27c000:3000`.
fn places<'a>(words: impl Iterator<Item = &'a str>) -> u64 {
    let lens = words.filter_map(|word| match word.split(':').collect::<Vec<_>>()[..] {
        [_, _, len] => Some(hex(len)),
        _ => None,
    });
    lens.sum()
}

impl Count {
    /// Adds up what zdb lists. Blocks within their pointers take nothing, and no data here is so
    /// small.
    fn of(folder: &Path, dataset: &str) -> Count {
        let (mut count, mut is_data, mut is_head, mut is_list) = (Count::default(), false, false, false);
        for line in zdb(folder, &["-dddddd", dataset]).done().lines() {
            let pointer = line.split_once("L/").filter(|_| is_list && !line.contains("EMBEDDED"));
            if line.starts_with("Dataset ") {
                // The object set's own block.
                count.referenced += places(line.split(['<', '>']));
                count.add(line.split_once(" size=").map_or("", |(_, size)| size), false);
            } else if let Some((head, _)) = pointer {
                let is_leaf = line.split_whitespace().nth(1) == Some("L0");
                count.referenced += places(head.split_whitespace());
                count.blocks += u64::from(is_data && is_leaf);
                let before = head.rfind(' ').map_or(0, |at| at + 1);
                count.add(&line[before..], is_data && is_leaf);
            } else if is_head {
                (is_head, is_data) = (false, line.contains("zvol object"));
            } else if line.trim_start().starts_with("Object  ") {
                (is_head, is_list) = (true, false);
            } else if line.starts_with("Indirect blocks:") {
                is_list = true;
            }
        }
        count
    }

    /// A block with its lengths as in `20000L/400P`. Of metadata the compressed length stands for
    /// both.
    fn add(&mut self, size: &str, is_data: bool) {
        let (logical, rest) = size.split_once("L/").expect("two lengths");
        let physical = hex(rest.split('P').next().unwrap_or_default());
        self.compressed += physical;
        self.uncompressed += if is_data { hex(logical) } else { physical };
    }
}

struct Volume {
    name: &'static str,
    is_thin: bool,
    /// MiB that are written.
    data: u64,
}

fn get(daemon: &Daemon, name: &str, props: &str) -> Vec<String> {
    let said = daemon.zfs(&format!("get -Hp -o value {props} {name}")).done();
    said.lines().map(str::to_owned).collect()
}

fn number(daemon: &Daemon, name: &str, prop: &str) -> u64 {
    get(daemon, name, prop)[0].parse().expect("a number")
}

fn allocated(daemon: &Daemon) -> u64 {
    daemon.zpool("list -Hp -o allocated tank").done().trim().parse().expect("a number")
}

impl Volume {
    fn unit(&self, daemon: &Daemon) -> Unit {
        let target = self.name.replace('/', ":");
        Unit::parse(&format!("iscsi://{}/iqn.2026-01.org.cistern:{target}/0", portal(daemon)))
            .expect("a place")
    }

    /// Exports the pool, looks at what it has of this volume, and brings it back.
    fn check(&self, step: &str, daemon: &Daemon, folder: &Path, blocks: u64) {
        let used = number(daemon, self.name, "used");
        let kept = number(daemon, self.name, "refreservation");
        let said = get(daemon, self.name, "referenced,logicalreferenced,refcompressratio,compressratio");
        daemon.zpool("export tank").done();
        let count = Count::of(folder, self.name);
        daemon.zpool(&format!("import -d {} tank", folder.display())).done();
        let ratio = count.uncompressed * 100 / count.compressed;
        let ratio = format!("{}.{:02}", ratio / 100, ratio % 100);
        let wanted = [count.referenced.to_string(), count.uncompressed.to_string(), ratio.clone(), ratio];
        let what = format!("{}, {step}: {count:?}", self.name);
        assert_eq!(said, wanted, "{what}");
        assert_eq!(count.blocks, blocks, "{what}");
        assert_eq!(used, if self.is_thin { count.referenced } else { kept }, "{what}");
        assert_eq!(kept == 0, self.is_thin, "{what}");
        say(&format!("{what}, used {used}, refreservation {kept}"));
    }
}

#[test]
fn a_thin_volume_takes_what_is_in_it() {
    let scratch = Scratch::new("thin");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let gib: u64 = std::env::var("THIN").map_or(1, |text| text.parse().expect("THIN=GIB"));
    let (a, folder) = (scratch.image("a", 16 << 10), scratch.path("disks"));
    daemon.zpool(&format!("create -m none -O compression=lz4 tank {a}")).done();
    let volumes = [
        Volume { name: "tank/thin", is_thin: true, data: gib << 10 },
        Volume { name: "tank/thick", is_thin: false, data: 64 },
    ];
    daemon.zfs("create -s -V 500G -b 16K -o cistern:iscsi=on tank/thin").done();
    daemon.zfs("create -V 128M -b 16K -o cistern:iscsi=on tank/thick").done();
    let empty = allocated(&daemon);
    for volume in &volumes {
        let end = volume.data * MIB;
        volume.check("made", &daemon, &folder, 0);
        let unit = volume.unit(&daemon);
        let mut initiator = Initiator::log_in(&unit).expect("a session");
        timed(&format!("{} MiB are written", volume.data), || {
            let mut random = Prng::new(500);
            let mut data = vec![0; MIB as usize];
            for at in (0..end).step_by(MIB as usize) {
                // Of each block half can be compressed.
                data.chunks_mut(BLOCK as usize)
                    .for_each(|block| random.fill(&mut block[..BLOCK as usize / 2]));
                initiator.write(&unit, at, &data).expect("written");
            }
            initiator.flush(&unit).expect("flushed");
        });
        drop(initiator);
        daemon.zpool("sync").done();
        volume.check("written", &daemon, &folder, volume.data * BLOCKS_IN_MIB);

        let mut initiator = Initiator::log_in(&unit).expect("a session");
        let zeroes = vec![0; MIB as usize];
        timed("half of it is zeroed", || {
            (0..end / 2)
                .step_by(MIB as usize)
                .for_each(|at| initiator.write(&unit, at, &zeroes).expect("written"));
            initiator.flush(&unit).expect("flushed");
        });
        drop(initiator);
        daemon.zpool("sync").done();
        volume.check("half zeroed", &daemon, &folder, volume.data / 2 * BLOCKS_IN_MIB);

        let (mut initiator, full) = (Initiator::log_in(&unit).expect("a session"), allocated(&daemon));
        let size = initiator.size(&unit).expect("its size");
        timed("all is unmapped", || initiator.unmap(&unit, 0, size).expect("unmapped"));
        drop(initiator);
        daemon.zpool("sync").done();
        let left = allocated(&daemon);
        assert!(left < empty + 2 * MIB, "{left} of {full} are still allocated, {empty} were at first");
        volume.check("unmapped", &daemon, &folder, 0);
    }
    stop_and_check(&mut daemon, &folder, "tank");
}
