//! What an operator does next with snapshots: as a rule something that can be done, now and then
//! not.

use engine_api::{Change, PropertyChange};
use stdx::prng::Prng;

use super::points::{Points, TREE};

/// Heads below the tree, and names for snapshots and bookmarks: few, so that they meet.
const HEADS: [&str; 4] = ["w", "x", "y", "z"];
const NAMES: u64 = 5;
const TAGS: [&str; 2] = ["keep", "hold"];

pub fn change(now: &Points, prng: &mut Prng) -> Change {
    let recursive = prng.chance(1, 4);
    let mut draw = Draw { now, prng, recursive };
    match draw.prng.weighted(&[2, 14, 8, 4, 2, 4, 6, 5, 4, 4, 4, 3, 2]) {
        0 => Change::CreateFilesystem { name: draw.place(), parents: false, props: Vec::new() },
        1 => {
            let head = if recursive { TREE.to_owned() } else { draw.head() };
            let names = vec![format!("{head}@{}", draw.name())];
            let props = vec![PropertyChange { name: "sim:by".into(), value: "hand".into() }];
            Change::Snapshot { names, recursive, props }
        }
        2 => draw.destroy_snapshots(),
        3 => draw.destroy_head(),
        4 => Change::Destroy { names: vec![draw.mark()], defer: false },
        5 => Change::Rollback { snapshot: draw.last() },
        6 => {
            let (snapshot, name) = (draw.snapshot(), draw.place());
            Change::Clone { snapshot, name, parents: false, props: Vec::new() }
        }
        7 => Change::Promote { name: draw.clone() },
        8 => {
            let source = if draw.prng.chance(1, 4) { draw.mark() } else { draw.snapshot() };
            let head = source.split(['@', '#']).next().unwrap_or_default();
            let name = format!("{head}#{}", draw.name());
            Change::Bookmark { source, name }
        }
        9 => Change::Hold { snapshots: vec![draw.meant()], tag: draw.tag(), recursive },
        10 => Change::Release { snapshots: vec![draw.meant()], tag: draw.tag(), recursive },
        11 => {
            let from = draw.meant();
            let head = from.split('@').next().unwrap_or_default();
            let to = format!("{head}@{}", draw.name());
            Change::Rename { from, to, parents: false, recursive }
        }
        _ => {
            let (from, to) = (draw.place(), draw.place());
            Change::Rename { from, to, parents: false, recursive: false }
        }
    }
}

struct Draw<'a> {
    now: &'a Points,
    prng: &'a mut Prng,
    /// Snapshots of one name all over the tree are meant.
    recursive: bool,
}

impl Draw<'_> {
    fn head(&mut self) -> String {
        let heads: Vec<&String> = self.now.heads.keys().collect();
        (*self.prng.pick(&heads).expect("the tree stays")).clone()
    }

    /// Where there may be a head below the tree.
    fn place(&mut self) -> String {
        format!("{TREE}/{}", self.prng.pick(&HEADS).expect("some"))
    }

    fn clone(&mut self) -> String {
        let clones: Vec<&String> =
            self.now.heads.iter().filter(|(_, head)| head.origin.is_some()).map(|(name, _)| name).collect();
        self.prng.pick(&clones).map_or_else(|| self.place(), |name| (*name).clone())
    }

    fn name(&mut self) -> String {
        format!("n{}", self.prng.below(NAMES))
    }

    fn snapshot(&mut self) -> String {
        let all: Vec<String> = self
            .now
            .heads
            .iter()
            .flat_map(|(head, one)| one.snapshots.iter().map(move |snap| format!("{head}@{}", snap.name)))
            .collect();
        self.prng.pick(&all).cloned().unwrap_or_else(|| format!("{TREE}@{}", self.name()))
    }

    /// The last of some head, mostly.
    fn last(&mut self) -> String {
        let head = self.head();
        match self.now.heads[&head].snapshots.last() {
            Some(last) if self.prng.chance(7, 8) => format!("{head}@{}", last.name),
            _ => self.snapshot(),
        }
    }

    /// One, or those of its name all over the tree.
    fn meant(&mut self) -> String {
        let name = self.snapshot();
        match name.split_once('@') {
            Some((_, short)) if self.recursive => format!("{TREE}@{short}"),
            _ => name,
        }
    }

    fn mark(&mut self) -> String {
        let head = self.head();
        let marks: Vec<&String> = self.now.heads[&head].bookmarks.keys().collect();
        let mark = self.prng.pick(&marks).map(|mark| (*mark).clone());
        format!("{head}#{}", mark.unwrap_or_else(|| self.name()))
    }

    fn tag(&mut self) -> String {
        (*self.prng.pick(&TAGS).expect("some")).to_owned()
    }

    /// Some of one head.
    fn destroy_snapshots(&mut self) -> Change {
        let head = self.head();
        let mut names: Vec<String> =
            self.now.heads[&head].snapshots.iter().map(|one| one.name.clone()).collect();
        while names.len() > 1 && self.prng.chance(2, 3) {
            names.remove(self.prng.below(names.len() as u64) as usize);
        }
        if names.is_empty() {
            names.push(self.name());
        }
        let names = names.into_iter().map(|name| format!("{head}@{name}")).collect();
        Change::Destroy { names, defer: self.prng.chance(1, 3) }
    }

    /// With its snapshots, if nobody has forgotten them.
    fn destroy_head(&mut self) -> Change {
        let head = self.place();
        let mut names = Vec::new();
        if self.prng.chance(7, 8) {
            let snapshots = self.now.heads.get(&head).map_or(&[][..], |one| &one.snapshots);
            names.extend(snapshots.iter().map(|one| format!("{head}@{}", one.name)));
        }
        names.push(head);
        Change::Destroy { names, defer: self.prng.chance(1, 4) }
    }
}
