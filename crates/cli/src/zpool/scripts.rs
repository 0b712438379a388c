//! `-c` of `zpool iostat` and `zpool status`: programs that are run for each device, and columns of
//! what they print.
//!
//! A line `NAME=VALUE` is a column, any other line is a program's last and stands behind the
//! columns. Programs are found by name in the folders of `$ZPOOL_SCRIPTS_PATH`, else in
//! `~/.zpool.d` and `/etc/zfs/zpool.d`; nothing with a slash is run. Root runs none unless
//! `$ZPOOL_SCRIPTS_AS_ROOT` says so. Source: cmd/zpool/zpool_iter.c (`vdev_run_cmd`), zpool_main.c.

use crate::command::Cx;
use crate::fail::{Stop, fail};
use crate::getopt::Parsed;
use api_types::{PoolStatus, VdevStatus};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of a program's output that are looked at.
const OUTPUT_MAX: u64 = 64 << 10;
const OF_SYSTEM: &str = "/etc/zfs/zpool.d";

/// What the programs printed.
#[derive(Debug, Default)]
pub struct Scripts {
    /// Names and widths.
    columns: Vec<(String, usize)>,
    /// By path of the device.
    devices: BTreeMap<String, Output>,
}

/// Of one device.
#[derive(Debug, Default, PartialEq, Eq)]
struct Output {
    columns: Vec<(String, String)>,
    rest: Vec<String>,
}

/// Whether `-c` stands alone: then the programs are listed.
pub fn is_listing(args: &[String]) -> bool {
    args.last().is_some_and(|last| last == "-c")
}

/// The programs that there are, each with what it says of itself.
pub fn list(cx: &mut Cx<'_>, command: &str) -> Result<i32, Stop> {
    writeln!(cx.io.out, "Available 'zpool {command} -c' commands:")?;
    for folder in folders() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| is_program(path)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            for line in run(path, &["-h"], &[]).lines().filter(|line| !line.trim().is_empty()) {
                writeln!(cx.io.out, "  {name:<14}  {line}")?;
            }
        }
    }
    Ok(0)
}

/// The programs that `-c` names. Refuses where they may not be run.
pub fn named(cx: &Cx<'_>, options: &Parsed) -> Result<Option<String>, Stop> {
    if options.values("c").count() > 1 {
        return fail("Can't set -c flag twice");
    }
    let Some(programs) = options.value("c") else { return Ok(None) };
    cx.client.must_be_here(&format!("{} -c", cx.command))?;
    check()?;
    Ok(Some(programs.to_owned()))
}

fn check() -> Result<(), Stop> {
    if std::env::var_os("ZPOOL_SCRIPTS_ENABLED").is_some() && !is_set("ZPOOL_SCRIPTS_ENABLED") {
        return fail("Can't run -c, disabled by ZPOOL_SCRIPTS_ENABLED.");
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root && !is_set("ZPOOL_SCRIPTS_AS_ROOT") {
        return fail("Can't run -c with root privileges unless ZPOOL_SCRIPTS_AS_ROOT is set.");
    }
    Ok(())
}

/// A number but 0, or a word that says yes (`libzfs_envvar_is_set`).
fn is_set(name: &str) -> bool {
    let value = std::env::var(name).unwrap_or_default();
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u64>().is_ok_and(|number| number != 0)
        || ["YES", "ON"].iter().any(|word| value.to_ascii_uppercase().starts_with(word))
}

fn folders() -> Vec<PathBuf> {
    if let Some(given) = std::env::var_os("ZPOOL_SCRIPTS_PATH").filter(|path| !path.is_empty()) {
        return std::env::split_paths(&given).collect();
    }
    let own = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".zpool.d"));
    own.into_iter().chain([PathBuf::from(OF_SYSTEM)]).collect()
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// What a program prints; nothing where it fails.
fn run(path: &Path, args: &[&str], environment: &[(&str, OsString)]) -> String {
    let mut command = Command::new(path);
    command.args(args).env_clear().env("PATH", "/bin:/sbin:/usr/bin:/usr/sbin");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return String::new() };
    let mut bytes = Vec::new();
    let read = child.stdout.take().map(|out| out.take(OUTPUT_MAX).read_to_end(&mut bytes));
    let ended = child.wait().is_ok_and(|status| status.success());
    let is_whole = ended && matches!(read, Some(Ok(_)));
    if is_whole { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() }
}

