//! The tree of blocks of one object.

use std::io::{self, Write};

use dmu::DmuError;
use dmu::objset::META_OBJECT;
use dmu::traverse::{Go, Part, Visit, Visitor, traverse_object};
use ondisk::dnode::DnodePhys;

use super::open::Opened;
use super::{Shown, text};

/// Prints each block before those below it.
pub fn show(opened: &Opened, object: u64, phys: &DnodePhys, out: &mut dyn Write) -> Shown {
    writeln!(out, "blocks:")?;
    let mut printer = Printer { wanted: object, levels: phys.nlevels, out, written: Ok(()), damaged: None };
    traverse_object(&**opened.storage(), object, phys, 0, &mut printer);
    printer.written?;
    Ok(printer.damaged.map_or(Ok(()), Err))
}

struct Printer<'a> {
    wanted: u64,
    levels: u8,
    out: &'a mut dyn Write,
    written: io::Result<()>,
    damaged: Option<DmuError>,
}

impl Printer<'_> {
    fn line(&mut self, visit: &Visit<'_>, text: &str) -> Go {
        let place = match visit.part {
            Part::Root => "root".into(),
            Part::Spill => "spill".into(),
            Part::Tree { level, blkid } => {
                let indent = usize::from(self.levels.saturating_sub(level + 1)) * 2;
                format!("{:indent$}L{level} {blkid:>6}", "")
            }
        };
        self.written = writeln!(self.out, "  {place}  {text}");
        if self.written.is_ok() { Go::On } else { Go::Stop }
    }
}

impl Visitor for Printer<'_> {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        self.line(visit, &text::blkptr(visit.bp))
    }

    fn object(&mut self, object: u64, _dnode: &DnodePhys) -> Go {
        // The blocks of the object of dnodes lead to all other objects, which were not asked for.
        if self.wanted == META_OBJECT && object != META_OBJECT { Go::Past } else { Go::On }
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go {
        self.damaged = Some(error);
        match self.line(visit, &format!("cannot be read: {error}")) {
            Go::Stop => Go::Stop,
            _ => Go::Past,
        }
    }
}
