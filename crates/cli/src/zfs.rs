//! `zfs`: its table of commands, and what they share.

mod allow;
mod create;
mod destroy;
mod diff;
mod hold;
mod list;
mod mount;
mod project;
mod props;
mod receive;
mod rename;
mod select;
mod send;
mod snapshot;
mod upgrade;
mod userspace;
mod wait;

pub use allow::is_permission;

use crate::command::Command;
use crate::fail::{Stop, fail};
use crate::version::version;

pub const COMMANDS: &[Command] = &[
    Command::built("version", "\tversion [-j]", &["zfs version"], version),
    Command::GAP,
    Command::built(
        "create",
        "\tcreate [-Pnp[p]uv] [-o property=value] ... <filesystem>\n\
         \tcreate [-Pnp[p]sv] [-b blocksize] [-o property=value] ... -V <size> <volume>",
        &["zfs create tank/home", "zfs create -p -o compression=lz4 -o sharenfs=on tank/a/b/c"],
        create::create,
    ),
    Command::built(
        "destroy",
        "\tdestroy [-fnpRrv] <filesystem|volume>\n\
         \tdestroy [-dnpRrv] <filesystem|volume>@<snap>[%<snap>][,...]\n\
         \tdestroy <filesystem|volume>#<bookmark>",
        &[
            "zfs destroy tank/old",
            "zfs destroy -nvr tank/old        (show what would go)",
            "zfs destroy -nv tank/home@monday%friday        (and what would come back)",
        ],
        destroy::destroy,
    ),
    Command::GAP,
    Command::built(
        "snapshot",
        "\tsnapshot [-r] [-o property=value] ... <filesystem|volume>@<snap> ...",
        &[
            "zfs snapshot tank/home@monday",
            "zfs snapshot -r tank@monday",
            "zfs snapshot tank/a@now tank/b@now",
        ],
        snapshot::snapshot,
    ),
    Command::built(
        "rollback",
        "\trollback [-rRf] <snapshot>",
        &["zfs rollback tank/home@monday", "zfs rollback -r tank/home@monday"],
        snapshot::rollback,
    ),
    Command::built(
        "clone",
        "\tclone [-p[p]u] [-o property=value] ... <snapshot> <filesystem|volume>",
        &["zfs clone tank/home@monday tank/test", "zfs clone -o readonly=on tank/home@monday tank/look"],
        snapshot::clone,
    ),
    Command::built("promote", "\tpromote <clone-filesystem>", &["zfs promote tank/test"], snapshot::promote),
    Command::built(
        "rename",
        "\trename [-f] <filesystem|volume|snapshot> <filesystem|volume|snapshot>\n\
         \trename -p[p] [-f] <filesystem|volume> <filesystem|volume>\n\
         \trename -u [-f] <filesystem> <filesystem>\n\
         \trename -r <snapshot> <snapshot>",
        &[
            "zfs rename tank/a tank/b",
            "zfs rename -p tank/a tank/new/place/a",
            "zfs rename -r tank@today @yesterday",
        ],
        rename::rename,
    ),
    Command::built(
        "bookmark",
        "\tbookmark <snapshot|bookmark> <newbookmark>",
        &["zfs bookmark tank/home@monday tank/home#monday", "zfs bookmark tank/home@monday '#monday'"],
        snapshot::bookmark,
    ),
    Command::built(
        "diff",
        "\tdiff [-FHth] <snapshot> [snapshot|filesystem]",
        &["zfs diff tank/home@monday", "zfs diff -FH tank/home@monday tank/home@friday"],
        diff::diff,
    ),
    Command::GAP,
    Command::built(
        "list",
        "\tlist [-Hp] [-j [--json-int]] [-r|-d max] [-o property[,...]] [-s property]...\n\
         \t    [-S property]... [-t type[,...]] [filesystem|volume|snapshot] ...",
        &["zfs list", "zfs list -r -o name,used,compressratio tank", "zfs list -S used -Hp -o name,used"],
        list::list,
    ),
    Command::GAP,
    Command::built(
        "set",
        "\tset [-u] <property=value> ... <filesystem|volume|snapshot> ...",
        &["zfs set compression=lz4 tank/home", "zfs set sharenfs='rw=@10.0.0.0/24,root_squash' tank/share"],
        props::set,
    ),
    Command::built(
        "get",
        "\tget [-rHp] [-j [--json-int]] [-d max] [-o \"all\" | field[,...]]\n\
         \t    [-t type[,...]] [-s source[,...]]\n\
         \t    <\"all\" | property[,...]> [filesystem|volume|snapshot|bookmark] ...",
        &["zfs get all tank/home", "zfs get -r -s local all tank", "zfs get -Hp -o value used tank"],
        props::get,
    ),
    Command::built(
        "inherit",
        "\tinherit [-rS] <property> <filesystem|volume|snapshot> ...",
        &["zfs inherit compression tank/home", "zfs inherit -r atime tank"],
        props::inherit,
    ),
    Command::built(
        "upgrade",
        "\tupgrade [-v]\n\tupgrade [-r] [-V version] <-a | filesystem ...>",
        &["zfs upgrade", "zfs upgrade -v", "zfs upgrade -r tank/home", "zfs upgrade -a"],
        upgrade::upgrade,
    ),
    Command::GAP,
    Command::built(
        "userspace",
        "\tuserspace [-Hinp] [-o field[,...]] [-s field] ...\n\t    [-S field] ... [-t type[,...]] <filesystem|snapshot|path>",
        &["zfs userspace tank/home", "zfs userspace -S used -o name,used,quota tank/home"],
        userspace::users,
    ),
    Command::built(
        "groupspace",
        "\tgroupspace [-Hinp] [-o field[,...]] [-s field] ...\n\t    [-S field] ... [-t type[,...]] <filesystem|snapshot|path>",
        &["zfs groupspace -n tank/home"],
        userspace::groups,
    ),
    Command::built(
        "projectspace",
        "\tprojectspace [-Hp] [-o field[,...]] [-s field] ... \n\t    [-S field] ... <filesystem|snapshot|path>",
        &["zfs projectspace tank/home"],
        userspace::projects,
    ),
    Command::GAP,
    Command::built(
        "project",
        "\tproject [-d|-r] <directory|file ...>\n\
         \tproject -c [-0] [-d|-r] [-p id] <directory|file ...>\n\
         \tproject -C [-k] [-r] <directory ...>\n\
         \tproject [-p id] [-r] [-s] <directory ...>",
        &[
            "zfs project -s -p 1001 -r /tank/home/joe        (this tree, and what is made in it)",
            "zfs project -r /tank/home/joe",
            "zfs set projectquota@1001=10G tank/home",
        ],
        project::project,
    ),
    Command::GAP,
    Command::built(
        "mount",
        "\tmount [-j]\n\tmount [-vO] [-o opts] <-a|filesystem>",
        &["zfs mount", "zfs mount tank/home", "zfs mount -o ro tank/home", "zfs mount -a"],
        mount::mount,
    ),
    Command::built(
        "unmount",
        "\tunmount [-f] <-a | filesystem|mountpoint>",
        &["zfs unmount tank/home", "zfs unmount /tank/home", "zfs unmount -a"],
        mount::unmount,
    ),
    Command::built(
        "share",
        "\tshare <-a [nfs] | filesystem>",
        &["zfs share tank/share", "zfs share -a"],
        mount::share,
    ),
    Command::built(
        "unshare",
        "\tunshare <-a [nfs] | filesystem|mountpoint>",
        &["zfs unshare tank/share", "zfs unshare -a"],
        mount::unshare,
    ),
    Command::GAP,
    Command::built(
        "send",
        "\tsend [-DLPbcehnpsVvw] [-i|-I snapshot]\n\t     [-R [-X dataset[,dataset]...]]     <snapshot>\n\
         \tsend [-DnVvPLecw] [-i snapshot|bookmark] <filesystem|volume|snapshot>\n\
         \tsend [-DnPpVvLec] [-i bookmark|snapshot] --redact <bookmark> <snapshot>\n\
         \tsend [-nVvPe] -t <receive_resume_token>\n\tsend [-PnVv] --saved filesystem",
        &[
            "zfs send tank/home@monday > home.zsend",
            "zfs send -i @monday tank/home@tuesday > next.zsend",
            "zfs send --replicate --exclude tank/scratch,tank/tmp tank@monday > all.zsend",
            "zfs send -t 1-e604ea4bf-e0-789c63a2... > rest.zsend        (receive_resume_token of the receiver)",
            "zfs send --saved backup/home > part.zsend        (what an interrupted receive has left)",
            "zfs send tank/old > old.zsend        (as it is, while it is not mounted)",
        ],
        send::send,
    ),
    Command::built(
        "receive",
        "\treceive [-vMnsFhu] [-o <property>=<value>] ... [-x <property>] ...\n\t    <filesystem|volume|snapshot>\n\
         \treceive [-vMnsFhu] [-o <property>=<value>] ... [-x <property>] ... \n\t    [-d | -e] <filesystem>\n\
         \treceive -A <filesystem|volume>",
        &[
            "zfs receive backup/home < home.zsend",
            "zfs receive -F backup/home < next.zsend",
            "zfs receive -s backup/home < home.zsend        (keeps what came if the rest does not)",
            "zfs receive -A backup/home        (and gives that up)",
            "zfs receive -c tank/home@monday < home.zsend        (heals what no disk has any more of that snapshot)",
        ],
        receive::receive,
    ),
    Command::planned("redact", "\tredact <snapshot> <bookmark> <redaction_snapshot> ..."),
    Command::GAP,
    Command::built(
        "allow",
        allow::ALLOW,
        &[
            "zfs allow tank/home        (shows what is delegated)",
            "zfs allow joe create,mount,snapshot tank/home/joe",
            "zfs allow -s @backup snapshot,send,hold tank; zfs allow -g operators @backup tank",
        ],
        allow::allow,
    ),
    Command::built(
        "unallow",
        allow::UNALLOW,
        &["zfs unallow joe snapshot tank/home/joe", "zfs unallow -r joe tank"],
        allow::unallow,
    ),
    Command::GAP,
    Command::built(
        "hold",
        "\thold [-r] <tag> <snapshot> ...",
        &["zfs hold keep tank/home@monday", "zfs hold -r keep tank@monday"],
        hold::hold,
    ),
    Command::built(
        "holds",
        "\tholds [-rHp] <snapshot> ...",
        &["zfs holds tank/home@monday", "zfs holds -r tank@monday"],
        hold::holds,
    ),
    Command::built(
        "release",
        "\trelease [-r] <tag> <snapshot> ...",
        &["zfs release keep tank/home@monday"],
        hold::release,
    ),
    Command::GAP,
    Command::planned("load-key", "\tload-key [-rn] [-L <keylocation>] <-a | filesystem|volume>"),
    Command::planned("unload-key", "\tunload-key [-r] <-a | filesystem|volume>"),
    Command::planned("change-key", "\tchange-key [-l] [-o keyformat=<value>] <filesystem|volume>"),
    Command::GAP,
    Command::planned(
        "program",
        "\tprogram [-jn] [-t <instruction limit>] [-m <memory limit (b)>]\n\
         \t    <pool> <program file>",
    ),
    Command::planned("rewrite", "\trewrite [-CPSrvx] [-o <offset>] [-l <length>] <directory|file ...>"),
    Command::built(
        "wait",
        "\twait [-t <activity>] <filesystem>",
        &["zfs wait tank/home        (until deleted files are freed)"],
        wait::wait,
    ),
    Command::GAP,
    Command::planned("zone", "\tzone <nsfile> <filesystem>"),
    Command::planned("unzone", "\tunzone <nsfile> <filesystem>"),
];

