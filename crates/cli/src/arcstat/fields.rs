//! The fields of `arcstat`: width, scale and meaning of each, and how it follows from two readings
//! of the kstat.
//!
//! Facts: OpenZFS's cmd/zarcstat.in (2.4; named arcstat before).

use std::collections::BTreeMap;

/// What a number is scaled by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    Text,
    Percent,
    Thousand,
    Binary,
}

/// How a field is shown.
pub struct Field {
    pub name: String,
    pub width: usize,
    pub scale: Scale,
    pub about: String,
}

/// What a field shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Whole(u64),
    Real(f64),
}

/// Name, width, scale, meaning.
type Row = (&'static str, usize, Scale, &'static str);

use Scale::{Binary as B, Percent as P, Text as T, Thousand as K};

/// In the order of `-a` and `-v`.
const FIXED: &[Row] = &[
    ("time", 8, T, "Time"),
    ("hits", 4, K, "ARC hits per second"),
    ("iohs", 4, K, "ARC I/O hits per second"),
    ("miss", 4, K, "ARC misses per second"),
    ("read", 4, K, "Total ARC accesses per second"),
    ("hit%", 4, P, "ARC hit percentage"),
    ("ioh%", 4, P, "ARC I/O hit percentage"),
    ("miss%", 5, P, "ARC miss percentage"),
    ("dhit", 4, K, "Demand hits per second"),
    ("dioh", 4, K, "Demand I/O hits per second"),
    ("dmis", 4, K, "Demand misses per second"),
    ("dh%", 3, P, "Demand hit percentage"),
    ("di%", 3, P, "Demand I/O hit percentage"),
    ("dm%", 3, P, "Demand miss percentage"),
    ("ddhit", 5, K, "Demand data hits per second"),
    ("ddioh", 5, K, "Demand data I/O hits per second"),
    ("ddmis", 5, K, "Demand data misses per second"),
    ("ddh%", 4, P, "Demand data hit percentage"),
    ("ddi%", 4, P, "Demand data I/O hit percentage"),
    ("ddm%", 4, P, "Demand data miss percentage"),
    ("dmhit", 5, K, "Demand metadata hits per second"),
    ("dmioh", 5, K, "Demand metadata I/O hits per second"),
    ("dmmis", 5, K, "Demand metadata misses per second"),
    ("dmh%", 4, P, "Demand metadata hit percentage"),
    ("dmi%", 4, P, "Demand metadata I/O hit percentage"),
    ("dmm%", 4, P, "Demand metadata miss percentage"),
    ("phit", 4, K, "Prefetch hits per second"),
    ("pioh", 4, K, "Prefetch I/O hits per second"),
    ("pmis", 4, K, "Prefetch misses per second"),
    ("ph%", 3, P, "Prefetch hits percentage"),
    ("pi%", 3, P, "Prefetch I/O hits percentage"),
    ("pm%", 3, P, "Prefetch miss percentage"),
    ("pdhit", 5, K, "Prefetch data hits per second"),
    ("pdioh", 5, K, "Prefetch data I/O hits per second"),
    ("pdmis", 5, K, "Prefetch data misses per second"),
    ("pdh%", 4, P, "Prefetch data hits percentage"),
    ("pdi%", 4, P, "Prefetch data I/O hits percentage"),
    ("pdm%", 4, P, "Prefetch data miss percentage"),
    ("pmhit", 5, K, "Prefetch metadata hits per second"),
    ("pmioh", 5, K, "Prefetch metadata I/O hits per second"),
    ("pmmis", 5, K, "Prefetch metadata misses per second"),
    ("pmh%", 4, P, "Prefetch metadata hits percentage"),
    ("pmi%", 4, P, "Prefetch metadata I/O hits percentage"),
    ("pmm%", 4, P, "Prefetch metadata miss percentage"),
    ("mhit", 4, K, "Metadata hits per second"),
    ("mioh", 4, K, "Metadata I/O hits per second"),
    ("mmis", 4, K, "Metadata misses per second"),
    ("mread", 5, K, "Metadata accesses per second"),
    ("mh%", 3, P, "Metadata hit percentage"),
    ("mi%", 3, P, "Metadata I/O hit percentage"),
    ("mm%", 3, P, "Metadata miss percentage"),
    ("arcsz", 5, B, "ARC size"),
    ("size", 5, B, "ARC size"),
    ("c", 5, B, "ARC target size"),
    ("mfu", 4, K, "MFU list hits per second"),
    ("mru", 4, K, "MRU list hits per second"),
    ("mfug", 4, K, "MFU ghost list hits per second"),
    ("mrug", 4, K, "MRU ghost list hits per second"),
    ("unc", 4, K, "Uncached list hits per second"),
    ("eskip", 5, K, "evict_skip per second"),
    ("el2skip", 7, K, "evict skip, due to l2 writes, per second"),
    ("el2cach", 7, B, "Size of L2 cached evictions per second"),
    ("el2el", 5, B, "Size of L2 eligible evictions per second"),
    ("el2mfu", 6, B, "Size of L2 eligible MFU evictions per second"),
    ("el2mru", 6, B, "Size of L2 eligible MRU evictions per second"),
    ("el2inel", 7, B, "Size of L2 ineligible evictions per second"),
    ("mtxmis", 6, K, "mutex_miss per second"),
    ("dread", 5, K, "Demand accesses per second"),
    ("ddread", 6, K, "Demand data accesses per second"),
    ("dmread", 6, K, "Demand metadata accesses per second"),
    ("pread", 5, K, "Prefetch accesses per second"),
    ("pdread", 6, K, "Prefetch data accesses per second"),
    ("pmread", 6, K, "Prefetch metadata accesses per second"),
    ("l2hits", 6, K, "L2ARC hits per second"),
    ("l2miss", 6, K, "L2ARC misses per second"),
    ("l2read", 6, K, "Total L2ARC accesses per second"),
    ("l2hit%", 6, P, "L2ARC access hit percentage"),
    ("l2miss%", 7, P, "L2ARC access miss percentage"),
    ("l2pref", 6, B, "L2ARC prefetch allocated size"),
    ("l2mfu", 5, B, "L2ARC MFU allocated size"),
    ("l2mru", 5, B, "L2ARC MRU allocated size"),
    ("l2data", 6, B, "L2ARC data allocated size"),
    ("l2meta", 6, B, "L2ARC metadata allocated size"),
    ("l2pref%", 7, P, "L2ARC prefetch percentage"),
    ("l2mfu%", 6, P, "L2ARC MFU percentage"),
    ("l2mru%", 6, P, "L2ARC MRU percentage"),
    ("l2data%", 7, P, "L2ARC data percentage"),
    ("l2meta%", 7, P, "L2ARC metadata percentage"),
    ("l2asize", 7, B, "Actual (compressed) size of the L2ARC"),
    ("l2size", 6, B, "Size of the L2ARC"),
    ("l2bytes", 7, B, "Bytes read per second from the L2ARC"),
    ("l2wbytes", 8, B, "Bytes written per second to the L2ARC"),
    ("grow", 4, K, "ARC grow disabled"),
    ("need", 5, B, "ARC reclaim need"),
    ("free", 5, B, "ARC free memory"),
    ("avail", 5, B, "ARC available memory"),
    ("waste", 5, B, "Wasted memory due to round up to pagesize"),
    ("ztotal", 6, K, "zfetch total prefetcher calls per second"),
    ("zhits", 5, K, "zfetch stream hits per second"),
    ("zahead", 6, K, "zfetch hits ahead of streams per second"),
    ("zpast", 5, K, "zfetch hits behind streams per second"),
    ("zmisses", 7, K, "zfetch stream misses per second"),
    ("zmax", 4, K, "zfetch limit reached per second"),
    ("zfuture", 7, K, "zfetch stream future per second"),
    ("zstride", 7, K, "zfetch stream strides per second"),
    ("zissued", 7, K, "zfetch prefetches issued per second"),
    ("zactive", 7, K, "zfetch prefetches active per second"),
];

