use super::*;

fn head(name: &str, guid: u64, relation: Option<(&str, u64)>) -> Head {
    let is_replica = relation.is_some();
    Head {
        name: name.to_owned(),
        guid,
        relation: relation.map(|(service, source)| (service.to_owned(), source)),
        readonly: is_replica,
        set: if is_replica {
            BTreeSet::from([Property::Canmount, Property::Readonly])
        } else {
            BTreeSet::new()
        },
        partial: false,
        keeps_clients: is_replica,
        is_awake: false,
    }
}

fn decide(heads: &[Head], dataset: &str, force: bool, in_use: &[u64]) -> Result<Promotion, NotReplicated> {
    let candidates = candidates(heads, dataset);
    let asked: BTreeSet<u64> =
        questions(&candidates, &BTreeSet::new(), force)?.iter().map(|it| it.source).collect();
    promote(&candidates, &in_use.iter().copied().filter(|guid| asked.contains(guid)).collect())
}

fn acts(steps: Vec<Step>) -> Vec<(String, Act)> {
    steps.into_iter().map(|step| (step.dataset, step.act)).collect()
}

#[test]
fn an_original_that_is_here_is_taken_out_before_and_the_mark_goes_last() {
    let heads = [head("tank/a", 1, None), head("dozer/a", 2, Some(("away", 1)))];
    let refused = decide(&heads, "dozer/a", false, &[]).expect_err("it is in use");
    assert!(matches!(refused, NotReplicated::OriginalLive { original, .. } if original == "tank/a"));
    let Promotion { pauses, steps } = decide(&heads, "dozer", true, &[]).expect("that was said");
    assert_eq!(pauses, BTreeSet::from(["away".to_owned()]));
    let inherit = |property| ("dozer/a".to_owned(), Act::Inherit { property });
    assert_eq!(
        acts(steps),
        [
            ("tank/a".to_owned(), Act::TakeOut { relation: "away 2".to_owned() }),
            ("dozer/a".to_owned(), Act::Wake),
            inherit(Property::Canmount),
            inherit(Property::Readonly),
            ("dozer/a".to_owned(), Act::Unmark),
        ]
    );
    // One that was taken out is no hindrance any more.
    let heads = [head("tank/a", 1, Some(("away", 2))), heads[1].clone()];
    let steps = decide(&heads, "dozer/a", false, &[]).expect("nothing is live").steps;
    assert!(steps.iter().all(|step| step.dataset == "dozer/a"));
}

/// A kill came between the steps of its promotion, and the other way is taken then.
#[test]
fn what_was_promoted_by_half_counts_as_live() {
    let half = Head { is_awake: true, ..head("tank/a", 1, Some(("away", 2))) };
    let heads = [half.clone(), head("dozer/a", 2, Some(("away", 1)))];
    let steps = decide(&heads, "dozer/a", false, &[]).expect("nobody writes there").steps;
    assert_eq!(steps[0], heads[0].step(Act::TakeOut { relation: "away 2".to_owned() }));
    let heads = [Head { readonly: false, ..half }, heads[1].clone()];
    let refused = decide(&heads, "dozer/a", false, &[]).expect_err("it may be written to");
    assert!(matches!(refused, NotReplicated::OriginalLive { .. }), "{refused:?}");
    assert!(decide(&heads, "dozer/a", true, &[]).is_ok(), "that was said");
}

#[test]
fn a_peer_is_asked_about_each_original_unless_it_does_not_matter() {
    let heads = [head("dozer/a", 2, Some(("north/away", 1))), head("dozer/a/b", 4, Some(("north/away", 3)))];
    let refused = decide(&heads, "dozer/a", false, &[3]).expect_err("one is in use");
    let elsewhere = NotReplicated::OriginalElsewhere { dataset: "dozer/a/b".into(), peer: "north".into() };
    assert_eq!(refused, elsewhere);
    assert!(decide(&heads, "dozer/a", true, &[3]).is_ok(), "forced");
    assert!(decide(&heads, "dozer/a", false, &[]).is_ok(), "none is, or nobody answers");
    let empty = BTreeSet::from([4]);
    let refused = questions(&candidates(&heads, "dozer/a"), &empty, true);
    assert_eq!(refused, Err(NotReplicated::NothingThere { dataset: "dozer/a/b".into() }));
}

#[test]
fn a_peer_is_told_of_what_it_has_to_do_with_alone() {
    let (live, replica) = (head("tank/a", 1, None), head("tank/a", 1, Some(("x", 2))));
    assert!(is_original(&live, true) && !is_original(&live, false) && !is_original(&replica, true));
    // A promotion that broke off before the mark went: clients write there.
    assert!(is_original(&Head { readonly: false, ..replica }, true));
}

#[test]
fn what_an_original_alone_has_goes_only_where_that_was_said() {
    let snapshot = |guid: u64| Snapshot { name: format!("s{guid}"), guid, at: 0 };
    let own = [snapshot(1), snapshot(2), snapshot(3)];
    let found = beyond(&own, &BTreeSet::from([1, 2, 9]));
    assert_eq!((found.common.clone(), found.newer.clone()), (Some(snapshot(2)), vec!["s3".to_owned()]));
    let original = head("tank/a", 1, None);
    let turn = |beyond: &Beyond| {
        vec![Turn { original: &original, promoted: ("dozer/a".to_owned(), 2), beyond: beyond.clone() }]
    };
    let refused = give_way(turn(&found), "away", false).expect_err("s3 would go");
    assert!(
        matches!(&refused, NotReplicated::WouldLose { losses } if losses[0].newer == ["s3"]),
        "{refused:?}"
    );
    let steps = give_way(turn(&found), "away", true).expect("that was said");
    let back = Act::GoBack { snapshot: "s2".to_owned() };
    let taken = Act::TakeOut { relation: "away 2".to_owned() };
    assert_eq!(acts(steps).into_iter().map(|(_, act)| act).collect::<Vec<_>>(), [Act::Release, taken, back]);
    // How much was written is not known: it may be something.
    let unknown = Beyond { newer: Vec::new(), written: None, ..found };
    assert!(give_way(turn(&unknown), "away", false).is_err());
    let nothing = Beyond { written: Some(0), ..unknown };
    assert_eq!(give_way(turn(&nothing), "away", false).expect("nothing goes").len(), 2);
    let stranger = beyond(&own, &BTreeSet::from([9]));
    let refused = give_way(turn(&stranger), "away", true);
    assert_eq!(refused, Err(NotReplicated::NoCommonSnapshot { dataset: "dozer/a".into() }));
}

#[test]
fn whoever_has_what_was_pulled_is_asked() {
    let heads = [head("dozer/a", 1, Some(("home", 7)))];
    let peers = BTreeMap::from([("home".to_owned(), "far".to_owned())]);
    let of_none = candidates(&heads, "dozer/a");
    assert_eq!(questions(&of_none, &BTreeSet::new(), false), Ok(Vec::new()));
    let found = pulled(of_none, &peers);
    let question = Question { peer: "far", service: "home", source: 7 };
    assert_eq!(questions(&found, &BTreeSet::new(), false), Ok(vec![question]));
    let refused = promote(&found, &BTreeSet::from([7]));
    let (dataset, peer) = ("dozer/a".to_owned(), "far".to_owned());
    assert_eq!(refused, Err(NotReplicated::OriginalElsewhere { dataset, peer }));
}
