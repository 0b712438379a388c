//! `zpool version` and `zfs version`.

use crate::command::Cx;
use crate::fail::{Outcome, Stop};
use crate::getopt;
use crate::json::Json;
use api_types::{Version, routes};

/// The OpenZFS whose commands these are like. Programs read it in the first line: bzfs resumes
/// nothing, and leaves options out, where it finds an older one.
const LIKE: &str = "2.3.0";

/// Ours, and the daemon's where it runs.
pub fn version(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "j", &["json"])?;
    options.none()?;
    let own = format!("zfs-{LIKE}-cistern-{}", env!("CARGO_PKG_VERSION"));
    let daemon = cx.client.get::<Version>(routes::VERSION);
    let daemon = daemon.map(|version| format!("cistern-daemon-{}", version.version));
    if options.has("j") {
        let mut versions = Json::object().with("userland", own.as_str());
        if let Ok(daemon) = &daemon {
            versions.put("kernel", daemon.as_str());
        }
        let document = Json::document(&cx.command).with("zfs_version", versions);
        writeln!(cx.io.out, "{document}")?;
        return Ok(0);
    }
    writeln!(cx.io.out, "{own}")?;
    match daemon {
        Ok(daemon) => {
            writeln!(cx.io.out, "{daemon}")?;
            Ok(0)
        }
        Err(error) => Err(Stop::from(error)),
    }
}
