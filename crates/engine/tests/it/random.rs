//! Random operations on the engine and the oracle side by side: each must answer alike, and leave
//! the same tree, after every restart too.

use std::sync::Arc;

use engine::zpl::{AtCreation, Settings, XattrStore};
use engine_api::{
    Attr, CreateMode, Cred, DirChange, DirLimit, Error, FileSystem, NewNode, NodeId, NodeKind, RenameMode,
    Result, SetAttr, SetTime, Stable, Time, XattrMode,
};
use model::{Compare, MemFs, dump};
use stdx::prng::Prng;

use crate::bench::Bench;

/// What both sides say about a node, without what may differ: numbers, space, times.
#[derive(Debug, PartialEq, Eq)]
struct Shown(NodeKind, u32, u64, (u32, u32), u64, (u32, u32));

fn shown(attr: &Attr) -> Shown {
    Shown(attr.kind, attr.mode, attr.nlink, (attr.uid, attr.gid), attr.size, attr.rdev)
}

fn shown_dir(change: &DirChange) -> (Shown, Shown) {
    (shown(&change.before), shown(&change.after))
}

/// Errors alike but for their words.
fn plain<T>(answer: Result<T>) -> std::result::Result<T, String> {
    answer.map_err(|error| match error {
        Error::Invalid(_) => "invalid".into(),
        Error::Unsupported(_) => "unsupported".into(),
        error => format!("{error:?}"),
    })
}

pub struct Duel {
    pub rng: Prng,
    pub bench: Bench,
    pub oracle: Arc<MemFs>,
    /// The same node on both sides; some are long gone.
    pub nodes: Vec<(NodeId, NodeId)>,
    pub open: Vec<(NodeId, NodeId)>,
    creds: Vec<Cred>,
}

impl Duel {
    pub fn new(seed: u64) -> Duel {
        let mut rng = Prng::new(seed);
        let settings = Settings {
            recordsize: 512 << rng.below(10),
            xattr: if rng.chance(1, 2) { XattrStore::System } else { XattrStore::Directory },
            ..Settings::default()
        };
        // Half of the file systems are old.
        let version = rng.range(1, 10).min(5);
        let bench = Bench::new(settings, AtCreation { version, ..AtCreation::default() });
        let oracle = MemFs::new(Box::new(|| Time { secs: 1_900_000_000, nanos: 0 }));
        let nodes = vec![(bench.fs.root(), oracle.root())];
        let user = |uid, gid, groups: &[u32]| Cred {
            groups: groups.to_vec(),
            owner_override: uid == 7,
            ..Cred::user(uid, gid)
        };
        let creds = vec![Cred::root(), Cred::root(), Cred::root(), user(5, 50, &[60]), user(7, 60, &[])];
        let open_all = SetAttr { mode: Some(0o777), ..SetAttr::default() };
        bench.fs.setattr(&creds[0], bench.fs.root(), &open_all).unwrap();
        oracle.setattr(&creds[0], oracle.root(), &open_all).unwrap();
        Duel { rng, bench, oracle, nodes, open: Vec::new(), creds }
    }

    fn any(&mut self) -> (NodeId, NodeId) {
        // Young nodes are more often alive.
        let len = self.nodes.len() as u64;
        let from = if self.rng.chance(1, 2) { len.saturating_sub(8) } else { 0 };
        self.nodes[self.rng.range(from, len) as usize]
    }

    fn name(&mut self) -> Vec<u8> {
        match self.rng.below(60) {
            0 => vec![b'n'; 255],
            1 => vec![b'n'; 256],
            2 => b"..".to_vec(),
            3 => b"bad/name".to_vec(),
            4 => format!(
                "a name that is longer than fifty bytes, so that it does not fit {}",
                self.rng.below(9)
            )
            .into(),
            _ => format!("n{}", self.rng.below(12)).into(),
        }
    }

    fn cred(&mut self) -> Cred {
        self.rng.pick(&self.creds).unwrap().clone()
    }