/// A part of the cache: field prefix, kstat prefix, meaning; and what is told of it: field suffix,
/// kstat suffix, meaning.
type Part = (&'static str, &'static str, &'static str);

const STRUCTURE: &[Part] = &[
    ("cmp", "compressed", "Compressed"),
    ("ovh", "overhead", "Overhead"),
    ("bon", "bonus", "Bonus"),
    ("dno", "dnode", "Dnode"),
    ("dbu", "dbuf", "Dbuf"),
    ("hdr", "hdr", "Header"),
    ("l2h", "l2_hdr", "L2 header"),
    ("abd", "abd_chunk_waste", "ABD chunk waste"),
];
const TYPES: &[Part] = &[("data", "data", "ARC data"), ("meta", "metadata", "ARC metadata")];
const STATES: &[Part] = &[
    ("ano", "anon", "Anonymous"),
    ("mfu", "mfu", "MFU"),
    ("mru", "mru", "MRU"),
    ("unc", "uncached", "Uncached"),
];
const SIZE: &[Part] = &[("sz", "_size", "size")];
const TYPE_SIZES: &[Part] = &[("tg", "_target", "target"), ("sz", "_size", "size")];
const TARGETS: &[Part] = &[
    ("tg", "_target", "target"),
    ("dt", "_data_target", "data target"),
    ("mt", "_metadata_target", "metadata target"),
];
const STATE_SIZES: &[Part] = &[
    ("sz", "_size", "size"),
    ("da", "_data", "data size"),
    ("me", "_metadata", "metadata size"),
    ("ed", "_evictable_data", "evictable data size"),
    ("em", "_evictable_metadata", "evictable metadata size"),
];
const GHOSTS: &[Part] = &[
    ("gsz", "_ghost_size", "ghost size"),
    ("gd", "_ghost_data", "ghost data size"),
    ("gm", "_ghost_metadata", "ghost metadata size"),
];

/// Field, name in the kstat, meaning, and what a percentage is of.
struct Breakdown {
    field: String,
    count: String,
    about: String,
    percent_of: Option<&'static str>,
}

fn breakdowns() -> Vec<Breakdown> {
    let mut all = Vec::new();
    let mut tell = |part: &Part, stats: &[Part], percent_of| {
        all.extend(stats.iter().map(|stat| Breakdown {
            field: format!("{}{}", part.0, stat.0),
            count: format!("{}{}", part.1, stat.1),
            about: format!("{} {}", part.2, stat.2),
            percent_of,
        }));
    };
    STRUCTURE.iter().for_each(|part| tell(part, SIZE, Some("size")));
    TYPES.iter().for_each(|part| tell(part, TYPE_SIZES, Some("caches_size")));
    for part in STATES {
        let adapts = matches!(part.0, "mfu" | "mru");
        if adapts {
            tell(part, TARGETS, Some("caches_size"));
        }
        tell(part, STATE_SIZES, Some("caches_size"));
        if adapts {
            tell(part, GHOSTS, None);
        }
    }
    all
}

/// All fields, in order.
pub fn fields() -> Vec<Field> {
    let fixed = FIXED.iter().map(|&(name, width, scale, about)| Field {
        name: name.to_owned(),
        width,
        scale,
        about: about.to_owned(),
    });
    let mut all: Vec<Field> = fixed.collect();
    for Breakdown { field: name, about, percent_of, .. } in breakdowns() {
        let percentage = percent_of.map(|_| Field {
            name: format!("{name}%"),
            width: name.len() + 1,
            scale: Scale::Percent,
            about: format!("{about} percentage"),
        });
        all.push(Field { width: name.len(), name, scale: Scale::Binary, about });
        all.extend(percentage);
    }
    all
}

/// The kstat, read.
pub type Counts = BTreeMap<String, u64>;

/// What is shown of the change from one reading to the next, over `seconds`; without `before` it is
/// since start.
pub fn values(before: Option<&Counts>, now: &Counts, seconds: u64, time: String) -> BTreeMap<String, Value> {
    let mut reckoning = Reckoning { before, now, seconds: seconds.max(1) as f64, values: BTreeMap::new() };
    reckoning.values.insert("time".to_owned(), Value::Text(time));
    reckoning.lookups();
    reckoning.lists();
    reckoning.level2();
    reckoning.breakdowns();
    reckoning.values
}

struct Reckoning<'a> {
    before: Option<&'a Counts>,
    now: &'a Counts,
    seconds: f64,
    values: BTreeMap<String, Value>,
}

