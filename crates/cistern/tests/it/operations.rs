//! docs/operations.md and docs/first-hour.md, done: every command of these pages is typed, and what
//! a page shows has to be what comes out, but for times and amounts. With `DOCS=1` what comes out
//! is written into the page.
//!
//! Comments of a page tell what is done unseen: `zdb POOL without DISK…` stops the daemon and has
//! zdb read every block without these disks, `ruin POOL in DISK` makes the newest state of a pool
//! unreadable. `/srv` is a scratch folder, `nas.example` the daemon's address for HTTPS, and
//! `FINGERPRINT` that of its certificate.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch};
use crate::zdb::{assert_readable, newest_root};

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
/// What pages call the scratch folder, and the address for HTTPS.
const SHOWN: &str = "/srv";
const HOST: &str = "nas.example";
/// Of a device, before its first block.
const LABELS: u64 = 4 << 20;
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

struct Walk {
    /// Ends before its folder goes.
    daemon: Daemon,
    scratch: Scratch,
}

impl Walk {
    fn folder(&self) -> String {
        self.scratch.text("srv")
    }

    /// Where HTTPS is.
    fn host(&self) -> String {
        let banner = self.daemon.banner.lines().find_map(|line| line.split_once("https://"));
        let address = banner.and_then(|(_, rest)| rest.split_whitespace().next());
        address.unwrap_or_default().to_owned()
    }

    fn fingerprint(&self) -> String {
        let shown = self.daemon.run(&["certificate", "show", "--json"]).done();
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        shown["fingerprint"].as_str().expect("a fingerprint").to_owned()
    }

    /// What a command of the page says, standard error too.
    fn run(&self, command: &str) -> String {
        let mut command = command.replace(SHOWN, &self.folder());
        if command.contains(HOST) {
            command = command.replace(HOST, &self.host());
        }
        if command.contains("FINGERPRINT") {
            command = command.replace("FINGERPRINT", &self.fingerprint());
        }
        let script = format!(
            "exec 2>&1\ncistern() {{ {PROGRAM} \"$@\"; }}\nzpool() {{ cistern zpool \"$@\"; }}\n\
             zfs() {{ cistern zfs \"$@\"; }}\n{command}\n"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env("CISTERN_SOCKET", self.daemon.socket()).env("TZ", "UTC");
        shell.env("XDG_CONFIG_HOME", self.scratch.path("settings"));
        let said = self.shown(&Ran::of(&mut shell).out);
        match self.host() {
            host if host.is_empty() => said,
            host => said.replace(&host, HOST),
        }
    }

    /// With the page's paths, and columns as wide as they would be with these.
    fn shown(&self, out: &str) -> String {
        let folder = self.folder();
        let surplus = " ".repeat(folder.len() - SHOWN.len());
        let narrow = |line: &str| match line.contains(&folder) {
            true => line.replace(&folder, SHOWN),
            // The name's column is the first; at least two spaces stay behind it.
            false => line.replacen(&format!("{surplus}  "), "  ", 1),
        };
        let mut noting = false;
        let is_news = |line: &&str| {
            // Which features are not built yet is of no interest here, and changes.
            noting = line.starts_with("note: these features") || (noting && line.starts_with('\t'));
            !noting
        };
        out.lines().filter(is_news).map(|line| narrow(line) + "\n").collect()
    }

    /// What a comment of the page asks for.
    fn unseen(&mut self, words: &[&str]) {
        match words {
            ["zdb", pool, "without", disks @ ..] => self.judge(pool, "", disks),
            ["zdb", pool, "in", folder] => self.judge(pool, folder, &[]),
            ["ruin", pool, "in", disk] => {
                let path = self.scratch.path("srv").join(disk);
                let roots = newest_root(path.parent().expect("a folder"), pool);
                let file = File::options().write(true).open(&path).expect("a disk");
                for offset in roots {
                    file.write_all_at(&[0xee; 512], LABELS + offset).expect("written");
                }
            }
            _ => panic!("{words:?}"),
        }
    }

    /// zdb finds every block of a pool good without some of its disks.
    fn judge(&mut self, pool: &str, folder: &str, away: &[&str]) {
        self.daemon.stop();
        let (srv, aside) = (self.scratch.path("srv"), self.scratch.folder("aside"));
        away.iter().for_each(|disk| fs::rename(srv.join(disk), aside.join(disk)).expect("a disk"));
        assert_readable(&srv.join(folder), pool);
        away.iter().for_each(|disk| fs::rename(aside.join(disk), srv.join(disk)).expect("a disk"));
        self.daemon.begin();
        self.daemon.zfs("mount -a").done();
    }
}

/// What import says of groups that are given up, if they took any time at all.
const LOSSES: [&str; 3] = [
    "Would discard approximately … seconds of transactions.",
    "Discarded approximately … seconds of transactions.",
    "Approximately … seconds of data must be discarded, irreversibly.",
];

/// What must be the same each time: times and amounts are not, but for zeros.
fn essence(text: &str) -> String {
    let word = |word: &str| {
        let number = word.trim_end_matches(['B', 'K', 'M', 'G', 'T', '%', ',']);
        let is_number =
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let colons = word.bytes().filter(|byte| *byte == b':').count();
        let is_time = word.len() == 8 && colons == 2;
        let is_fingerprint = colons == 31;
        let is_date = word.len() >= 10
            && word.bytes().filter(|byte| *byte == b'-').count() == 2
            && word.bytes().all(|byte| byte.is_ascii_digit() || b"-.:".contains(&byte));
        let is_zero = number.bytes().all(|byte| byte == b'0' || byte == b'.');
        let varies = is_time || is_date || is_fingerprint || (is_number && (!is_zero || word.len() > 15));
        if varies { "…" } else { word }.to_owned()
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(word).collect();
        let day = words.iter().position(|word| WEEKDAYS.contains(&&**word));
        words[..day.unwrap_or(words.len())].join(" ")
    };
    let all = text.lines().map(line).collect::<Vec<_>>().join(" ");
    let all = LOSSES.iter().fold(all, |all, loss| all.replace(loss, ""));
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Does what a page says.
fn walk(name: &str, extra: &[&str]) {
    let scratch = Scratch::new(name);
    let daemon = Daemon::start_with(&scratch, "state", &[&["--automount"], extra].concat());
    scratch.folder("srv");
    let mut walk = Walk { daemon, scratch };
    let path = Path::new(PAGES).join(name).with_extension("md");
    let page = fs::read_to_string(&path).expect("the page");
    let (mut written, mut in_console, mut lines) = (String::new(), false, page.lines().peekable());
    while let Some(line) = lines.next() {
        written += &format!("{line}\n");
        if line.starts_with("```") {
            in_console = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) {
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")) {
                expected += &format!("{line}\n");
            }
            let said = walk.run(command);
            written += &said;
            if std::env::var_os("DOCS").is_none() {
                assert_eq!(essence(&said), essence(&expected), "{command}\nsays now:\n{said}");
            }
        } else if let Some(words) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            walk.unseen(&words.split(' ').collect::<Vec<_>>());
        }
    }
    if std::env::var_os("DOCS").is_some() {
        fs::write(&path, written).expect("the page is written");
    }
    walk.daemon.stop();
}

#[test]
fn the_walk_through_is_true() {
    walk("operations", &[]);
}

#[test]
fn the_first_hour_is_true() {
    walk("first-hour", &["--https", "127.0.0.1:0"]);
}
