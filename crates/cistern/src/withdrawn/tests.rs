use engine_api::PropertyChange;

use super::*;

fn set(name: &str, property: &str) -> Change {
    let prop = PropertyChange { name: property.into(), value: "on".into() };
    Change::SetProperties { name: name.into(), props: vec![prop] }
}

#[test]
fn what_is_said_of_sharing_counts_for_all_below() {
    let withdrawn = Withdrawn::default();
    for name in ["tank/a", "tank/a/b", "tank/ab", "tank/c"] {
        withdrawn.withdraw(name);
    }
    let generation = withdrawn.generation();
    withdrawn.follow(&set("tank/a", "compression"));
    assert_eq!((withdrawn.names().len(), withdrawn.generation()), (4, generation));
    withdrawn.follow(&set("tank/a", "sharenfs"));
    assert_eq!(withdrawn.names(), ["tank/ab", "tank/c"]);
    assert!(withdrawn.generation() > generation);
    withdrawn.follow(&Change::Destroy { names: vec!["tank/c".into()], defer: false });
    assert_eq!(withdrawn.names(), ["tank/ab"]);
}

#[test]
fn a_share_that_is_offered_again_is_not_withdrawn() {
    let withdrawn = Withdrawn::default();
    withdrawn.withdraw("tank/a");
    assert!(withdrawn.contains("tank/a"));
    withdrawn.offer("tank/a");
    assert!(!withdrawn.contains("tank/a"));
}
