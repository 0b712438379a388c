//! Who may do what: the one place where that is decided.
//!
//! Whom a thread works for, `stdx::behalf` knows, with a rank. An administrator may do everything:
//! root, and the user that the daemon runs as; so may the program itself, and thus whoever reaches
//! the engine through a server that has its own rules. An operator does the daily work, which sets
//! no property and destroys nothing, but for a snapshot that an administrator had destroyed as soon
//! as nobody holds it. A reader reads what is not everybody's ([`rank_for`] says which rank a deed
//! takes). All others may read what `zfs list`, `get` and `zpool status` show. Whatever the rank,
//! somebody may do what was delegated to him, dataset by dataset (`zfs allow`).
//! A [`Deed`] says what somebody is about to do, [`LocalPool::needs`] which permissions it takes,
//! as OpenZFS's kernel asks for them, and [`LocalPool::permit`] whether he has them. Every method
//! of `Pool` that changes something, or tells what is not everybody's, asks first.
//!
//! Invariants: a deed takes an administrator until this module says otherwise. Who is held to a
//! dataset (a token's scope) changes nothing outside it, whatever his rank: neither other datasets
//! nor the pool and its devices, nor the machine, which the properties of [`OF_THE_MACHINE`] and
//! those named `cistern:…` reach. What he reads is not limited by that.
//!
//! Properties named `cistern:…` say how this program serves a volume: they are an administrator's
//! alone, who is held to nothing. So is what a pool keeps of the machine's own state
//! ([`is_of_machine`]): it has password hashes and keys, and becomes the machine's state again.
//! Nobody else makes, changes, clones, sends or receives any of it, whatever is delegated to him
//! above. Snapshots of it, which show nothing, come and go as anywhere.
//!
//! Source: module/zfs/zfs_ioctl.c (`zfs_secpolicy_*`, `zfs_check_settable`), dsl_deleg.c
//! (`dsl_deleg_can_allow`, `dsl_deleg_can_unallow`).

use std::sync::Arc;

use ::pool::PoolError;
use ::pool::dsl::deleg::Place;
use engine_api::lock;
use engine_api::{
    Change, DatasetInfo, DatasetProperty, Error, Grant, Grantee, PropertyChange, ReceiveRequest, Result,
    SendRequest, Spender, is_of_machine,
};
use ondisk::prop::{self, UserspaceProp};
use refusal::{Action, Reason, Refused};
use stdx::behalf::{self, Actor, Rank};

use super::convert::{api_error, spender};
use super::family::{HEADS, below};
use super::pool::LocalPool;

