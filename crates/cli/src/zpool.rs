//! `zpool`: its table of commands, and what they share.

mod add;
mod admin;
mod checkpoint;
mod create;
mod dedup;
mod events;
mod history;
mod import;
mod iostat;
mod list;
mod props;
mod rewind;
mod scan;
mod scripts;
mod status;
mod sweep;
mod upgrade;
mod vdev;

use crate::client::CallError;
use crate::command::{Command, Cx};
use crate::fail::{Noun, Stop, sentence, usage};
use crate::json::Json;
use crate::vdevs::{self, Naming};
use crate::version::version;
use api_types::{PoolStatus, VdevStatus, kind, routes};

pub const COMMANDS: &[Command] = &[
    Command::built("version", "\tversion [-j]", &["zpool version"], version),
    Command::GAP,
    Command::built(
        "create",
        "\tcreate [-fnd] [-o property=value] ... \n\t    [-O file-system-property=value] ... \n\
         \t    [-m mountpoint] [-R root] <pool> <vdev> ...",
        &[
            "zpool create tank mirror /dev/sda /dev/sdb mirror /dev/sdc /dev/sdd",
            "zpool create -o ashift=12 -O compression=lz4 tank /var/images/a.img",
            "zpool create -n tank mirror sda sdb        (show the layout, change nothing)",
        ],
        create::create,
    ),
    Command::built("destroy", "\tdestroy [-f] <pool>", &["zpool destroy tank"], admin::destroy),
    Command::GAP,
    Command::built(
        "add",
        "\tadd [-afgLnP] [-o property=value] <pool> <vdev> ...",
        &["zpool add tank mirror sdc sdd", "zpool add tank spare sde", "zpool add tank cache /dev/nvme0n1"],
        add::add,
    ),
    Command::built(
        "remove",
        "\tremove [-npsw] <pool> <device> ...",
        &["zpool remove tank nvme0n1"],
        vdev::remove,
    ),
    Command::GAP,
    Command::built(
        "labelclear",
        "\tlabelclear [-f] <vdev>",
        &["zpool labelclear /dev/sdb1"],
        admin::label_clear,
    ),
    Command::GAP,
    Command::built(
        "checkpoint",
        "\tcheckpoint [-d [-w]] <pool> ...",
        &["zpool checkpoint tank", "zpool checkpoint -d -w tank"],
        checkpoint::checkpoint,
    ),
    Command::built(
        "prefetch",
        "\tprefetch -t <type> [<type opts>] <pool>\n\
         \t    -t ddt <pool>",
        &["zpool prefetch -t ddt tank        (before much is written or destroyed)"],
        dedup::prefetch,
    ),
    Command::GAP,
    Command::built(
        "list",
        "\tlist [-gHLpPv] [-o property[,...]] [-j [--json-int, --json-pool-key-guid]] ...\n\
         \t    [-T d|u] [pool] [interval [count]]",
        &["zpool list", "zpool list -v tank", "zpool list -Hp -o name,size,free"],
        list::list,
    ),
    Command::built(
        "iostat",
        "\tiostat [[[-c [script1,script2,...][-lq]]|[-rw]] [-T d | u] [-ghHLpPvy] [-j]\n\t    [[pool ...]|[pool vdev ...]|[vdev ...]] [[-n] interval [count]]",
        &["zpool iostat tank 5", "zpool iostat -v", "zpool iostat -vlq tank 1", "zpool iostat -w tank"],
        iostat::iostat,
    ),
    Command::built(
        "status",
        "\tstatus [-c [script1,script2,...]] [-DegLPpstvx] ...\n\
         \t    [-j|--json [--json-flat-vdevs] [--json-int] [--json-pool-key-guid]] ...\n\
         \t    [-T d|u] [pool] [interval [count]]",
        &["zpool status", "zpool status -x", "zpool status -D tank", "zpool status -j tank"],
        status::status,
    ),
    Command::GAP,
    Command::built(
        "online",
        "\tonline [--power][-e] <pool> <device> ...",
        &["zpool online tank sda", "zpool online -e tank sda        (use what a disk has grown by)"],
        vdev::online,
    ),
    Command::built(
        "offline",
        "\toffline [--power]|[[-f][-t]] <pool> <device> ...",
        &["zpool offline tank nvme0n1"],
        vdev::offline,
    ),
    Command::built("clear", "\tclear [--power] <pool> [device]", &["zpool clear tank"], vdev::clear),
    Command::built("reopen", "\treopen [-n] [<pool> ...]", &["zpool reopen tank"], vdev::reopen),
    Command::GAP,
    Command::built(
        "attach",
        "\tattach [-fsw] [-o property=value] <pool> <vdev> <new-device>",
        &["zpool attach tank nvme0n1 /dev/nvme1n1"],
        vdev::attach,
    ),
    Command::built("detach", "\tdetach <pool> <device>", &["zpool detach tank nvme0n1"], vdev::detach),
    Command::built(
        "replace",
        "\treplace [-fsw] [-o property=value] <pool> <device> [new-device]",
        &["zpool replace tank nvme0n1 /dev/nvme1n1", "zpool replace tank nvme0n1"],
        vdev::replace,
    ),
    Command::planned(
        "split",
        "\tsplit [-gLnPl] [-R altroot] [-o mntopts]\n\
         \t    [-o property=value] <pool> <newpool> [<device> ...]",
    ),
    Command::GAP,
    Command::built(
        "initialize",
        "\tinitialize [-c | -s | -u] [-w] [-z] <-a | <pool> [<device> ...]>",
        &["zpool initialize -w tank", "zpool initialize tank nvme0n1", "zpool initialize -s tank"],
        sweep::initialize,
    ),
    Command::built("resilver", "\tresilver <pool> ...", &["zpool resilver tank"], scan::resilver),
    Command::built(
        "scrub",
        "\tscrub [-e | -s | -p | -t | -C [-t] | [-S date] [-E date] [-t]] [-w]\n\
         \t    <-a | <pool> [<pool> ...]>",
        &["zpool scrub tank", "zpool scrub -w tank", "zpool scrub -p tank", "zpool scrub -s tank"],
        scan::scrub,
    ),
    Command::built(
        "trim",
        "\ttrim [-dw] [-r <rate>] [-c | -s] <-a | <pool> [<device> ...]>",
        &["zpool trim tank", "zpool trim -w -r 200M tank nvme0n1", "zpool trim -s tank"],
        sweep::trim,
    ),
    Command::planned("condense", "\tcondense [-t <type>] [-c | -w] [-a | <pool> ...]"),
    Command::GAP,
    Command::built(
        "import",
        "\timport [-d dir | -c cachefile] [-D]\n\
         \timport [-o mntopts] [-o property=value] ... \n\
         \t    [-d dir | -c cachefile] [-D] [-f] [-m] [-N] [-R root] [-F [-n] [-X]] -a\n\
         \timport [-o mntopts] [-o property=value] ... \n\
         \t    [-d dir | -c cachefile] [-D] [-f] [-m] [-N] [-R root] [-F [-n] [-X]]\n\
         \t    [-T txg] <pool | id> [newpool]",
        &[
            "zpool import",
            "zpool import -d /var/images tank",
            "zpool import -Fn tank        (what going back would lose)",
            "zpool import -o readonly=on -R /mnt 8688522676606861654",
        ],
        import::import,
    ),
    Command::built(
        "export",
        "\texport [-af] <pool> ...",
        &["zpool export tank", "zpool export -a"],
        admin::export,
    ),
    Command::built(
        "upgrade",
        "\tupgrade\n\tupgrade -v\n\tupgrade [-V version] <-a | pool ...>",
        &["zpool upgrade", "zpool upgrade -v", "zpool upgrade tank", "zpool upgrade -V 28 old"],
        upgrade::upgrade,
    ),
    Command::built("reguid", "\treguid [-g guid] <pool>", &["zpool reguid tank"], vdev::reguid),
    Command::GAP,
    Command::built(
        "history",
        "\thistory [-il] [<pool>] ...",
        &["zpool history tank", "zpool history -il"],
        history::history,
    ),
    Command::built(
        "events",
        "\tevents [-vHf [pool] | -c]",
        &["zpool events", "zpool events -vf tank"],
        events::events,
    ),
    Command::GAP,
    Command::built(
        "get",
        "\tget [-Hp] [-j [--json-int, --json-pool-key-guid]] ...\n\
         \t    [-o \"all\" | field[,...]] <\"all\" | property[,...]> <pool> ...",
        &["zpool get all tank", "zpool get -Hp -o value free tank"],
        props::get,
    ),
    Command::built(
        "set",
        "\tset <property=value> <pool>",
        &["zpool set comment='first shelf' tank"],
        props::set,
    ),
    Command::GAP,
    Command::built("sync", "\tsync [pool] ...", &["zpool sync", "zpool sync tank"], admin::sync),
    Command::GAP,
    Command::built(
        "wait",
        "\twait [-Hp] [-T d|u] [-t <activity>[,...]] <pool> [interval]",
        &["zpool wait tank", "zpool wait -t scrub,resilver tank 5"],
        scan::wait,
    ),
    Command::GAP,
    Command::built("ddtprune", "\tddtprune -d|-p <amount> <pool>", &[], dedup::prune),
];

