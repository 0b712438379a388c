//! Who may come, as whom, and what handles mean.

use std::sync::Arc;

use engine_api::{FileSystem, FsId, HandleKey, Identity, Served, Serving};
use model::MemEngine;
use nfs::{Answer, Handle, NOBODY, Server, ServerConfig, Service, procedure as p};
use sunrpc::client::CallError;
use sunrpc::msg::{Accepted, Call, Credential, Reply, parse_reply, put_call};
use sunrpc::xdr::{Decoder, Encoder};

use crate::setup::{PATH, SECRET, Setup, file_system, served, start};

#[test]
fn root_is_squashed_unless_told_otherwise() {
    for (sharenfs, uid, owner) in
        [("on", 0, NOBODY), ("on", 7, 7), ("rw,no_root_squash", 0, 0), ("rw,all_squash,anonuid=99", 7, 99)]
    {
        let setup = Setup::new(sharenfs);
        let mut nfs = setup.client(uid, 5);
        let root = nfs.root.clone();
        assert_eq!(nfs.create(&root, b"f").expect("created").1.uid, owner, "{sharenfs}");
    }
    let setup = Setup::new("on");
    let mut nfs = setup.client(0, 0);
    nfs.client.set_credential(Credential::None);
    let root = nfs.root.clone();
    assert_eq!(nfs.create(&root, b"f").expect("created").1.uid, NOBODY);
}

#[test]
fn read_only_means_every_change() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, _) = nfs.create(&root, b"f").expect("created");
    setup.engine.set_served(vec![served(PATH, "ro,no_root_squash", setup.fs.clone())]);
    assert_eq!(nfs.write(&file, 0, b"x", 0), Err(30));
    assert_eq!(nfs.create(&root, b"g"), Err(30));
    assert_eq!(nfs.remove(p::REMOVE, &root, b"f"), 30);
    assert!(nfs.read(&file, 0, 1).is_ok());
    let mut args = Encoder::new();
    args.opaque(&file);
    args.u32(0x3f);
    let (_, rest) = nfs.call(p::ACCESS, &args);
    assert_eq!(rest.last().map(|bits| bits & 0x1c), Some(0));
}

#[test]
fn shares_come_and_go_while_handles_stay() {
    let setup = Setup::new("on");
    let mut nfs = setup.client(1, 1);
    let root = nfs.root.clone();
    setup.engine.set_served(vec![served(PATH, "rw=10.0.0.0/8", setup.fs.clone())]);
    assert_eq!((nfs.getattr(&root), nfs.mount(PATH)), (Err(13), Err(13)));
    setup.engine.set_served(vec![served(PATH, "off", setup.fs.clone())]);
    assert_eq!((nfs.getattr(&root), nfs.mount(PATH)), (Err(70), Err(2)));
    setup.engine.set_served(vec![served(PATH, "nonsense", setup.fs.clone())]);
    assert_eq!(nfs.getattr(&root), Err(70));
    setup.engine.set_served(vec![served("/elsewhere", "rw=127.0.0.1", setup.fs.clone())]);
    assert_eq!(
        (nfs.getattr(&root).map(|attr| attr.kind), nfs.mount("/elsewhere")),
        (Ok(2), Ok(root.clone()))
    );
    setup.engine.set_served(vec![served(PATH, "rw,secure", setup.fs.clone())]);
    assert_eq!(nfs.getattr(&root), Err(13));
}

/// Clients come from ports of privileged programs, unless a share says that others may: exports(5).
#[test]
fn shares_are_secure_unless_told_otherwise() {
    let setup = Setup::new("on");
    let root = setup.client(1, 1).root;
    for (sharenfs, port, status) in [
        ("on", 1023, 0),
        ("on", 1024, 13),
        ("rw,no_root_squash", 50_000, 13),
        ("rw,no_root_squash", 700, 0),
        ("rw,insecure", 50_000, 0),
    ] {
        let share = Served { sharenfs: sharenfs.to_owned(), ..served(PATH, "on", setup.fs.clone()) };
        setup.engine.set_served(vec![share]);
        let service = Service::new(setup.engine.clone(), false);
        let mut args = Encoder::new();
        args.opaque(&root);
        let credential = Credential::None;
        let call = Call {
            xid: 1,
            program: 100_003,
            version: 3,
            procedure: p::GETATTR,
            credential,
            args: args.bytes(),
        };
        let mut record = Encoder::new();
        put_call(&mut record, &call);
        let answer = service.answer(&service.session(([10, 0, 0, 1], port).into()), record.bytes());
        let Answer::Reply(reply) = answer else { panic!("{sharenfs}: no reply") };
        let reply: Vec<u8> = reply.parts().flatten().copied().collect();
        // Behind the record mark.
        let (_, results) = parse_reply(&reply[4..]).expect("a proper reply");
        let Reply::Success(results) = results else { panic!("{sharenfs}: {results:?}") };
        assert_eq!(Decoder::new(results).u32(), Ok(status), "{sharenfs} from {port}");
    }
}

