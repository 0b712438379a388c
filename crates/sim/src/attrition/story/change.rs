//! What an operator wants of a pool's disks: drawn from what there is to do it with. Much of it is
//! refused, which is how it is with operators.

use std::collections::BTreeSet;

use engine_api::{Change, InitializeCommand, NewDevice, NewVdevs, ScanCommand, TrimCommand, VdevSpec};

use super::{Act, Teller};
use crate::attrition::bays::{all_paths, free_paths};
use crate::attrition::shape::{Shape, Side};

impl Teller {
    /// A disk without which sound ones still have everything.
    pub(super) fn dispensable(&mut self, shape: &Shape) -> Option<Side> {
        let without = |side: &Side| shape.is_held(&|path: &str| self.is_sound(path) && path != side.path);
        let sides: Vec<Side> = shape.sides().into_iter().filter(|side| without(side)).cloned().collect();
        self.prng.pick(&sides).cloned()
    }

    /// Sound disks that nobody uses.
    fn unused(&self, shape: &Shape, paths: impl Iterator<Item = String>) -> Vec<String> {
        let sides = shape.sides();
        let report = self.life().expect("the pool is imported").pool.report();
        let beside = report.spares.iter().chain(&report.cache).filter_map(|vdev| vdev.stat.path.as_deref());
        let used: BTreeSet<&str> = sides.iter().map(|side| side.path.as_str()).chain(beside).collect();
        paths.filter(|path| !used.contains(path.as_str()) && self.is_sound(path)).collect()
    }

    fn free(&mut self, shape: &Shape) -> Option<String> {
        let free = self.unused(shape, all_paths(&self.world.swarm));
        self.prng.pick(&free).cloned()
    }

    /// A disk that is to join a vdev.
    fn newcomer(&mut self, shape: &Shape) -> Option<NewDevice> {
        let path = Some(self.free(shape)?);
        let sequential = self.prng.chance(1, 3);
        Some(NewDevice { path, force: true, sequential, ..NewDevice::default() })
    }

    /// The guids of hot spares, or of cache devices and top-level vdevs for intent logs.
    fn removable(&self, spares: bool) -> Vec<u64> {
        let report = self.life().expect("the pool is imported").pool.report();
        let logs = report.root.children.iter().filter(|top| top.stat.is_log);
        match spares {
            true => report.spares.iter().map(|spare| spare.stat.guid).collect(),
            false => logs.chain(&report.cache).map(|vdev| vdev.stat.guid).collect(),
        }
    }

    /// What the operator wants, if there is anything to do it with.
    pub(super) fn draw(&mut self, act: Act) -> Result<Option<Change>, String> {
        let shape = Shape::of(&self.life()?.pool);
        let sides: Vec<u64> = shape.sides().into_iter().map(|side| side.guid).collect();
        let any = *self.prng.pick(&sides).expect("a pool has disks");
        Ok(match act {
            Act::Scan => {
                use ScanCommand::{Pause, Resilver, Scrub, ScrubErrors, Stop};
                let commands = [Scrub, Scrub, ScrubErrors, Pause, Stop, Resilver];
                Some(Change::Scan(*self.prng.pick(&commands).expect("some")))
            }
            Act::Offline => {
                let temporary = self.prng.chance(1, 2);
                self.dispensable(&shape).map(|side| Change::OfflineVdev { guid: side.guid, temporary })
            }
            Act::Online => Some(Change::OnlineVdev { guid: any, expand: self.prng.chance(1, 4) }),
            Act::Detach => self.dispensable(&shape).map(|side| Change::DetachVdev { guid: side.guid }),
            Act::Attach => self.newcomer(&shape).map(|new| Change::AttachVdev { guid: any, new }),
            Act::Replace => self.newcomer(&shape).map(|new| Change::ReplaceVdev { guid: any, new }),
            Act::Spare => self.free(&shape).map(|path| add(|new| new.spares = vec![path])),
            Act::Remove => {
                let spares = self.prng.chance(1, 2);
                let guids = self.removable(spares);
                self.prng.pick(&guids).map(|guid| Change::RemoveVdev { guid: *guid })
            }
            Act::Clear => Some(Change::ClearErrors { guid: None }),
            Act::Trim => Some(Change::TrimVdevs { guids: sides, command: TrimCommand::Start, rate: 0 }),
            Act::Initialize => {
                use InitializeCommand::{Cancel, Start, Suspend};
                let command = *self.prng.pick(&[Start, Suspend, Cancel]).expect("some");
                Some(Change::InitializeVdevs { guids: vec![any], command, value: None })
            }
            Act::Reguid => Some(Change::Reguid { guid: None }),
            Act::Add => self.addition(&shape),
            _ => unreachable!("no change"),
        })
    }

    /// Another top-level vdev, a log, or a cache device.
    fn addition(&mut self, shape: &Shape) -> Option<Change> {
        let mut paths = self.unused(shape, free_paths().map(|(path, _)| path)).into_iter();
        let first = paths.next()?;
        let leaf = VdevSpec::Leaf(first.clone());
        let mirror = paths.next().map(|second| VdevSpec::Mirror(vec![leaf.clone(), VdevSpec::Leaf(second)]));
        match self.prng.below(4) {
            0 => mirror.map(|top| add(|new| new.data = vec![top])),
            1 => mirror.map(|top| add(|new| new.logs = vec![top])),
            2 => Some(add(|new| new.logs = vec![leaf])),
            _ => Some(add(|new| new.cache = vec![first])),
        }
    }
}

fn add(what: impl FnOnce(&mut NewVdevs)) -> Change {
    let mut vdevs = NewVdevs::default();
    what(&mut vdevs);
    Change::AddVdevs { vdevs, force: true }
}
