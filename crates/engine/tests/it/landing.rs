//! Streams that lead elsewhere than to the dataset that they are received into: by the names in
//! them, and by the guids of snapshots.

use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{Change, Engine, Error, Pool, ReceiveRequest, SendRequest};
use env::Env;
use ondisk::send::{Begin, FLAG_CLONE, HeaderType, Record};
use pool::stream::RecordWriter;
use stdx::behalf::{Actor, Rank, Way, on_behalf_of};

use crate::bad_streams::{put_together, take_apart};
use crate::disks::{Dir, new_pool, zdb_finds_no_leak};
use crate::rights::{JOE, allow, create, snapshot};
use crate::streams::names;

struct Lab {
    dir: Dir,
    engine: Arc<LocalEngine>,
    pool: Arc<dyn Pool>,
    /// Of `ours/b`: all until `@1`, and what came until a snapshot that is gone.
    full: Vec<u8>,
    next: Vec<u8>,
}

/// Somebody who may receive into `ours/a`, and one who does everything there.
fn callers() -> [Arc<Actor>; 2] {
    let joe = Actor { user: JOE, groups: vec![JOE], rank: Rank::Guest, within: None, way: Way::Management };
    let token = Actor { rank: Rank::Administrator, within: Some("ours/a".into()), ..joe.clone() };
    [Arc::new(joe), Arc::new(token)]
}

impl Lab {
    fn new(name: &str) -> Lab {
        let dir = Dir::new(name);
        let engine = LocalEngine::new(Env::real(), Options::default());
        let pool = new_pool(&engine, &dir.0);
        create(&*pool, "ours/a", &[]);
        create(&*pool, "ours/b", &[]);
        let send = |from: Option<&str>, to: &str| {
            pool.commit(&snapshot(to), "").unwrap();
            let (snapshot, from) = (to.to_owned(), from.map(str::to_owned));
            let mut sent = Vec::new();
            pool.send(&SendRequest { snapshot, from, ..SendRequest::default() }, &mut sent, &mut |_| {})
                .unwrap();
            sent
        };
        let (full, next) = (send(None, "ours/b@1"), send(Some("ours/b@1"), "ours/b@2"));
        pool.commit(&Change::Destroy { names: vec!["ours/b@2".into()], defer: false }, "").unwrap();
        allow(&*pool, "ours/a", "receive,create,mount");
        Lab { dir, engine, pool, full, next }
    }

    fn receive(&self, caller: &Arc<Actor>, request: &ReceiveRequest, stream: &[u8]) -> Result<(), Error> {
        let receive = || self.pool.receive(request, &mut &stream[..], &mut |_| {}).map(drop);
        on_behalf_of(caller.clone(), receive)
    }

    fn end(self) {
        drop(self.pool);
        self.engine.export("ours", false).unwrap();
        zdb_finds_no_leak(self.dir.0.to_str().unwrap(), "ours");
    }
}

fn into(target: &str) -> ReceiveRequest {
    ReceiveRequest { target: target.into(), ..ReceiveRequest::default() }
}

#[test]
fn a_snapshot_that_is_found_by_its_guid_is_asked_about() {
    let lab = Lab::new("landing-guid");
    let before = names(&*lab.pool);
    // There is no `ours/a/b`, and `ours/b` has what the stream starts from.
    let below = ReceiveRequest { keep_path: true, force: true, ..into("ours/a") };
    for caller in callers() {
        assert_eq!(lab.receive(&caller, &below, &lab.next), Err(Error::Denied), "{caller:?}");
    }
    assert_eq!(names(&*lab.pool), before);
    allow(&*lab.pool, "ours/b", "receive,create,mount");
    let [joe, _] = callers();
    lab.receive(&joe, &below, &lab.next).unwrap();
    assert!(names(&*lab.pool).contains(&"ours/b@2".to_owned()));
    lab.end();
}

#[test]
fn a_name_that_only_begins_alike_is_no_name_below() {
    let lab = Lab::new("landing-name");
    let before = names(&*lab.pool);
    let (begin, records) = take_apart(&lab.full);
    let whole = Begin {
        header_type: HeaderType::Compound as u8,
        to_name: "s@1".into(),
        to_guid: 0,
        payload_len: 0,
        ..begin.clone()
    };
    let package = |name: &str| {
        let mut stream = Vec::new();
        RecordWriter::begin(&mut stream, &whole, &[]).unwrap().end_list().unwrap();
        stream.extend(put_together(&Begin { to_name: name.into(), ..begin.clone() }, &records));
        stream.extend(Record::End { checksum: [0; 4] }.encode(0));
        stream
    };
    // It would be `ours/ab@1`.
    let said = "cannot receive: invalid backup stream";
    for caller in callers().iter().chain([&Arc::new(Actor::itself())]) {
        let refused = lab.receive(caller, &into("ours/a"), &package("sb@1")).unwrap_err();
        assert_eq!(refused.to_string(), said, "{caller:?}");
    }
    assert_eq!(names(&*lab.pool), before);
    let [joe, _] = callers();
    lab.receive(&joe, &into("ours/a"), &package("s/b@1")).unwrap();
    assert!(names(&*lab.pool).contains(&"ours/a/b@1".to_owned()));
    lab.end();
}

#[test]
fn who_receives_a_clone_may_have_its_origin() {
    let lab = Lab::new("landing-clone");
    let [joe, token] = callers();
    let (begin, records) = take_apart(&lab.next);
    let clone = put_together(&Begin { flags: begin.flags | FLAG_CLONE, ..begin }, &records);
    let of_origin = ReceiveRequest { origin: Some("ours/b@1".into()), ..into("ours/a/c") };
    for caller in callers() {
        assert_eq!(lab.receive(&caller, &into("ours/a/c"), &clone), Err(Error::Denied), "{caller:?}");
        assert_eq!(lab.receive(&caller, &of_origin, &lab.next), Err(Error::Denied), "{caller:?}");
    }
    // What he received himself he need not be given again.
    lab.receive(&joe, &into("ours/a/own"), &lab.full).unwrap();
    lab.receive(&joe, &into("ours/a/c"), &clone).unwrap();
    lab.receive(&token, &into("ours/a/d"), &clone).unwrap();
    let of_other = ReceiveRequest { target: "ours/a/e".into(), ..of_origin };
    assert_eq!(lab.receive(&joe, &of_other, &lab.next), Err(Error::Denied));
    allow(&*lab.pool, "ours/b", "clone");
    lab.receive(&joe, &of_other, &lab.next).unwrap();
    lab.end();
}
