//! Receives that are interrupted go on where they stopped, however often, whatever happened
//! meanwhile.

use engine::{LocalEngine, Options};
use engine_api::{
    Change, Engine, Error, ImportOptions, Pool, ReceiveRequest, Result, SendEvent, SendRequest,
};
use env::Env;

use crate::disks::{Dir, prop, zdb_finds_no_leak, zdb_is_content};
use crate::manifest::Fixture;
use crate::streams::{Interrupted, Receiver, Sender, names, value};

fn resumable(target: &str) -> ReceiveRequest {
    ReceiveRequest { target: target.into(), resumable: true, ..ReceiveRequest::default() }
}

fn token(pool: &dyn Pool, dataset: &str) -> String {
    value(pool, dataset, "receive_resume_token").0
}

fn send(pool: &dyn Pool, request: &SendRequest) -> Result<Vec<u8>> {
    let mut sent = Vec::new();
    pool.send(request, &mut sent, &mut |_| {}).map(|()| sent)
}

fn rest(pool: &dyn Pool, token: &str) -> Result<Vec<u8>> {
    send(pool, &SendRequest { token: Some(token.into()), ..SendRequest::default() })
}

/// Receives what comes of a stream before it ends early.
fn receive_part(pool: &dyn Pool, dataset: &str, mut part: &[u8]) {
    let said = pool.receive(&resumable(dataset), &mut part, &mut |_| {}).unwrap_err().to_string();
    let token = token(pool, dataset);
    let ends = format!(
        ": checksum mismatch or incomplete stream.\nPartially received snapshot is saved.\nA resuming stream can be \
         generated on the sending system by running:\n    zfs send -t {token}"
    );
    assert!(!token.is_empty() && said.ends_with(&ends), "{said}");
}

