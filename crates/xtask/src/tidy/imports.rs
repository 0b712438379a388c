//! Which crate may import which.

/// Crate → what it may import of the workspace. ARCHITECTURE.md shows the same table.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("stdx", &[]),
    ("counters", &[]),
    ("analytics", &["api-types", "stdx"]),
    ("engine-api", &["api-types", "refusal"]),
    ("ondisk", &["stdx"]),
    ("codec", &["stdx"]),
    ("env", &["stdx"]),
    ("storage", &["ondisk", "codec", "counters", "env", "stdx"]),
    ("dmu", &["storage", "ondisk", "env", "stdx"]),
    ("pool", &["api-types", "dmu", "storage", "ondisk", "codec", "counters", "env", "refusal", "stdx"]),
    ("engine", &["engine-api", "pool", "dmu", "storage", "ondisk", "counters", "env", "refusal", "stdx"]),
    ("model", &["engine-api", "stdx"]),
    ("sunrpc", &["sockets", "stdx"]),
    ("sockets", &["engine-api"]),
    ("nfs", &["analytics", "sunrpc", "sockets", "engine-api", "counters", "stdx"]),
    ("mounter", &["stdx"]),
    ("fuse", &["engine-api", "analytics", "counters", "mounter", "stdx"]),
    ("scsi", &["engine-api"]),
    ("iscsi", &["analytics", "scsi", "sockets", "engine-api", "counters"]),
    ("nbd", &["analytics", "sockets", "engine-api", "counters"]),
    ("load", &["sunrpc", "iscsi", "stdx"]),
    ("refusal", &[]),
    ("api-types", &["refusal"]),
    ("services", &["api-types", "stdx"]),
    ("appliance", &["engine-api", "api-types", "services", "stdx"]),
    ("alerts", &["api-types", "services", "stdx"]),
    ("notify", &["alerts", "api-types"]),
    ("report", &["alerts", "api-types", "services"]),
    ("console", &[]),
    ("machine", &["api-types", "stdx"]),
    ("peers", &["api-types", "appliance", "engine-api", "machine", "sockets", "stdx"]),
    (
        "api",
        &[
            "analytics",
            "appliance",
            "console",
            "engine-api",
            "api-types",
            "counters",
            "machine",
            "peers",
            "sockets",
            "stdx",
        ],
    ),
    ("cli", &["api-types", "stdx"]),
    (
        "sim",
        &[
            "api-types",
            "appliance",
            "dmu",
            "engine",
            "engine-api",
            "env",
            "model",
            "nfs",
            "ondisk",
            "pool",
            "scsi",
            "services",
            "stdx",
            "storage",
        ],
    ),
    (
        "cistern",
        &[
            "alerts",
            "analytics",
            "counters",
            "engine",
            "engine-api",
            "env",
            "load",
            "notify",
            "report",
            "nfs",
            "fuse",
            "mounter",
            "iscsi",
            "nbd",
            "appliance",
            "api",
            "api-types",
            "machine",
            "peers",
            "services",
            "cli",
            "sockets",
            "stdx",
        ],
    ),
    ("bench", &["codec", "engine", "engine-api", "env", "load", "stdx"]),
    (
        "fuzzing",
        &["stdx", "ondisk", "codec", "sunrpc", "nfs", "scsi", "iscsi", "engine-api", "model", "api-types"],
    ),
    ("xtask", &[]),
];

pub fn forbidden_imports(name: &str, manifest: &str) -> Vec<String> {
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} is not in the table of crates")];
    };
    dependencies(manifest)
        .into_iter()
        .filter(|dep| MAY_IMPORT.iter().any(|(known, _)| known == dep) && !allowed.contains(&dep.as_str()))
        .map(|dep| format!("{name} may not import {dep}"))
        .collect()
}

/// Names in `[dependencies]`; what tests need is theirs.
pub fn dependencies(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.trim_start().starts_with('['))
        .filter_map(|line| line.split(['=', '.']).next())
        .map(|dep| dep.trim().to_string())
        .filter(|dep| !dep.is_empty() && !dep.starts_with('#'))
        .collect()
}