/// Who may read a directory and not search it learns names, by no procedure more.
#[test]
fn nobody_gets_past_a_directory_that_he_may_not_search() {
    let setup = Setup::new("rw,no_root_squash");
    let mut owner = setup.client(0, 0);
    let root = owner.root.clone();
    let mut made = |name: &str, mode: u32| {
        let dir = owner.mkdir(&root, name.as_bytes()).expect("made").0;
        owner.mkdir(&dir, b"below").expect("made");
        let mut set = Encoder::new();
        set.opaque(&dir);
        crate::calls::sattr(&mut set, Some(mode), None);
        set.bool(false);
        assert_eq!(owner.call(p::SETATTR, &set).0, 0);
        dir
    };
    let (listed, closed) = (made("listed", 0o744), made("closed", 0o700));
    let mut other = setup.client(1000, 1000);
    assert_eq!(other.lookup(&listed, b"below").map(drop), Err(13));
    let entry = other.list(&listed, true, 4096).pop().expect("three entries");
    assert_eq!((&*entry.name, entry.attr, entry.handle), ("below", None, None));
    assert_eq!(other.lookup(&closed, b"below").map(drop), Err(13));
    for (path, status) in [("closed/below", 13), ("listed/below", 13), ("closed", 0)] {
        let mounted = other.mount(&format!("{PATH}/{path}"));
        assert_eq!(mounted.map_or_else(|status| status, |_| 0), status, "{path}");
    }
    let mut entry = setup.client(0, 0).list(&listed, true, 4096);
    assert!(entry.pop().expect("three entries").handle.is_some());
}

#[test]
fn nobody_owns_files_by_the_number_that_means_none() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, before) = nfs.create(&root, b"f").expect("created");
    for (uid, gid) in [(Some(u32::MAX), None), (None, Some(u32::MAX))] {
        let owner = |args: &mut Encoder| {
            args.u32(0);
            for id in [uid, gid] {
                args.bool(id.is_some());
                id.into_iter().for_each(|id| args.u32(id));
            }
            (0..3).for_each(|_| args.u32(0));
        };
        let mut set = Encoder::new();
        set.opaque(&file);
        owner(&mut set);
        set.u32(0);
        assert_eq!(nfs.call(p::SETATTR, &set).0, 22);
        for procedure in [p::CREATE, p::MKDIR, p::SYMLINK, p::MKNOD] {
            let mut args = crate::calls::place(&root, b"new");
            match procedure {
                p::CREATE => args.u32(1),
                p::MKNOD => args.u32(7),
                _ => {}
            }
            owner(&mut args);
            if procedure == p::SYMLINK {
                args.opaque(b"target");
            }
            assert_eq!(nfs.call(procedure, &args).0, 22, "procedure {procedure}");
        }
    }
    assert_eq!(nfs.getattr(&file).map(|attr| (attr.uid, attr.gid)), Ok((before.uid, before.gid)));
    let mut none = setup.client(u32::MAX, u32::MAX);
    let made = none.create(&root, b"g").expect("created").1;
    assert_eq!((made.uid, made.gid), (NOBODY, NOBODY));
}

