//! How full each metaslab is.

use std::io::{self, Write};

use storage::metaslab::{RangeTree, SpaceMapSource};

use super::human::Table;
use super::open::Opened;
use super::{CLEAN, PROBLEMS, human};

pub fn show(opened: &Opened, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let maps = &opened.pool.core().maps;
    let mut status = CLEAN;
    for vdev in maps.vdevs() {
        let size = 1u64 << vdev.metaslab_shift;
        let head = format!("vdev {}: {} metaslabs of {}", vdev.vdev, vdev.metaslab_count, human::bytes(size));
        writeln!(out, "{head}, space maps in object {}", vdev.array)?;
        let mut table =
            Table::new(&[">METASLAB", ">OFFSET", ">ALLOC", ">FREE", ">USED", ">GAPS", ">LARGEST"]);
        for metaslab in 0..vdev.metaslab_count {
            let start = metaslab << vdev.metaslab_shift;
            let mut free = RangeTree::whole(start, size);
            let mut outside = false;
            let read = maps.load(vdev.vdev, metaslab, &mut |alloc, segment| {
                let end = segment.start.checked_add(segment.len);
                if segment.start < start || end.is_none_or(|end| end > start + size) || segment.len == 0 {
                    outside = true;
                } else if alloc {
                    free.remove_overlap(segment.start, segment.len);
                } else {
                    free.add_overlap(segment.start, segment.len);
                }
            });
            if read.is_err() || outside {
                writeln!(
                    err,
                    "cistern inspect: space map of metaslab {metaslab} of vdev {} is damaged",
                    vdev.vdev
                )?;
                status = PROBLEMS;
            }
            let left = free.space();
            table.row(vec![
                metaslab.to_string(),
                format!("{start:x}"),
                human::bytes(size - left),
                human::bytes(left),
                format!("{}%", (size - left) * 100 / size),
                free.segments().to_string(),
                human::bytes(free.iter().map(|segment| segment.len).max().unwrap_or(0)),
            ]);
        }
        table.write(2, out)?;
    }
    Ok(status)
}