    fn attr(&mut self) -> SetAttr {
        let mode = if self.rng.chance(1, 3) { self.rng.below(0o10000) as u32 } else { 0o755 };
        let uid = self.rng.pick(&[5, 7]).copied().filter(|_| self.rng.chance(1, 9));
        let gid = self.rng.pick(&[50, 60]).copied().filter(|_| self.rng.chance(1, 9));
        SetAttr { mode: Some(mode), uid, gid, ..SetAttr::default() }
    }

    fn remember(&mut self, engine: &Attr, oracle: &Attr) {
        let pair = (engine.node, oracle.node);
        if !self.nodes.contains(&pair) {
            self.nodes.push(pair);
        }
    }

    pub fn step(&mut self) -> String {
        let weights = [8, 10, 6, 14, 8, 5, 6, 4, 8, 4, 8, 3, 3, 4, 4, 3];
        match self.rng.weighted(&weights) {
            0 => self.create(),
            1 => self.make(),
            2 => self.lookup(),
            3 => self.write(),
            4 => self.read(),
            5 => self.punch(),
            6 => self.setattr(),
            7 => self.link(),
            8 => self.remove(),
            9 => self.rmdir(),
            10 => self.rename(),
            11 => self.open(),
            12 => self.close(),
            13 => self.xattr(),
            14 => self.look(),
            _ => self.list(),
        }
    }

