//! What the operands of `zpool iostat` name: pools, vdevs of any pool, or a pool and vdevs of it
//! (cmd/zpool/zpool_main.c, `zpool_do_iostat`, `are_vdevs_in_pool`).

use crate::command::Cx;
use crate::fail::{Stop, fail, usage};
use crate::vdevs::{self, Naming};
use api_types::{PoolStatus, VdevStatus, routes};

/// What to print.
pub struct Wanted {
    /// Names; empty: all pools.
    pub pools: Vec<String>,
    /// Names, as [`vdevs::name`] has them; empty: all vdevs.
    pub vdevs: Vec<String>,
}

impl Wanted {
    pub fn of(cx: &mut Cx<'_>, operands: &[String], naming: Naming) -> Result<Wanted, Stop> {
        let pools: Vec<PoolStatus> =
            if operands.is_empty() { Vec::new() } else { cx.client.get(routes::POOLS)? };
        let is_pool = |name: &String| pools.iter().any(|pool| pool.name == *name);
        if operands.iter().all(is_pool) {
            return Ok(Wanted { pools: operands.to_vec(), vdevs: Vec::new() });
        }
        if operands.iter().all(|name| is_vdev(&pools, name, naming)) {
            return Ok(Wanted { pools: Vec::new(), vdevs: operands.to_vec() });
        }
        let (first, rest) = operands.split_first().expect("all of none would be pools");
        let Some(pool) = pools.iter().find(|pool| pool.name == *first) else {
            return fail("Unable to parse pools/vdevs list.\n");
        };
        let own = std::slice::from_ref(pool);
        if rest.iter().all(|name| is_vdev(own, name, naming)) {
            return Ok(Wanted { pools: vec![first.clone()], vdevs: rest.to_vec() });
        }
        let mut text =
            format!("Expected either a list of pools, or list of vdevs in \"{first}\", but got:\n");
        for name in rest {
            let what = match () {
                () if is_pool(name) => "pool",
                () if is_vdev(own, name, naming) => "vdev in this pool",
                () if is_vdev(&pools, name, naming) => "vdev in another pool",
                () => "unknown",
            };
            text.push_str(&format!("\t{name} ({what})\n"));
        }
        usage(text)
    }
}

fn is_vdev(pools: &[PoolStatus], name: &str, naming: Naming) -> bool {
    fn within(vdev: &VdevStatus, name: &str, naming: Naming) -> bool {
        vdevs::name(vdev, naming) == name || vdev.children.iter().any(|child| within(child, name, naming))
    }
    let tops =
        |pool: &PoolStatus| pool.root.children.iter().chain(&pool.cache).any(|top| within(top, name, naming));
    pools.iter().any(tops)
}