/// The pools named, or all; a name that isn't there is said, and is status 1.
fn pools(cx: &mut Cx<'_>, names: &[String]) -> Result<(Vec<PoolStatus>, i32), Stop> {
    if names.is_empty() {
        return Ok((cx.client.get(routes::POOLS)?, 0));
    }
    let (mut found, mut status) = (Vec::new(), 0);
    for name in names {
        if name.is_empty() {
            cx.complain("cannot open '': name must begin with a letter")?;
            status = 1;
            continue;
        }
        match cx.client.get::<PoolStatus>(&routes::at(routes::POOL, name)) {
            Ok(pool) => found.push(pool),
            Err(error) => {
                let text = open_failure(name, error)?;
                cx.complain(&text)?;
                status = 1;
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    Ok((found, status))
}

fn open_failure(name: &str, error: CallError) -> Result<String, Stop> {
    let problem = error.problem()?;
    if problem.kind == kind::NOT_FOUND && !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Ok(format!("cannot open '{name}': name must begin with a letter"));
    }
    Ok(sentence(&format!("cannot open '{name}'"), &problem, Noun::Pool))
}

/// How often to print: the numbers at the end of a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Repeat {
    /// Seconds; 0: once.
    interval: f32,
    /// 0: for ever.
    count: u64,
}

impl Repeat {
    /// Takes `[interval [count]]` off the operands.
    fn take(operands: &mut Vec<String>) -> Result<Repeat, Stop> {
        let numeric = |text: &String| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            digits.then(|| text.parse::<f32>().ok()).flatten()
        };
        let Some(last) = operands.last().and_then(numeric) else { return Ok(Repeat::default()) };
        operands.pop();
        if last == 0.0 {
            return usage("interval cannot be zero");
        }
        let Some(first) = operands.last().and_then(numeric) else {
            return Ok(Repeat { interval: last, count: 0 });
        };
        operands.pop();
        if first == 0.0 {
            return usage("interval cannot be zero");
        }
        Ok(Repeat { interval: first, count: last as u64 })
    }

    /// Whether there is another round, after waiting for it.
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool, Stop> {
        if self.interval == 0.0 || self.count == 1 {
            return Ok(false);
        }
        self.count = self.count.saturating_sub(1);
        cx.io.out.flush()?;
        cx.client.pause(std::time::Duration::from_secs_f32(self.interval.min(1e6)))?;
        Ok(true)
    }
}