#[test]
fn interrupted_receives_go_on() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("resume", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    let full = |snapshot: &str| SendRequest { snapshot: snapshot.into(), ..SendRequest::default() };
    let all = SendRequest { large_blocks: true, embed: true, compress: true, ..full("g_snap/big@b") };
    let next = SendRequest { from: Some("g_snap/fs@s10".into()), ..full("g_snap/fs@s11") };
    for (dataset, sent, request) in [
        ("ours/plain", "g_snap/big@b", full("g_snap/big@b")),
        ("ours/all", "g_snap/big@b", all),
        ("ours/files", "g_snap/fs@s20", full("g_snap/fs@s20")),
        ("ours/fs", "g_snap/fs@s11", next),
    ] {
        let mut stream = send(&*from.pool, &request).unwrap();
        let mut bytes = 0;
        // A part, then a part of the rest.
        for part in [3, 2] {
            receive_part(&*to.pool, dataset, &stream[..stream.len() / part]);
            let before = stream.len();
            stream = rest(&*from.pool, &token(&*to.pool, dataset)).unwrap();
            bytes += before - stream.len();
        }
        // Blocks of `big` are too large to have come whole by then.
        assert!(bytes > 10_000 || dataset == "ours/all", "{dataset}: {bytes}");
        let said = to.pool.receive(&resumable(dataset), &mut &stream[..stream.len() - 1], &mut |_| {});
        assert!(said.is_err());
        let stream = rest(&*from.pool, &token(&*to.pool, dataset)).unwrap();
        to.pool.receive(&resumable(dataset), &mut &stream[..], &mut |_| {}).unwrap();
        assert_eq!(token(&*to.pool, dataset), "");
        let snapshot = sent.split('@').nth(1).unwrap();
        to.equals(&format!("{dataset}@{snapshot}"), sent);
    }
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// What is left of a receive is looked at, kept, refused to others, and given up.
#[test]
fn what_an_interrupted_receive_leaves() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("resume-left", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    let before = names(&*to.pool);
    let full = SendRequest { snapshot: "g_snap/fs@s10".into(), ..SendRequest::default() };
    let next = SendRequest { from: Some("g_snap/fs@s10".into()), ..full.clone() };
    let next = SendRequest { snapshot: "g_snap/fs@s11".into(), ..next };
    let (full, next) = (send(&*from.pool, &full).unwrap(), send(&*from.pool, &next).unwrap());
    let fails = |dataset: &str, force: bool, mut stream: &[u8]| {
        let request = ReceiveRequest { force, ..resumable(dataset) };
        to.pool.receive(&request, &mut stream, &mut |_| {}).unwrap_err().to_string()
    };
    // Nothing was received yet.
    assert_eq!(fails("ours/fs", false, &next[..500]), "cannot receive incremental stream: incomplete stream");
    assert_eq!(
        fails("ours/new", false, &full[..500]),
        "cannot receive new filesystem stream: incomplete stream"
    );
    assert_eq!(names(&*to.pool), before);

    receive_part(&*to.pool, "ours/fs", &next[..next.len() / 2]);
    assert_eq!(names(&*to.pool), before, "the clone is hidden");
    const PARTLY: &str = "contains partially-complete state from \"zfs receive -s\".";
    let said = fails("ours/fs", false, &next);
    assert_eq!(said, format!("cannot receive incremental stream: destination ours/fs {PARTLY}"));
    to.equals("ours/fs@s10", "g_snap/fs@s10");

    receive_part(&*to.pool, "ours/new", &full[..full.len() / 2]);
    let said = fails("ours/new", false, &full);
    let exists = "cannot receive new filesystem stream: destination 'ours/new' exists\nmust specify -F to overwrite it";
    assert_eq!(said, exists);
    let said = fails("ours/new", true, &full);
    assert_eq!(said, format!("cannot receive new filesystem stream: destination ours/new {PARTLY}"));
    assert_eq!(to.pool.open_fs("ours/new").err(), Some(Error::Busy));

    // One token is not the other's, nor yesterday's.
    let old = token(&*to.pool, "ours/new");
    let others = rest(&*from.pool, &token(&*to.pool, "ours/fs")).unwrap();
    let said = fails("ours/new", false, &others);
    assert_eq!(said, "cannot receive resume stream: kernel modules must be upgraded to receive this stream.");
    let stream = rest(&*from.pool, &old).unwrap();
    receive_part(&*to.pool, "ours/new", &stream[..stream.len() / 2]);
    let said = fails("ours/new", false, &stream);
    assert_eq!(said, "cannot receive resume stream: kernel modules must be upgraded to receive this stream.");
    let said = rest(&*to.pool, &old).unwrap_err().to_string();
    assert_eq!(said, "cannot resume send: 'g_snap/fs@s10' used in the initial send no longer exists");
    let said = rest(&*from.pool, "1-2-3").unwrap_err().to_string();
    assert_eq!(said, "cannot resume send: resume token is corrupt (invalid format)");
    let mut shown = Vec::new();
    let request =
        SendRequest { token: Some(token(&*to.pool, "ours/new")), dry_run: true, ..SendRequest::default() };
    from.pool.send(&request, &mut Vec::new(), &mut |event| shown.push(event)).unwrap();
    let SendEvent::Token(says) = &shown[0] else { panic!("{shown:?}") };
    assert!(says.starts_with("resume token contents:\nnvlist version: 0\n\tobject = 0x"), "{says}");
    assert!(says.ends_with("\n\ttoname = g_snap/fs@s10"), "{says}");

    let abort = |name: &str| to.pool.commit(&Change::AbortReceive { name: name.into() }, "");
    abort("ours/fs").unwrap();
    abort("ours/new").unwrap();
    let said = abort("ours/fs").unwrap_err().to_string();
    assert_eq!(said, "'ours/fs' does not have any resumable receive state to abort");
    assert_eq!(names(&*to.pool), before);
    to.pool.receive(&resumable("ours/fs"), &mut &next[..], &mut |_| {}).unwrap();
    // Destroying takes along what was left.
    receive_part(&*to.pool, "ours/new", &full[..full.len() / 2]);
    let destroy = Change::Destroy { names: vec!["ours/new".into()], defer: false };
    to.pool.commit(&destroy, "").unwrap();
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// What was received in part, and has children by now, stays until they are gone: nothing destroys
/// it along with them, and its name leads to them.
#[test]
fn what_was_made_below_an_interrupted_receive_is_not_lost() {
    let from = Sender::new("snapshots", "g_snap");
    let mut to = Receiver::new("resume-below", Fixture::unpack("snapshots"));
    let full = SendRequest { snapshot: "g_snap/fs@s10".into(), ..SendRequest::default() };
    let full = send(&*from.pool, &full).unwrap();
    let part = &full[..full.len() / 2];
    let destroy = |pool: &dyn Pool, name: &str| {
        pool.commit(&Change::Destroy { names: vec![name.into()], defer: false }, "")
    };

    receive_part(&*to.pool, "ours/kept", part);
    to.take("full-s10", "ours/kept/below@s10");
    for change in [
        Change::AbortReceive { name: "ours/kept".into() },
        Change::Destroy { names: vec!["ours/kept".into()], defer: false },
    ] {
        let said = to.pool.commit(&change, "").unwrap_err().to_string();
        assert_eq!(said, "cannot destroy 'ours/kept': filesystem has children");
    }
    // Of one that cannot be resumed nothing would be left, had nobody made something below it.
    let pool = to.pool.clone();
    let create = Change::CreateFilesystem { name: "ours/lost/below".into(), parents: false, props: vec![] };
    let mut is_made = || {
        pool.commit(&create, "").unwrap();
    };
    let mut stream = Interrupted { bytes: part, at: part.len() / 2, then: &mut is_made };
    let request = ReceiveRequest { target: "ours/lost".into(), ..ReceiveRequest::default() };
    to.pool.receive(&request, &mut stream, &mut |_| {}).unwrap_err();
    drop(pool);
    for _ in 0..2 {
        to.equals("ours/kept/below@s10", "g_snap/fs@s10");
        to.pool.open_fs("ours/lost/below").unwrap();
        to = to.imported_again();
    }
    for name in ["ours/kept/below@s10", "ours/kept/below", "ours/lost/below"] {
        destroy(&*to.pool, name).unwrap();
    }
    let said = to.pool.receive(&request, &mut &full[..], &mut |_| {}).unwrap_err().to_string();
    assert!(said.contains("ours/lost"), "{said}");
    to.pool.commit(&Change::AbortReceive { name: "ours/kept".into() }, "").unwrap();
    destroy(&*to.pool, "ours/lost").unwrap();
    assert!(!names(&*to.pool).iter().any(|name| name.contains("kept") || name.contains("lost")));
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// The hidden clone of an interrupted receive has a name that can be typed: whatever is asked of it
/// is done or refused, and the pool works on.
#[test]
fn changes_of_a_hidden_clone_by_its_name() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("resume-named", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    let next = SendRequest { snapshot: "g_snap/fs@s11".into(), ..SendRequest::default() };
    let next = SendRequest { from: Some("g_snap/fs@s10".into()), ..next };
    let next = send(&*from.pool, &next).unwrap();
    receive_part(&*to.pool, "ours/fs", &next[..next.len() / 2]);

    let hidden = || "ours/fs/%recv".to_owned();
    let rename = |from: &str, to: &str| Change::Rename {
        from: from.into(),
        to: to.into(),
        parents: false,
        recursive: false,
    };
    let snapshot =
        |name: &str| Change::Snapshot { names: vec![name.into()], recursive: false, props: vec![] };
    let bad = "invalid character % in name";
    for (change, why) in [
        (Change::Promote { name: hidden() }, format!("cannot promote 'ours/fs/%recv': {bad}")),
        (rename("ours/fs/%recv", "ours/found"), format!("cannot rename 'ours/fs/%recv': {bad}")),
        (rename("ours/fs", "ours/fs/%recv/x"), format!("cannot create 'ours/fs/%recv/x': {bad}")),
        (snapshot("ours/fs/%recv@x"), format!("cannot create snapshot 'ours/fs/%recv@x': {bad}")),
        (
            Change::Bookmark { source: "ours/fs@s10".into(), name: "ours/fs/%recv#x".into() },
            format!("cannot create bookmark 'ours/fs/%recv#x': {bad}"),
        ),
        (
            Change::Clone {
                snapshot: "ours/fs@s10".into(),
                name: "ours/fs/%recv/x".into(),
                parents: false,
                props: vec![],
            },
            format!("cannot create 'ours/fs/%recv/x': {bad}"),
        ),
        (
            Change::CreateFilesystem { name: "ours/fs/%recv/x".into(), parents: true, props: vec![] },
            format!("cannot create 'ours/fs/%recv/x': {bad}"),
        ),
    ] {
        assert_eq!(to.pool.commit(&change, "").map_err(|error| error.to_string()), Err(why));
    }
    // These may be refused or not, as OpenZFS has it: nothing of the pool suffers.
    for change in [
        Change::SetProperties {
            name: hidden(),
            props: vec![prop("mountpoint", "/nowhere"), prop("quota", "1G")],
        },
        Change::Inherit { name: hidden(), property: "mountpoint".into(), received: false },
        Change::Rollback { snapshot: "ours/fs/%recv@s10".into() },
        Change::Hold { snapshots: vec!["ours/fs/%recv@s10".into()], tag: "t".into(), recursive: false },
        snapshot("ours/fs@with"),
        Change::Snapshot { names: vec!["ours@all".into()], recursive: true, props: vec![] },
        rename("ours/fs", "ours/moved"),
        rename("ours/moved", "ours/fs"),
    ] {
        let done = to.pool.commit(&change, "");
        assert!(!matches!(done, Err(Error::Suspended)), "{change:?}");
    }
    assert!(to.pool.open_fs("ours/fs/%recv").is_err());
    let mut stream = &next[..];
    let request = ReceiveRequest { target: "ours/fs/%recv".into(), ..ReceiveRequest::default() };
    assert!(to.pool.receive(&request, &mut stream, &mut |_| {}).is_err());
    // Named twice, it has gone when its second turn comes.
    to.pool.commit(&Change::Destroy { names: vec![hidden(), hidden()], defer: false }, "").unwrap();
    assert_eq!(token(&*to.pool, "ours/fs"), "");
    to.equals("ours/fs@s10", "g_snap/fs@s10");
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// After a power cut a receive goes on as far as it had come on disk; zdb finds such a pool whole.
#[test]
fn resumable_receives_survive_power_cuts() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("resume-cut", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    let full = SendRequest { snapshot: "g_snap/fs@s10".into(), ..SendRequest::default() };
    let next = SendRequest { from: Some("g_snap/fs@s10".into()), ..full.clone() };
    let next = SendRequest { snapshot: "g_snap/fs@s11".into(), ..next };
    for (n, (request, target, sent)) in
        [(next, "ours/fs", "s11"), (full, "ours/new", "s10")].into_iter().enumerate()
    {
        let whole = send(&*from.pool, &request).unwrap();
        let cut = Dir::new(&format!("resume-cut-{n}"));
        let mut power_fails = || to.copy_disks(&cut);
        let mut stream = Interrupted { bytes: &whole, at: whole.len() / 2, then: &mut power_fails };
        to.pool.receive(&resumable(target), &mut stream, &mut |_| {}).unwrap();
        let engine = LocalEngine::new(Env::real(), Options::default());
        let folder = cut.0.to_str().unwrap().to_owned();
        let options = ImportOptions { search: vec![folder.clone()], force: true, ..ImportOptions::default() };
        let pool = engine.import("ours", &options).unwrap();
        let first = token(&*pool, target);
        assert!(!first.is_empty());
        drop(pool);
        engine.export("ours", false).unwrap();
        // Attributes of files have no meaning yet: more cannot be looked at.
        zdb_finds_no_leak(&folder, "ours");
        let pool = engine.import("ours", &options).unwrap();
        assert_eq!(token(&*pool, target), first);
        let stream = rest(&*from.pool, &first).unwrap();
        assert!(stream.len() < whole.len());
        pool.receive(&resumable(target), &mut &stream[..], &mut |_| {}).unwrap();
        let wrong = to
            .fixture
            .check_one(&format!("g_snap/fs@{sent}"), &*pool.open_fs(&format!("{target}@{sent}")).unwrap());
        assert!(wrong.is_empty(), "{wrong:#?}");
        drop(pool);
        engine.export("ours", false).unwrap();
        zdb_is_content(&folder, "ours");
    }
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// What an interrupted receive has left is sent on: who receives it has the same left, and waits
/// for the same rest.
#[test]
fn what_an_interrupted_receive_has_left_is_sent_on() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("resume-saved", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    to.take("full-s10", "ours/second@s10");
    let full = |snapshot: &str| SendRequest { snapshot: snapshot.into(), ..SendRequest::default() };
    let saved = |dataset: &str| SendRequest { saved: true, ..full(dataset) };
    let said = send(&*to.pool, &saved("ours/none")).unwrap_err().to_string();
    assert_eq!(said, "cannot open 'ours/none': dataset does not exist");
    let said = send(&*to.pool, &saved("ours/fs")).unwrap_err().to_string();
    assert_eq!(said, "cannot send 'ours/fs': 'ours/fs' does not have any resumable receive state");

    let all = SendRequest { large_blocks: true, embed: true, compress: true, ..full("g_snap/big@b") };
    let next = SendRequest { from: Some("g_snap/fs@s10".into()), ..full("g_snap/fs@s11") };
    for (first, second, sent, request) in [
        ("ours/files", "ours/files2", "g_snap/fs@s20", full("g_snap/fs@s20")),
        ("ours/all", "ours/all2", "g_snap/big@b", all),
        ("ours/fs", "ours/second", "g_snap/fs@s11", next),
    ] {
        let stream = send(&*from.pool, &request).unwrap();
        let part = stream.len() * 2 / 3;
        receive_part(&*to.pool, first, &stream[..part]);
        let mut shown = Vec::new();
        let about = SendRequest { dry_run: true, ..saved(first) };
        to.pool.send(&about, &mut Vec::new(), &mut |event| shown.push(event)).unwrap();
        let SendEvent::Token(says) = &shown[0] else { panic!("{shown:?}") };
        assert!(
            says.ends_with(&format!("\tobject = 0x0\n\toffset = 0x0\n\tbytes = 0x0\n\ttoname = {first}")),
            "{says}"
        );
        assert!(matches!(&shown[1], SendEvent::Planned { snapshot, .. } if snapshot == first), "{shown:?}");
        // Nobody takes it away meanwhile.
        let mut copy = Checked {
            bytes: Vec::new(),
            then: &mut || {
                let abort = Change::AbortReceive { name: first.into() };
                let said = to.pool.commit(&abort, "").unwrap_err().to_string();
                assert!(said.ends_with("dataset is busy"), "{said}");
                let rest = rest(&*from.pool, &token(&*to.pool, first)).unwrap();
                let said =
                    to.pool.receive(&resumable(first), &mut &rest[..], &mut |_| {}).unwrap_err().to_string();
                assert!(said.contains(first), "{said}");
            },
        };
        to.pool.send(&saved(first), &mut copy, &mut |_| {}).unwrap();
        receive_part(&*to.pool, second, &copy.bytes);
        // What came before the point may have been put in other words.
        let point = |dataset: &str| {
            let mut shown = Vec::new();
            let token = Some(token(&*to.pool, dataset));
            let request = SendRequest { token, dry_run: true, ..SendRequest::default() };
            from.pool.send(&request, &mut Vec::new(), &mut |event| shown.push(event)).unwrap();
            let SendEvent::Token(says) = &shown[0] else { panic!("{shown:?}") };
            let lines = says.lines().filter(|line| !line.starts_with("\tbytes = "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(point(second), point(first), "{first}: {part} of {}", stream.len());
        let rest = rest(&*from.pool, &token(&*to.pool, second)).unwrap();
        for dataset in [first, second] {
            to.pool.receive(&resumable(dataset), &mut &rest[..], &mut |_| {}).unwrap();
            to.equals(&format!("{dataset}@{}", sent.split('@').nth(1).unwrap()), sent);
        }
    }
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// Takes a stream, and does something at its beginning.
struct Checked<'a> {
    bytes: Vec<u8>,
    then: &'a mut dyn FnMut(),
}

impl std::io::Write for Checked<'_> {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        if self.bytes.is_empty() {
            (self.then)();
        }
        self.bytes.extend_from_slice(from);
        Ok(from.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
