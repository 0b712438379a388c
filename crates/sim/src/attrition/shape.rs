//! Which disks a pool has, as it knows itself, and whether it can do without some of them.

use std::collections::BTreeSet;

use pool::Pool;
use storage::{VdevKind, VdevStat, VdevState};

/// A disk.
#[derive(Clone, Debug)]
pub struct Side {
    pub guid: u64,
    pub path: String,
    pub state: VdevState,
    /// It works, and the pool thinks that it has everything.
    pub is_whole: bool,
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Side),
    Group(VdevKind, Vec<Node>),
}

impl Node {
    fn of(pool: &Pool, stat: &VdevStat) -> Node {
        if !stat.kind.is_leaf() {
            let below = stat.children.iter().map(|child| Node::of(pool, child)).collect();
            return Node::Group(stat.kind.clone(), below);
        }
        Node::Leaf(Side {
            guid: stat.guid,
            path: stat.path.clone().unwrap_or_default(),
            state: stat.state,
            is_whole: pool.core().is_sure_of(stat.guid),
        })
    }

    fn is_held(&self, is_good: &dyn Fn(&str) -> bool) -> bool {
        let Node::Group(kind, below) = self else {
            return self.is_all(&|side| side.is_whole && is_good(&side.path));
        };
        let held = below.iter().filter(|child| child.is_held(is_good)).count();
        let is_sound = |child: &Node| child.is_all(&|side| is_good(&side.path));
        match kind {
            // A removed log leaves a gap.
            VdevKind::Hole => true,
            VdevKind::Raidz(parity) => (below.len() - held) as u64 <= *parity,
            // When the new disk has everything, as far as anybody knows, the old one goes; the
            // spare, when the disk is back. Below a raidz nobody can tell which of them gives wrong
            // bytes.
            VdevKind::Replacing | VdevKind::Spare => held > 0 && below.iter().all(is_sound),
            _ => held > 0,
        }
    }

    fn can_be_had(&self, is_there: &dyn Fn(&str) -> bool) -> bool {
        let Node::Group(kind, below) = self else {
            return self.is_all(&|side| is_there(&side.path));
        };
        let there = below.iter().filter(|child| child.can_be_had(is_there)).count();
        match kind {
            VdevKind::Hole => true,
            VdevKind::Raidz(parity) => (below.len() - there) as u64 <= *parity,
            _ => there > 0,
        }
    }

    /// As it is when the disks of two paths have changed places.
    fn moved(&self, a: &str, b: &str) -> Node {
        match self {
            Node::Leaf(side) => {
                let path = match &side.path {
                    path if path == a => b,
                    path if path == b => a,
                    path => path,
                };
                Node::Leaf(Side { path: path.to_owned(), ..side.clone() })
            }
            Node::Group(kind, below) => {
                Node::Group(kind.clone(), below.iter().map(|child| child.moved(a, b)).collect())
            }
        }
    }

    fn is_all(&self, is: &dyn Fn(&Side) -> bool) -> bool {
        match self {
            Node::Leaf(side) => is(side),
            Node::Group(_, below) => below.iter().all(|child| child.is_all(is)),
        }
    }

    fn visit<'a>(
        &'a self,
        above: Option<&'a VdevKind>,
        each: &mut dyn FnMut(&'a Side, Option<&'a VdevKind>),
    ) {
        match self {
            Node::Leaf(side) => each(side, above),
            Node::Group(kind, below) => below.iter().for_each(|child| child.visit(Some(kind), each)),
        }
    }
}

fn paths(top: &Node) -> Vec<String> {
    let mut paths = Vec::new();
    top.visit(None, &mut |side, _| paths.push(side.path.clone()));
    paths
}

/// The tree of a pool's disks at some moment.
#[derive(Clone, Debug)]
pub struct Shape(Vec<Node>);

impl Shape {
    pub fn of(pool: &Pool) -> Shape {
        let stat = pool.core().storage.status();
        Shape(stat.children.iter().map(|top| Node::of(pool, top)).collect())
    }

    /// As it is when the disks of two paths have changed places.
    pub fn moved(&self, a: &str, b: &str) -> Shape {
        Shape(self.0.iter().map(|top| top.moved(a, b)).collect())
    }

    /// Paths of the disks of each top-level vdev.
    pub fn tops(&self) -> Vec<Vec<String>> {
        self.0.iter().map(paths).collect()
    }

    /// Whether anything of each top-level vdev can be had from these disks.
    pub fn can_be_had(&self, is_there: &dyn Fn(&str) -> bool) -> bool {
        self.0.iter().all(|top| top.can_be_had(is_there))
    }

    /// Whether everything can be had from the whole disks that `is_good` likes, now and after what
    /// the pool does by itself.
    pub fn is_held(&self, is_good: &dyn Fn(&str) -> bool) -> bool {
        self.0.iter().all(|top| top.is_held(is_good))
    }

    /// Paths of disks that have everything, and lacked something when all was like this, or were
    /// not there: spares come by themselves.
    pub fn caught_up_since(&self, before: &Shape) -> BTreeSet<String> {
        let whole: BTreeSet<u64> =
            before.sides().iter().filter(|side| side.is_whole).map(|side| side.guid).collect();
        let now = self.sides().into_iter().filter(|side| side.is_whole && !whole.contains(&side.guid));
        now.map(|side| side.path.clone()).collect()
    }

    /// Whether they have the same disks.
    pub fn is_of(&self, other: &Shape) -> bool {
        let guids = |shape: &Shape| shape.sides().iter().map(|side| side.guid).collect::<Vec<u64>>();
        guids(self) == guids(other)
    }

    pub fn sides(&self) -> Vec<&Side> {
        let mut sides = Vec::new();
        self.0.iter().for_each(|top| top.visit(None, &mut |side, _| sides.push(side)));
        sides
    }

    /// Nothing is lacking, and nothing is being replaced or stood in for.
    pub fn is_settled(&self) -> bool {
        let mut settled = true;
        let passing = |kind: &VdevKind| matches!(kind, VdevKind::Replacing | VdevKind::Spare);
        self.0.iter().for_each(|top| {
            top.visit(None, &mut |side, above| settled &= side.is_whole && !above.is_some_and(passing));
        });
        settled
    }
}
