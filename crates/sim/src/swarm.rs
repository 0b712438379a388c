//! What a seed draws before anything happens: the pool's shape, the machine's limits, and how hard
//! things are made.
//!
//! Each run switches some features off altogether and others to an extreme: a mixture of
//! everything, always, would meet only the average.

use stdx::prng::Prng;

use crate::disk::{Faults, Loss};

/// How disks make up the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Single,
    Stripe,
    Mirror,
    ThreeWay,
    StripeOfMirrors,
    /// With so many parities, of so many disks each.
    Raidz(usize, &'static [usize]),
}

/// What is drawn of them: narrow and wide, one or two of them.
const RAIDZ: [Layout; 6] = [
    Layout::Raidz(1, &[3]),
    Layout::Raidz(1, &[5]),
    Layout::Raidz(1, &[2, 3]),
    Layout::Raidz(2, &[4]),
    Layout::Raidz(2, &[5]),
    Layout::Raidz(3, &[6]),
];

impl Layout {
    /// Disks of each top-level vdev.
    pub fn tops(self) -> &'static [usize] {
        match self {
            Layout::Single => &[1],
            Layout::Stripe => &[1, 1],
            Layout::Mirror => &[2],
            Layout::ThreeWay => &[3],
            Layout::StripeOfMirrors => &[2, 2],
            Layout::Raidz(_, widths) => widths,
        }
    }

    /// Disks of each top-level vdev that may fail as they like. More would do for wide mirrors.
    fn spare(self) -> usize {
        match self {
            Layout::Single | Layout::Stripe => 0,
            Layout::Mirror | Layout::ThreeWay | Layout::StripeOfMirrors => 1,
            Layout::Raidz(parity, _) => parity,
        }
    }
}

/// Bytes of the disks of a calm pool.
pub const CALM_SIZE: u64 = 64 << 20;

/// A run's circumstances.
#[derive(Clone, Debug)]
pub struct Swarm {
    pub layout: Layout,
    /// Disks of each top-level vdev that holds intent logs.
    pub logs: &'static [usize],
    /// How many cache devices there are.
    pub caches: usize,
    /// Property `sync` of the file system.
    pub sync: &'static str,
    /// Bytes of each disk.
    pub disk_size: u64,
    /// Disks are files that find room for bytes when they are first written.
    pub sparse: bool,
    /// Bytes of a sector: 512 or 4096.
    pub sector: u32,
    pub ashift: u32,
    /// Bytes of the block cache.
    pub cache: usize,
    /// Bytes that may be dirty.
    pub dirty: u64,
    pub small_txg: bool,
    /// Gang blocks: never, sometimes, always.
    pub gang: [u32; 2],
    /// Of one side of each mirror, of as many disks of each raidz as it can lose.
    pub faults: Option<Faults>,
    /// Whether these are away now and then.
    pub absences: bool,
    /// Weights: objects, files, datasets, snapshots.
    pub work: [u32; 4],
    /// Of 1000 operations: syncs, sleeps.
    pub syncs: u64,
    pub sleeps: u64,
    /// Of 1000 operations: disks are told which space is free, or to stop that.
    pub trims: u64,
    /// Disks are told by themselves.
    pub autotrim: bool,
    /// Of 1000 operations: checkpoints of the pool are taken and discarded.
    pub checkpoints: u64,
    /// Largest write, in bytes.
    pub write_max: u64,
    /// Events of a life at the most, as a power of two.
    pub life: u32,
    /// Properties of the file systems, by name.
    pub props: Vec<(&'static str, &'static str)>,
}

