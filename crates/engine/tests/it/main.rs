//! The engine through its public interface: a file system on an object set in memory, beside the
//! oracle; and pools that OpenZFS wrote, beside their manifests.

mod acls;
mod alternate;
mod bad_streams;
mod basics;
mod bench;
mod blocks;
mod collection;
mod crash;
mod diff;
mod disks;
mod explain;
mod fixtures;
mod forgotten;
mod heads;
mod heal;
mod journal;
mod kept;
mod landing;
mod manifest;
mod old_versions;
mod policy;
mod premises;
mod projects;
mod quotas;
mod random;
mod replicate;
mod resume;
mod rights;
mod serving;
mod streams;
mod threads;
mod unreplayable;
mod volumes;
mod watching;
