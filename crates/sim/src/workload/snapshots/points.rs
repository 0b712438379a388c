//! The model: heads with what they hold, and their points in time.
//!
//! Snapshots have numbers in the order of their making; a clone knows its origin by that, whatever
//! it is called and to whichever head it belongs by now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine_api::Change;

/// The head above all others; it stays.
pub const TREE: &str = "sim/points";

/// Bytes by name.
pub type Files = BTreeMap<String, Arc<Vec<u8>>>;

/// A dataset as somebody sees it from outside: its name, facts in words, and what it holds.
pub type Picture = BTreeMap<String, (String, Files)>;

#[derive(Clone, Debug)]
pub struct Snapshot {
    number: u64,
    pub name: String,
    files: Files,
    tags: BTreeSet<String>,
    /// It goes when nothing keeps it any more.
    put_off: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Head {
    pub files: Files,
    pub origin: Option<u64>,
    /// The oldest first.
    pub snapshots: Vec<Snapshot>,
    /// The snapshots they are of, which may be gone.
    pub bookmarks: BTreeMap<String, u64>,
}

impl Head {
    pub fn has(&self, snapshot: &str) -> bool {
        self.snapshots.iter().any(|one| one.name == snapshot)
    }

    /// What else there is to know of it: where it comes from, and its snapshots in order.
    pub fn fact(origin: &str, snapshots: &[&str]) -> String {
        format!("origin {origin}, snapshots {snapshots:?}")
    }
}

impl Snapshot {
    pub fn fact(tags: &[&str], put_off: bool) -> String {
        format!("tags {tags:?}, {}", if put_off { "put off" } else { "stays" })
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Points {
    pub heads: BTreeMap<String, Head>,
    taken: u64,
}

impl Points {
    /// The tree with nothing below.
    pub fn begin() -> Points {
        Points { heads: BTreeMap::from([(TREE.to_owned(), Head::default())]), taken: 0 }
    }

    /// A change that is not refused has been made. `None`: it has to be refused.
    pub fn after(&self, change: &Change) -> Option<Points> {
        let mut next = self.clone();
        let made = match change {
            Change::CreateFilesystem { name, .. } => next.create(name, Head::default()),
            Change::Snapshot { names, recursive, .. } => next.take(&names[0], *recursive),
            Change::Destroy { names, defer, .. } => next.destroy(names, *defer),
            Change::Rollback { snapshot } => next.roll_back(snapshot),
            Change::Clone { snapshot, name, .. } => next.clone_from(snapshot, name),
            Change::Promote { name } => next.promote(name),
            Change::Bookmark { source, name } => next.bookmark(source, name),
            Change::Hold { snapshots, tag, recursive } => next.hold(&snapshots[0], tag, *recursive),
            Change::Release { snapshots, tag, recursive } => next.release(&snapshots[0], tag, *recursive),
            Change::Rename { from, to, recursive, .. } if from.contains('@') => {
                next.rename_snapshot(from, to, *recursive)
            }
            Change::Rename { from, to, .. } => next.rename(from, to),
            _ => unreachable!("not drawn"),
        };
        made.map(|()| next)
    }

    pub fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        for (name, head) in &self.heads {
            let origin = head.origin.map_or_else(String::new, |number| self.name_of(number));
            let names: Vec<&str> = head.snapshots.iter().map(|one| one.name.as_str()).collect();
            picture.insert(name.clone(), (Head::fact(&origin, &names), head.files.clone()));
            for one in &head.snapshots {
                let tags: Vec<&str> = one.tags.iter().map(String::as_str).collect();
                let fact = Snapshot::fact(&tags, one.put_off);
                picture.insert(format!("{name}@{}", one.name), (fact, one.files.clone()));
            }
            for mark in head.bookmarks.keys() {
                picture.insert(format!("{name}#{mark}"), Default::default());
            }
        }
        picture
    }

    fn name_of(&self, number: u64) -> String {
        let (head, at) = self.place(number).expect("an origin cannot go");
        format!("{head}@{}", self.heads[head].snapshots[at].name)
    }

    fn place(&self, number: u64) -> Option<(&str, usize)> {
        let at = |head: &Head| head.snapshots.iter().position(|one| one.number == number);
        self.heads.iter().find_map(|(name, head)| Some((name.as_str(), at(head)?)))
    }

    fn snapshot(&mut self, name: &str) -> Option<&mut Snapshot> {
        let (head, name) = name.split_once('@')?;
        self.heads.get_mut(head)?.snapshots.iter_mut().find(|one| one.name == name)
    }

    /// The snapshots meant by one's name: with `recursive`, those of the same name of all heads.
    fn meant(&self, name: &str, recursive: bool) -> Vec<String> {
        let (head, short) = name.split_once('@').expect("a snapshot's name");
        let is_meant = |at: &str| at == head || (recursive && at.starts_with(&format!("{head}/")));
        let with = self.heads.iter().filter(|(at, one)| is_meant(at) && one.has(short));
        with.map(|(at, _)| format!("{at}@{short}")).collect()
    }

    fn is_cloned(&self, number: u64) -> bool {
        self.heads.values().any(|head| head.origin == Some(number))
    }

    /// Takes along what was only waiting for the last that kept it.
    fn settle(&mut self) {
        let origins: BTreeSet<u64> = self.heads.values().filter_map(|head| head.origin).collect();
        let is_kept = |one: &Snapshot| !one.tags.is_empty() || origins.contains(&one.number);
        self.heads.values_mut().for_each(|head| head.snapshots.retain(|one| !one.put_off || is_kept(one)));
    }

    fn create(&mut self, name: &str, head: Head) -> Option<()> {
        self.heads.insert(name.to_owned(), head).is_none().then_some(())
    }

    fn take(&mut self, name: &str, recursive: bool) -> Option<()> {
        let (head, short) = name.split_once('@')?;
        self.heads.get(head)?;
        for (at, one) in &mut self.heads {
            if at != head && !(recursive && at.starts_with(&format!("{head}/"))) {
                continue;
            }
            if one.has(short) {
                return None;
            }
            self.taken += 1;
            one.snapshots.push(Snapshot {
                number: self.taken,
                name: short.to_owned(),
                files: one.files.clone(),
                tags: BTreeSet::new(),
                put_off: false,
            });
        }
        Some(())
    }

    fn destroy(&mut self, names: &[String], defer: bool) -> Option<()> {
        for name in names {
            if let Some((head, mark)) = name.split_once('#') {
                self.heads.get_mut(head)?.bookmarks.remove(mark)?;
            } else if name.contains('@') {
                self.destroy_snapshot(name, defer)?;
            } else {
                // Its snapshots are named before it, if it has any.
                let head = self.heads.remove(name)?;
                head.snapshots.is_empty().then_some(())?;
                self.settle();
            }
        }
        Some(())
    }

    fn destroy_snapshot(&mut self, name: &str, defer: bool) -> Option<()> {
        // One that is gone already is passed over.
        let Some(one) = self.snapshot(name) else { return Some(()) };
        let (number, has_tags) = (one.number, !one.tags.is_empty());
        if !has_tags && !self.is_cloned(number) {
            let (head, short) = name.split_once('@')?;
            self.heads.get_mut(head)?.snapshots.retain(|one| one.name != short);
            return Some(());
        }
        self.snapshot(name)?.put_off |= defer;
        defer.then_some(())
    }

    fn roll_back(&mut self, name: &str) -> Option<()> {
        let (head, short) = name.split_once('@')?;
        let head = self.heads.get_mut(head)?;
        let last = head.snapshots.last().filter(|last| last.name == short)?;
        let is_latest = head.bookmarks.values().all(|mark| *mark <= last.number);
        head.files = last.files.clone();
        is_latest.then_some(())
    }

    fn clone_from(&mut self, snapshot: &str, name: &str) -> Option<()> {
        let from = self.snapshot(snapshot)?;
        let head = Head { files: from.files.clone(), origin: Some(from.number), ..Head::default() };
        self.create(name, head)
    }

    fn promote(&mut self, name: &str) -> Option<()> {
        let origin = self.heads.get(name)?.origin?;
        let (before, at) = self.place(origin).map(|(head, at)| (head.to_owned(), at))?;
        let old = self.heads.get_mut(&before)?;
        let shared: Vec<Snapshot> = old.snapshots.drain(..=at).collect();
        let (marks, later) =
            std::mem::take(&mut old.bookmarks).into_iter().partition(|(_, of)| *of <= origin);
        old.bookmarks = later;
        let above = old.origin.replace(origin);
        let head = self.heads.get_mut(name)?;
        if shared.iter().any(|one| head.has(&one.name)) {
            return None;
        }
        let marks: BTreeMap<String, u64> = marks;
        if marks.keys().any(|mark| head.bookmarks.contains_key(mark)) {
            return None;
        }
        head.snapshots.splice(0..0, shared);
        head.bookmarks.extend(marks);
        head.origin = above;
        Some(())
    }

    fn bookmark(&mut self, source: &str, name: &str) -> Option<()> {
        let of = match source.split_once('#') {
            Some((head, mark)) => *self.heads.get(head)?.bookmarks.get(mark)?,
            None => self.snapshot(source)?.number,
        };
        let (head, mark) = name.split_once('#')?;
        self.heads.get_mut(head)?.bookmarks.insert(mark.to_owned(), of).is_none().then_some(())
    }

    fn hold(&mut self, name: &str, tag: &str, recursive: bool) -> Option<()> {
        let meant = self.meant(name, recursive);
        let all =
            meant.iter().all(|one| self.snapshot(one).is_some_and(|one| one.tags.insert(tag.to_owned())));
        (all && !meant.is_empty()).then_some(())
    }

    fn release(&mut self, name: &str, tag: &str, recursive: bool) -> Option<()> {
        let meant = self.meant(name, recursive);
        let held =
            meant.iter().filter(|one| self.snapshot(one).is_some_and(|one| one.tags.remove(tag))).count();
        self.settle();
        (held > 0).then_some(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Option<()> {
        let head = self.heads.remove(from)?;
        (from != to).then_some(())?;
        self.create(to, head)
    }

    fn rename_snapshot(&mut self, from: &str, to: &str, recursive: bool) -> Option<()> {
        let to = to.split_once('@').map_or(to, |(_, to)| to);
        self.snapshot(from)?;
        for name in self.meant(from, recursive) {
            let (head, _) = name.split_once('@')?;
            if self.heads[head].has(to) {
                return None;
            }
            self.snapshot(&name)?.name = to.to_owned();
        }
        Some(())
    }
}