impl Swarm {
    pub fn draw(prng: &mut Prng) -> Swarm {
        use Layout::{Mirror, Single, Stripe, StripeOfMirrors, ThreeWay};
        let layouts = [Single, Single, Stripe, Mirror, ThreeWay, StripeOfMirrors, StripeOfMirrors];
        let usual = *prng.pick(&layouts).expect("some");
        // Drawn from a copy: what older seeds draw beside it stays as it was.
        let mut other = prng.clone().fork().fork();
        let layout = if other.chance(1, 3) { *other.pick(&RAIDZ).expect("some") } else { usual };
        let (sector, ashift) = *prng.pick(&[(512, 9), (512, 12), (4096, 12)]).expect("some");
        let redundant = layout.spare() > 0;
        let faults = (redundant && prng.chance(1, 2)).then(|| Faults {
            read: prng.below(20_000) as u32,
            corrupt: prng.below(20_000) as u32,
            write: if prng.chance(1, 2) { prng.below(5_000) as u32 } else { 0 },
            ..Faults::default()
        });
        // Drawn from a copy: what older seeds draw stays as it was.
        let mut aside = prng.clone().fork();
        let absences = redundant && aside.chance(1, 3);
        let checksum_off = aside.chance(1, 2);
        let mut swarm = Swarm {
            layout,
            logs: aside.pick(&[&[][..], &[], &[1], &[2], &[1, 1]]).expect("some"),
            caches: *aside.pick(&[0, 0, 0, 1, 2]).expect("some"),
            sync: aside.pick(&["disabled", "standard", "standard", "always"]).expect("some"),
            disk_size: *prng.pick(&[64 << 20, 96 << 20, 160 << 20]).expect("some"),
            sparse: false,
            sector,
            ashift,
            cache: *prng.pick(&[256 << 10, 2 << 20, 32 << 20]).expect("some"),
            dirty: *prng.pick(&[1 << 20, 4 << 20, 64 << 20]).expect("some"),
            small_txg: prng.chance(1, 3),
            gang: *prng.pick(&[[0, 1], [0, 1], [1, 8], [1, 1]]).expect("some"),
            faults,
            absences,
            work: [1 + prng.below(4) as u32, 1 + prng.below(8) as u32, prng.below(2) as u32, 0],
            syncs: *prng.pick(&[0, 5, 50]).expect("some"),
            sleeps: *prng.pick(&[0, 5, 50]).expect("some"),
            trims: 0,
            autotrim: false,
            checkpoints: 0,
            write_max: *prng.pick(&[4 << 10, 64 << 10, 300 << 10, 1 << 20]).expect("some"),
            life: *prng.pick(&[6, 9, 11, 13]).expect("some"),
            props: draw_props(prng),
        };
        if absences && faults.is_none_or(|faults| faults.corrupt == 0) && checksum_off {
            // Then nothing but the knowledge of who missed what tells old bytes from new ones.
            swarm.props.retain(|(name, _)| *name != "checksum");
            swarm.props.push(("checksum", "off"));
        }
        swarm.trims = *aside.pick(&[0, 0, 20]).expect("some");
        swarm.autotrim = aside.chance(1, 3);
        swarm.work[3] = *aside.pick(&[0, 0, 1, 4]).expect("some");
        let dedup = aside.pick(&["off", "off", "on", "verify", "sha512", "skein,verify", "edonr,verify"]);
        swarm.props.push(("dedup", dedup.expect("some")));
        swarm.sparse = aside.chance(1, 2);
        swarm.checkpoints = *aside.pick(&[0, 0, 20]).expect("some");
        swarm
    }

    /// Nothing but the pool's own disks, which do not fail by themselves: for tests that have
    /// something else in mind.
    pub fn calm(self, layout: Layout, logs: &'static [usize]) -> Swarm {
        Swarm {
            layout,
            logs,
            caches: 0,
            disk_size: CALM_SIZE,
            faults: None,
            absences: false,
            gang: [0, 1],
            props: Vec::new(),
            ..self
        }
    }

    /// A calm one on one disk or a mirror, with properties that say how data is written and no
    /// others. Who looks at a dataset does not change it.
    pub fn draw_calm(prng: &mut Prng) -> Swarm {
        let drawn = Swarm::draw(prng);
        let keep = ["recordsize", "compression", "checksum", "xattr", "dnodesize", "redundant_metadata"];
        let mut props: Vec<_> = drawn.props.iter().copied().filter(|(name, _)| keep.contains(name)).collect();
        props.push(("atime", "off"));
        let layout = *prng.pick(&[Layout::Single, Layout::Single, Layout::Mirror]).expect("some");
        Swarm { autotrim: false, props, ..drawn.calm(layout, &[]) }
    }