    fn create(&mut self) -> String {
        let (dir, name, cred) = (self.any(), self.name(), self.cred());
        let mut attr = self.attr();
        attr.size = self.rng.chance(1, 4).then(|| self.rng.below(3) * 700);
        let mode = match self.rng.below(3) {
            0 => CreateMode::Guarded,
            1 => CreateMode::Exclusive { verifier: self.rng.below(3) },
            _ => CreateMode::Unchecked,
        };
        let what = format!("create {dir:?} {} {mode:?} {attr:?} by {}", name.escape_ascii(), cred.uid);
        let ours = plain(self.bench.fs.create(&cred, dir.0, &name, mode, &attr));
        let theirs = plain(self.oracle.create(&cred, dir.1, &name, mode, &attr));
        if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
            self.remember(&ours.attr, &theirs.attr);
        }
        let view = |made: engine_api::Created| (shown(&made.attr), shown_dir(&made.dir), made.new);
        assert_eq!(ours.map(view), theirs.map(view), "{what}");
        what
    }

    fn make(&mut self) -> String {
        let (dir, name, cred, attr) = (self.any(), self.name(), self.cred(), self.attr());
        let new = match self.rng.below(10) {
            0..=4 => NewNode::Dir,
            5 | 6 => NewNode::Symlink { target: vec![b'x'; self.rng.below(600) as usize] },
            7 => NewNode::Fifo,
            8 => NewNode::Socket,
            _ => NewNode::CharDev { major: 4, minor: self.rng.below(100_000) as u32 },
        };
        let what = format!("make {dir:?} {} {new:?} {attr:?} by {}", name.escape_ascii(), cred.uid);
        let ours = plain(self.bench.fs.make(&cred, dir.0, &name, &new, &attr));
        let theirs = plain(self.oracle.make(&cred, dir.1, &name, &new, &attr));
        if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
            self.remember(&ours.attr, &theirs.attr);
        }
        let view = |made: engine_api::Created| (shown(&made.attr), shown_dir(&made.dir), made.new);
        assert_eq!(ours.map(view), theirs.map(view), "{what}");
        what
    }

    fn lookup(&mut self) -> String {
        let (dir, name, cred) = (self.any(), self.name(), self.cred());
        let what = format!("lookup {dir:?} {}", name.escape_ascii());
        let ours = plain(self.bench.fs.lookup(&cred, dir.0, &name));
        let theirs = plain(self.oracle.lookup(&cred, dir.1, &name));
        assert_eq!(ours.map(|a| shown(&a)), theirs.map(|a| shown(&a)), "{what}");
        what
    }

    fn offset(&mut self) -> u64 {
        match self.rng.below(12) {
            0 => 1 << self.rng.below(45),
            1 => i64::MAX as u64 - self.rng.below(10),
            2..=4 => self.rng.below(600_000),
            _ => self.rng.below(4000),
        }
    }

    fn write(&mut self) -> String {
        let (node, cred, offset) = (self.any(), self.cred(), self.offset());
        let mut data = vec![0; (1 << self.rng.below(18)) + self.rng.below(600) as usize - 1];
        self.rng.fill(&mut data);
        if self.rng.chance(1, 5) {
            let what = format!("append {node:?} {} by {}", data.len(), cred.uid);
            let ours = plain(self.bench.fs.append(&cred, node.0, &data, Stable::Unstable));
            let theirs = plain(self.oracle.append(&cred, node.1, &data, Stable::Unstable));
            let view = |(at, w): (u64, engine_api::Written)| (at, shown(&w.before), shown(&w.after));
            assert_eq!(ours.map(view), theirs.map(view), "{what}");
            return what;
        }
        let what = format!("write {node:?} {}+{} by {}", offset, data.len(), cred.uid);
        let ours = plain(self.bench.fs.write(&cred, node.0, offset, &data, Stable::DataSync));
        let theirs = plain(self.oracle.write(&cred, node.1, offset, &data, Stable::DataSync));
        let view = |w: engine_api::Written| (shown(&w.before), shown(&w.after));
        assert_eq!(ours.map(view), theirs.map(view), "{what}");
        what
    }

    fn read(&mut self) -> String {
        let (node, cred, offset, len) =
            (self.any(), self.cred(), self.offset(), self.rng.below(200_000) as usize);
        let what = format!("read {node:?} {offset}+{len} by {}", cred.uid);
        let ours = plain(self.bench.fs.read(&cred, node.0, offset, len));
        let theirs = plain(self.oracle.read(&cred, node.1, offset, len));
        let (ours, theirs) = (ours.map(|r| (r.to_vec(), r.eof)), theirs.map(|r| (r.to_vec(), r.eof)));
        assert!(ours == theirs, "{what}: {:?}", ours.map(|(bytes, eof)| (bytes.len(), eof)));
        what
    }

    fn punch(&mut self) -> String {
        let (node, cred, offset, len) = (self.any(), self.cred(), self.offset(), self.offset());
        let what = format!("punch {node:?} {offset}+{len} by {}", cred.uid);
        let ours = plain(self.bench.fs.punch(&cred, node.0, offset, len));
        assert_eq!(ours, plain(self.oracle.punch(&cred, node.1, offset, len)), "{what}");
        what
    }

    fn setattr(&mut self) -> String {
        let (node, cred) = (self.any(), self.cred());
        let mut set = SetAttr::default();
        match self.rng.below(4) {
            0 => set.size = Some(self.offset()),
            1 => set.mode = Some(self.rng.below(0o10000) as u32),
            2 => {
                set.uid = self.rng.chance(1, 2).then_some(5);
                set.gid = self.rng.chance(1, 2).then_some(60);
            }
            _ => {
                let time = Time { secs: -5, nanos: 999_999_999 };
                set.atime = Some(SetTime::Now).filter(|_| self.rng.chance(1, 2));
                set.mtime = Some(SetTime::To(time)).filter(|_| self.rng.chance(1, 2));
                set.size = Some(700).filter(|_| self.rng.chance(1, 4));
            }
        }
        let what = format!("setattr {node:?} {set:?} by {}", cred.uid);
        let ours = plain(self.bench.fs.setattr(&cred, node.0, &set));
        let theirs = plain(self.oracle.setattr(&cred, node.1, &set));
        let view = |(a, b): (Attr, Attr)| (shown(&a), shown(&b));
        assert_eq!(ours.map(view), theirs.map(view), "{what}");
        what
    }

    fn link(&mut self) -> String {
        let (node, dir, name, cred) = (self.any(), self.any(), self.name(), self.cred());
        let what = format!("link {node:?} to {dir:?} {} by {}", name.escape_ascii(), cred.uid);
        let ours = plain(self.bench.fs.link(&cred, node.0, dir.0, &name));
        let theirs = plain(self.oracle.link(&cred, node.1, dir.1, &name));
        let view = |(a, d): (Attr, DirChange)| (shown(&a), shown_dir(&d));
        assert_eq!(ours.map(view), theirs.map(view), "{what}");
        what
    }

    fn remove(&mut self) -> String {
        let (dir, name, cred) = (self.any(), self.name(), self.cred());
        let what = format!("remove {dir:?} {} by {}", name.escape_ascii(), cred.uid);
        let ours = plain(self.bench.fs.remove(&cred, dir.0, &name));
        let theirs = plain(self.oracle.remove(&cred, dir.1, &name));
        assert_eq!(ours.map(|d| shown_dir(&d)), theirs.map(|d| shown_dir(&d)), "{what}");
        what
    }

    fn rmdir(&mut self) -> String {
        let (dir, name, cred) = (self.any(), self.name(), self.cred());
        let what = format!("rmdir {dir:?} {} by {}", name.escape_ascii(), cred.uid);
        let ours = plain(self.bench.fs.rmdir(&cred, dir.0, &name));
        let theirs = plain(self.oracle.rmdir(&cred, dir.1, &name));
        assert_eq!(ours.map(|d| shown_dir(&d)), theirs.map(|d| shown_dir(&d)), "{what}");
        what
    }

    fn rename(&mut self) -> String {
        let (from, to, cred) = (self.any(), self.any(), self.cred());
        let to = if self.rng.chance(1, 2) { from } else { to };
        let (old, new) = (self.name(), self.name());
        let mode = match self.rng.below(4) {
            0 => RenameMode::Exchange,
            1 => RenameMode::NoReplace,
            _ => RenameMode::Replace,
        };
        let what = format!(
            "rename {from:?} {} to {to:?} {} {mode:?} by {}",
            old.escape_ascii(),
            new.escape_ascii(),
            cred.uid
        );
        let ours = plain(self.bench.fs.rename(&cred, (from.0, &old), (to.0, &new), mode));
        let theirs = plain(self.oracle.rename(&cred, (from.1, &old), (to.1, &new), mode));
        let view = |(a, b): (DirChange, DirChange)| (shown_dir(&a), shown_dir(&b));
        assert_eq!(ours.map(view), theirs.map(view), "{what}");
        what
    }

    fn open(&mut self) -> String {
        let node = self.any();
        let what = format!("open {node:?}");
        let ours = plain(self.bench.fs.open(node.0));
        assert_eq!(ours, plain(self.oracle.open(node.1)), "{what}");
        if ours.is_ok() {
            self.open.push(node);
        }
        what
    }

    fn close(&mut self) -> String {
        let Some(at) = self.rng.pick(&(0..self.open.len()).collect::<Vec<_>>()).copied() else {
            return "close nothing".into();
        };
        let node = self.open.swap_remove(at);
        self.bench.fs.close(node.0);
        self.oracle.close(node.1);
        format!("close {node:?}")
    }

    fn xattr(&mut self) -> String {
        let (node, cred) = (self.any(), self.cred());
        let names: [&[u8]; 5] = [b"user.one", b"user.two", b"trusted.t", b"security.s", b"nospace"];
        let name = *self.rng.pick(&names).unwrap();
        let mode = *self.rng.pick(&[XattrMode::Either, XattrMode::Create, XattrMode::Replace]).unwrap();
        if self.rng.chance(1, 3) {
            let what = format!("removexattr {node:?} {} by {}", name.escape_ascii(), cred.uid);
            let ours = plain(self.bench.fs.removexattr(&cred, node.0, name));
            assert_eq!(ours, plain(self.oracle.removexattr(&cred, node.1, name)), "{what}");
            return what;
        }
        let limit = 1 << self.rng.below(17);
        let mut value = vec![0; self.rng.below(limit) as usize];
        self.rng.fill(&mut value);
        let what =
            format!("setxattr {node:?} {} {} {mode:?} by {}", name.escape_ascii(), value.len(), cred.uid);
        let ours = plain(self.bench.fs.setxattr(&cred, node.0, name, &value, mode));
        assert_eq!(ours, plain(self.oracle.setxattr(&cred, node.1, name, &value, mode)), "{what}");
        what
    }

    fn look(&mut self) -> String {
        let (node, cred) = (self.any(), self.cred());
        let what = format!("look at {node:?} by {}", cred.uid);
        let ours = (
            plain(self.bench.fs.getattr(node.0)).map(|a| shown(&a)),
            plain(self.bench.fs.access(&cred, node.0)),
            plain(self.bench.fs.readlink(&cred, node.0)),
            plain(self.bench.fs.listxattr(&cred, node.0)),
            plain(self.bench.fs.getxattr(&cred, node.0, b"user.one")),
        );
        let theirs = (
            plain(self.oracle.getattr(node.1)).map(|a| shown(&a)),
            plain(self.oracle.access(&cred, node.1)),
            plain(self.oracle.readlink(&cred, node.1)),
            plain(self.oracle.listxattr(&cred, node.1)),
            plain(self.oracle.getxattr(&cred, node.1, b"user.one")),
        );
        assert_eq!(ours, theirs, "{what}");
        what
    }

    fn list(&mut self) -> String {
        let (dir, cred) = (self.any(), self.cred());
        let what = format!("list {dir:?} by {}", cred.uid);
        let names = |fs: &dyn FileSystem, id| {
            let limit = DirLimit { entries: 1000, name_bytes: 1 << 20, with_attr: true };
            plain(fs.readdir(&cred, id, 0, limit)).map(|page| {
                assert!(page.eof);
                let mut names: Vec<_> =
                    page.entries.into_iter().map(|e| (e.name, e.kind, e.attr.map(|a| shown(&a)))).collect();
                names.sort_by(|a, b| a.0.cmp(&b.0));
                names
            })
        };
        assert_eq!(names(&*self.bench.fs, dir.0), names(&*self.oracle, dir.1), "{what}");
        what
    }

    pub fn compare(&self, when: &str) {
        let (expected, found) = (dump(&*self.oracle).unwrap(), dump(&*self.bench.fs).unwrap());
        let differences = expected.differences(&found, Compare { times: false });
        assert!(differences.is_empty(), "{when}: {differences:#?}");
    }

    /// Everything closed, as a crash closes it.
    fn restart(&mut self) {
        for node in std::mem::take(&mut self.open) {
            self.oracle.close(node.1);
        }
        self.bench.reopen();
        self.bench.fs.drain_unlinked().unwrap();
        if self.rng.chance(1, 3) {
            let to = self.rng.range(self.bench.fs.version(), 6);
            self.bench.fs.upgrade(to).unwrap();
        }
    }
}

fn duel(seed: u64, steps: u32) {
    let mut duel = Duel::new(seed);
    for step in 0..steps {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| duel.step()));
        if let Err(panic) = result {
            eprintln!("seed {seed}, step {step}");
            std::panic::resume_unwind(panic);
        }
        if duel.rng.chance(1, 40) {
            duel.bench.sync();
        }
        if step % 400 == 399 {
            duel.compare(&format!("seed {seed}, step {step}"));
            duel.restart();
            duel.compare(&format!("seed {seed}, step {step}, after a restart"));
        }
    }
}

#[test]
fn engine_and_oracle_agree() {
    for seed in 0..8 {
        duel(seed, 2000);
    }
}
