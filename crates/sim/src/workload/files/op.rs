//! One call of a file system as a value, so that it can be made of the engine and of its model.

use engine_api::{
    Attr, CreateMode, Cred, FileSystem, NewNode, NodeId, RenameMode, Result, SetAttr, SetTime, Stable, Time,
    XattrMode,
};
use stdx::prng::Prng;

/// Which node, by its place in the list of known ones.
pub type Which = usize;
pub type Name = Vec<u8>;

/// See the module.
#[derive(Clone, Debug)]
pub enum Op {
    Create { dir: Which, name: Name, mode: CreateMode, attr: SetAttr },
    Make { dir: Which, name: Name, what: NewNode },
    Write { node: Which, offset: u64, data: Vec<u8>, stable: Stable },
    Append { node: Which, data: Vec<u8> },
    Punch { node: Which, offset: u64, len: u64 },
    SetAttr { node: Which, set: SetAttr },
    Link { node: Which, dir: Which, name: Name },
    Remove { dir: Which, name: Name },
    Rmdir { dir: Which, name: Name },
    Rename { from: (Which, Name), to: (Which, Name), mode: RenameMode },
    SetXattr { node: Which, name: Name, value: Vec<u8>, mode: XattrMode },
    RemoveXattr { node: Which, name: Name },
    Read { node: Which, offset: u64, len: usize },
    Lookup { dir: Which, name: Name },
    GetAttr { node: Which },
    ReadLink { node: Which },
    ListXattr { node: Which },
    Commit { node: Which },
    Open { node: Which },
    Close { node: Which },
}

/// What a call gave, as far as engine and model must agree on it.
#[derive(Debug, Default)]
pub struct Outcome {
    pub attr: Option<Attr>,
    pub bytes: Vec<u8>,
    pub names: Vec<Vec<u8>>,
}

impl Outcome {
    fn of(attr: Attr) -> Outcome {
        Outcome { attr: Some(attr), ..Outcome::default() }
    }

    fn bytes(bytes: Vec<u8>) -> Outcome {
        Outcome { bytes, ..Outcome::default() }
    }
}

impl Op {
    /// Makes the call; `ids` are the known nodes as this file system names them.
    pub fn run(&self, fs: &dyn FileSystem, ids: &dyn Fn(Which) -> NodeId) -> Result<Outcome> {
        let root = &Cred::root();
        Ok(match self {
            Op::Create { dir, name, mode, attr } => {
                Outcome::of(fs.create(root, ids(*dir), name, *mode, attr)?.attr)
            }
            Op::Make { dir, name, what } => {
                Outcome::of(fs.make(root, ids(*dir), name, what, &SetAttr::default())?.attr)
            }
            Op::Write { node, offset, data, stable } => {
                Outcome::of(fs.write(root, ids(*node), *offset, data, *stable)?.after)
            }
            Op::Append { node, data } => {
                Outcome::of(fs.append(root, ids(*node), data, Stable::Unstable)?.1.after)
            }
            Op::Punch { node, offset, len } => {
                fs.punch(root, ids(*node), *offset, *len)?;
                Outcome::of(fs.getattr(ids(*node))?)
            }
            Op::SetAttr { node, set } => Outcome::of(fs.setattr(root, ids(*node), set)?.1),
            Op::Link { node, dir, name } => Outcome::of(fs.link(root, ids(*node), ids(*dir), name)?.0),
            Op::Remove { dir, name } => Outcome::of(fs.remove(root, ids(*dir), name)?.after),
            Op::Rmdir { dir, name } => Outcome::of(fs.rmdir(root, ids(*dir), name)?.after),
            Op::Rename { from, to, mode } => {
                let change = fs.rename(root, (ids(from.0), &from.1), (ids(to.0), &to.1), *mode)?;
                Outcome::of(change.1.after)
            }
            Op::SetXattr { node, name, value, mode } => {
                fs.setxattr(root, ids(*node), name, value, *mode)?;
                Outcome::default()
            }
            Op::RemoveXattr { node, name } => {
                fs.removexattr(root, ids(*node), name)?;
                Outcome::default()
            }
            Op::Read { node, offset, len } => {
                Outcome::bytes(fs.read(root, ids(*node), *offset, *len)?.to_vec())
            }
            Op::Lookup { dir, name } => Outcome::of(fs.lookup(root, ids(*dir), name)?),
            Op::GetAttr { node } => Outcome::of(fs.getattr(ids(*node))?),
            Op::ReadLink { node } => Outcome::bytes(fs.readlink(root, ids(*node))?),
            Op::ListXattr { node } => {
                let mut names = fs.listxattr(root, ids(*node))?;
                names.sort();
                Outcome { names, ..Outcome::default() }
            }
            Op::Commit { node } => {
                fs.commit(ids(*node))?;
                Outcome::default()
            }
            Op::Open { node } => {
                fs.open(ids(*node))?;
                Outcome::default()
            }
            Op::Close { node } => {
                fs.close(ids(*node));
                Outcome::default()
            }
        })
    }

