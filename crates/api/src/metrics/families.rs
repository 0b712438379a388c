//! Every metric that there is.

use api_types::{DatasetInfo, Health, Latency, ScanKind, ScanState};

use super::seen::Seen;
use super::text::{Family, Kind, Samples};

/// Makes the table of its rows: kind, name and labels, what it is, and how its values are found.
macro_rules! families {
    ($($kind:ident $name:literal [$($label:literal),*] $help:literal: $find:expr;)+) => {
        pub const FAMILIES: &[Family] = &[$(Family {
            name: $name,
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: $help,
            find: $find,
        },)+];
    };
}

const HEALTHS: [Health; 7] = [
    Health::Online,
    Health::Degraded,
    Health::Faulted,
    Health::Offline,
    Health::Unavail,
    Health::Removed,
    Health::Suspended,
];

/// A number of the cache's.
fn cache(seen: &Seen, samples: &mut Samples, name: &str) {
    samples.put(&[], seen.cache.get(name).copied().unwrap_or(0));
}

/// A property of each dataset that is a number.
fn property(seen: &Seen, samples: &mut Samples, name: &str) {
    // What is no number, `none` or `-`, is not there.
    let number = |info: &DatasetInfo| info.value(name)?.parse::<u64>().ok();
    for info in &seen.datasets {
        if let Some(number) = number(info) {
            samples.put(&[&info.name], number);
        }
    }
}

/// Reads, writes and others.
fn kinds(samples: &mut Samples, of: [&Latency; 3]) {
    ["read", "write", "other"].iter().zip(of).for_each(|(kind, of)| samples.histogram(&[kind], of));
}

