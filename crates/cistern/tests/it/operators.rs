//! Operators of accounts, and mounts: the daemon that mounts for them is root.

use std::fs;

use serde_json::{Value, json};

use crate::daemon::{Scratch, text};
use crate::https::{Answer, Site};

/// A daemon that mounts, a pool of two file systems, and the credential of an operator.
fn site(scratch: &Scratch) -> (Site, String) {
    let site = Site::start_with(scratch, &["--automount"]);
    let (a, at) = (scratch.image("a", 256), scratch.text("at"));
    site.daemon.zpool(&format!("create -m {at} tank {a}")).done();
    for name in ["a", "b", "b/c"] {
        site.daemon.zfs(&format!("create tank/{name}")).done();
    }
    let who = site.user("olga", "operator", None);
    (site, who)
}

fn is_mounted(site: &Site, name: &str) -> bool {
    site.daemon.zfs(&format!("get -H -o value mounted {name}")).done() == "yes\n"
}

#[test]
fn an_operator_has_nothing_mounted_where_he_says() {
    let scratch = Scratch::new("operators-place");
    let (site, who) = site(&scratch);
    let uid = site.get("/v1/me", &[&who]).is(200).json()["uid"].clone();
    site.daemon.zfs(&format!("allow -u {uid} create,mount,mountpoint,overlay tank/a")).done();
    let victim = scratch.folder("victim");
    fs::write(victim.join("passwd"), "root").expect("written");
    let props = json!([
        {"name": "mountpoint", "value": text(&victim)},
        {"name": "overlay", "value": "on"},
    ]);
    let mount = |asked: Value| site.post("/v1/mounts", &[&who], &asked);
    site.post("/v1/datasets", &[&who], &json!({"name": "tank/a/x", "props": props})).is(200);
    assert!(!is_mounted(&site, "tank/a/x"), "as it is made");
    assert_ne!(mount(json!({"dataset": "tank/a/x"})).status, 200);
    mount(json!({"all": true})).is(200);
    assert!(!is_mounted(&site, "tank/a/x"), "as it is asked for");
    // One that is mounted does not move there, nor does one that inherits the place.
    site.post("/v1/datasets", &[&who], &json!({"name": "tank/a/y"})).is(200);
    site.daemon.zfs("mount tank/a/y").done();
    let props = json!([{"name": "mountpoint", "value": text(&victim)}]);
    site.post("/v1/datasets/tank%2Fa%2Fy/properties", &[&who], &json!({"props": props})).is(200);
    assert!(!is_mounted(&site, "tank/a/y"), "as it moves");
    site.daemon.zfs("create -u tank/a/x/z").done();
    site.daemon.zfs(&format!("unallow -u {uid} tank/a")).done();
    site.daemon.zfs(&format!("allow -l -u {uid} mountpoint tank/a/x")).done();
    assert_ne!(mount(json!({"dataset": "tank/a/x/z"})).status, 200);
    assert_eq!(fs::read_to_string(victim.join("passwd")).expect("in sight"), "root");
    assert_eq!(fs::read_dir(&victim).expect("listed").count(), 1);
    // What he has no say in he mounts as it is to be.
    let unmount = || site.post("/v1/unmounts", &[&who], &json!({"target": "tank/b/c"})).is(200);
    unmount();
    mount(json!({"dataset": "tank/b/c"})).is(200);
    for word in ["suid", "dev", "exec", "rw", "ro,suid"] {
        assert_ne!(mount(json!({"dataset": "tank/b/c", "options": ["remount", word]})).status, 200, "{word}");
        unmount();
        assert_ne!(mount(json!({"dataset": "tank/b/c", "options": [word]})).status, 200, "{word}");
        mount(json!({"dataset": "tank/b/c", "options": ["ro", "nosuid"]})).is(200);
    }
    assert!(is_mounted(&site, "tank/b/c"));
}

#[test]
fn what_an_operator_may_not_change_stays_mounted() {
    let scratch = Scratch::new("operators-refused");
    let (site, who) = site(&scratch);
    // One that is in use cannot be unmounted: that would be said first.
    let in_use = fs::File::create(scratch.path("at").join("b/c/file")).expect("made");
    let change =
        |what: &str, body: Value| site.post(&format!("/v1/datasets/tank%2Fb/{what}"), &[&who], &body);
    let denied = |answer: Answer| assert_eq!(answer.is(403).problem(), "/problems/denied");
    denied(change("rename", json!({"to": "tank/d"})));
    denied(change("properties", json!({"props": [{"name": "mountpoint", "value": "/x"}]})));
    denied(change("inherit", json!({"property": "mountpoint"})));
    let job = change("destroy", json!({"recursive": true})).is(202).json()["id"].clone();
    let ended = site.get(&format!("/v1/jobs/{job}?wait_ms=20000"), &[&who]).is(200).json();
    assert_eq!(ended["problem"]["type"], "/problems/denied", "{ended}");
    assert!(is_mounted(&site, "tank/b") && is_mounted(&site, "tank/b/c"));
    drop(in_use);
}
