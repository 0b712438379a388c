//! The store of what kept panes of worksheets have found ([`machine::findings`]), opened at the
//! start. [`crate::kept_panes`] fills and reads it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use machine::findings::Findings;
use machine::history::Opened;

/// See the module.
pub struct PaneHistory {
    pub store: Findings,
    /// Up to which second what a pane found was added.
    pub until: Mutex<HashMap<String, u64>>,
    /// That it does not work was told.
    pub is_failing: AtomicBool,
}

impl PaneHistory {
    /// Opens the file, or begins one. `None`: that cannot be, which was told.
    pub fn open(path: &Path) -> Option<PaneHistory> {
        let shown = path.display();
        let store = match Findings::open(path) {
            Ok((store, Opened::New | Opened::AsItWas)) => store,
            Ok((store, Opened::Damaged { kept })) => {
                tracing::error!(old = %kept.display(), "{shown} was damaged and is kept; a new one was begun");
                store
            }
            Err(fault) => {
                tracing::error!(path = %shown, %fault, "what kept panes find is not kept");
                return None;
            }
        };
        Some(PaneHistory { store, until: Mutex::default(), is_failing: AtomicBool::new(false) })
    }
}
