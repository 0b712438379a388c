//! Lists in pages: the same list whatever the size of a page, whole though others change it
//! meanwhile, and quick however long it is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::daemon::{Daemon, Ran, Scratch, program, say, text};
use crate::https::{Answer, Site};

/// The names of a page, and the address of the next.
fn page(answer: &Answer) -> (Vec<String>, Option<String>) {
    let list = answer.json();
    let name = |one: &Value| one["name"].as_str().expect("a name").to_owned();
    let names = list.as_array().expect("a list").iter().map(name).collect();
    let next = answer.header("link").map(|link| {
        let (address, kind) = link.split_once(';').expect("a kind");
        assert_eq!(kind.trim(), "rel=\"next\"");
        address.trim_start_matches('<').trim_end_matches('>').to_owned()
    });
    (names, next)
}

/// All pages from an address on; something happens after each.
fn pages(site: &Site, first: &str, mut between: impl FnMut(usize)) -> Vec<Vec<String>> {
    let (mut pages, mut next) = (Vec::new(), Some(first.to_owned()));
    while let Some(address) = next {
        let answer = site.get(&address, &[&site.bearer()]).is(200);
        let (names, following) = page(&answer);
        pages.push(names);
        next = following;
        between(pages.len());
        assert!(pages.len() < 1_000, "{pages:?}");
    }
    pages
}

fn whole(site: &Site, query: &str) -> Vec<String> {
    let answer = site.get(&format!("/v1/datasets?{query}"), &[&site.bearer()]).is(200);
    let (names, next) = page(&answer);
    assert_eq!(next, None, "who asks for no pages gets none");
    names
}

#[test]
fn pages_are_the_list_in_parts() {
    let scratch = Scratch::new("paging");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    let b = scratch.image("b", 128);
    site.daemon.zpool(&format!("create -m none pond {b}")).done();
    // `a-b` is behind all that is below `a`.
    for name in ["tank/a/x", "tank/a/x/y", "tank/a-b", "pond/z"] {
        site.daemon.zfs(&format!("create {name}")).done();
    }
    site.daemon.zfs("create -V 16M tank/v").done();
    for snapshot in ["tank/a@zero", "tank/a@one", "tank/a@and", "tank/a/x@s", "tank/b@s", "pond@s"] {
        site.daemon.zfs(&format!("snapshot {snapshot}")).done();
    }
    site.daemon.zfs("bookmark tank/a@one tank/a#mark").done();
    let all = "kinds=filesystem,volume,snapshot,bookmark";
    let queries = [
        "props=type".to_owned(),
        format!("{all}&props=used"),
        "kinds=snapshot&props=type".to_owned(),
        "kinds=volume&props=type".to_owned(),
        format!("{all}&roots=tank/a,pond,tank/a/x@s,tank/b&props=type"),
        format!("{all}&roots=tank&depth=1&props=type"),
        "roots=tank/b&depth=0".to_owned(),
    ];
    for query in queries {
        let list = whole(&site, &query);
        assert!(!list.is_empty());
        for limit in [1, 2, 3, 1_000] {
            let pages = pages(&site, &format!("/v1/datasets?{query}&limit={limit}"), |_| {});
            assert_eq!(pages.concat(), list, "{query} by {limit}");
            assert!(pages.iter().all(|page| page.len() <= limit), "{query} by {limit}: {pages:?}");
        }
    }
    let snapshots = whole(&site, "roots=tank/a&depth=1&kinds=snapshot&props=type");
    assert_eq!(snapshots, ["tank/a@zero", "tank/a@one", "tank/a@and"], "by age");
    for wrong in ["after=x", "limit=-1", "limit=x", "after=0.0.pond&roots=tank"] {
        let status = site.get(&format!("/v1/datasets?{wrong}"), &[&site.bearer()]).status;
        assert!([400, 422].contains(&status), "{wrong}: {status}");
    }
    let audit = pages_of_audit(&site);
    assert!(audit.len() > 3 && audit.windows(2).all(|two| two[0] > two[1]), "{audit:?}");
}

/// Numbers of all records, by pages of two.
fn pages_of_audit(site: &Site) -> Vec<u64> {
    let (mut ids, mut next) = (Vec::new(), Some("/v1/audit?limit=2&verb=POST".to_owned()));
    while let Some(address) = next {
        let answer = site.get(&address, &[&site.bearer()]).is(200);
        let list = answer.json();
        ids.extend(list.as_array().expect("a list").iter().filter_map(|one| one["id"].as_u64()));
        let link = answer.header("link").map(str::to_owned);
        next = link.map(|link| link.split(['<', '>']).nth(1).expect("an address").to_owned());
    }
    ids
}

