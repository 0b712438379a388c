//! The properties of pools; `feature@…` apart.

use super::PropType::{Choice, Number, Text};
use super::Reads::{Count, Identifier, Percent, Ratio};
use super::Setting::{OnceOwn, Own, ReadOnly};
use super::Shown::ByName;
use super::{BOOLEAN, NumberRange, PropertyDef, Reads, Words, row};

const FAILMODE: Words = &[("wait", 0), ("continue", 1), ("panic", 2)];

properties! {
    /// A property of pools.
    PoolProperty {
        Name = row("name", "NAME", Text(None), ReadOnly, &[]).shown(ByName),
        Size = row("size", "SIZE", Number(0), ReadOnly, &[]).values("<size>"),
        Capacity = row("capacity", "CAP", Number(0), ReadOnly, &[]).values("<percent>").reads(Percent),
        Altroot = row("altroot", "ALTROOT", Text(None), Own, &[]).values("<path>"),
        Health = row("health", "HEALTH", Number(0), ReadOnly, &[]).values("<state>").reads(Reads::Text).width(8),
        Guid = row("guid", "GUID", Number(0), ReadOnly, &[]).values("<guid>").reads(Identifier),
        Version = row("version", "VERSION", Number(5000), Own, &[]).values("<version>").reads(Identifier).default(""),
        Bootfs = row("bootfs", "BOOTFS", Text(None), Own, &[]).values("<filesystem>"),
        Delegation = row("delegation", "DELEGATION", Choice(1, BOOLEAN), Own, &[]).values("on | off"),
        Autoreplace = row("autoreplace", "REPLACE", Choice(0, BOOLEAN), Own, &[]).values("on | off"),
        Cachefile = row("cachefile", "CACHEFILE", Text(None), Own, &[]).values("<file> | none"),
        Failmode = row("failmode", "FAILMODE", Choice(0, FAILMODE), Own, &[]).values("wait | continue | panic"),
        Listsnapshots = row("listsnapshots", "LISTSNAPS", Choice(0, BOOLEAN), Own, &[]).values("on | off"),
        Autoexpand = row("autoexpand", "EXPAND", Choice(0, BOOLEAN), Own, &[]).values("on | off"),
        Dedupratio = row("dedupratio", "DEDUP", Number(0), ReadOnly, &[]).values("<1.00x or higher if deduped>").reads(Ratio),
        Free = row("free", "FREE", Number(0), ReadOnly, &[]).values("<size>"),
        Allocated = row("allocated", "ALLOC", Number(0), ReadOnly, &[]).values("<size>"),
        Readonly = row("readonly", "RDONLY", Choice(0, BOOLEAN), Own, &[]).values("on | off"),
        Ashift = row("ashift", "ASHIFT", Number(0), Own, &[]).values("<ashift, 9-16, or 0=default>").reads(Count).range(NumberRange { least: 9, most: 16, is_power_of_two: false, or_zero: true }),
        Comment = row("comment", "COMMENT", Text(None), Own, &[]).values("<comment-string>"),
        Expandsize = row("expandsize", "EXPANDSZ", Number(0), ReadOnly, &[]).values("<size>"),
        Freeing = row("freeing", "FREEING", Number(0), ReadOnly, &[]).values("<size>"),
        Fragmentation = row("fragmentation", "FRAG", Number(0), ReadOnly, &[]).values("<percent>").reads(Percent),
        Leaked = row("leaked", "LEAKED", Number(0), ReadOnly, &[]).values("<size>"),
        Maxblocksize = row("maxblocksize", "MAXBLOCKSIZE", Number(0), ReadOnly, &[]).shown(ByName),
        Tname = row("tname", "TNAME", Text(None), OnceOwn, &[]).shown(ByName),
        Maxdnodesize = row("maxdnodesize", "MAXDNODESIZE", Number(0), ReadOnly, &[]).shown(ByName),
        Multihost = row("multihost", "MULTIHOST", Choice(0, BOOLEAN), Own, &[]).values("on | off"),
        Checkpoint = row("checkpoint", "CKPOINT", Number(0), ReadOnly, &[]).values("<size>"),
        LoadGuid = row("load_guid", "LOAD_GUID", Number(0), ReadOnly, &[]).values("<load_guid>").reads(Identifier),
        Autotrim = row("autotrim", "AUTOTRIM", Choice(0, BOOLEAN), Own, &[]).values("on | off"),
        Compatibility = row("compatibility", "COMPATIBILITY", Text(Some("off")), Own, &[]).values("<file[,file...]> | off | legacy"),
        Bcloneused = row("bcloneused", "BCLONE_USED", Number(0), ReadOnly, &[]).values("<size>"),
        Bclonesaved = row("bclonesaved", "BCLONE_SAVED", Number(0), ReadOnly, &[]).values("<size>"),
        Bcloneratio = row("bcloneratio", "BCLONE_RATIO", Number(0), ReadOnly, &[]).values("<1.00x or higher if cloned>").reads(Ratio),
        DedupTableSize = row("dedup_table_size", "DDTSIZE", Number(0), ReadOnly, &[]).values("<size>"),
        DedupTableQuota = row("dedup_table_quota", "DDTQUOTA", Number(u64::MAX), Own, &[]).values("<size>").default("auto"),
        LastScrubbedTxg = row("last_scrubbed_txg", "LAST_SCRUBBED_TXG", Number(0), ReadOnly, &[]).values("<txg>").reads(Count),
    }
}