impl Scripts {
    /// Runs the programs of a list for the devices of these pools that are `wanted`.
    pub fn run(list: &str, pools: &[PoolStatus], wanted: &dyn Fn(&VdevStatus) -> bool) -> Scripts {
        let mut scripts = Scripts::default();
        let folders = folders();
        let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| is_program(path));
        let names = list.split(',').filter(|name| !name.is_empty() && !name.contains('/'));
        let programs: Vec<PathBuf> = names.filter_map(find).collect();
        for pool in pools {
            let tops = [&pool.root].into_iter().chain(&pool.cache).chain(&pool.spares);
            tops.for_each(|top| scripts.visit(top, &programs, wanted));
        }
        scripts.measure();
        scripts
    }

    fn visit(&mut self, vdev: &VdevStatus, programs: &[PathBuf], wanted: &dyn Fn(&VdevStatus) -> bool) {
        vdev.children.iter().for_each(|child| self.visit(child, programs, wanted));
        let Some(path) = vdev.path.as_ref().filter(|_| wanted(vdev)) else { return };
        if self.devices.contains_key(path) {
            return;
        }
        let real = fs::canonicalize(path).map_or_else(|_| path.into(), PathBuf::into_os_string);
        let environment = [
            ("VDEV_PATH", OsString::from(path)),
            ("VDEV_UPATH", real),
            ("VDEV_ENC_SYSFS_PATH", OsString::new()),
        ];
        let mut output = Output::default();
        programs.iter().for_each(|program| output.take(&run(program, &[], &environment)));
        self.devices.insert(path.clone(), output);
    }

    /// Which columns there are, and how wide.
    fn measure(&mut self) {
        for (name, value) in self.devices.values().flat_map(|output| &output.columns) {
            let width = name.chars().count().max(value.chars().count());
            match self.columns.iter_mut().find(|(known, _)| known == name) {
                Some((_, widest)) => *widest = (*widest).max(width),
                None => self.columns.push((name.clone(), width)),
            }
        }
    }

    /// What stands over the columns: their names, or with `dashes` lines.
    pub fn heading(&self, dashes: bool) -> String {
        let mut line = String::new();
        for (name, width) in &self.columns {
            // Writing into a String cannot fail.
            let _ = match dashes {
                true => write!(line, "  {}", "-".repeat(*width)),
                false => write!(line, "  {name:>width$}"),
            };
        }
        line
    }

    /// What stands behind a device; nothing behind other vdevs.
    pub fn cells(&self, vdev: &VdevStatus) -> String {
        let Some(output) = vdev.path.as_ref().and_then(|path| self.devices.get(path)) else {
            return String::new();
        };
        let value = |wanted: &str| {
            let found = output.columns.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.trim().is_empty())
        };
        let cell = |(name, width): &(String, usize)| format!("{:>width$}", value(name).unwrap_or("-"));
        let mut cells: Vec<String> = self.columns.iter().map(cell).collect();
        cells.extend(output.rest.clone());
        format!("  {}", cells.join("  "))
    }
}

impl Output {
    /// Takes what one program printed; a column that is there already keeps its value.
    fn take(&mut self, text: &str) {
        for line in text.lines() {
            match line.split_once('=') {
                Some((name, _)) if self.columns.iter().any(|(known, _)| known == name) => {}
                Some((name, value)) => self.columns.push((name.to_owned(), value.to_owned())),
                None => {
                    self.rest.push(line.to_owned());
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
