//! A copy of a tree of datasets follows what is done to the tree: new and destroyed datasets and
//! snapshots, other names and parents, promoted clones.

use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{Change, Engine, Pool, ReceiveEvent, ReceiveRequest, SendRequest};
use env::Env;

use crate::disks::{Dir, new_pool, zdb_is_content};
use crate::streams::{names, value};

struct Trees(Arc<dyn Pool>);

impl Trees {
    fn commit(&self, change: Change) {
        self.0.commit(&change, "").unwrap_or_else(|error| panic!("{change:?}: {error}"));
    }

    fn create(&self, name: &str) {
        self.commit(Change::CreateFilesystem { name: name.into(), parents: false, props: Vec::new() });
    }

    fn snapshot(&self, name: &str) {
        self.commit(Change::Snapshot { names: vec![name.into()], recursive: true, props: Vec::new() });
    }

    fn rename(&self, from: &str, to: &str) {
        let (from, to) = (from.into(), to.into());
        self.commit(Change::Rename { from, to, parents: false, recursive: false });
    }

    fn destroy<Name: Into<String> + Clone>(&self, names: &[Name]) {
        let names = names.iter().cloned().map(Into::into).collect();
        self.commit(Change::Destroy { names, defer: false });
    }

    /// Brings the copy up to date; what is told.
    fn replicate(&self, from: Option<&str>, to: &str, force: bool) -> Vec<String> {
        let request = SendRequest {
            snapshot: format!("ours/a@{to}"),
            from: from.map(|from| format!("ours/a@{from}")),
            replicate: true,
            intermediates: from.is_some(),
            ..SendRequest::default()
        };
        let (mut stream, mut told) = (Vec::new(), Vec::new());
        self.0.send(&request, &mut stream, &mut |_| {}).unwrap();
        let request =
            ReceiveRequest { target: "ours/b".into(), force, verbose: true, ..ReceiveRequest::default() };
        let tell = &mut |event| {
            if let ReceiveEvent::Line(line) = event {
                told.push(line);
            }
        };
        let received =
            self.0.receive(&request, &mut &stream[..], tell).unwrap_or_else(|error| panic!("{to}: {error}"));
        // Whoever mounts is not sent to what had a name for the time being only.
        let there = names(&*self.0);
        assert!(received.new.iter().all(|name| there.contains(name)), "{received:#?}");
        told
    }

    /// Names, and what is a clone of what.
    fn tree(&self, top: &str) -> Vec<(String, String)> {
        let mut tree = Vec::new();
        for name in names(&*self.0).into_iter().filter(|name| name.starts_with(top)) {
            let origin = if name.contains('@') { String::new() } else { value(&*self.0, &name, "origin").0 };
            tree.push((name[top.len()..].to_owned(), origin.replace(top, "")));
        }
        tree
    }

    #[track_caller]
    fn are_alike(&self) {
        assert_eq!(self.tree("ours/b"), self.tree("ours/a"));
    }
}

