//! Files of snapshots by the management API: looked for, read and copied back, and what is refused.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::daemon::{Ran, Scratch, program, text};
use crate::https::Site;
use crate::suspended::until;
use crate::zdb::stop_and_check;

/// A file system that is mounted, and where.
fn site(scratch: &Scratch) -> (Site, PathBuf) {
    let site = Site::start(scratch);
    let (a, mnt) = (scratch.image_in("disks", "a", 512), scratch.text("mnt"));
    site.daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    site.daemon.zfs("create tank/fs").done();
    site.daemon.zfs("mount tank/fs").done();
    (site, scratch.path("mnt/fs"))
}

fn address(dataset: &str, what: &str, query: &[(&str, &str)]) -> String {
    let segment = api_types::routes::segment;
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", segment(value))).collect();
    format!("/v1/datasets/{}/{what}?{}", segment(dataset), query.join("&"))
}

fn list(site: &Site, dataset: &str, path: &str) -> Value {
    site.get(&address(dataset, "files", &[("path", path)]), &[&site.bearer()]).is(200).json()
}

fn names(page: &Value) -> Vec<String> {
    let entries = page["entries"].as_array().expect("a list").iter();
    let mut names: Vec<String> =
        entries.map(|entry| entry["name"].as_str().expect("a name").into()).collect();
    names.sort();
    names
}

/// The job, when it has ended.
fn restore(site: &Site, asked: &Value) -> Value {
    let mut job = site.post("/v1/file-restores", &[&site.bearer()], asked).is(202).json();
    while job["state"] == "running" {
        let address = format!("/v1/jobs/{}?wait_ms=1000", job["id"]);
        job = site.get(&address, &[&site.bearer()]).is(200).json();
    }
    job
}

#[track_caller]
fn restored(site: &Site, asked: &Value) {
    let job = restore(site, asked);
    assert_eq!((&job["state"], &job["problem"]), (&json!("done"), &Value::Null), "{job}");
}

#[track_caller]
fn refused(site: &Site, asked: &Value) -> (String, Value) {
    let job = restore(site, asked);
    assert_eq!(job["state"], "failed", "{job}");
    let problem = &job["problem"];
    (problem["type"].as_str().expect("a kind").to_owned(), problem["refused"]["reason"].clone())
}

/// So many bytes that no compression makes fewer.
fn noise(len: u32) -> Vec<u8> {
    (0..len / 4).flat_map(|n| n.wrapping_mul(0x9E37_79B9).rotate_left(n % 31).to_le_bytes()).collect()
}

#[test]
fn a_directory_is_listed_in_pages_with_names_that_are_no_text_and_links_that_are_not_followed() {
    let scratch = Scratch::new("files-list");
    let (site, at) = site(&scratch);
    fs::create_dir_all(at.join("docs/deep")).expect("made");
    fs::write(at.join("docs/a b"), "letter").expect("written");
    fs::write(at.join(OsStr::from_bytes(b"docs/\xff\n<b>")), "odd").expect("written");
    symlink("/etc", at.join("docs/link")).expect("made");
    fs::set_permissions(at.join("docs/a b"), fs::Permissions::from_mode(0o640)).expect("set");
    site.daemon.zfs("snapshot tank/fs@s").done();
    let page = list(&site, "tank/fs@s", "/docs");
    assert_eq!(names(&page), ["\\0377\\0012<b>", "a\\0040b", "deep", "link"]);
    assert_eq!((&page["directory"]["name"], &page["next"]), (&json!("docs"), &Value::Null));
    let of = |name: &str| {
        let entries = page["entries"].as_array().expect("a list");
        entries.iter().find(|entry| entry["name"] == name).expect("an entry").clone()
    };
    let letter = of("a\\0040b");
    let meta = fs::metadata(at.join("docs/a b")).expect("there");
    assert_eq!(
        (&letter["kind"], &letter["size"], &letter["mode"]),
        (&json!("file"), &json!(6), &json!(0o640))
    );
    assert_eq!((&letter["object"], &letter["modified"]), (&json!(meta.ino()), &json!(meta.mtime())));
    assert_eq!((&of("link")["kind"], &of("link")["target"]), (&json!("symlink"), &json!("/etc")));
    // The same by pages of one.
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let query = [("path", "docs"), ("after", after.as_str()), ("limit", "1")];
        let page = site.get(&address("tank/fs@s", "files", &query), &[&site.bearer()]).is(200).json();
        paged.extend(names(&page));
        let Some(next) = page["next"].as_str() else { break };
        after = next.to_owned();
    }
    paged.sort();
    assert_eq!(paged, names(&page));
    assert_eq!(names(&list(&site, "tank/fs", "")), ["docs"], "a file system as it is now");
    for (path, status) in [
        ("..", 422),
        ("/docs/..", 422),
        ("/docs/\\0056\\0056", 422),
        ("/docs\\0057deep", 422),
        ("/docs/\\0000", 422),
        ("/docs/link/passwd", 422),
        ("/docs/a\\0040b/x", 422),
        ("/docs/a\\0040b", 422),
        ("/nothing", 404),
        ("/.zfs", 404),
        ("/.zfs/snapshot", 404),
    ] {
        for dataset in ["tank/fs", "tank/fs@s"] {
            let answer = site.get(&address(dataset, "files", &[("path", path)]), &[&site.bearer()]);
            assert_eq!(answer.status, status, "{dataset} {path}: {answer:?}");
        }
    }
    site.get(&address("tank/fs@none", "files", &[]), &[&site.bearer()]).is(404);
    site.get(&address("tank/fs", "files", &[("after", "x")]), &[&site.bearer()]).is(422);
    // Names are for readers, as sizes are.
    let reader = site.user("rita", "read-only", None);
    site.get(&address("tank/fs@s", "files", &[]), &[&reader]).is(200);
    site.get(&address("tank/fs@s", "file", &[("path", "/docs/a\\0040b")]), &[&reader]).is(403);
    site.get(&address("tank/fs@s", "files", &[]), &[]).is(401);
}

