//! Words that only some crates may use: who names the operating system, and who may touch bytes.

/// (word, crates that may use it, why).
const BANNED: &[(&str, &[&str], &str)] = &[
    ("Instant::now", OUTSIDE_ENGINE, "time comes from env::Clock"),
    ("SystemTime::now", OUTSIDE_ENGINE, "time comes from env::Clock"),
    ("thread::spawn", OUTSIDE_ENGINE, "threads come from env::Driver"),
    ("std::fs", OUTSIDE_ENGINE, "disks come from env::Disks"),
    ("from_le_bytes", BYTES, "bytes on disk are ondisk's"),
    ("from_be_bytes", BYTES, "bytes on disk are ondisk's"),
    ("from_ne_bytes", BYTES, "bytes on disk are ondisk's"),
    ("#[ignore", &[], "a test runs or is not there"),
];

const OUTSIDE_ENGINE: &[&str] = &[
    "env",
    "analytics",
    "nfs",
    "sunrpc",
    "sockets",
    "fuse",
    "mounter",
    "iscsi",
    "nbd",
    "load",
    "machine",
    "api",
    "cli",
    "cistern",
    "bench",
    "sim",
    "xtask",
];
const BYTES: &[&str] = &[
    "stdx", "ondisk", "codec", "env", "sunrpc", "nfs", "fuse", "mounter", "scsi", "iscsi", "nbd", "load",
    "sim", "model", "cistern",
];

pub fn banned_words(name: &str, shown: &str, text: &str) -> Vec<String> {
    if name == "xtask" {
        return Vec::new(); // This file has to spell them.
    }
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        for (word, allowed, why) in BANNED {
            if code.contains(word) && !allowed.contains(&name) {
                found.push(format!("{shown}:{}: {word}: {why}", number + 1));
            }
        }
    }
    found
}