/// Refuses to open what no dataset can be called.
pub fn check_name(name: &str) -> Result<(), Stop> {
    name_fault(name).map_or(Ok(()), |why| fail(format!("cannot open '{name}': {why}")))
}

/// What is wrong with a dataset's name, in OpenZFS's words (module/zcommon/zfs_namecheck.c,
/// `entity_namecheck`).
pub fn name_fault(name: &str) -> Option<String> {
    if name.len() >= 256 {
        return Some("name is too long".into());
    }
    if name.starts_with('/') {
        return Some("leading slash in name".into());
    }
    let valid = |char: char| char.is_ascii_alphanumeric() || "-_.: %".contains(char);
    let (mut rest, mut is_point) = (name, false);
    loop {
        let end = rest.find(['/', '@', '#']).unwrap_or(rest.len());
        let (part, sign) = (&rest[..end], rest[end..].chars().next());
        if sign.is_none() && name.ends_with('/') {
            return Some("trailing slash in name".into());
        }
        if let Some(char) = part.chars().find(|char| !valid(*char)) {
            return Some(format!("invalid character '{char}' in name"));
        }
        let fault = match (sign, part) {
            (None | Some('/'), ".") => "self reference, '.' is found in name",
            (None | Some('/'), "..") => "parent reference, '..' is found in name",
            (Some('@' | '#'), _) if is_point => "multiple '@' and/or '#' delimiters in name",
            _ if part.is_empty() => "empty component or misplaced '@' or '#' delimiter in name",
            (None, _) => return None,
            (Some('/'), _) if is_point => "trailing slash in name",
            (Some(sign), _) => {
                is_point |= sign != '/';
                rest = &rest[end + 1..];
                continue;
            }
        };
        return Some(fault.into());
    }
}

#[cfg(test)]
mod tests;