#[test]
fn versions_of_a_file_are_those_that_differ_however_many_snapshots_are_looked_into_at_a_time() {
    let scratch = Scratch::new("files-versions");
    let (site, at) = site(&scratch);
    let snapshot = |name: &str| drop(site.daemon.zfs(&format!("snapshot tank/fs@{name}")).done());
    snapshot("before");
    fs::write(at.join("plan"), "one").expect("written");
    snapshot("one");
    snapshot("same");
    fs::write(at.join("plan"), "three").expect("written");
    snapshot("other");
    fs::remove_file(at.join("plan")).expect("removed");
    snapshot("gone");
    fs::write(at.join("plan"), "three").expect("written");
    let wanted = json!([
        ["tank/fs@before", null, true],
        ["tank/fs@one", 3, true],
        ["tank/fs@same", 3, false],
        ["tank/fs@other", 5, true],
        ["tank/fs@gone", null, true],
    ]);
    for limit in ["1", "2", "64"] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let query = [("path", "/plan"), ("after", after.as_str()), ("limit", limit)];
            let answer =
                site.get(&address("tank/fs", "file-versions", &query), &[&site.bearer()]).is(200).json();
            assert_eq!(answer["now"]["size"], 5);
            let versions = answer["versions"].as_array().expect("a list").iter();
            found.extend(versions.map(|one| json!([one["snapshot"], one["file"]["size"], one["differs"]])));
            let Some(next) = answer["next"].as_str() else { break };
            after = next.to_owned();
        }
        assert_eq!(Value::Array(found), wanted, "by {limit}");
    }
    let query = [("path", "/plan"), ("after", "x")];
    site.get(&address("tank/fs", "file-versions", &query), &[&site.bearer()]).is(422);
}

/// Status and head of the answer; the file is at `to`.
fn download(site: &Site, path: &str, to: &str) -> (u16, String) {
    let address = address("tank/fs@s", "file", &[("path", path)]);
    let mut curl = program("curl", 60);
    curl.args(["-sS", "-D", "-", "-o", to, "--cacert", &text(&site.daemon.state.join("tls/cert.pem"))]);
    curl.args(["-H", &site.bearer()]).arg(format!("https://127.0.0.1:{}{address}", site.port));
    let head = Ran::of(&mut curl).done().to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{head}")), head)
}

