//! All datasets and snapshots of a pool, by number and by name.
//!
//! Read from the meta object set directly, object by object, so that one damaged directory hides
//! only itself.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ::pool::PoolError;
use dmu::{DmuError, Objset, Zap};
use env::IoClass;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::dsl_dir::DslDirPhys;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::objset::{ObjsetPhys, ObjsetType};

use super::open::Opened;
use super::{human, text};

/// Directories nest no deeper (`zfs_max_dataset_nesting`), with room for what is hidden.
const DEPTH_MAX: usize = 64;
/// The name of the meta object set.
pub const MOS: &str = "mos";

/// One dataset or snapshot.
pub struct Dataset {
    pub object: u64,
    pub name: String,
    /// `None` where the object set cannot be read.
    pub kind: Option<ObjsetType>,
    pub phys: DslDatasetPhys,
}

impl Dataset {
    /// Not an operator's: `$ORIGIN` and its snapshot.
    pub fn is_hidden(&self) -> bool {
        self.name.contains('$')
    }
}

/// All of them, sorted by name.
pub struct Catalog {
    pub datasets: Vec<Dataset>,
    pub problems: Vec<String>,
    /// Bytes and objects of the meta object set.
    mos: (u64, u64),
}

impl Catalog {
    /// Walks the directories from the root.
    pub fn read(opened: &Opened) -> Catalog {
        let mos = opened.mos();
        let objects = mos.root().fill();
        let mut catalog = Catalog { datasets: Vec::new(), problems: Vec::new(), mos: (0, objects) };
        let root = Zap::open(mos, pool_directory::OBJECT)
            .and_then(|zap| zap.lookup_u64(pool_directory::ROOT_DATASET));
        match root {
            Ok(root) => {
                let mut walk = Walk { opened, mos, catalog: &mut catalog, seen: Default::default() };
                walk.dir(root, &opened.pool.name(), 0);
            }
            Err(error) => catalog.problems.push(format!("root dataset: {error}")),
        }
        catalog.datasets.sort_by(|a, b| a.name.cmp(&b.name));
        catalog
    }

    /// Names by number, for reports.
    pub fn names(&self) -> BTreeMap<u64, &str> {
        let named = self.datasets.iter().map(|dataset| (dataset.object, dataset.name.as_str()));
        named.chain(std::iter::once((0, MOS))).collect()
    }

    /// One line each, as `zdb -d` has it.
    pub fn show(&self, out: &mut dyn Write) -> io::Result<()> {
        let (used, objects) = self.mos;
        let line = |name: &str, kind: &str, id: u64, txg: u64, bytes: u64, objects: u64| {
            let (name, bytes) = (text::printable(name.as_bytes()), human::bytes(bytes));
            format!("Dataset {name} [{kind}], ID {id}, cr_txg {txg}, {bytes}, {objects} objects")
        };
        writeln!(out, "{}", line(MOS, "META", 0, ::pool::spa::TXG_INITIAL, used, objects))?;
        for dataset in self.datasets.iter().filter(|dataset| !dataset.is_hidden()) {
            let phys = &dataset.phys;
            let (kind, fill) = (kind_name(dataset.kind), phys.bp.fill());
            let (txg, bytes) = (phys.creation_txg, phys.referenced_bytes);
            writeln!(out, "{}", line(&dataset.name, kind, dataset.object, txg, bytes, fill))?;
        }
        Ok(())
    }
}

/// As `zdb` calls it.
pub fn kind_name(kind: Option<ObjsetType>) -> &'static str {
    match kind {
        Some(ObjsetType::None) => "NONE",
        Some(ObjsetType::Meta) => "META",
        Some(ObjsetType::Zfs) => "ZPL",
        Some(ObjsetType::Zvol) => "ZVOL",
        Some(ObjsetType::Other) => "OTHER",
        None => "UNREADABLE",
    }
}

struct Walk<'a> {
    opened: &'a Opened,
    mos: &'a Objset,
    catalog: &'a mut Catalog,
    seen: std::collections::BTreeSet<u64>,
}

impl Walk<'_> {
    fn dir(&mut self, object: u64, name: &str, depth: usize) {
        if depth > DEPTH_MAX || !self.seen.insert(object) {
            return self.failed(name, "a directory within itself");
        }
        let phys = match self.dir_phys(object) {
            Ok(phys) => phys,
            Err(error) => return self.failed(name, error),
        };
        if name.ends_with(ondisk::dsl_dir::MOS_DIR) && depth == 1 {
            self.catalog.mos.0 = phys.used_bytes;
        }
        if phys.head_dataset_obj != 0 {
            self.head(phys.head_dataset_obj, name);
        }
        for (child, object) in self.entries(phys.child_dir_zapobj, name) {
            self.dir(object, &format!("{name}/{child}"), depth + 1);
        }
    }

    fn head(&mut self, object: u64, name: &str) {
        let Some(phys) = self.dataset(object, name) else { return };
        for (snapshot, object) in self.entries(phys.snapnames_zapobj, name) {
            self.dataset(object, &format!("{name}@{snapshot}"));
        }
    }

    fn dataset(&mut self, object: u64, name: &str) -> Option<DslDatasetPhys> {
        let decoded = self.mos.hold(object).map_err(PoolError::from).and_then(|dnode| {
            let bonus = dnode.bonus();
            Ok(DslDatasetPhys::decode(&bonus.bytes)?)
        });
        match decoded {
            Ok(phys) => {
                let kind = self.kind(&phys, name);
                let name = name.to_owned();
                self.catalog.datasets.push(Dataset { object, name, kind, phys: phys.clone() });
                Some(phys)
            }
            Err(error) => {
                self.failed(name, error);
                None
            }
        }
    }

    fn kind(&mut self, phys: &DslDatasetPhys, name: &str) -> Option<ObjsetType> {
        if phys.bp.is_hole() {
            return Some(ObjsetType::None);
        }
        match self.opened.storage().read(&phys.bp, IoClass::SyncRead) {
            Ok(block) => ObjsetPhys::decode(&block).ok().map(|phys| phys.objset_type),
            Err(error) => {
                self.failed(name, error);
                None
            }
        }
    }

    fn dir_phys(&self, object: u64) -> Result<DslDirPhys, PoolError> {
        let dnode = self.mos.hold(object)?;
        if dnode.bonus_type() != ObjectType::DSL_DIR {
            return Err(DmuError::Corrupt { object, block: 0 }.into());
        }
        let bonus = dnode.bonus();
        Ok(DslDirPhys::decode(&bonus.bytes)?)
    }

    /// Names and numbers of a ZAP; none where it is 0.
    fn entries(&mut self, object: u64, name: &str) -> Vec<(String, u64)> {
        if object == 0 {
            return Vec::new();
        }
        match Zap::open(self.mos, object).and_then(|zap| zap.entries()) {
            Ok(entries) => entries
                .into_iter()
                .map(|entry| (String::from_utf8_lossy(&entry.name).into_owned(), entry.value.first()))
                .collect(),
            Err(error) => {
                self.failed(name, error);
                Vec::new()
            }
        }
    }

    fn failed(&mut self, name: &str, why: impl std::fmt::Display) {
        self.catalog.problems.push(format!("{}: {why}", text::printable(name.as_bytes())));
    }
}
