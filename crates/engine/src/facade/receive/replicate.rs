//! A tree of datasets becomes what it has become at its sender, before and after what is new there
//! comes: what is gone there goes here (with `-F` only), what has another name or another parent
//! there gets it, and clones that were promoted are promoted.
//!
//! Datasets are known by the guids of their snapshots. What cannot have its name yet, for another
//! has it, gets one for the time being (`recv-…`); there is another pass as long as passes get
//! somewhere.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`recv_incremental_replication`, `recv_destroy`,
//! `recv_rename`, `created_before`).

use std::collections::HashSet;
use std::ops::ControlFlow;

use ::pool::change::Change as PoolChange;
use ::pool::recv::Step;
use engine_api::{Change, Error, ReceiveEvent, ReceiveRequest, Received, Result};
use ondisk::nvlist::NvList;

use super::super::family::{Member, parent_from, short_name};
use super::super::pool::LocalPool;
use super::package::Package;
use super::{Tell, props};

/// See the module.
pub(super) struct Replication<'a> {
    pub pool: &'a LocalPool,
    pub request: &'a ReceiveRequest,
    pub package: &'a Package,
    /// Where the tree is received.
    pub top: &'a str,
    /// The snapshot that the streams start from.
    pub from: &'a str,
    /// Tells temporary names from others.
    pub number: u32,
    pub taken: u32,
}

/// What a pass has come to.
#[derive(Default)]
struct Pass {
    /// Something is not as it is to be.
    again: bool,
    progress: bool,
    /// Snapshots, and parents' snapshots, that went, by guid.
    gone: HashSet<u64>,
}

impl Pass {
    fn note(&mut self, done: bool) {
        self.progress |= done;
        self.again |= !done;
    }
}