#[test]
fn a_file_is_read_by_administrators_alone_and_the_audit_log_says_which() {
    let scratch = Scratch::new("files-read");
    let (site, at) = site(&scratch);
    let large: Vec<u8> = (0..20_000_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(at.join("large"), &large).expect("written");
    fs::write(at.join("page.html"), "<script>alert(1)</script>").expect("written");
    fs::write(at.join("empty"), "").expect("written");
    symlink("large", at.join("link")).expect("made");
    site.daemon.zfs("snapshot tank/fs@s").done();
    fs::write(at.join("large"), "changed").expect("written");
    let to = scratch.text("got");
    let before = site.daemon.resident();
    let (status, head) = download(&site, "/large", &to);
    assert_eq!(status, 200, "{head}");
    assert!(fs::read(&to).expect("read") == large);
    assert!(head.contains("\r\ncontent-length: 80000000\r\n"), "{head}");
    let more = site.daemon.resident_most().saturating_sub(before);
    assert!(more < 300 << 10, "{more} KiB more");
    // No browser takes it for a page.
    let (_, head) = download(&site, "/page.html", &to);
    for line in [
        "content-type: application/octet-stream",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        "content-disposition: attachment; filename=\"file\"; filename*=utf-8''page.html",
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    let (_, head) = download(&site, "/empty", &to);
    assert!(head.contains("content-length: 0"), "{head}");
    for (path, wanted) in [("/link", 422), ("/", 422), ("/none", 404)] {
        assert_eq!(download(&site, path, &to).0, wanted, "{path}");
    }
    let live = address("tank/fs", "file", &[("path", "/large")]);
    assert_eq!(
        site.get(&live, &[&site.bearer()]).is(422).json()["refused"]["reason"]["file"],
        "not-snapshot"
    );
    let file = address("tank/fs@s", "file", &[("path", "/large")]);
    let (operator, held) =
        (site.user("olga", "operator", None), site.user("held", "administrator", Some("tank/fs")));
    for who in [&operator, &held] {
        site.get(&file, &[who]).is(403);
        let asked = json!({"snapshot": "tank/fs@s", "path": "/large", "replace": true});
        site.post("/v1/file-restores", &[who], &asked).is(403);
    }
    until("it is noted", || {
        let noted = site.get("/v1/audit?verb=GET", &[&site.bearer()]).is(200).json();
        let noted = noted.as_array().expect("a list");
        let is = |who: &str, target: Value, status: u16| {
            noted.iter().any(|one| one["who"] == who && one["target"] == target && one["status"] == status)
        };
        is("ada", json!("tank/fs@s:/large"), 200) && is("olga", Value::Null, 403)
    });
    // A client that stops in the middle holds nothing up.
    let mut curl = program("curl", 5);
    curl.args(["-sS", "--max-time", "1", "--limit-rate", "1000", "-o", "/dev/null", "--cacert"]);
    curl.arg(text(&site.daemon.state.join("tls/cert.pem"))).args(["-H", &site.bearer()]);
    let slow = curl.arg(format!("https://127.0.0.1:{}{file}", site.port)).status().expect("it runs");
    assert!(!slow.success());
    site.daemon.zfs("destroy tank/fs@s").done();
}

#[test]
fn a_file_comes_back_whole_as_it_was_and_nothing_is_replaced_unasked() {
    let scratch = Scratch::new("files-restore");
    let (mut site, at) = site(&scratch);
    fs::create_dir(at.join("docs")).expect("made");
    let file = fs::File::create(at.join("docs/plan")).expect("made");
    file.write_all_at(&[7; 3 << 20], 0).expect("written");
    file.write_all_at(b"end", 64 << 20).expect("written");
    file.set_len(100 << 20).expect("longer");
    fs::set_permissions(at.join("docs/plan"), fs::Permissions::from_mode(0o4751)).expect("set");
    std::os::unix::fs::chown(at.join("docs/plan"), Some(1234), Some(5678)).expect("given");
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 5);
    file.set_modified(time).expect("set");
    drop(file);
    fs::set_permissions(at.join("docs/plan"), fs::Permissions::from_mode(0o4751)).expect("set");
    symlink("docs", at.join("link")).expect("made");
    fs::write(at.join("noise"), noise(48 << 20)).expect("written");
    site.daemon.zfs("snapshot tank/fs@s").done();
    fs::remove_file(at.join("noise")).expect("removed");
    let was = fs::read(at.join("docs/plan")).expect("read");
    fs::write(at.join("docs/plan"), "new").expect("written");

    let ask = |path: &str, to: &str, replace: bool| json!({"snapshot": "tank/fs@s", "path": path, "to": to, "replace": replace});
    let (kind, reason) = refused(&site, &ask("/docs/plan", "", false));
    assert_eq!(
        (kind.as_str(), reason),
        ("/problems/exists", json!({"file": {"exists": {"at": "/docs/plan"}}}))
    );
    assert_eq!(fs::read(at.join("docs/plan")).expect("read"), b"new");
    restored(&site, &ask("/docs/plan", "/docs/plan of monday", false));
    restored(&site, &ask("/docs/plan", "", true));
    for name in ["plan", "plan of monday"] {
        let path = at.join("docs").join(name);
        assert!(fs::read(&path).expect("read") == was, "{name}");
        let meta = fs::metadata(&path).expect("there");
        assert_eq!((meta.mode() & 0o7777, meta.uid(), meta.gid()), (0o4751, 1234, 5678), "{name}");
        assert_eq!(meta.modified().expect("a time"), time, "{name}");
        assert!(meta.blocks() * 512 < 16 << 20, "holes stay holes: {}", meta.blocks());
    }
    let mut left: Vec<_> =
        fs::read_dir(at.join("docs")).expect("listed").map(|one| one.expect("read").file_name()).collect();
    left.sort();
    assert_eq!(left, ["plan", "plan of monday"], "and nothing else");

    for (path, to) in [
        ("/docs/plan", "/docs/../plan"),
        ("/docs/plan", "/link/plan"),
        ("/docs/plan", "/docs"),
        ("/docs/plan", "/"),
        ("/docs/plan", "/docs/plan/x"),
        ("/docs/plan", "/docs/a\\0000b"),
        ("/docs", "/copy"),
        ("/link", "/copy"),
        ("/link/plan", "/copy"),
        ("/docs/plan", "/.zfs/x"),
        ("/docs/plan", "/none/x"),
        ("/none", "/copy"),
    ] {
        let (kind, _) = refused(&site, &ask(path, to, true));
        assert!(["/problems/invalid", "/problems/not-found"].contains(&kind.as_str()), "{path} {to}: {kind}");
    }
    let (_, reason) = refused(&site, &json!({"snapshot": "tank/fs", "path": "/docs/plan"}));
    assert_eq!(reason, json!({"file": "not-snapshot"}));
    assert!(!at.join("copy").exists());

    // A file system that takes nothing, one that is full, and one whose quota is reached.
    site.daemon.zfs("set readonly=on tank/fs").done();
    assert_eq!(refused(&site, &ask("/docs/plan", "/copy", false)).0, "/problems/read-only");
    site.daemon.zfs("set readonly=off tank/fs").done();
    site.daemon.zpool("sync tank").done();
    site.daemon.zfs("set refquota=8M tank/fs").done();
    let (kind, _) = refused(&site, &ask("/noise", "/copy", false));
    assert!(["/problems/quota", "/problems/no-space"].contains(&kind.as_str()), "{kind}");
    assert!(!at.join("copy").exists());
    site.daemon.zfs("set refquota=none tank/fs").done();
    restored(&site, &ask("/noise", "/copy", false));
    assert!(fs::read(at.join("copy")).expect("read") == noise(48 << 20));
    until("what was begun is freed", || {
        site.get("/v1/datasets/tank%2Ffs/deleted", &[&site.bearer()]).is(200).json()["files"] == 0
    });
    site.daemon.zfs("unmount tank/fs").done();
    stop_and_check(&mut site.daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_daemon_that_dies_while_it_copies_leaves_no_part_of_the_file() {
    let scratch = Scratch::new("files-kill");
    let (mut site, at) = site(&scratch);
    let large = noise(160 << 20);
    fs::write(at.join("large"), &large).expect("written");
    site.daemon.zfs("snapshot tank/fs@s").done();
    fs::write(at.join("large"), "new").expect("written");
    site.daemon.zpool("sync tank").done();
    let asked = json!({"snapshot": "tank/fs@s", "path": "/large", "replace": true});
    let job = site.post("/v1/file-restores", &[&site.bearer()], &asked).is(202).json();
    // A mount that is gone before is one that somebody has ended.
    site.daemon.kill();
    crate::daemon::detach(&at);
    site.begin();
    until("what was mounted is mounted again", || at.join("large").exists());
    let found = fs::read(at.join("large")).expect("read");
    let job = site.get(&format!("/v1/jobs/{}", job["id"]), &[&site.bearer()]).is(200).json();
    match job["state"].as_str() {
        Some("done") => assert!(found == large, "{job}"),
        _ => assert!(found == b"new" || found == large, "{} bytes: {job}", found.len()),
    }
    let left: Vec<_> = fs::read_dir(&at).expect("listed").map(|one| one.expect("read").file_name()).collect();
    assert!(left.iter().all(|name| name == "large"), "{left:?}");
    until("what was begun is freed", || {
        site.get("/v1/datasets/tank%2Ffs/deleted", &[&site.bearer()]).is(200).json()["files"] == 0
    });
    site.daemon.zfs("unmount tank/fs").done();
    stop_and_check(&mut site.daemon, &scratch.path("disks"), "tank");
}
