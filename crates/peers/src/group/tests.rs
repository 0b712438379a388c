use super::*;

fn peer(name: &str, group: Option<&str>) -> Peer {
    Peer {
        name: name.to_owned(),
        fingerprint: print(name),
        address: None,
        grants: Vec::new(),
        reads: Vec::new(),
        added: 7,
        group: group.map(str::to_owned),
    }
}

/// Another one for each name.
fn print(name: &str) -> Fingerprint {
    let mut bytes = [0; 32];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Fingerprint(bytes)
}

fn member(name: &str, address: Option<&str>) -> Member {
    Member {
        group: "lab".into(),
        name: name.into(),
        fingerprint: print(name),
        address: address.map(str::to_owned),
    }
}

#[test]
fn a_peer_is_told_of_the_others_of_its_group_alone() {
    let all = vec![peer("a", Some("lab")), peer("b", Some("lab")), peer("c", Some("home")), peer("d", None)];
    let named = |of: &Peer| members(of, all.clone()).into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(named(&all[0]), ["b"]);
    assert!(named(&all[2]).is_empty() && named(&all[3]).is_empty());
}

#[test]
fn who_is_told_of_is_known_without_any_right() {
    let all = [peer("a", Some("lab"))];
    let told = told("lab", vec![member("a", None), member("b", Some("b:1"))], &all, print("own"), 7);
    assert_eq!(told.new, [Peer { address: Some("b:1".into()), ..peer("b", Some("lab")) }]);
    assert!(told.found.is_empty());
}

#[test]
fn nobody_is_told_of_himself_of_other_groups_or_twice() {
    let other = Member { group: "home".into(), ..member("b", None) };
    let members = vec![member("own", None), other, member("c", None), member("c", Some("c:1"))];
    let told = told("lab", members, &[], print("own"), 7);
    assert_eq!(told.new, [peer("c", Some("lab"))]);
}

#[test]
fn a_name_that_is_taken_gets_a_part_of_the_fingerprint() {
    let all = [peer("b", None)];
    let stranger = Member { fingerprint: print("xyz"), ..member("b", None) };
    let told = told("lab", vec![stranger], &all, print("own"), 7);
    assert_eq!(told.new[0].name, "b-78797a");
}

#[test]
fn what_is_known_stays_and_an_address_that_was_not_is_added() {
    let known = Peer { address: Some("a:1".into()), ..peer("a", Some("lab")) };
    let all = [known, peer("b", Some("lab")), peer("c", None)];
    let members = ["a", "b", "c"].map(|name| member(name, Some("evil:1"))).to_vec();
    let told = told("lab", members, &all, print("own"), 7);
    assert_eq!(told.found, [Peer { address: Some("evil:1".into()), ..peer("b", Some("lab")) }]);
    assert!(told.new.is_empty());
}
