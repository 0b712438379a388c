use std::fs;
use std::path::PathBuf;

use super::*;
use crate::options::{HELP, Options};

/// A file with this content, gone with the value.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, content: &[u8]) -> Written {
        let path = std::env::temp_dir().join(format!("cistern-config-{name}-{}.toml", std::process::id()));
        fs::write(&path, content).expect("written");
        Written(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // It is in the way of nobody.
        let _ = fs::remove_file(&self.0);
    }
}

fn owned(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

fn options(args: &[String]) -> Options {
    parse(args, 20 << 30, true).expect("it makes sense").expect("no help")
}

fn run(name: &str, content: &str, args: &[&str]) -> Options {
    let file = Written::new(name, content.as_bytes());
    options(&with_file(&owned(args), &file.0).expect("it makes sense"))
}

/// What is said of a file, without its path.
fn refused(name: &str, content: &[u8]) -> String {
    let file = Written::new(name, content);
    let why = with_file(&[], &file.0).expect_err("it makes no sense");
    let path = file.0.display().to_string();
    why.strip_prefix(&path).expect("it names the file").to_owned()
}

#[test]
fn flags_win_over_the_file() {
    let file = "nfs = 'off'\ncache = '1G'\niscsi = ['10.0.0.1:3260', '10.0.1.1:3260,2']\nautomount = true\n\
                search = ['/a', '/b']\nkeep = 'off'\n";
    let both = run("both", file, &["--cache", "2G", "--iscsi=127.0.0.1:1", "--automount=off"]);
    assert_eq!((both.nfs, both.cache, both.automount, both.keep), (None, 2 << 30, false, None));
    assert_eq!(both.iscsi.iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.1:1,1"]);
    assert_eq!(both.search, ["/a", "/b"]);
    let alone = run("alone", file, &[]);
    assert_eq!((alone.cache, alone.automount, alone.iscsi.len()), (1 << 30, true, 2));
    // A value that looks like an option is none.
    assert_eq!(
        run("value", "automount = true", &["--state", "--automount"]).state,
        PathBuf::from("--automount")
    );
}

#[test]
fn a_file_is_chosen_or_left_out() {
    let (usual, other) = (Written::new("usual", b"cache = '1G'"), Written::new("other", b"cache = '2G'"));
    let cache = |args: &[&str]| options(&with_file(&owned(args), &usual.0).expect("it makes sense")).cache;
    let other = other.0.to_str().expect("text");
    assert_eq!(cache(&[]), 1 << 30);
    assert_eq!(cache(&["--config", other]), 2 << 30);
    assert_eq!(cache(&[&format!("--config={other}")]), 2 << 30);
    assert_eq!(cache(&["--config", "off"]), 4 << 30);
    assert_eq!(with_file(&owned(&["--config"]), &usual.0), Err("--config wants a value".into()));
    let nowhere = Path::new("/nowhere/cistern.toml");
    assert_eq!(with_file(&owned(&["--nfs=off"]), nowhere), Ok(owned(&["--nfs=off"])));
    let named = with_file(&owned(&["--config", "/nowhere/cistern.toml"]), &usual.0);
    assert_eq!(named, Err("/nowhere/cistern.toml: No such file or directory".into()));
    // Of a folder there is nothing to read, and that is said.
    assert!(with_file(&[], Path::new("/")).is_err());
    let broken = Written::new("broken", b"?");
    assert_eq!(with_file(&owned(&["--help"]), &broken.0), Ok(owned(&["--help"])));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_line() {
    assert!(
        refused("name", b"\n# a comment\nnsf = 'off'\n").starts_with(":3: there is no option \"nsf\": write")
    );
    assert!(refused("table", b"[nfs]\nport = 1\n").starts_with(":1: 'nfs' wants a string: write nfs ="));
    assert!(refused("number", b"cache = 8\n").starts_with(":1: 'cache' wants a string: write cache ="));
    assert!(refused("switch", b"automount = 'on'").starts_with(":1: 'automount' wants true or false"));
    assert!(refused("list", b"nfs = ['off']").starts_with(":1: 'nfs' wants a string"));
    assert!(refused("items", b"iscsi = [\n 1]").starts_with(":1: 'iscsi' wants a list of strings"));
    assert!(refused("size", b"\ncache = 'many'").starts_with(":2: 'many' is not a size"));
    assert!(refused("place", b"nfs = 'here'").contains("ADDR:PORT"));
    assert!(refused("level", b"log = 'loud'").starts_with(":1: 'loud' is no level"));
    assert!(refused("twice", b"nfs = 'off'\nnfs = 'off'\n").starts_with(":2: "));
    assert!(refused("end", b"nfs = 'off\n").starts_with(":1: "));
    // It chooses itself no other, and helps nobody.
    assert!(refused("config", b"config = '/x'").contains("no option \"config\""));
    assert!(refused("help", b"help = true").contains("no option \"help\""));
}

#[test]
fn hostile_files_are_refused_and_hurt_nobody() {
    assert!(refused("bytes", &[0xff, 0xfe, b'\n']).contains("UTF-8"));
    assert_eq!(refused("long", &vec![b'#'; 65 << 10]), ": longer than 65536 bytes");
    assert!(refused("deep", "[".repeat(60_000).as_bytes()).starts_with(":1"));
    assert!(refused("nested", format!("search = {}", "[".repeat(60_000)).as_bytes()).starts_with(":1"));
    // Who writes a line feed into a name gets no second line of a log from it.
    assert!(!refused("feed", b"\"a\\nb\" = 1").contains("a\nb"));
}

/// The file that the package installs.
const SHIPPED: &str = include_str!("../../../../packaging/cistern.toml");

/// Its options, which are comments there: a number sign, and no space behind it.
fn uncommented() -> String {
    let is_option = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let options = SHIPPED.lines().filter_map(|line| line.strip_prefix('#').filter(is_option));
    options.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_shipped_file_says_nothing_until_it_is_changed() {
    assert_eq!(run("shipped", SHIPPED, &[]), options(&[]));
}

#[test]
fn the_shipped_file_names_every_option_with_its_default() {
    let said = entries(&uncommented()).map_err(|wrong| wrong.why).expect("it makes sense");
    let mut names: Vec<&str> = said.iter().map(|entry| entry.option.name).collect();
    let mut all: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
    names.sort_unstable();
    all.sort_unstable();
    assert_eq!(names, all);
    let said = run("uncommented", &uncommented(), &[]);
    // What is left out in words is the same as this.
    let state = PathBuf::from("/var/lib/cistern");
    let wanted = Options {
        socket: Some(state.join("cistern.sock")),
        search: vec!["/dev".into(), "/var/lib/cistern/disks".into()],
        cachefile: Some("/var/lib/cistern/zpool.cache".into()),
        log: Some("info".into()),
        ..options(&[])
    };
    assert_eq!(said, wanted);
}

#[test]
fn the_help_the_table_and_the_manual_name_the_same_options() {
    let head =
        |line: &str| line.strip_prefix("  --").map(|rest| rest.split(' ').next().unwrap_or("").to_owned());
    let mut helped: Vec<String> = HELP.lines().filter_map(head).collect();
    // Which file it is, no file says; and no service of the system is a trial.
    helped.retain(|name| name != "config" && name != "trial");
    let mut all: Vec<String> = OPTIONS.iter().map(|option| option.name.to_owned()).collect();
    helped.sort();
    all.sort();
    assert_eq!(helped, all);
    let manuals = [
        include_str!("../../../../packaging/man/cistern-serve.8"),
        include_str!("../../../../packaging/man/cistern.toml.5"),
    ];
    for name in &all {
        let item = |manual: &str| {
            manual.lines().any(|line| {
                let mut words = line.split(' ');
                words.next() == Some(".It") && words.any(|word| word.trim_start_matches('-') == name)
            })
        };
        assert!(item(manuals[0]), "cistern-serve.8 has no item for {name}");
        assert!(item(manuals[1]), "cistern.toml.5 has no item for {name}");
    }
}