#[test]
fn garbage_is_a_bad_handle_and_a_dead_node_a_stale_one() {
    let setup = Setup::new("on");
    let mut nfs = setup.client(1, 1);
    let root = nfs.root.clone();
    assert_eq!(nfs.getattr(&root[1..]), Err(10001));
    assert_eq!(nfs.getattr(b""), Err(10001));
    assert_eq!(nfs.getattr(&[7; 64]), Err(10001));
    let key = HandleKey::of(&SECRET);
    let handle = Handle::open(&root, |_| Some(&key), false).expect("our own");
    let mut gone = handle;
    gone.node.generation += 1;
    assert_eq!(nfs.getattr(&gone.seal(Some(&key))), Err(70));
    let mut elsewhere = handle;
    elsewhere.fs.dataset_guid += 1;
    assert_eq!(nfs.getattr(&elsewhere.seal(Some(&key))), Err(70));
    // Longer than any handle: the arguments are wrong, not the handle.
    let mut args = Encoder::new();
    args.opaque(&[7; 65]);
    let refused = nfs.client.call(p::GETATTR, args.bytes());
    assert!(matches!(refused, Err(CallError::Failed(Accepted::GarbageArgs))));
}

/// What a handle names is no secret: object numbers are small, and generations are numbers of
/// transaction groups.
#[test]
fn handles_cannot_be_guessed() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, _) = nfs.create(&root, b"f").expect("created");
    let key = HandleKey::of(&SECRET);
    let named = Handle::open(&file, |_| Some(&key), false).expect("our own");
    assert_eq!(nfs.getattr(&named.seal(Some(&HandleKey::of(&[0; 32])))), Err(10001));
    let old = named.seal(None);
    assert_eq!(nfs.getattr(&old), Err(70));
    // Clients of a server before this one may go on, where that is wanted.
    let addr = "127.0.0.1:0".parse().expect("an address");
    let config = ServerConfig { old_handles: true, ..ServerConfig::new(addr) };
    let server = Server::start(config, setup.engine.clone()).expect("a free port");
    let setup = Setup { server, engine: setup.engine.clone(), fs: setup.fs.clone() };
    assert!(setup.unmounted(0, 0).getattr(&old).is_ok());
}

/// A share that has taken the place of another, under another id of its own.
#[test]
fn handles_of_another_lead_to_what_has_its_place_and_its_key() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, _) = nfs.create(&root, b"f").expect("created");
    let original = Served { sharenfs: "off".to_owned(), ..served(PATH, "on", setup.fs.clone()) };
    let (old, own) = (original.id, FsId { pool_guid: 77, dataset_guid: 78 });
    let keys = [HandleKey::of(&SECRET), HandleKey::of(&[9; 32])];
    let promoted = |key: Option<HandleKey>| Served {
        id: own,
        key: Some(keys[1]),
        identity: Some(Identity { pool_guid: old.pool_guid, dataset_guid: old.dataset_guid, key }),
        ..served("/other", "rw,no_root_squash", setup.fs.clone())
    };
    setup.engine.set_served(vec![original.clone()]);
    assert_eq!(nfs.getattr(&file), Err(70), "its place is free");
    // Who has not the key claims it in vain: what it gives, and what is its own, it takes.
    for (key, refused) in [(Some(keys[1]), 10001), (None, 70)] {
        setup.engine.set_served(vec![promoted(key)]);
        assert_eq!(nfs.getattr(&file), Err(refused));
        let lying = nfs.mount("/other").expect("mounted");
        assert!(nfs.getattr(&lying).is_ok());
    }
    setup.engine.set_served(vec![promoted(Some(keys[0]))]);
    assert!(nfs.getattr(&file).is_ok());
    assert_eq!(nfs.mount("/other"), Ok(root), "what it gives is what the other one gave");
    let named = Handle::open(&file, |_| Some(&keys[0]), false).expect("our own");
    let native = Handle { fs: own, ..named };
    assert!(nfs.getattr(&native.seal(Some(&keys[1]))).is_ok());
    assert_eq!(nfs.getattr(&native.seal(Some(&keys[0]))), Err(10001));
    assert_eq!(nfs.getattr(&named.seal(Some(&keys[1]))), Err(10001));
}