impl Replication<'_> {
    /// Errors: what is there cannot be listed. What cannot be done with a dataset is told as a
    /// warning.
    pub fn run(&mut self, received: &mut Received, tell: Tell<'_>) -> Result<()> {
        // There may be nothing yet.
        while self.pool.dataset(self.top)?.is_some() {
            let family = self.pool.family(self.top, true)?;
            let mut pass = Pass::default();
            for member in &family {
                if self.member(&family, member, &mut pass, received, tell).is_break() {
                    break;
                }
            }
            if !(pass.again && pass.progress) {
                break;
            }
            self.say(tell, || "another pass:".into());
        }
        Ok(())
    }

    fn say(&self, tell: Tell<'_>, line: impl FnOnce() -> String) {
        if self.request.verbose {
            tell(ReceiveEvent::Line(line()));
        }
    }

    fn member(
        &mut self,
        family: &[Member],
        member: &Member,
        pass: &mut Pass,
        received: &mut Received,
        tell: Tell<'_>,
    ) -> ControlFlow<()> {
        let name = member.name();
        let theirs = member.snapshots.iter().find_map(|snapshot| self.package.find(snapshot.guid));
        if let Some((theirs, _)) = theirs {
            let origin = member.origin.as_ref().map_or(0, |origin| self.pool.guid_of(origin).unwrap_or(0));
            let their_origin = theirs.u64("origin").unwrap_or(0);
            if origin != their_origin {
                pass.again = true;
                let Some(is_promoted) = is_promoted(family, origin, their_origin) else {
                    return ControlFlow::Break(());
                };
                if is_promoted {
                    self.say(tell, || format!("promoting {name}"));
                    pass.progress |= self.commit(Change::Promote { name: name.into() }).is_ok();
                }
                return ControlFlow::Continue(());
            }
        }
        let (mut theirs, mut has_from) = (theirs.map(|(theirs, _)| theirs), false);
        for snapshot in &member.snapshots {
            let Some((list, short)) = self.package.find(snapshot.guid) else {
                if self.request.force {
                    pass.note(self.destroy(&snapshot.name, name.len() + 1, received, tell));
                    pass.gone.insert(snapshot.guid);
                }
                continue;
            };
            theirs = Some(list);
            self.describe(&snapshot.name, snapshot.guid, received);
            if short != short_name(&snapshot.name) {
                let to = format!("{name}@{short}");
                pass.note(self.rename(&snapshot.name, Some(&to), name.len() + 1, received, tell));
            }
            has_from |= short == self.from;
        }
        let parent = parent_from(family, name, Some(self.from), "");
        match theirs {
            None if self.request.force => {
                pass.note(self.destroy(name, self.top.len() + 1, received, tell));
                pass.gone.insert(parent);
            }
            None => {}
            Some(_) if !has_from => self.say(tell, || {
                format!(
                    "local fs {name} does not have fromsnap ({} in stream); must have been deleted locally; ignoring",
                    self.from
                )
            }),
            Some(theirs) => return self.place(family, member, (theirs, parent), pass, received, tell),
        }
        ControlFlow::Continue(())
    }

    /// What the stream says of a snapshot that both have.
    fn describe(&self, snapshot: &str, guid: u64, received: &mut Received) {
        let dsl = &self.pool.pool.dsl;
        let listed = self.package.listed(guid).snapshot_props;
        let props = props::judged(listed, snapshot, &mut received.warnings);
        let permitted = self.pool.permitted(props, snapshot, &mut received.warnings);
        let props = match permitted {
            Ok(props) if dsl.sendable_props(snapshot, true).is_ok_and(|known| known == props) => return,
            Ok(props) => props,
            Err(error) => return received.warnings.push(error.to_string()),
        };
        let step = Step::Describe { snapshot: snapshot.to_owned(), props };
        if let Err(error) = dsl.commit(PoolChange::Receive(Box::new(step)), "") {
            tracing::warn!(snapshot, %error, "what a stream says of a snapshot is not kept");
        }
    }

    /// A dataset that both have gets its parent and its name.
    fn place(
        &mut self,
        family: &[Member],
        member: &Member,
        (theirs, parent): (&NvList, u64),
        pass: &mut Pass,
        received: &mut Received,
        tell: Tell<'_>,
    ) -> ControlFlow<()> {
        let name = member.name();
        let their_parent = theirs.u64("parentfromsnap").unwrap_or(0);
        let is_moved = their_parent != 0 && parent != 0 && their_parent != parent;
        if is_moved && pass.gone.contains(&parent) {
            (pass.progress, pass.again) = (true, true);
            return ControlFlow::Break(());
        }
        let tail = |name: &str| name.rfind('/').map(|at| name[at..].to_owned());
        let (ours, their_tail) = (tail(name), tail(theirs.string("name").unwrap_or_default()));
        let may_differ = !self.request.keep_path && name == self.top;
        let is_renamed = !may_differ && ours.is_some() && their_tail.is_some() && ours != their_tail;
        if !is_moved && !is_renamed {
            return ControlFlow::Continue(());
        }
        let new_parent = family
            .iter()
            .find(|other| other.snapshots.iter().any(|snapshot| snapshot.guid == their_parent))
            .filter(|_| their_parent != 0);
        let to = new_parent.zip(their_tail).map(|(parent, tail)| format!("{}{tail}", parent.name()));
        if to.is_none() {
            self.say(tell, || format!("local fs {name} new parent not found"));
        }
        pass.note(self.rename(name, to.as_deref(), self.top.len() + 1, received, tell));
        ControlFlow::Continue(())
    }

    fn commit(&self, change: Change) -> Result<()> {
        self.pool.make_change(&change, "").map(drop)
    }

    /// Whether it is gone; what cannot be gets another name.
    fn destroy(&mut self, name: &str, base: usize, received: &mut Received, tell: Tell<'_>) -> bool {
        self.say(tell, || format!("attempting destroy {name}"));
        let names = vec![name.to_owned()];
        let done = self.commit(Change::Destroy { names, defer: name.contains('@') });
        if done.is_ok() {
            self.say(tell, || "success".into());
        }
        if done.is_ok() && self.pool.pool.dsl.object_of(name).is_err() {
            received.gone.push(name.to_owned());
            return true;
        }
        self.rename(name, None, base, received, tell)
    }

    /// Whether it has the name that it is to have. `base`: bytes of the name that stay.
    fn rename(
        &mut self,
        from: &str,
        to: Option<&str>,
        base: usize,
        received: &mut Received,
        tell: Tell<'_>,
    ) -> bool {
        let mut done = Err(Error::NotFound);
        if let Some(to) = to {
            self.say(tell, || format!("attempting rename {from} to {to}"));
            done = self.rename_now(from, to, received);
        }
        let is_temporary = from.get(base..).is_some_and(|tail| tail.starts_with("recv-"));
        match &done {
            Ok(()) => self.say(tell, || "success".into()),
            Err(error) if is_temporary => self.say(tell, || format!("failed ({error})")),
            Err(_) => {
                self.taken += 1;
                let kept = from.get(..base).unwrap_or_default();
                let to = format!("{kept}recv-{}-{}", self.number, self.taken);
                self.say(tell, || format!("failed - trying rename {from} to {to}"));
                if let Err(error) = self.rename_now(from, &to, received) {
                    self.say(tell, || format!("failed ({error}) - will try again on next pass"));
                }
                return false;
            }
        }
        done.is_ok()
    }

    fn rename_now(&self, from: &str, to: &str, received: &mut Received) -> Result<()> {
        let (from, to) = (from.to_owned(), to.to_owned());
        let rename = Change::Rename { from: from.clone(), to: to.clone(), parents: false, recursive: false };
        self.commit(rename)?;
        if !from.contains('@') {
            received.gone.push(from);
            received.new.push(to);
        }
        Ok(())
    }
}

/// Whether the clone was promoted at the sender: its origin there is younger than here, or it has
/// none. `None`: it is older, which cannot be followed.
fn is_promoted(family: &[Member], origin: u64, their_origin: u64) -> Option<bool> {
    if origin == 0 {
        return Some(false);
    }
    if their_origin == 0 {
        return Some(true);
    }
    let txg = |guid: u64| {
        let mut snapshots = family.iter().flat_map(|member| &member.snapshots);
        snapshots.find(|snapshot| snapshot.guid == guid).map(|snapshot| snapshot.createtxg)
    };
    let (ours, theirs) = (txg(origin)?, txg(their_origin)?);
    (theirs >= ours).then_some(theirs > ours)
}
