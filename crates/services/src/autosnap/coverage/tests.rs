use api_types::{SnapFinding, SnapTarget};

use super::{Coverage, Named, cover};

fn target(dataset: &str, recursive: bool, exclude: &[&str]) -> SnapTarget {
    let exclude = exclude.iter().map(|name| (*name).to_owned()).collect();
    SnapTarget { dataset: dataset.to_owned(), guid: None, recursive, exclude }
}

fn datasets(names: &[&str]) -> Vec<Named> {
    let named = |(at, name): (usize, &&str)| Named { name: (*name).to_owned(), guid: 1 + at as u64 };
    names.iter().enumerate().map(named).collect()
}

/// Name and index of the target of each that is covered.
fn covered(coverage: &Coverage, datasets: &[Named]) -> Vec<(String, usize)> {
    let of = |it: &Named| Some((it.name.clone(), *coverage.datasets.get(&it.guid)?));
    datasets.iter().filter_map(of).collect()
}

#[test]
fn the_longest_name_that_has_it_decides() {
    let all =
        datasets(&["tank", "tank/a", "tank/a/b", "tank/a/b/c", "tank/a/x", "tank/ab", "dozer", "dozer/y"]);
    let targets =
        [target("tank/a", true, &["tank/a/x"]), target("tank/a/b", false, &[]), target("dozer", false, &[])];
    let coverage = cover(&targets, &all);
    let expected = [("tank/a", 0), ("tank/a/b", 1), ("tank/a/b/c", 0), ("dozer", 2)];
    assert_eq!(covered(&coverage, &all), expected.map(|(name, at)| (name.to_owned(), at)));
    let overlap = SnapFinding::TargetsOverlap { dataset: "tank/a/b".to_owned(), other: "tank/a".to_owned() };
    assert_eq!(coverage.findings, [overlap]);
}

#[test]
fn a_target_follows_its_dataset_and_what_it_excludes_goes_along() {
    let before = datasets(&["tank/a", "tank/a/x", "tank/a/y"]);
    let known = cover(&[target("tank/a", true, &["tank/a/x"])], &before).targets;
    let after = datasets(&["tank/new", "tank/new/x", "tank/new/y"]);
    let coverage = cover(&known, &after);
    assert_eq!(covered(&coverage, &after), [("tank/new".to_owned(), 0), ("tank/new/y".to_owned(), 0)]);
    let renamed = SnapFinding::TargetRenamed { from: "tank/a".to_owned(), to: "tank/new".to_owned() };
    assert_eq!(coverage.findings, [renamed]);
    assert_eq!(coverage.targets[0].exclude, ["tank/new/x"]);
}

#[test]
fn one_that_is_gone_is_told_and_taken_again_by_its_name() {
    let known = cover(&[target("tank/a", true, &[])], &datasets(&["tank/a"])).targets;
    let gone = cover(&known, &[]);
    assert_eq!(gone.findings, [SnapFinding::TargetGone { dataset: "tank/a".to_owned() }]);
    assert_eq!(gone.targets, known);
    let anew = [Named { name: "tank/a".to_owned(), guid: 77 }];
    let coverage = cover(&known, &anew);
    assert_eq!((covered(&coverage, &anew).len(), coverage.targets[0].guid), (1, Some(77)));
}

#[test]
fn two_of_the_same_name_are_one() {
    let all = datasets(&["tank/a"]);
    let coverage = cover(&[target("tank/a", false, &[]), target("tank/a", true, &[])], &all);
    assert_eq!(covered(&coverage, &all), [("tank/a".to_owned(), 0)]);
    let overlap = SnapFinding::TargetsOverlap { dataset: "tank/a".to_owned(), other: "tank/a".to_owned() };
    assert_eq!(coverage.findings, [overlap]);
}