/// `-T d|u`: a time before each round.
fn timestamp(option: Option<&str>) -> Result<Option<String>, Stop> {
    match option {
        None => Ok(None),
        Some("d") => Ok(Some(crate::clock::now(false))),
        Some("u") => Ok(Some(crate::clock::now(true))),
        Some(_) => usage(""),
    }
}

/// What every JSON output says of a pool (cmd/zpool/zpool_main.c, `fill_pool_info`).
fn pool_info(pool: &PoolStatus, with_type: bool, as_int: bool) -> Json {
    let mut info = Json::object().with("name", pool.name.as_str());
    if with_type {
        info.put("type", "POOL");
    }
    info.put("state", pool.health.name());
    info.put("pool_guid", Json::number(pool.guid, as_int));
    info.put("txg", Json::number(pool.txg, as_int));
    info.put("spa_version", Json::number(5000, as_int));
    info.put("zpl_version", Json::number(5, as_int));
    info
}

/// What a vdev is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Normal,
    Dedup,
    Special,
    Log,
    Cache,
    Spare,
}

impl Place {
    /// By the heading of [`vdevs::classes`].
    fn titled(title: &str) -> Place {
        match title {
            "dedup" => Place::Dedup,
            "special" => Place::Special,
            _ => Place::Log,
        }
    }