    /// The node that is written or committed.
    pub fn node(&self) -> Option<Which> {
        match self {
            Op::Write { node, .. } | Op::Append { node, .. } | Op::Commit { node } => Some(*node),
            _ => None,
        }
    }

    /// It only looks.
    pub fn is_read(&self) -> bool {
        matches!(
            self,
            Op::Read { .. }
                | Op::Lookup { .. }
                | Op::GetAttr { .. }
                | Op::ReadLink { .. }
                | Op::ListXattr { .. }
                | Op::Commit { .. }
        )
    }

    /// It makes a node, which becomes known.
    pub fn makes(&self) -> bool {
        matches!(self, Op::Create { .. } | Op::Make { .. })
    }
}

/// How operations are drawn: weights by kind, and sizes.
#[derive(Clone, Debug)]
pub struct Taste {
    pub weights: [u32; 19],
    pub write_max: u64,
    /// File offsets are below this.
    pub span: u64,
    /// Different names in use.
    pub names: u64,
}

impl Taste {
    /// A swarm: each kind is off, usual or frequent.
    pub fn draw(prng: &mut Prng, write_max: u64) -> Taste {
        let usual = [12, 6, 20, 4, 4, 10, 3, 6, 2, 6, 5, 2, 6, 3, 3, 1, 1, 3, 1];
        let weights = usual.map(|weight| weight * *prng.pick(&[0, 1, 1, 3]).expect("some"));
        let weights = if weights.iter().sum::<u32>() == 0 { usual } else { weights };
        let span = *prng.pick(&[64 << 10, 1 << 20, 8 << 20]).expect("some");
        let names = *prng.pick(&[4, 16, 200]).expect("some");
        Taste { weights, write_max, span, names }
    }

