//! What going back to an older transaction group costs, in the words of lib/libzfs/libzfs_pool.c
//! (`zpool_rewind_exclaim`, `zpool_explain_recover`).

use crate::clock::ctime;
use api_types::Rewound;

/// A time span in minutes, or in seconds if it is short; `None` for none.
fn span(seconds: u64) -> Option<String> {
    match seconds {
        0 => None,
        1..=120 => Some(format!("{seconds} seconds")),
        _ => Some(format!("{} minutes", (seconds + 30) / 60)),
    }
}

/// What an import did, or would do.
pub fn exclaim(pool: &str, rewound: &Rewound, dry_run: bool) -> String {
    let time = ctime(rewound.time);
    let (mut text, verb) = match dry_run {
        true => (format!("Would be able to return {pool} to its state as of {time}.\n"), "Would discard"),
        false => (format!("Pool {pool} returned to its state as of {time}.\n"), "Discarded"),
    };
    if let Some(span) = span(rewound.lost) {
        text += &format!("{verb} approximately {span} of transactions.\n");
    }
    text
}

/// What can be done about a pool that could not be imported: `None`, nothing.
pub fn explain(pool: &str, recovery: Option<&Rewound>) -> String {
    let Some(rewound) = recovery else {
        return "Ensure all pool devices are present and accessible, then retry the import.\n\tIf the problem persists, \
                destroy and re-create the pool from a backup source.\n"
            .to_owned();
    };
    let mut text = format!(
        "Recovery is possible, but will result in some data loss.\n\tReturning the pool to its state as of {}\n\tshould \
         correct the problem.  ",
        ctime(rewound.time)
    );
    if let Some(span) = span(rewound.lost) {
        text += &format!("Approximately {span} of data\n\tmust be discarded, irreversibly.  ");
    }
    match rewound.data_errors {
        0 => {}
        1 => text += "After rewind, at least\n\tone persistent user-data error will remain.  ",
        _ => text += "After rewind, several\n\tpersistent user-data errors will remain.  ",
    }
    text += &format!("Recovery can be attempted\n\tby executing 'zpool import -F {pool}'.  ");
    text + "A scrub of the pool\n\tis strongly recommended after recovery.\n"
}
