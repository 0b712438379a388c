//! Who may come, as whom, and what handles mean.

use std::sync::Arc;

use engine_api::{Engine, FileSystem};
use model::MemEngine;
use nfs::{NOBODY, procedure as p};
use sunrpc::client::CallError;
use sunrpc::msg::{Accepted, Credential};
use sunrpc::xdr::{Decoder, Encoder};

use crate::setup::{PATH, Setup, file_system, served, start};

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

#[test]
fn garbage_is_a_bad_handle_and_a_dead_node_a_stale_one() {
    let setup = Setup::new("on");
    let mut nfs = setup.client(1, 1);
    let root = nfs.root.clone();
    assert_eq!(nfs.getattr(&root[1..]), Err(10001));
    assert_eq!(nfs.getattr(b""), Err(10001));
    assert_eq!(nfs.getattr(&[7; 64]), Err(10001));
    let handle = nfs::Handle::decode(&root).expect("our own");
    let mut forged = handle;
    forged.node.generation += 1;
    assert_eq!(nfs.getattr(&forged.encode()), Err(70));
    let mut elsewhere = handle;
    elsewhere.fs.dataset_guid += 1;
    assert_eq!(nfs.getattr(&elsewhere.encode()), Err(70));
    // Longer than any handle: the arguments are wrong, not the handle.
    let mut args = Encoder::new();
    args.opaque(&[7; 65]);
    let refused = nfs.client.call(p::GETATTR, args.bytes());
    assert!(matches!(refused, Err(CallError::Failed(Accepted::GarbageArgs))));
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
