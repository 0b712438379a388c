//! The appliance end to end: the program itself, its commands, real clients of it, and OpenZFS's
//! judgement of the pools it leaves.
//!
//! Needs root, /dev/fuse and the tools that `scripts/setup test` installs.

mod acls;
mod cachefile;
mod coherence;
mod command_lines;
mod commands;
mod copies;
mod crash;
mod crowd;
mod daemon;
mod data_vdevs;
mod dedup;
mod delegation;
mod devices;
mod faults;
mod first_start;
mod fixtures;
mod foreign;
mod iscsi;
mod kept;
mod libnfs;
mod local;
mod log_devices;
mod mount8;
mod multihost;
mod nbd;
mod nfs3;
mod old_pools;
mod operations;
mod people;
mod policies;
mod posix;
mod projects;
mod qemu;
mod quotas;
mod raidz;
mod refusals;
mod remount;
mod restart;
mod roots;
mod shares;
mod snapshots;
mod space;
mod starting;
mod streams;
mod suspended;
mod thin;
mod tools;
mod tree;
mod trim;
mod tunables;
mod views;
mod virtual_disks;
mod zdb;