#[test]
fn what_stays_is_listed_once_whatever_comes_and_goes_meanwhile() {
    let scratch = Scratch::new("paging-changes");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    for number in 0..6 {
        site.daemon.zfs(&format!("create tank/n{number}")).done();
        site.daemon.zfs(&format!("snapshot tank/a@s{number}")).done();
    }
    let address = "/v1/datasets?kinds=filesystem,snapshot&props=type&limit=1";
    let found = pages(&site, address, |page| match page {
        // Behind `tank/a@s1`: what the page ended with goes, and what would be next.
        4 => drop(site.daemon.zfs("destroy tank/a@s1,s2").done()),
        5 => drop(site.daemon.zfs("rename tank/a@s0 tank/a@zero").done()),
        6 => drop(site.daemon.zfs("snapshot tank/a@late").done()),
        10 => drop(site.daemon.zfs("destroy tank/n0").done()),
        11 => drop(site.daemon.zfs("create tank/n00").done()),
        _ => {}
    });
    let found = found.concat();
    let once: BTreeSet<&String> = found.iter().collect();
    assert_eq!(once.len(), found.len(), "none twice: {found:?}");
    for stays in ["tank", "tank/a", "tank/a@s3", "tank/a@s5", "tank/b", "tank/n1", "tank/n5"] {
        assert!(once.contains(&stays.to_owned()), "{stays}: {found:?}");
    }
    assert!(once.contains(&"tank/a@late".to_owned()), "it came behind the place: {found:?}");
}

/// So many file systems, and so many snapshots of them together.
const DATASETS: usize = 400;
const SNAPSHOTS: usize = 4_000;

#[test]
fn a_first_page_costs_the_same_however_long_the_list_is() {
    let scratch = Scratch::new("paging-many");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 1024);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let post = |path: &str, body: &Value| {
        let mut curl = program("curl", 120);
        let url = format!("http://cistern{path}");
        curl.args(["-sS", "--fail-with-body", "--unix-socket", &text(&daemon.socket())]);
        Ran::of(curl.args([&url, "--data-binary", "@-"]).stdin(input(&scratch, body))).done();
    };
    let (datasets, snapshots) = sizes();
    for number in 0..datasets {
        post("/v1/datasets", &json!({"name": format!("tank/d{number:05}"), "no_mount": true}));
    }
    let mut left = snapshots;
    for round in 0.. {
        if left == 0 {
            break;
        }
        // All at one moment.
        let names: Vec<String> =
            (0..datasets.min(left)).map(|number| format!("tank/d{number:05}@r{round}")).collect();
        left -= names.len();
        for names in names.chunks(1_000) {
            post("/v1/snapshots", &json!({"names": names}));
        }
    }
    let first = |query: &str| {
        let mut curl = program("curl", 120);
        let url = format!("http://cistern/v1/datasets?{query}&limit=100");
        let mut times: Vec<Duration> = Vec::new();
        curl.args(["-sS", "-o", "/dev/null", "-w", "%{time_total}\n"]);
        curl.args(["--unix-socket", &text(&daemon.socket())]);
        for _ in 0..100 {
            curl.args(["-o", "/dev/null", url.as_str()]);
        }
        let began = Instant::now();
        for line in Ran::of(&mut curl).done().lines() {
            times.push(Duration::from_secs_f64(line.parse().expect("seconds")));
        }
        times.sort_unstable();
        let (median, most) = (times[times.len() / 2], times[times.len() * 99 / 100 - 1]);
        say(&format!("{query}: {median:?}, p99 {most:?}, {} in {:?}", times.len(), began.elapsed()));
        most
    };
    // The bound is for a quiet machine with ten thousand; here other tests take their share.
    let bound = Duration::from_millis(500);
    for query in
        ["props=used,available,referenced,mountpoint", "kinds=snapshot&props=used,referenced", "depth=1"]
    {
        assert!(first(query) < bound, "{query}");
    }
    daemon.stop();
}

/// As many as the environment says: PAGING=10000,100000 is the full measure.
fn sizes() -> (usize, usize) {
    let asked = std::env::var("PAGING").ok();
    let asked = asked.as_deref().and_then(|asked| asked.split_once(','));
    asked.map_or((DATASETS, SNAPSHOTS), |(datasets, snapshots)| {
        (datasets.parse().expect("a number"), snapshots.parse().expect("a number"))
    })
}

/// A file with a body.
fn input(scratch: &Scratch, body: &Value) -> std::fs::File {
    let path = scratch.path("body");
    std::fs::write(&path, body.to_string()).expect("written");
    std::fs::File::open(path).expect("it is there")
}