    /// In a JSON output, the class of a vdev.
    fn class(self) -> &'static str {
        match self {
            Place::Normal => "normal",
            Place::Dedup => "dedup",
            Place::Special => "special",
            Place::Log => "log",
            Place::Cache => "l2cache",
            Place::Spare => "spare",
        }
    }
    /// In a JSON output, the member that holds all vdevs of a class.
    fn section(self) -> &'static str {
        match self {
            Place::Normal => "vdevs",
            Place::Dedup => "dedup",
            Place::Special => "special",
            Place::Log => "logs",
            Place::Cache => "l2cache",
            Place::Spare => "spares",
        }
    }
}

/// And of a vdev (`fill_vdev_info`).
fn vdev_info(vdev: &VdevStatus, name: &str, place: Place, as_int: bool) -> Json {
    let mut info = Json::object().with("name", name).with("vdev_type", vdev.kind.as_str());
    info.put("guid", Json::number(vdev.guid, as_int));
    if let Some(path) = &vdev.path {
        info.put("path", path.as_str());
    }
    let state = if place == Place::Spare { vdevs::spare_state(vdev) } else { vdev.health.name() };
    info.with("class", place.class()).with("state", state)
}

/// The key of a pool in a JSON output.
fn pool_key(pool: &PoolStatus, by_guid: bool) -> String {
    if by_guid { pool.guid.to_string() } else { pool.name.clone() }
}

/// `-j` and what goes with it.
#[derive(Clone, Copy, Debug, Default)]
struct JsonOptions {
    json: bool,
    as_int: bool,
    by_guid: bool,
    flat: bool,
}

impl JsonOptions {
    const LONG: [&'static str; 4] = ["json", "json-int", "json-pool-key-guid", "json-flat-vdevs"];

    fn of(options: &crate::getopt::Parsed) -> Result<JsonOptions, Stop> {
        let json = options.has("j");
        for (name, shown) in [
            ("json-int", "--json-int"),
            ("json-pool-key-guid", "json-pool-key-guid"),
            ("json-flat-vdevs", "--json-flat-vdevs"),
        ] {
            if options.has(name) && !json {
                return usage(format!("'{shown}' only works with '-j' option"));
            }
        }
        Ok(JsonOptions {
            json,
            as_int: options.has("json-int"),
            by_guid: options.has("json-pool-key-guid"),
            flat: options.has("json-flat-vdevs"),
        })
    }
}

fn naming(options: &crate::getopt::Parsed) -> Naming {
    Naming { guid: options.has("g"), path: options.has("P"), follow: options.has("L") }
}