/// What somebody is about to do.
#[derive(Clone, Copy)]
pub(super) enum Deed<'a> {
    /// Reading what is not everybody's: a pool's history and errors, estimates of its use.
    Inspect,
    /// Daily work with a pool that changes nothing of it.
    Operate,
    Change(&'a Change),
    Send(&'a SendRequest),
    Receive(&'a ReceiveRequest, Landing<'a>),
    /// Comparing a snapshot, or what a dataset holds now: a temporary snapshot is taken of that.
    Diff(&'a str),
    SpaceUse(&'a str, Spender),
}

/// Where a stream comes to lie, which its names and guids have a say in.
#[derive(Clone, Copy)]
pub(super) struct Landing<'a> {
    /// A dataset, or its snapshot.
    pub into: &'a str,
    /// The snapshot that it becomes a clone of.
    pub origin: Option<&'a str>,
}

/// The least rank that does a deed without a delegation.
fn rank_for(deed: Deed<'_>) -> Rank {
    match deed {
        Deed::Diff(name) if !name.contains('@') => Rank::Operator,
        Deed::Inspect | Deed::Diff(_) | Deed::SpaceUse(..) => Rank::Reader,
        Deed::Operate => Rank::Operator,
        Deed::Change(change) if is_daily_work(change) => Rank::Operator,
        Deed::Change(_) | Deed::Send(_) | Deed::Receive(..) => Rank::Administrator,
    }
}

/// What an operator may change: it can be done again or taken back, and loses nothing that was to
/// be kept.
fn is_daily_work(change: &Change) -> bool {
    match change {
        // Properties of a snapshot are properties.
        Change::Snapshot { props, .. } => props.is_empty(),
        // A lock cannot be taken back.
        Change::Hold { tag, .. } => !lock::is_meant(tag),
        // A device that expands the pool stays so.
        Change::OnlineVdev { expand, .. } => !expand,
        Change::Bookmark { .. }
        | Change::Release { .. }
        | Change::OfflineVdev { .. }
        | Change::TrimVdevs { .. }
        | Change::InitializeVdevs { .. }
        | Change::Scan(_)
        | Change::ClearErrors { .. } => true,
        _ => false,
    }
}

/// Whether a dataset, snapshot or bookmark is `root` or below it.
fn is_within(name: &str, root: &str) -> bool {
    name.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@', '#']))
}

/// Properties by which a file system reaches into the machine: where it is mounted and shared, and
/// what its files may do there.
const OF_THE_MACHINE: [&str; 6] = ["mountpoint", "overlay", "sharenfs", "sharesmb", "setuid", "devices"];
/// Limits of a dataset for the sake of those around it.
const LIMITS: [&str; 3] = ["quota", "filesystem_limit", "snapshot_limit"];

/// Whether who is held to `root` may be asked about a permission there: it is within, and so is
/// what it leads to. The limits of `root` itself are for whoever holds him there, as those of a
/// zone's datasets are in OpenZFS.
fn holds(root: &str, at: &At, permission: &str) -> bool {
    let is_root = matches!(at, At::Dataset(name) if name == root);
    // A set may have any of these, and may get more.
    let reaches_out = OF_THE_MACHINE.contains(&permission)
        || permission.starts_with('@')
        || (is_root && LIMITS.contains(&permission));
    is_within(at.name(), root) && !reaches_out
}

/// What a deed takes.
enum Needs {
    /// It is about no dataset: a rank, or nothing.
    Administrator,
    /// All of these.
    Permissions(Vec<Need>),
}

/// One of some permissions at a place; of none, nobody has one.
struct Need {
    at: At,
    any_of: Vec<String>,
}

enum At {
    Dataset(String),
    /// Its snapshots.
    SnapshotsOf(String),
    /// It does not exist yet, and will be made below this one.
    NewBelow(String),
}

/// What may be delegated of the machine's own state: to take snapshots and to keep them, and to
/// destroy them.
const OF_SNAPSHOTS: [&str; 4] = ["snapshot", "hold", "release", "bookmark"];
const TO_DESTROY: [&str; 2] = ["destroy", "mount"];

impl Need {
    fn is_of_machine(&self) -> bool {
        let name = self.at.name();
        let is_harmless = |permission: &String| {
            let permission = permission.as_str();
            OF_SNAPSHOTS.contains(&permission) || name.contains('@') && TO_DESTROY.contains(&permission)
        };
        is_of_machine(name) && !self.any_of.iter().all(is_harmless)
    }

    fn is_held_by(&self, root: &str) -> bool {
        !self.any_of.is_empty() && self.any_of.iter().all(|permission| holds(root, &self.at, permission))
    }
}

impl At {
    fn name(&self) -> &str {
        match self {
            At::Dataset(name) | At::SnapshotsOf(name) | At::NewBelow(name) => name,
        }
    }
}

/// Refused in the same way as a file that somebody may not open: each command has its own words
/// before that.
const DENIED: Error = Error::Denied;

/// What only an administrator may do, of what no pool has a say in.
pub(super) fn administrators_only() -> Result<()> {
    if behalf::actor().is_administrator() { Ok(()) } else { Err(DENIED) }
}

/// The permission that a property takes; `None`: nobody can be given it.
fn of_property(name: &str) -> Option<String> {
    if name.starts_with("cistern:") {
        return None;
    }
    if let Some((quota, _)) = UserspaceProp::parse(name) {
        return Some(quota.stem().to_owned());
    }
    let native = DatasetProperty::named(name).map(|prop| prop.row().name.to_owned());
    Some(native.unwrap_or_else(|| "userprop".to_owned()))
}

/// Collects needs.
#[derive(Default)]
struct List(Vec<Need>);

impl List {
    fn at(&mut self, dataset: &str, permissions: &[&str]) {
        for permission in permissions {
            self.0.push(Need { at: At::Dataset(dataset.to_owned()), any_of: vec![(*permission).to_owned()] });
        }
    }

    /// To set or inherit a property there.
    fn property(&mut self, at: At, name: &str) {
        self.0.push(Need { at, any_of: of_property(name).into_iter().collect() });
    }

    fn new_below(&mut self, dataset: &str, permissions: &[&str]) {
        for permission in permissions {
            self.0
                .push(Need { at: At::NewBelow(dataset.to_owned()), any_of: vec![(*permission).to_owned()] });
        }
    }
}

fn head_of(name: &str) -> &str {
    name.split(['@', '#']).next().unwrap_or(name)
}

impl LocalPool {
    /// Refuses what whom this thread works for may not do.
    pub(super) fn permit(&self, deed: Deed<'_>) -> Result<()> {
        let caller = behalf::actor();
        let least = rank_for(deed);
        let has_rank = caller.rank >= least;
        // A reader's rank changes nothing, so no dataset holds it.
        let within = caller.within.as_deref().filter(|_| least > Rank::Reader);
        if has_rank && within.is_none() {
            return Ok(());
        }
        let Needs::Permissions(needs) = self.needs(deed, &caller)? else { return Err(DENIED) };
        if needs.iter().any(Need::is_of_machine) {
            return Err(DENIED);
        }
        if within.is_some_and(|root| needs.iter().any(|need| !need.is_held_by(root))) {
            return Err(DENIED);
        }
        if has_rank {
            return Ok(());
        }
        for Need { at, any_of } in &needs {
            let place = match at {
                At::Dataset(name) => Place::At(name),
                At::SnapshotsOf(name) => Place::SnapshotOf(name),
                At::NewBelow(name) => Place::NewBelow(name),
            };
            let mut has = false;
            for permission in any_of {
                has = has || self.pool.dsl.may(place, permission, &caller).map_err(api_error)?;
            }
            if !has {
                return Err(DENIED);
            }
        }
        Ok(())
    }

    fn needs(&self, deed: Deed<'_>, caller: &Actor) -> Result<Needs> {
        let mut list = List::default();
        match deed {
            Deed::Inspect | Deed::Operate => return Ok(Needs::Administrator),
            Deed::Change(change) => return self.needs_of_change(change, caller),
            Deed::Send(request) => return self.needs_of_send(request),
            Deed::Receive(request, landing) => return self.needs_of_receive(request, landing),
            // As good as taking, holding and destroying the snapshot that comes with it
            // (`zfs_secpolicy_tmp_snapshot`).
            Deed::Diff(name) => list.at(name, &["diff"]),
            Deed::SpaceUse(dataset, of) => {
                let of = spender(of);
                for (objects, quota) in [(false, false), (false, true), (true, false), (true, true)] {
                    list.at(dataset, &[UserspaceProp { of, objects, quota }.stem()]);
                }
            }
        }
        Ok(Needs::Permissions(list.0))
    }

    fn needs_of_change(&self, change: &Change, caller: &Actor) -> Result<Needs> {
        let mut list = List::default();
        match change {
            Change::CreateFilesystem { name, parents, props } => {
                self.to_make(name, *parents, props, &mut list)?;
            }
            Change::CreateVolume { name, parents, sparse, props } => {
                let limit = self.pool.dsl.volume_limit();
                // What makes the volume what it is, is no property that is set.
                let is_set =
                    |prop: &&PropertyChange| !["volsize", "volblocksize"].contains(&prop.name.as_str());
                let mut set: Vec<PropertyChange> = props.iter().filter(is_set).cloned().collect();
                if !sparse && !set.iter().any(|prop| prop.name == limit) {
                    set.push(PropertyChange { name: limit.into(), value: "auto".into() });
                }
                self.to_make(name, *parents, &set, &mut list)?;
            }
            Change::Clone { snapshot, name, parents, props } => {
                list.at(snapshot, &["clone"]);
                self.to_make(name, *parents, props, &mut list)?;
            }
            Change::Destroy { names, .. } => {
                for name in names {
                    match name.split_once('#') {
                        Some((head, _)) => list.at(head, &["destroy"]),
                        None => list.at(name, &["mount", "destroy"]),
                    }
                }
            }
            Change::Snapshot { names, recursive, props } => {
                if props.iter().any(|prop| of_property(&prop.name).is_none()) {
                    return Ok(Needs::Administrator);
                }
                for name in names {
                    self.each_below(head_of(name), *recursive, "snapshot", &mut list)?;
                }
            }
            Change::Rollback { snapshot } => list.at(head_of(snapshot), &["rollback"]),
            Change::Promote { name } => {
                list.at(name, &["promote", "mount"]);
                if let Some(origin) = self.origin_of(name)? {
                    list.at(&origin, &["promote"]);
                }
            }
            Change::Bookmark { name, .. } => list.at(head_of(name), &["bookmark"]),
            Change::Hold { tag, .. } if lock::is_meant(tag) => return Ok(Needs::Administrator),
            Change::Hold { snapshots, recursive, .. } | Change::Release { snapshots, recursive, .. } => {
                let permission = if matches!(change, Change::Hold { .. }) { "hold" } else { "release" };
                for snapshot in snapshots {
                    self.each_below(head_of(snapshot), *recursive, permission, &mut list)?;
                }
            }
            Change::SetProperties { name, props } => {
                for prop in props {
                    list.property(At::Dataset(name.clone()), &prop.name);
                }
                if props.iter().any(|prop| prop.name == "volsize") && self.keeps_all_for_it(name)? {
                    list.at(name, &[self.pool.dsl.volume_limit()]);
                }
            }
            Change::Inherit { name, property, .. } => list.property(At::Dataset(name.clone()), property),
            Change::Rename { from, to, parents, .. } => {
                list.at(from, &["rename", "mount"]);
                match from.contains('@') {
                    true => list.at(head_of(from), &["create", "mount"]),
                    false => drop(self.to_place(to, *parents, &mut list)?),
                }
            }
            Change::AbortReceive { name } => list.at(name, &["mount", "destroy"]),
            Change::Allow { name, grants } => return Ok(needs_to_allow(name, grants)),
            Change::Unallow { name, grants, recursive } => {
                if !grants.iter().all(|grant| grant.who == Grantee::User(caller.user.into())) {
                    return Ok(Needs::Administrator);
                }
                self.each_below(name, *recursive, "allow", &mut list)?;
            }
            // Whatever else there is, or will be, is about whole pools until it is said otherwise.
            _ => return Ok(Needs::Administrator),
        }
        Ok(Needs::Permissions(list.0))
    }

    /// A new dataset, with properties that are set there.
    fn to_make(&self, name: &str, parents: bool, props: &[PropertyChange], list: &mut List) -> Result<()> {
        let nearest = self.to_place(name, parents, list)?;
        for prop in props {
            list.property(At::NewBelow(nearest.clone()), &prop.name);
        }
        Ok(())
    }

    /// A place for a dataset; gives the nearest above it that there is.
    fn to_place(&self, name: &str, parents: bool, list: &mut List) -> Result<String> {
        if is_of_machine(name) {
            return Err(DENIED);
        }
        let missing = || Refused::new(Action::Create { name: name.to_owned() }, Reason::NoParent);
        let (parent, _) = name.rsplit_once('/').ok_or_else(missing)?;
        let mut nearest = parent;
        while !self.is_there(nearest)? {
            nearest = nearest.rsplit_once('/').filter(|_| parents).ok_or_else(missing)?.0;
        }
        list.at(nearest, &["create", "mount"]);
        if nearest != parent {
            list.new_below(nearest, &["create", "mount"]);
        }
        Ok(nearest.to_owned())
    }

    fn is_there(&self, name: &str) -> Result<bool> {
        match self.pool.dsl.object_of(name) {
            Ok(_) => Ok(true),
            Err(PoolError::NotFound) => Ok(false),
            Err(error) => Err(api_error(error)),
        }
    }

    /// A dataset, and with `recursive` all below.
    fn each_below(&self, name: &str, recursive: bool, permission: &str, list: &mut List) -> Result<()> {
        if !recursive {
            list.at(name, &[permission]);
            return Ok(());
        }
        self.list_datasets(&below(name, None, HEADS, &["type"]))?
            .iter()
            .for_each(|found| list.at(&found.name, &[permission]));
        Ok(())
    }

    fn origin_of(&self, name: &str) -> Result<Option<String>> {
        let found = self.list_datasets(&below(name, Some(0), HEADS, &["origin"]))?.pop();
        let origin = found.and_then(|info| info.props.into_iter().find(|prop| prop.name == "origin"));
        Ok(origin.map(|prop| prop.value).filter(|origin| !origin.is_empty()))
    }

    /// Whether space is kept for a volume as it grows.
    fn keeps_all_for_it(&self, name: &str) -> Result<bool> {
        self.pool.dsl.is_reserved_whole(name).map_err(api_error)
    }

    /// Snapshots are below their datasets, heads are not.
    fn needs_of_send(&self, request: &SendRequest) -> Result<Needs> {
        let mut list = List::default();
        if request.dry_run {
            return Ok(Needs::Permissions(list.0));
        }
        let snapshot = match &request.token {
            Some(token) => super::send::read_token(token)?.contents().snapshot,
            None => request.snapshot.clone(),
        };
        list.at(&snapshot, &["send"]);
        if request.replicate {
            let before = list.0.len();
            self.each_below(head_of(&snapshot), true, "send", &mut list)?;
            for need in &mut list.0[before..] {
                if let At::Dataset(name) = &need.at {
                    need.at = At::SnapshotsOf(name.clone());
                }
            }
        }
        Ok(Needs::Permissions(list.0))
    }

    /// At the dataset if it is there, else above it. What a stream of many does beyond that, it
    /// does as changes. OpenZFS lets whoever knows its guid receive a clone of any snapshot, and
    /// thus read it; here he must be one who may clone the origin, or receive there.
    fn needs_of_receive(&self, request: &ReceiveRequest, landing: Landing<'_>) -> Result<Needs> {
        let target = head_of(landing.into);
        if is_of_machine(target) {
            return Err(DENIED);
        }
        let (mut at, mut list) = (target, List::default());
        while !self.is_there(at)? {
            at = at.rsplit_once('/').ok_or(Error::NotFound)?.0;
        }
        let receive = if request.force { &["receive"][..] } else { &["receive", "receive:append"] };
        let any_of = receive.iter().map(|&name| name.to_owned()).collect();
        list.0.push(Need { at: At::Dataset(at.to_owned()), any_of });
        list.at(at, &["mount", "create"]);
        if let Some(origin) = landing.origin {
            let any_of = ["clone", "receive", "receive:append"].map(str::to_owned).to_vec();
            list.0.push(Need { at: At::Dataset(head_of(origin).to_owned()), any_of });
        }
        for prop in &request.props {
            let place = if at == target { At::Dataset } else { At::NewBelow };
            list.property(place(at.to_owned()), &prop.name);
        }
        Ok(Needs::Permissions(list.0))
    }

    /// Whether whom this thread works for may set a property of a dataset, which may be there
    /// already, or is being made.
    pub(super) fn may_set(&self, dataset: &str, property: &str) -> Result<bool> {
        let caller = behalf::actor();
        if caller.is_administrator() {
            return Ok(true);
        }
        let Some(permission) = of_property(property) else { return Ok(false) };
        let at = At::Dataset(dataset.to_owned());
        if caller.within.as_deref().is_some_and(|root| !holds(root, &at, &permission)) {
            return Ok(false);
        }
        if caller.rank == Rank::Administrator {
            return Ok(true);
        }
        let place = match (self.is_there(dataset)?, dataset.rsplit_once('/')) {
            (false, Some((parent, _))) => Place::NewBelow(parent),
            _ => Place::At(dataset),
        };
        self.pool.dsl.may(place, &permission, &caller).map_err(api_error)
    }

    /// Takes out what others use and may use: guests see their own, and their groups'.
    pub(super) fn only_visible(&self, mut found: Vec<DatasetInfo>) -> Result<Vec<DatasetInfo>> {
        let caller = behalf::actor();
        if caller.rank >= Rank::Reader {
            return Ok(found);
        }
        for info in &mut found {
            let mut kept = Vec::new();
            for prop in std::mem::take(&mut info.props) {
                if self.is_visible(&info.name, &prop.name, &caller)? {
                    kept.push(prop);
                }
            }
            info.props = kept;
        }
        Ok(found)
    }

    fn is_visible(&self, dataset: &str, property: &str, caller: &Arc<Actor>) -> Result<bool> {
        let Some((prop, who)) = UserspaceProp::parse(property) else { return Ok(true) };
        let is_own = |id: u32| match prop.of {
            prop::Spender::User => id == caller.user,
            prop::Spender::Group => caller.groups.contains(&id),
            prop::Spender::Project => false,
        };
        if who.parse().is_ok_and(is_own) {
            return Ok(true);
        }
        self.pool.dsl.may(Place::At(dataset), prop.stem(), caller).map_err(api_error)
    }
}

/// Who allows must have what he gives, and may give everything but that.
fn needs_to_allow(name: &str, grants: &[Grant]) -> Needs {
    let mut list = List::default();
    list.at(name, &["allow"]);
    for permission in grants.iter().flat_map(|grant| grant.permissions.iter().flatten()) {
        if permission == "allow" {
            return Needs::Administrator;
        }
        let native = DatasetProperty::named(permission).map_or(permission.as_str(), |prop| prop.row().name);
        list.at(name, &[native]);
    }
    Needs::Permissions(list.0)
}

#[cfg(test)]
mod tests;