#[test]
fn mounts_below_a_share_work_and_others_do_not() {
    let setup = Setup::new("on");
    let mut nfs = setup.client(1, 1);
    let root = nfs.root.clone();
    let (dir, _) = nfs.mkdir(&root, b"a").expect("made");
    let (deep, _) = nfs.mkdir(&dir, b"b").expect("made");
    assert_eq!(nfs.mount("/tank/share/a/b"), Ok(deep));
    assert_eq!(nfs.mount("//tank/./share/"), Ok(root));
    for (path, status) in [
        ("/tank/share/none", 2),
        ("/tank/shar", 2),
        ("/tank", 2),
        ("/", 2),
        ("/tank/share/../share", 22),
        ("", 2),
    ] {
        assert_eq!(nfs.mount(path), Err(status), "{path}");
    }
}

#[test]
fn lookups_step_over_into_what_is_mounted_below() {
    let (top, below) = (file_system(1), file_system(2));
    let tops = |sharenfs: &str| {
        vec![served("/tank", sharenfs, top.clone()), served("/tank/a/below", "on", below.clone())]
    };
    let engine = MemEngine::new(tops("on"));
    let fs = top.clone();
    let server = start(engine.clone() as Arc<MemEngine>);
    let setup = Setup { engine, fs, server };
    let mut nfs = setup.unmounted(1, 1);
    let (top_root, below_root) =
        (nfs.mount("/tank").expect("top"), nfs.mount("/tank/a/below").expect("below"));
    let (dir, _) = nfs.mkdir(&top_root, b"a").expect("made");
    let (hidden, hidden_attr) = nfs.mkdir(&dir, b"below").expect("made");
    let (found, attr) = nfs.lookup(&dir, b"below").expect("found");
    assert_eq!(found, below_root);
    assert_ne!(attr.fsid, hidden_attr.fsid);
    // Listing does not say what lookup would contradict.
    let entry = nfs.list(&dir, true, 4096).pop().expect("three entries");
    assert_eq!((&*entry.name, entry.attr, entry.handle), ("below", None, None));
    // The same name elsewhere is only a name.
    nfs.create(&top_root, b"below").expect("created");
    assert_eq!(nfs.lookup(&top_root, b"below").expect("found").1.kind, 1);
    setup.engine.set_served(tops("rw"));
    assert_eq!(nfs.lookup(&dir, b"below").expect("found").0, hidden);
    let mut args = crate::calls::place(&top_root, b"below");
    args.raw(crate::calls::place(&below_root, b"moved").bytes());
    assert_eq!(nfs.call(p::RENAME, &args).0, 18);
}

#[test]
fn exports_and_mounts_are_listed() {
    let setup = Setup::new("rw=@10.0.0.0/8:127.0.0.1");
    let mut nfs = setup.client(1, 1);
    for version in [1, 3] {
        nfs.client.set_program(100_005, version);
        let results = nfs.client.call(5, &[]).expect("EXPORT");
        let mut d = Decoder::new(&results);
        let mut texts = Vec::new();
        while d.remaining() > 4 {
            if d.bool().expect("a flag") {
                texts.push(String::from_utf8_lossy(d.opaque(1024).expect("text")).into_owned());
            }
        }
        assert_eq!(texts, [PATH, "10.0.0.0/8", "127.0.0.1"]);
        let results = nfs.client.call(2, &[]).expect("DUMP");
        assert!(String::from_utf8_lossy(&results).contains(PATH));
    }
    let refused = nfs.client.call(9, &[]);
    assert!(matches!(refused, Err(CallError::Failed(Accepted::ProcUnavail))));
    nfs.client.call(4, &[]).expect("UMNTALL");
    assert_eq!(nfs.client.call(2, &[]).expect("DUMP"), [0; 4]);
}

#[test]
fn a_restarted_server_knows_the_handles_of_the_one_before() {
    let Setup { engine, fs, server } = Setup::new("on");
    let setup = Setup { engine: engine.clone(), fs: fs.clone(), server };
    let mut nfs = setup.client(1, 1);
    let root = nfs.root.clone();
    let (file, attr) = nfs.create(&root, b"f").expect("created");
    setup.server.stop();
    assert!(nfs.client.call(p::NULL, &[]).is_err());
    let setup = Setup { server: start(engine), engine: setup.engine.clone(), fs };
    assert_eq!(setup.engine.served().len(), 1);
    assert_eq!(setup.client(1, 1).getattr(&file).map(|now| now.fileid), Ok(attr.fileid));
    assert_eq!(setup.fs.id().dataset_guid, 77);
}
