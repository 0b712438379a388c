//! Whether what was found may be so: while initiators worked, and after the power has gone.

use super::journal::{Cut, Extent, Journal, Kind, LOCKED};
use super::locks::History;

impl Journal {
    /// Whether all that was read while the initiators worked can have been so, and nobody won a
    /// lock that was another's.
    pub fn check_answers(&self, locked: &[Extent]) -> Result<(), String> {
        for call in &self.calls {
            let Kind::Read(extent, found) = &call.kind else { continue };
            for (lba, value) in (extent.lba..).zip(found).filter(|(lba, _)| *lba >= LOCKED) {
                let may_be = self.between((extent.unit, lba), call.begin, call.end, &mut Vec::new());
                if !may_be.contains(value) {
                    return Err(format!(
                        "unit {}, sector {lba} read as {value}, can be {may_be:?}",
                        extent.unit
                    ));
                }
            }
        }
        locked.iter().try_for_each(|lock| History::of(self, *lock)?.check_answers(self))
    }

    /// Whether this is what may be found after a cut.
    pub fn check_after(&self, cut: Cut, found: &[Vec<u64>], locked: &[Extent]) -> Result<(), String> {
        let mut promised = self.promised(cut);
        self.promise_shown(found, &mut promised);
        for (unit, sectors) in found.iter().enumerate() {
            for (lba, value) in (0..).zip(sectors).skip(LOCKED as usize) {
                let may_be = self.after((unit, lba), cut, &promised);
                if !may_be.contains(value) {
                    return Err(format!("unit {unit}, sector {lba} is {value}, can be {may_be:?}"));
                }
            }
        }
        for lock in locked {
            let sectors = &found[lock.unit][lock.lba as usize..][..lock.blocks as usize];
            History::of(self, *lock)?.check_after(self, cut, &promised, sectors)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