#[test]
fn copies_of_trees_follow_them() {
    let dir = Dir::new("replicate");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let trees = Trees(new_pool(&engine, &dir.0));
    for name in ["ours/a", "ours/a/x", "ours/a/x/deep", "ours/a/y", "ours/a/z"] {
        trees.create(name);
    }
    trees.snapshot("ours/a@0");
    trees.snapshot("ours/a@1");
    trees.replicate(None, "1", false);
    trees.are_alike();

    // Without force nothing is destroyed.
    trees.destroy(&["ours/a/x/deep@0", "ours/a/x/deep@1", "ours/a/x/deep", "ours/a@0"]);
    trees.create("ours/a/new");
    trees.snapshot("ours/a@2");
    trees.replicate(Some("1"), "2", false);
    let kept = trees.tree("ours/b");
    assert!(kept.iter().any(|(name, _)| name == "/x/deep@1") && kept.iter().any(|(name, _)| name == "@0"));
    trees.snapshot("ours/a@3");
    let told = trees.replicate(Some("2"), "3", true);
    assert!(told.contains(&"attempting destroy ours/b/x/deep".to_owned()), "{told:#?}");
    trees.are_alike();

    // Two change names; one gets another parent; snapshots get other names.
    trees.rename("ours/a/y", "ours/a/t");
    trees.rename("ours/a/z", "ours/a/y");
    trees.rename("ours/a/t", "ours/a/z");
    trees.rename("ours/a/x", "ours/a/new/x");
    trees.rename("ours/a/z@1", "ours/a/z@one");
    trees.snapshot("ours/a@4");
    trees.replicate(Some("3"), "4", true);
    trees.are_alike();

    // A clone, promoted by the next time.
    let clone = Change::Clone {
        snapshot: "ours/a/y@4".into(),
        name: "ours/a/clone".into(),
        parents: false,
        props: Vec::new(),
    };
    trees.commit(clone);
    trees.snapshot("ours/a@5");
    trees.replicate(Some("4"), "5", true);
    trees.are_alike();
    trees.commit(Change::Promote { name: "ours/a/clone".into() });
    trees.snapshot("ours/a@6");
    trees.replicate(Some("5"), "6", true);
    trees.are_alike();

    // A dataset goes after its snapshots; where the power went between them, a stream takes the
    // rest.
    let z = trees.tree("ours/a/z");
    let z: Vec<String> = z.into_iter().rev().map(|(name, _)| format!("ours/a/z{name}")).collect();
    trees.destroy(&z);
    let snapshots = z.iter().filter(|name| name.contains('@')).map(|name| name.replace("ours/a", "ours/b"));
    let snapshots: Vec<String> = snapshots.collect();
    trees.destroy(&snapshots);
    trees.snapshot("ours/a@7");
    let told = trees.replicate(Some("6"), "7", true);
    assert!(told.contains(&"attempting destroy ours/b/z".to_owned()), "{told:#?}");
    trees.are_alike();

    // What cannot go before what is below it has another name until then.
    trees.create("ours/a/p");
    trees.create("ours/a/p/q");
    trees.snapshot("ours/a@8");
    trees.replicate(Some("7"), "8", true);
    trees.are_alike();
    trees.destroy(&["ours/a/p/q@8", "ours/a/p/q", "ours/a/p@8", "ours/a/p"]);
    trees.snapshot("ours/a@9");
    let told = trees.replicate(Some("8"), "9", true);
    assert!(
        told.iter().any(|line| line.starts_with("failed - trying rename ours/b/p to ours/b/recv-")),
        "{told:#?}"
    );
    trees.are_alike();

    // Left out with what is below it; what only begins like it is not.
    let request = SendRequest {
        snapshot: "ours/a@9".into(),
        replicate: true,
        exclude: vec!["ours/a/new".into(), "ours/a/clon".into()],
        ..SendRequest::default()
    };
    let mut stream = Vec::new();
    trees.0.send(&request, &mut stream, &mut |_| {}).unwrap();
    let request = ReceiveRequest { target: "ours/c".into(), ..ReceiveRequest::default() };
    trees.0.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
    let mut wanted = trees.tree("ours/a");
    wanted.retain(|(name, _)| !name.starts_with("/new"));
    assert_eq!(trees.tree("ours/c"), wanted);

    drop(trees);
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

/// Of the snapshots in between only those come that clones in the tree were made of (`-R -i`).
#[test]
fn clones_bring_what_they_were_made_of() {
    let dir = Dir::new("replicate-clones");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let trees = Trees(new_pool(&engine, &dir.0));
    for name in ["ours/a", "ours/a/x", "ours/a/y"] {
        trees.create(name);
    }
    trees.snapshot("ours/a@0");
    trees.replicate(None, "0", false);
    trees.snapshot("ours/a@between");
    let (snapshot, name) = ("ours/a/y@between".into(), "ours/a/clone".into());
    trees.commit(Change::Clone { snapshot, name, parents: false, props: Vec::new() });
    trees.snapshot("ours/a@1");
    let request = SendRequest {
        snapshot: "ours/a@1".into(),
        from: Some("ours/a@0".into()),
        replicate: true,
        ..SendRequest::default()
    };
    let mut stream = Vec::new();
    trees.0.send(&request, &mut stream, &mut |_| {}).unwrap();
    let request = ReceiveRequest { target: "ours/b".into(), ..ReceiveRequest::default() };
    trees.0.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
    let mut wanted = trees.tree("ours/a");
    wanted.retain(|(name, _)| !name.ends_with("@between") || name == "/y@between");
    assert_eq!(trees.tree("ours/b"), wanted);
    drop(trees);
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}
