use engine_api::{
    Adopted, DatasetInfo, DatasetKind, HandleKey, IDENTITY, PropKind, PropValue, REPLICA, Source,
};

use super::*;

const ORIGINAL: Guids = (1, 11);

/// A dataset with properties, as they were set or came.
fn dataset(guid: u64, props: &[(&str, &str, Source)]) -> DatasetInfo {
    let prop = |(name, value, source): &(&str, &str, Source)| PropValue {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
        kind: PropKind::Text,
        source: source.clone(),
        received: None,
    };
    DatasetInfo {
        name: format!("pool/{guid}"),
        kind: DatasetKind::Filesystem,
        guid,
        createtxg: 1,
        props: props.iter().map(prop).collect(),
    }
}

/// What seals handles of a pool.
fn key(pool: u64) -> HandleKey {
    HandleKey::of(&[pool as u8; 32])
}

fn value((pool_guid, dataset_guid): Guids, key: Option<HandleKey>, is_live: bool) -> String {
    Adopted { identity: Identity { pool_guid, dataset_guid, key }, is_live }.written()
}

fn promoted(guid: u64, of: Guids) -> DatasetInfo {
    dataset(guid, &[(IDENTITY, &value(of, Some(key(of.0)), true), Source::Local)])
}

/// It claims what it has not the key of.
fn liar(guid: u64, of: Guids) -> DatasetInfo {
    dataset(guid, &[(IDENTITY, &value(of, Some(key(99)), true), Source::Local)])
}

fn replica(guid: u64, of: Guids) -> DatasetInfo {
    let value = value(of, Some(key(of.0)), false);
    dataset(guid, &[(IDENTITY, &value, Source::Local), (REPLICA, "away 1", Source::Local)])
}

fn machine(pools: &[(u64, &[DatasetInfo])]) -> BTreeMap<u64, Arc<Standing>> {
    let standing = |(pool, listed): &(u64, &[DatasetInfo])| {
        (*pool, Arc::new(Standing::of(*pool, Some(key(*pool)), listed)))
    };
    pools.iter().map(standing).collect()
}

/// Who has the original's identity.
fn holder(pools: &BTreeMap<u64, Arc<Standing>>, holders: &mut BTreeMap<Guids, Guids>) -> Option<Guids> {
    let places = Places::of(pools, holders);
    let found = places.live.iter().find(|(_, identity)| identity.guids() == ORIGINAL);
    assert_eq!(places.taken.contains(&ORIGINAL), found.is_some());
    found.map(|(guids, _)| *guids)
}

fn alone(pools: &[(u64, &[DatasetInfo])]) -> Option<Guids> {
    holder(&machine(pools), &mut BTreeMap::new())
}

#[test]
fn an_identity_sleeps_in_a_replica_and_is_live_once_that_is_promoted() {
    assert_eq!(alone(&[(1, &[dataset(11, &[])]), (2, &[replica(22, ORIGINAL)])]), None);
    assert_eq!(alone(&[(2, &[replica(22, ORIGINAL)])]), None);
    // Somebody took the mark of a replica away: it is a dataset of its own.
    let plain = dataset(22, &[(IDENTITY, &value(ORIGINAL, Some(key(1)), false), Source::Local)]);
    assert_eq!(alone(&[(2, &[plain])]), None);
    // The original's pool is lost; then it is there again, and knows of nothing.
    assert_eq!(alone(&[(2, &[promoted(22, ORIGINAL)])]), Some((2, 22)));
    assert_eq!(alone(&[(1, &[dataset(11, &[])]), (2, &[promoted(22, ORIGINAL)])]), Some((2, 22)));
    // It is the replica; then it is promoted again, and the other one the replica.
    assert_eq!(alone(&[(1, &[replica(11, ORIGINAL)]), (2, &[promoted(22, ORIGINAL)])]), Some((2, 22)));
    assert_eq!(alone(&[(1, &[promoted(11, ORIGINAL)]), (2, &[replica(22, ORIGINAL)])]), None);
}

#[test]
fn what_is_here_and_in_use_loses_nothing_to_who_claims_it() {
    let original = dataset(11, &[]);
    let hostile = [liar(22, ORIGINAL), liar(23, ORIGINAL)];
    assert_eq!(alone(&[(1, std::slice::from_ref(&original)), (2, &hostile)]), None);
    // In the same pool, too, and without any key.
    assert_eq!(alone(&[(1, &[original.clone(), liar(12, ORIGINAL)])]), None);
    let keyless = dataset(22, &[(IDENTITY, &value(ORIGINAL, None, true), Source::Local)]);
    assert_eq!(alone(&[(1, std::slice::from_ref(&original)), (2, std::slice::from_ref(&keyless))]), None);
    // Nor where handles of the pool are not sealed.
    let bare = Arc::new(Standing::of(1, None, &[original]));
    let pools = BTreeMap::from([(1, bare), (2, Arc::new(Standing::of(2, None, &[keyless])))]);
    assert_eq!(holder(&pools, &mut BTreeMap::new()), None);
}

#[test]
fn who_has_an_identity_keeps_it() {
    let mut holders = BTreeMap::new();
    let one = machine(&[(3, &[promoted(33, ORIGINAL)])]);
    assert_eq!(holder(&one, &mut holders), Some((3, 33)));
    let both = machine(&[(2, &[promoted(22, ORIGINAL)]), (3, &[promoted(33, ORIGINAL)])]);
    assert_eq!(holder(&both, &mut holders), Some((3, 33)));
    // It claims it no more.
    let other = machine(&[(2, &[promoted(22, ORIGINAL)]), (3, &[replica(33, ORIGINAL)])]);
    assert_eq!(holder(&other, &mut holders), Some((2, 22)));
    assert_eq!(holder(&both, &mut holders), Some((2, 22)));
    // Nobody remembers anything: it is the same one each time.
    assert_eq!(holder(&both, &mut BTreeMap::new()), Some((2, 22)));
}

#[test]
fn what_came_along_or_makes_no_sense_claims_nothing() {
    let value = value(ORIGINAL, Some(key(1)), true);
    for source in [Source::Received, Source::Inherited("pool".into()), Source::Temporary, Source::Default] {
        let sent = dataset(22, &[(IDENTITY, &value, source.clone())]);
        assert_eq!(alone(&[(2, &[sent])]), None, "{source:?}");
    }
    for bad in ["", "live", "live 1 11 zz", "live 1 11 - -", "live 0 11 -", "live 99999999999999999999 11 -"]
    {
        let odd = dataset(22, &[(IDENTITY, bad, Source::Local)]);
        assert_eq!(alone(&[(2, &[odd])]), None, "{bad}");
    }
    // One that claims to be itself is itself.
    let own = dataset(11, &[(IDENTITY, &value, Source::Local)]);
    assert_eq!(alone(&[(1, &[own])]), None);
}
