use std::cell::RefCell;

use super::*;

const HELP: &str = "usage:\n  cistern serve [options]        run it\n  cistern zpool COMMAND …\n  cistern iscsi COMMAND …\n\
                    \x20 cistern explain-space DATASET  who\n";
const ISCSI: &str = "usage: cistern iscsi list\n       cistern iscsi map VOLUME [-t TARGET] [-l LUN]\n\n  -t TARGET  its name\n";
const EXPLAIN: &str = "usage: cistern explain-space DATASET [--json]\n";

/// What is offered, and the paths that the daemon was asked for.
fn asked(line: &str, names: &[&str]) -> (Vec<String>, Vec<String>) {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let paths = RefCell::new(Vec::new());
    let help = |words: &[&str]| match words {
        [] => HELP.to_owned(),
        ["iscsi"] => ISCSI.to_owned(),
        ["explain-space"] => EXPLAIN.to_owned(),
        other => panic!("nobody was to ask for {other:?}"),
    };
    let told = |path: String| {
        paths.borrow_mut().push(path);
        names.iter().map(|name| (*name).to_owned()).collect()
    };
    let found = candidates(&words, &Sources { help: &help, names: &told });
    (found, paths.into_inner())
}

fn offered(line: &str) -> Vec<String> {
    let (found, paths) = asked(line, &[]);
    assert_eq!(paths, Vec::<String>::new(), "{line}");
    found
}

#[test]
fn commands_are_those_of_the_tables_and_help_texts() {
    assert_eq!(offered("zpool im"), ["import"]);
    assert_eq!(offered("/usr/lib/cistern/bin/zfs snap"), ["snapshot"]);
    assert_eq!(offered("zfs help prom"), ["promote"]);
    // What is not built is not offered.
    assert_eq!(offered("zfs load"), Vec::<String>::new());
    assert_eq!(offered("cistern "), ["explain-space", "iscsi", "serve", "zpool"]);
    assert_eq!(offered("cistern iscsi "), ["list", "map"]);
    assert_eq!(offered("cistern zpool scr"), ["scrub"]);
    assert_eq!(offered("cistern nonsense "), Vec::<String>::new());
    assert_eq!((offered("zfs"), offered("zfs nonsense ")), (Vec::new(), Vec::new()));
    assert_eq!(candidates(&[], &Sources { help: &|_| String::new(), names: &|_| Vec::new() }), [""; 0]);
}

#[test]
fn options_are_those_of_the_synopses() {
    assert_eq!(offered("zpool destroy -"), ["-f"]);
    assert_eq!(offered("zfs promote -"), Vec::<String>::new());
    assert_eq!(offered("zfs create -"), ["-P", "-V", "-b", "-n", "-o", "-p", "-s", "-u", "-v"]);
    assert_eq!(offered("zfs send --"), ["--redact", "--saved"]);
    assert_eq!(offered("zpool get --json-"), ["--json-int", "--json-pool-key-guid"]);
    assert_eq!(offered("cistern iscsi map -"), ["-l", "-t"]);
    assert_eq!(offered("cistern explain-space --"), ["--json"]);
}

#[test]
fn every_option_that_is_offered_is_one_of_its_synopsis() {
    for program in [Program::Zpool, Program::Zfs] {
        for command in program.commands().iter().filter(|command| command.run.is_some()) {
            for option in offered(&format!("{} {} -", program.name(), command.name)) {
                let plain = option.trim_start_matches('-');
                assert!(!plain.is_empty() && command.usage.contains(plain), "{} {option}", command.name);
            }
        }
    }
}

#[test]
fn properties_and_their_values_come_from_the_tables() {
    assert_eq!(offered("zfs get comp"), ["compression", "compressratio"]);
    assert_eq!(offered("zfs get used,compressr"), ["used,compressratio"]);
    assert_eq!(offered("zfs get -o val"), ["value"]);
    assert_eq!(offered("zfs get -t snapshot,book"), ["snapshot,bookmark"]);
    assert_eq!(offered("zfs list -o name,refer"), ["name,referenced"]);
    assert_eq!(offered("zfs set compression=lz"), ["compression=lz4", "compression=lzjb"]);
    assert_eq!(offered("zfs set quota="), ["quota=none"]);
    // Set once, when it is made.
    assert_eq!(offered("zfs set normaliz"), Vec::<String>::new());
    assert_eq!(offered("zfs create -o normaliz"), ["normalization="]);
    assert_eq!(offered("zpool create -O compressi"), ["compression="]);
    assert_eq!(offered("zpool set autotr"), ["autotrim="]);
    assert_eq!(offered("zfs inherit recordsi"), ["recordsize"]);
}

#[test]
fn names_come_from_the_daemon_a_level_at_a_time() {
    let (found, paths) = asked("zfs list ta", &["tank", "other"]);
    assert_eq!(
        (found, paths),
        (vec!["tank".into()], vec!["/v1/datasets?depth=0&kinds=filesystem&props=type".into()])
    );
    let (found, paths) = asked("zfs get used tank/a b", &["tank"]);
    assert_eq!((found.len(), paths.len()), (0, 1));
    let (found, paths) = asked("zfs destroy tank/ho", &["tank/home", "tank/home2", "tank"]);
    assert_eq!(found, ["tank/home", "tank/home2"]);
    assert_eq!(paths, ["/v1/datasets?roots=tank&depth=1&kinds=filesystem,volume&props=type"]);
    let (found, paths) = asked("zfs rollback tank/home@m", &["tank/home@monday", "tank/home@friday"]);
    assert_eq!(found, ["tank/home@monday"]);
    assert_eq!(paths, ["/v1/datasets?roots=tank%2Fhome&depth=1&kinds=snapshot&props=type"]);
    assert_eq!(asked("zfs destroy tank#", &["tank#a"]).0, ["tank#a"]);
    assert_eq!(asked("zpool status ta", &["tank"]).0, ["tank"]);
    assert_eq!(asked("cistern explain-space ta", &["tank"]).0, ["tank"]);
    assert_eq!(asked("cistern iscsi map tank/v", &["tank/v1"]).0, ["tank/v1"]);
    // The value of an option is no operand.
    assert_eq!(asked("zfs get -d 1 usedbys", &[]).0, ["usedbysnapshots"]);
    // What stands for nothing asks for nothing.
    assert_eq!((offered("zfs list @"), offered("zfs list /")), (Vec::new(), Vec::new()));
}

#[test]
fn a_hostile_daemon_makes_no_lines_of_its_own() {
    let (found, _) = asked("zpool status t", &["tank\nrm -rf", "t\u{1b}[2J", "tank"]);
    assert_eq!(found, ["tank"]);
    let many: Vec<String> = (0..5000).map(|number| format!("t{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(asked("zpool status t", &many).0.len(), MOST);
}

#[test]
fn a_daemon_that_is_silent_has_no_names_and_holds_nobody_up() {
    let path = std::env::temp_dir().join(format!("cistern-complete-{}.sock", std::process::id()));
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("bound");
    let began = std::time::Instant::now();
    assert_eq!(ask(&Client::new(&path), "/v1/datasets".into()), [""; 0]);
    let took = began.elapsed();
    drop(listener);
    std::fs::remove_file(&path).expect("removed");
    assert!(took >= PATIENCE && took < 10 * PATIENCE, "{took:?}");
    assert_eq!(ask(&Client::new(&path), "/v1/datasets".into()), [""; 0]);
}