    /// The next operation on the known nodes: of each, whether it is a directory.
    pub fn next(&self, known: &[bool], now: Time, prng: &mut Prng) -> Op {
        // Mostly of the right kind, sometimes of any.
        let pick = |prng: &mut Prng, want_dir: bool| {
            let any = prng.chance(1, 16);
            let fit = |n: &Which| any || known[*n] == want_dir;
            let fitting: Vec<Which> = (0..known.len()).filter(fit).collect();
            prng.pick(&fitting).copied().unwrap_or(0)
        };
        let (node, dir) = (pick(prng, false), pick(prng, true));
        let name = self.name(prng);
        match prng.weighted(&self.weights) {
            0 => Op::Create {
                dir,
                name,
                mode: create_mode(prng),
                attr: SetAttr { mode: Some(0o640), ..SetAttr::default() },
            },
            1 => Op::Make { dir, name, what: new_node(prng) },
            2 => Op::Write { node, offset: self.offset(prng), data: self.data(prng), stable: stable(prng) },
            3 => Op::Append { node, data: self.data(prng) },
            4 => Op::Punch { node, offset: self.offset(prng), len: prng.below(self.span) + 1 },
            5 => Op::SetAttr { node, set: self.set(now, prng) },
            6 => Op::Link { node, dir, name },
            7 => Op::Remove { dir, name },
            8 => Op::Rmdir { dir, name },
            9 => {
                let modes =
                    [RenameMode::Replace, RenameMode::Replace, RenameMode::NoReplace, RenameMode::Exchange];
                let mode = *prng.pick(&modes).expect("some");
                Op::Rename { from: (dir, name), to: (pick(prng, true), self.name(prng)), mode }
            }
            10 => {
                let modes = [XattrMode::Either, XattrMode::Create, XattrMode::Replace];
                let longest = *prng.pick(&[10, 300, 5000]).expect("some");
                let mut value = vec![0; prng.below(longest) as usize];
                prng.fill(&mut value);
                Op::SetXattr { node, name: xattr(prng), value, mode: *prng.pick(&modes).expect("some") }
            }
            11 => Op::RemoveXattr { node, name: xattr(prng) },
            12 => Op::Read { node, offset: self.offset(prng), len: prng.below(300 << 10) as usize },
            13 => Op::Lookup { dir, name },
            14 => Op::GetAttr { node },
            15 => Op::ReadLink { node },
            16 => Op::ListXattr { node },
            17 => Op::Commit { node },
            _ => Op::Open { node },
        }
    }

    fn name(&self, prng: &mut Prng) -> Name {
        let number = prng.below(self.names);
        // Every seventh name is long: it does not fit into a micro ZAP.
        if number % 7 == 6 {
            format!("{number:0>80}").into_bytes()
        } else {
            format!("n{number}").into_bytes()
        }
    }

    fn offset(&self, prng: &mut Prng) -> u64 {
        match prng.below(12) {
            0 => 1 << prng.range(20, 50),
            1..4 => 0,
            4..8 => prng.below(self.span) & !511,
            _ => prng.below(self.span),
        }
    }

    fn data(&self, prng: &mut Prng) -> Vec<u8> {
        let mut data = vec![0; prng.below(self.write_max) as usize + 1];
        match prng.below(6) {
            0 => {}
            1 => data.fill(prng.next_u64() as u8),
            _ => prng.fill(&mut data),
        }
        data
    }

    fn set(&self, now: Time, prng: &mut Prng) -> SetAttr {
        let mut set = SetAttr::default();
        match prng.below(5) {
            0..2 => set.size = Some(self.offset(prng)),
            2 => set.mode = Some(prng.below(0o10000) as u32),
            3 => (set.uid, set.gid) = (Some(prng.below(3) as u32), Some(prng.below(3) as u32)),
            _ => {
                set.atime = Some(SetTime::Now);
                set.mtime = Some(SetTime::To(Time { secs: now.secs - 1000, nanos: 5 }));
            }
        }
        set
    }
}

fn create_mode(prng: &mut Prng) -> CreateMode {
    match prng.below(4) {
        0 => CreateMode::Unchecked,
        1 => CreateMode::Exclusive { verifier: prng.below(4) },
        _ => CreateMode::Guarded,
    }
}

fn new_node(prng: &mut Prng) -> NewNode {
    match prng.below(8) {
        0..4 => NewNode::Dir,
        4 => NewNode::Symlink { target: vec![b't'; prng.below(200) as usize + 1] },
        5 => NewNode::Symlink { target: vec![b'u'; prng.below(2000) as usize + 1] },
        6 => NewNode::Fifo,
        _ => NewNode::CharDev { major: prng.below(300) as u32, minor: prng.below(300) as u32 },
    }
}

fn stable(prng: &mut Prng) -> Stable {
    *prng.pick(&[Stable::Unstable; 12]).filter(|_| prng.chance(11, 12)).unwrap_or(&Stable::FileSync)
}

fn xattr(prng: &mut Prng) -> Name {
    format!("user.x{}", prng.below(5)).into_bytes()
}
