//! The properties of pools; `feature@…` apart. Source: module/zcommon/zpool_prop.c, `zpool_prop_t`
//! in include/sys/fs/zfs.h.

use super::PropType::{Choice, Number, Text as Word};
use super::Render::{Count, Percent, Ratio, Text};
use super::Setting::{OnceOwn, Own, ReadOnly};
use super::{Prop, UNLIMITED, choices};

/// In the order of `get all`.
pub const POOL: &[Prop] = &[
    Prop::new("name", "NAME", Word(None), ReadOnly, 0).hidden(),
    Prop::new("size", "SIZE", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("capacity", "CAP", Number(0), ReadOnly, 0).values("<percent>").render(Percent),
    Prop::new("altroot", "ALTROOT", Word(None), Own, 0).values("<path>"),
    Prop::new("health", "HEALTH", Number(0), ReadOnly, 0).values("<state>").render(Text),
    Prop::new("guid", "GUID", Number(0), ReadOnly, 0).values("<guid>").render(Count),
    Prop::new("version", "VERSION", Number(5000), Own, 0).values("<version>").render(Count),
    Prop::new("bootfs", "BOOTFS", Word(None), Own, 0).values("<filesystem>"),
    Prop::new("delegation", "DELEGATION", Choice(1, choices::BOOLEAN), Own, 0).values("on | off"),
    Prop::new("autoreplace", "REPLACE", Choice(0, choices::BOOLEAN), Own, 0).values("on | off"),
    Prop::new("cachefile", "CACHEFILE", Word(None), Own, 0).values("<file> | none"),
    Prop::new("failmode", "FAILMODE", Choice(0, choices::FAILMODE), Own, 0).values("wait | continue | panic"),
    Prop::new("listsnapshots", "LISTSNAPS", Choice(0, choices::BOOLEAN), Own, 0).values("on | off"),
    Prop::new("autoexpand", "EXPAND", Choice(0, choices::BOOLEAN), Own, 0).values("on | off"),
    Prop::new("dedupratio", "DEDUP", Number(0), ReadOnly, 0)
        .values("<1.00x or higher if deduped>")
        .render(Ratio),
    Prop::new("free", "FREE", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("allocated", "ALLOC", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("readonly", "RDONLY", Choice(0, choices::BOOLEAN), Own, 0).values("on | off"),
    Prop::new("ashift", "ASHIFT", Number(0), Own, 0).values("<ashift, 9-16, or 0=default>").render(Count),
    Prop::new("comment", "COMMENT", Word(None), Own, 0).values("<comment-string>"),
    Prop::new("expandsize", "EXPANDSZ", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("freeing", "FREEING", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("fragmentation", "FRAG", Number(0), ReadOnly, 0).values("<percent>").render(Percent),
    Prop::new("leaked", "LEAKED", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("maxblocksize", "MAXBLOCKSIZE", Number(0), ReadOnly, 0).hidden(),
    Prop::new("tname", "TNAME", Word(None), OnceOwn, 0).hidden(),
    Prop::new("maxdnodesize", "MAXDNODESIZE", Number(0), ReadOnly, 0).hidden(),
    Prop::new("multihost", "MULTIHOST", Choice(0, choices::BOOLEAN), Own, 0).values("on | off"),
    Prop::new("checkpoint", "CKPOINT", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("load_guid", "LOAD_GUID", Number(0), ReadOnly, 0).values("<load_guid>").render(Count),
    Prop::new("autotrim", "AUTOTRIM", Choice(0, choices::BOOLEAN), Own, 0).values("on | off"),
    Prop::new("compatibility", "COMPATIBILITY", Word(Some("off")), Own, 0)
        .values("<file[,file...]> | off | legacy"),
    Prop::new("bcloneused", "BCLONE_USED", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("bclonesaved", "BCLONE_SAVED", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("bcloneratio", "BCLONE_RATIO", Number(0), ReadOnly, 0)
        .values("<1.00x or higher if cloned>")
        .render(Ratio),
    Prop::new("dedup_table_size", "DDTSIZE", Number(0), ReadOnly, 0).values("<size>"),
    Prop::new("dedup_table_quota", "DDTQUOTA", Number(UNLIMITED), Own, 0).values("<size>"),
    Prop::new("last_scrubbed_txg", "LAST_SCRUBBED_TXG", Number(0), ReadOnly, 0).values("<txg>").render(Count),
];