impl Reckoning<'_> {
    fn size(&self, count: &str) -> u64 {
        self.now.get(count).copied().unwrap_or(0)
    }

    /// A second.
    fn rate(&self, counts: &[impl AsRef<str>]) -> f64 {
        let of = |counts_then: &Counts| -> u64 {
            counts.iter().map(|count| counts_then.get(count.as_ref()).copied().unwrap_or(0)).sum()
        };
        (of(self.now) as f64 - self.before.map_or(0.0, |before| of(before) as f64)) / self.seconds
    }

    fn put(&mut self, field: impl Into<String>, value: f64) {
        self.values.insert(field.into(), Value::Real(value));
    }

    fn put_size(&mut self, field: impl Into<String>, value: u64) {
        self.values.insert(field.into(), Value::Whole(value));
    }

    fn put_share(&mut self, field: impl Into<String>, part: f64, whole: f64) {
        let share = if whole > 0.0 { Value::Real(100.0 * part / whole) } else { Value::Whole(0) };
        self.values.insert(field.into(), share);
    }

    /// Hits, hits on what is being read, and misses of one sort of lookups; with the names of the
    /// seven fields.
    fn family(&mut self, sorts: &[&str], names: [&str; 7]) {
        let rate =
            |what: &str| self.rate(&sorts.iter().map(|sort| format!("{sort}{what}")).collect::<Vec<_>>());
        let (hits, io_hits, misses) = (rate("hits"), rate("iohits"), rate("misses"));
        let reads = hits + io_hits + misses;
        let [hit, io_hit, miss, read, hit_share, io_hit_share, miss_share] = names;
        self.put(hit, hits);
        self.put(io_hit, io_hits);
        self.put(miss, misses);
        self.put(read, reads);
        self.put_share(hit_share, hits, reads);
        self.put_share(io_hit_share, io_hits, reads);
        self.put_share(miss_share, misses, reads);
    }

    fn lookups(&mut self) {
        let (dd, dm, pd, pm) = ("demand_data_", "demand_metadata_", "prefetch_data_", "prefetch_metadata_");
        self.family(&[""], ["hits", "iohs", "miss", "read", "hit%", "ioh%", "miss%"]);
        self.family(&[dd, dm], ["dhit", "dioh", "dmis", "dread", "dh%", "di%", "dm%"]);
        self.family(&[dd], ["ddhit", "ddioh", "ddmis", "ddread", "ddh%", "ddi%", "ddm%"]);
        self.family(&[dm], ["dmhit", "dmioh", "dmmis", "dmread", "dmh%", "dmi%", "dmm%"]);
        self.family(&[pd, pm], ["phit", "pioh", "pmis", "pread", "ph%", "pi%", "pm%"]);
        self.family(&[pd], ["pdhit", "pdioh", "pdmis", "pdread", "pdh%", "pdi%", "pdm%"]);
        self.family(&[pm], ["pmhit", "pmioh", "pmmis", "pmread", "pmh%", "pmi%", "pmm%"]);
        self.family(&[dm, pm], ["mhit", "mioh", "mmis", "mread", "mh%", "mi%", "mm%"]);
    }

    fn lists(&mut self) {
        for (field, counts) in [
            ("mfu", &["mfu_hits"][..]),
            ("mru", &["mru_hits"]),
            ("mfug", &["mfu_ghost_hits"]),
            ("mrug", &["mru_ghost_hits"]),
            ("unc", &["uncached_hits"]),
            ("eskip", &["evict_skip"]),
            ("el2skip", &["evict_l2_skip"]),
            ("el2cach", &["evict_l2_cached"]),
            ("el2el", &["evict_l2_eligible"]),
            ("el2mfu", &["evict_l2_eligible_mfu"]),
            ("el2mru", &["evict_l2_eligible_mru"]),
            ("el2inel", &["evict_l2_ineligible"]),
            ("mtxmis", &["mutex_miss"]),
            ("ztotal", &["zfetch_hits", "zfetch_future", "zfetch_stride", "zfetch_past", "zfetch_misses"]),
            ("zhits", &["zfetch_hits"]),
            ("zahead", &["zfetch_future", "zfetch_stride"]),
            ("zpast", &["zfetch_past"]),
            ("zmisses", &["zfetch_misses"]),
            ("zmax", &["zfetch_max_streams"]),
            ("zfuture", &["zfetch_future"]),
            ("zstride", &["zfetch_stride"]),
            ("zissued", &["zfetch_io_issued"]),
            ("zactive", &["zfetch_io_active"]),
        ] {
            let rate = self.rate(counts);
            self.put(field, rate);
        }
        for (field, count) in [
            ("arcsz", "size"),
            ("size", "size"),
            ("c", "c"),
            ("need", "arc_need_free"),
            ("free", "memory_free_bytes"),
            ("avail", "memory_available_bytes"),
            ("waste", "abd_chunk_waste_size"),
        ] {
            let size = self.size(count);
            self.put_size(field, size);
        }
        let grow = u64::from(self.size("arc_no_grow") == 0);
        self.put_size("grow", grow);
    }

    fn level2(&mut self) {
        let (hits, misses) = (self.rate(&["l2_hits"]), self.rate(&["l2_misses"]));
        self.put("l2hits", hits);
        self.put("l2miss", misses);
        self.put("l2read", hits + misses);
        self.put_share("l2hit%", hits, hits + misses);
        self.put_share("l2miss%", misses, hits + misses);
        for (field, count) in [("l2bytes", "l2_read_bytes"), ("l2wbytes", "l2_write_bytes")] {
            let rate = self.rate(&[count]);
            self.put(field, rate);
        }
        let all = self.size("l2_asize");
        for (field, count) in [
            ("l2pref", "l2_prefetch_asize"),
            ("l2mfu", "l2_mfu_asize"),
            ("l2mru", "l2_mru_asize"),
            ("l2data", "l2_bufc_data_asize"),
            ("l2meta", "l2_bufc_metadata_asize"),
        ] {
            let size = self.size(count);
            self.put_size(field, size);
            self.put_share(format!("{field}%"), size as f64, all as f64);
        }
        self.put_size("l2asize", all);
        let size = self.size("l2_size");
        self.put_size("l2size", size);
    }

    /// Bytes that each list aims at, by data and metadata, from the shares that the kstat tells in
    /// parts of 2³².
    fn targets(&self) -> BTreeMap<String, f64> {
        let whole = 4_294_967_296.0;
        let share = |count: &str| self.size(count) as f64 / whole;
        let (meta, data_mru, meta_mru) = (share("meta"), share("pd"), share("pm"));
        let bytes = self.caches_size() as f64;
        let lists = [
            ("mfu_data", (1.0 - data_mru) * (1.0 - meta)),
            ("mfu_metadata", (1.0 - meta_mru) * meta),
            ("mru_data", data_mru * (1.0 - meta)),
            ("mru_metadata", meta_mru * meta),
        ];
        let mut targets: BTreeMap<String, f64> = BTreeMap::new();
        for (list, share) in lists {
            let (state, kind) = list.split_once('_').unwrap_or((list, ""));
            targets.insert(format!("{list}_target"), share * bytes);
            *targets.entry(format!("{state}_target")).or_default() += share * bytes;
            *targets.entry(format!("{kind}_target")).or_default() += share * bytes;
        }
        targets
    }

    fn caches_size(&self) -> u64 {
        let states =
            STATES.iter().flat_map(|(_, state, _)| ["data", "metadata"].map(|k| format!("{state}_{k}")));
        states.map(|count| self.size(&count)).sum()
    }

    fn breakdowns(&mut self) {
        let (targets, caches) = (self.targets(), self.caches_size());
        for Breakdown { field, count, percent_of, .. } in breakdowns() {
            let target = targets.get(&count).copied();
            let value = target.unwrap_or(self.size(&count) as f64);
            if let Some(of) = percent_of {
                let whole = if of == "caches_size" { caches } else { self.size(of) };
                self.put_share(format!("{field}%"), value, whole as f64);
            }
            match target {
                Some(target) => self.put(field, target),
                None => self.put_size(field, value as u64),
            }
        }
    }
}