families! {
    Gauge "cistern_build_info" ["version"] "Always 1; the version of the daemon.":
        |seen, to| to.put(&[&seen.version], 1);
    Gauge "cistern_start_time_seconds" [] "When the daemon started, in seconds since 1970.":
        |seen, to| to.seconds(&[], seen.statistics.run);
    Gauge "cistern_scrape_duration_seconds" [] "How long it took to gather these metrics.":
        |seen, to| to.seconds(&[], seen.took);

    Gauge "cistern_process_resident_memory_bytes" [] "Memory of the daemon.":
        |seen, to| to.put(&[], seen.statistics.program.process.resident);
    Counter "cistern_process_cpu_seconds_total" [] "Time of all processors that the daemon used.":
        |seen, to| to.seconds(&[], seen.statistics.program.process.processor_time);
    Gauge "cistern_process_threads" [] "Threads of the daemon.":
        |seen, to| to.put(&[], seen.statistics.program.process.threads);
    Gauge "cistern_process_open_files" [] "Files and sockets that the daemon has open.":
        |seen, to| to.put(&[], seen.statistics.program.process.open_files);

    Gauge "cistern_pool_health" ["pool", "health"] "1 for the health that the pool has, 0 for all others.":
        |seen, to| for pool in &seen.pools {
            for health in HEALTHS {
                let name = health.name().to_ascii_lowercase();
                to.put(&[&pool.name, &name], u8::from(pool.health == health));
            }
        };
    Gauge "cistern_pool_size_bytes" ["pool"] "What the pool can allocate in all.":
        |seen, to| for pool in &seen.pools {
            to.put(&[&pool.name], pool.root.size);
        };
    Gauge "cistern_pool_allocated_bytes" ["pool"] "What is allocated of it.":
        |seen, to| for pool in &seen.pools {
            to.put(&[&pool.name], pool.root.allocated);
        };
    Gauge "cistern_pool_fragmentation_ratio" ["pool"] "Fragmentation of the free space, 0 to 1.":
        |seen, to| for pool in &seen.pools {
            if let Some(percent) = pool.root.fragmentation {
                to.put(&[&pool.name], f64::from(percent) / 100.0);
            }
        };
    Gauge "cistern_pool_transaction_group" ["pool"] "The newest transaction group that is durable.":
        |seen, to| for pool in &seen.pools {
            to.put(&[&pool.name], pool.txg);
        };
    Gauge "cistern_pool_data_errors" ["pool"] "Permanent errors of data.":
        |seen, to| for pool in &seen.pools {
            to.put(&[&pool.name], pool.data_errors);
        };
    Gauge "cistern_pool_readonly" ["pool"] "1 where the pool was imported to be read only.":
        |seen, to| for pool in &seen.pools {
            to.put(&[&pool.name], u8::from(pool.readonly));
        };
    Gauge "cistern_pool_scan_running" ["pool", "kind"] "1 while a scrub or resilver runs, or is paused.":
        |seen, to| for pool in &seen.pools {
            for (kind, name) in [(ScanKind::Scrub, "scrub"), (ScanKind::Resilver, "resilver")] {
                let runs = pool.scan.is_some_and(|scan| {
                    scan.kind == kind && matches!(scan.state, ScanState::Running | ScanState::Paused)
                });
                to.put(&[&pool.name, name], u8::from(runs));
            }
        };
    Gauge "cistern_pool_scan_end_time_seconds" ["pool"] "When the last scrub or resilver ended, if it is not running.":
        |seen, to| for pool in &seen.pools {
            if let Some(scan) = pool.scan.filter(|scan| scan.end > 0) {
                to.put(&[&pool.name], scan.end);
            }
        };
    Counter "cistern_pool_log_commits_total" ["pool"] "Commits of the intent logs.":
        |seen, to| for (pool, counts) in &seen.logs {
            to.put(&[pool], counts.get("zil_commit_count").copied().unwrap_or(0));
        };
    Counter "cistern_pool_log_records_total" ["pool"] "Records that the intent logs were given.":
        |seen, to| for (pool, counts) in &seen.logs {
            to.put(&[pool], counts.get("zil_itx_count").copied().unwrap_or(0));
        };

    Gauge "cistern_disk_online" ["pool", "disk", "class"] "1 where the disk is ONLINE.":
        |seen, to| for disk in &seen.statistics.disks {
            to.put(&[&disk.pool, &disk.name, &disk.class], u8::from(disk.health == Health::Online));
        };
    Counter "cistern_disk_errors_total" ["pool", "disk", "kind"] "Errors: read, write or checksum.":
        |seen, to| for disk in &seen.statistics.disks {
            to.put(&[&disk.pool, &disk.name, "read"], disk.read_errors);
            to.put(&[&disk.pool, &disk.name, "write"], disk.write_errors);
            to.put(&[&disk.pool, &disk.name, "checksum"], disk.checksum_errors);
        };
    Counter "cistern_disk_reads_total" ["pool", "disk"] "Reads.":
        |seen, to| for disk in &seen.statistics.disks {
            to.put(&[&disk.pool, &disk.name], disk.io.read_ops);
        };
    Counter "cistern_disk_read_bytes_total" ["pool", "disk"] "Bytes read.":
        |seen, to| for disk in &seen.statistics.disks {
            to.put(&[&disk.pool, &disk.name], disk.io.read_bytes);
        };
    Counter "cistern_disk_writes_total" ["pool", "disk"] "Writes.":
        |seen, to| for disk in &seen.statistics.disks {
            to.put(&[&disk.pool, &disk.name], disk.io.write_ops);
        };
    Counter "cistern_disk_written_bytes_total" ["pool", "disk"] "Bytes written.":
        |seen, to| for disk in &seen.statistics.disks {
            to.put(&[&disk.pool, &disk.name], disk.io.write_bytes);
        };
    Histogram "cistern_disk_read_duration_seconds" ["pool", "disk"] "How long reads took; the sum is an estimate.":
        |seen, to| for disk in &seen.disks {
            to.histogram(&[&disk.pool, &disk.disk], &disk.read);
        };
    Histogram "cistern_disk_write_duration_seconds" ["pool", "disk"] "How long writes took; the sum is an estimate.":
        |seen, to| for disk in &seen.disks {
            to.histogram(&[&disk.pool, &disk.disk], &disk.write);
        };

    Counter "cistern_cache_hits_total" [] "Blocks that were found in the cache.":
        |seen, to| cache(seen, to, "hits");
    Counter "cistern_cache_misses_total" [] "Blocks that were not.":
        |seen, to| cache(seen, to, "misses");
    Gauge "cistern_cache_size_bytes" [] "What the cache holds.":
        |seen, to| cache(seen, to, "size");
    Gauge "cistern_cache_limit_bytes" [] "What it may hold now.":
        |seen, to| cache(seen, to, "c");
    Gauge "cistern_cache_limit_max_bytes" [] "What it may hold at the most.":
        |seen, to| cache(seen, to, "c_max");
    Counter "cistern_cache_device_hits_total" [] "Blocks that were found on cache devices.":
        |seen, to| cache(seen, to, "l2_hits");
    Counter "cistern_cache_device_misses_total" [] "Blocks that were not.":
        |seen, to| cache(seen, to, "l2_misses");
    Gauge "cistern_cache_device_size_bytes" [] "What cache devices hold.":
        |seen, to| cache(seen, to, "l2_asize");
    Counter "cistern_cache_device_read_bytes_total" [] "Bytes read from cache devices.":
        |seen, to| cache(seen, to, "l2_read_bytes");
    Counter "cistern_cache_device_written_bytes_total" [] "Bytes written to them.":
        |seen, to| cache(seen, to, "l2_write_bytes");

    Gauge "cistern_dataset_used_bytes" ["dataset"] "What it takes, with all that is below it.":
        |seen, to| property(seen, to, "used");
    Gauge "cistern_dataset_available_bytes" ["dataset"] "What it may still take.":
        |seen, to| property(seen, to, "available");
    Gauge "cistern_dataset_referenced_bytes" ["dataset"] "What can be reached in it.":
        |seen, to| property(seen, to, "referenced");
    Gauge "cistern_dataset_quota_bytes" ["dataset"] "Its quota, where it has one.":
        |seen, to| property(seen, to, "quota");
    Gauge "cistern_datasets_left_out" [] "Datasets that are too many for the metrics above.":
        |seen, to| to.put(&[], seen.datasets_left_out);

    Counter "cistern_filesystem_operations_total" ["dataset", "operation"] "What file systems were asked, by whatever protocol.":
        |seen, to| for (name, counts) in seen.file_systems() {
            for (operation, count) in [
                ("new_file", counts.new_files),
                ("name_removed", counts.names_removed),
                ("name_changed", counts.names_changed),
                ("attributes_read", counts.attributes_read),
                ("attributes_set", counts.attributes_set),
                ("lookup", counts.lookups),
                ("directory_read", counts.directory_reads),
                ("read", counts.reads),
                ("write", counts.writes),
                ("sync", counts.syncs),
                ("other", counts.others),
            ] {
                to.put(&[name, operation], count);
            }
        };
    Counter "cistern_filesystem_read_bytes_total" ["dataset"] "Bytes read from files.":
        |seen, to| for (name, counts) in seen.file_systems() {
            to.put(&[name], counts.read_bytes);
        };
    Counter "cistern_filesystem_written_bytes_total" ["dataset"] "Bytes written to files.":
        |seen, to| for (name, counts) in seen.file_systems() {
            to.put(&[name], counts.write_bytes);
        };
    Counter "cistern_filesystem_read_seconds_total" ["dataset"] "How long reads took, all together.":
        |seen, to| for (name, counts) in seen.file_systems() {
            to.seconds(&[name], counts.read_time);
        };
    Counter "cistern_filesystem_write_seconds_total" ["dataset"] "How long writes took, all together.":
        |seen, to| for (name, counts) in seen.file_systems() {
            to.seconds(&[name], counts.write_time);
        };

    Counter "cistern_volume_operations_total" ["volume", "operation"] "What volumes were asked, by whatever protocol.":
        |seen, to| for (name, counts) in seen.volumes() {
            to.put(&[name, "read"], counts.reads);
            to.put(&[name, "write"], counts.writes);
            to.put(&[name, "free"], counts.frees);
            to.put(&[name, "flush"], counts.flushes);
        };
    Counter "cistern_volume_read_bytes_total" ["volume"] "Bytes read.":
        |seen, to| for (name, counts) in seen.volumes() {
            to.put(&[name], counts.read_bytes);
        };
    Counter "cistern_volume_written_bytes_total" ["volume"] "Bytes written.":
        |seen, to| for (name, counts) in seen.volumes() {
            to.put(&[name], counts.write_bytes);
        };
    Counter "cistern_volume_freed_bytes_total" ["volume"] "Bytes that were made to read as zeroes.":
        |seen, to| for (name, counts) in seen.volumes() {
            to.put(&[name], counts.free_bytes);
        };
    Counter "cistern_volume_read_seconds_total" ["volume"] "How long reads took, all together.":
        |seen, to| for (name, counts) in seen.volumes() {
            to.seconds(&[name], counts.read_time);
        };
    Counter "cistern_volume_write_seconds_total" ["volume"] "How long writes took, all together.":
        |seen, to| for (name, counts) in seen.volumes() {
            to.seconds(&[name], counts.write_time);
        };

    Counter "cistern_nfs_requests_total" ["procedure"] "Calls of NFS.":
        |seen, to| {
            let total = seen.all_clients();
            for procedure in api_types::NFS_PROCEDURES {
                to.put(&[procedure], total.of(procedure));
            }
        };
    Counter "cistern_nfs_mount_requests_total" [] "Calls of MOUNT.":
        |seen, to| to.put(&[], seen.all_clients().mount_calls);
    Counter "cistern_nfs_refused_requests_total" [] "Calls that were no proper RPC, unknown, or undecodable.":
        |seen, to| to.put(&[], seen.all_clients().refused);
    Counter "cistern_nfs_repeated_requests_total" [] "Calls that came again, and got the answer that they had got.":
        |seen, to| to.put(&[], seen.all_clients().replays);
    Counter "cistern_nfs_read_bytes_total" [] "Bytes that clients read.":
        |seen, to| to.put(&[], seen.all_clients().read_bytes);
    Counter "cistern_nfs_written_bytes_total" [] "Bytes that clients wrote.":
        |seen, to| to.put(&[], seen.all_clients().write_bytes);
    Histogram "cistern_nfs_request_duration_seconds" ["kind"] "How long calls took: read, write, or other.":
        |seen, to| {
            let nfs = &seen.statistics.program.nfs;
            kinds(to, [&nfs.read, &nfs.write, &nfs.other]);
        };
    Counter "cistern_nfs_client_requests_total" ["client"] "Calls of NFS by a client.":
        |seen, to| for (name, counts) in seen.clients() {
            to.put(&[name], counts.requests());
        };
    Counter "cistern_nfs_client_read_bytes_total" ["client"] "Bytes that a client read.":
        |seen, to| for (name, counts) in seen.clients() {
            to.put(&[name], counts.read_bytes);
        };
    Counter "cistern_nfs_client_written_bytes_total" ["client"] "Bytes that a client wrote.":
        |seen, to| for (name, counts) in seen.clients() {
            to.put(&[name], counts.write_bytes);
        };

    Gauge "cistern_iscsi_sessions" [] "Sessions of initiators.":
        |seen, to| to.put(&[], seen.statistics.program.iscsi.sessions);
    Histogram "cistern_iscsi_command_duration_seconds" ["kind"] "How long commands took: read, write, or other.":
        |seen, to| {
            let iscsi = &seen.statistics.program.iscsi;
            kinds(to, [&iscsi.read, &iscsi.write, &iscsi.other]);
        };
    Counter "cistern_iscsi_initiator_commands_total" ["initiator", "kind"] "Commands by an initiator: read, write, or other.":
        |seen, to| for (name, counts) in seen.initiators() {
            to.put(&[name, "read"], counts.reads);
            to.put(&[name, "write"], counts.writes);
            to.put(&[name, "other"], counts.others);
        };
    Counter "cistern_iscsi_initiator_read_bytes_total" ["initiator"] "Bytes that an initiator read.":
        |seen, to| for (name, counts) in seen.initiators() {
            to.put(&[name], counts.read_bytes);
        };
    Counter "cistern_iscsi_initiator_written_bytes_total" ["initiator"] "Bytes that an initiator wrote.":
        |seen, to| for (name, counts) in seen.initiators() {
            to.put(&[name], counts.write_bytes);
        };

    Counter "cistern_nbd_requests_total" ["operation"] "Requests of network block devices.":
        |seen, to| for (operation, count) in &seen.statistics.program.nbd.requests {
            to.put(&[operation], count);
        };
    Counter "cistern_nbd_read_bytes_total" [] "Bytes that they read.":
        |seen, to| to.put(&[], seen.statistics.program.nbd.read_bytes);
    Counter "cistern_nbd_written_bytes_total" [] "Bytes that they wrote.":
        |seen, to| to.put(&[], seen.statistics.program.nbd.write_bytes);
    Histogram "cistern_nbd_request_duration_seconds" ["kind"] "How long requests took: read or write.":
        |seen, to| {
            to.histogram(&["read"], &seen.statistics.program.nbd.read);
            to.histogram(&["write"], &seen.statistics.program.nbd.write);
        };

    Gauge "cistern_fuse_mounts" [] "Local mounts.":
        |seen, to| to.put(&[], seen.statistics.program.fuse.mounts);
    Counter "cistern_fuse_requests_total" ["operation"] "Requests of the kernel for local mounts.":
        |seen, to| for (operation, count) in &seen.statistics.program.fuse.requests {
            to.put(&[operation], count);
        };

    Counter "cistern_api_responses_total" ["status"] "Answers of the management API, by the first digit of their status.":
        |seen, to| for (status, count) in &seen.statistics.api {
            to.put(&[status], count);
        };
    Counter "cistern_console_violations_total" [] "Times that a browser said that the console did what its policy forbids.":
        |seen, to| to.put(&[], seen.reports);
    Gauge "cistern_jobs_running" [] "Jobs that run.":
        |seen, to| to.put(&[], seen.statistics.jobs.running);
    Counter "cistern_jobs_total" ["state"] "Jobs that have ended: done or failed.":
        |seen, to| {
            to.put(&["done"], seen.statistics.jobs.done);
            to.put(&["failed"], seen.statistics.jobs.failed);
        };
}