    /// The disks that may fail and be away: always the same of each vdev, for nobody repairs them.
    pub fn weak_sides(&self) -> Vec<String> {
        let spare = self.layout.spare();
        self.paths().into_iter().flat_map(|disks| disks.into_iter().take(spare)).collect()
    }

    /// Paths of the disks, by top-level vdev.
    pub fn paths(&self) -> Vec<Vec<String>> {
        numbered("/sim/disk", self.layout.tops())
    }

    /// Paths of the disks that hold intent logs, by top-level vdev.
    pub fn log_paths(&self) -> Vec<Vec<String>> {
        numbered("/sim/log", self.logs)
    }

    /// Paths of the cache devices.
    pub fn cache_paths(&self) -> Vec<String> {
        (1..=self.caches).map(|n| format!("/sim/cache{n}")).collect()
    }

    /// Paths of all disks.
    pub fn all_paths(&self) -> Vec<String> {
        [self.paths().concat(), self.log_paths().concat(), self.cache_paths()].concat()
    }

    /// How a device fails that the pool can do without: mostly not at all, sometimes always.
    fn draw_rate(prng: &mut Prng) -> u32 {
        *prng.pick(&[0, 0, 0, 20_000, 1_000_000]).expect("some")
    }

    /// How a log device fails. It is read as it should be: what it lost it could not lose.
    pub fn draw_log_faults(prng: &mut Prng) -> Faults {
        let rate = Swarm::draw_rate(prng);
        match prng.chance(1, 2) {
            true => Faults { write: rate, ..Faults::default() },
            false => Faults { flush: rate, ..Faults::default() },
        }
    }

    /// How a cache device fails, which may give back anything.
    pub fn draw_cache_faults(prng: &mut Prng) -> Faults {
        let mut rate = || Swarm::draw_rate(prng);
        Faults {
            read: rate(),
            corrupt: rate(),
            write: rate(),
            flush: rate(),
            lost: rate(),
            misdirected: rate(),
            stuck: 0,
        }
    }

    /// What becomes of the cache of the disks at a crash.
    pub fn draw_loss(prng: &mut Prng) -> Loss {
        let (kept, torn) =
            *prng.pick(&[(100, 0), (0, 0), (50, 0), (40, 20), (90, 5), (5, 5), (0, 100)]).expect("some");
        Loss { kept, torn }
    }

    /// After how many writes and flushes the power goes: short lives as likely as long ones.
    pub fn draw_life(&self, prng: &mut Prng) -> u64 {
        let magnitude = prng.below(u64::from(self.life) + 1);
        prng.below(1 << magnitude)
    }
}

/// Paths of the disks of each top-level vdev, numbered from 1 through all of them.
fn numbered(path: &str, tops: &[usize]) -> Vec<Vec<String>> {
    let mut paths = (1..).map(|n: usize| format!("{path}{n}"));
    tops.iter().map(|&sides| paths.by_ref().take(sides).collect()).collect()
}

/// Values for some properties of the file systems.
fn draw_props(prng: &mut Prng) -> Vec<(&'static str, &'static str)> {
    let choices: [(&str, &[&str]); 8] = [
        ("recordsize", &["512", "4K", "16K", "128K", "1M"]),
        ("compression", &["off", "lz4", "lzjb", "zle"]),
        ("checksum", &["fletcher2", "fletcher4", "sha256"]),
        ("copies", &["1", "2", "3"]),
        ("xattr", &["on", "sa"]),
        ("dnodesize", &["legacy", "auto", "1k", "4k"]),
        ("redundant_metadata", &["all", "most"]),
        ("relatime", &["on", "off"]),
    ];
    let mut props = Vec::new();
    for (name, values) in choices {
        if prng.chance(1, 2) {
            props.push((name, *prng.pick(values).expect("some")));
        }
    }
    props
}
