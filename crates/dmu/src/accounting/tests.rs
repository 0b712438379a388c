use super::*;
use crate::testing::Bench;

/// The first three bytes of the bonus are the ids.
struct FirstBytes;

impl OwnerOf for FirstBytes {
    fn owner_of(&self, _type: ObjectType, bonus_type: ObjectType, bonus: &[u8]) -> Option<Owner> {
        let &[user, group, project, ..] = bonus else { return None };
        let owner = Owner { user: user.into(), group: group.into(), project: project.into() };
        (bonus_type == ObjectType::SA).then_some(owner)
    }
}

fn bench() -> Bench {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    bench.objset.set_owner_of(Arc::new(FirstBytes));
    bench
}

fn make(bench: &Bench, owner: [u8; 3], blocks: u64) -> u64 {
    let tx = bench.tx();
    let spec =
        ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(4096).with_bonus(ObjectType::SA, 8);
    let dnode = bench.objset.alloc(spec, &tx).unwrap();
    dnode.update_bonus(&tx, |bonus| bonus[..3].copy_from_slice(&owner)).unwrap();
    for block in 0..blocks {
        dnode.write(block * 4096, &[7; 4096], &tx).unwrap();
    }
    dnode.object()
}

/// The sums as the ZAPs have them: by user, group, project.
fn sums(bench: &Bench) -> [BTreeMap<String, u64>; 3] {
    bench.objset.accounting_dnodes().each_ref().map(|dnode| {
        let zap = Zap::of(dnode.clone()).unwrap();
        let entries = zap.entries().unwrap();
        entries.into_iter().map(|e| (String::from_utf8(e.name).unwrap(), e.value.first())).collect()
    })
}

/// The sums as they should be.
fn counted(bench: &Bench) -> [BTreeMap<String, u64>; 3] {
    let mut sums: [BTreeMap<String, u64>; 3] = Default::default();
    let mut object = 0;
    while let Some(next) = bench.objset.next_object(object, 0).unwrap() {
        object = next;
        let dnode = bench.objset.hold(object).unwrap();
        for (sums, id) in sums.iter_mut().zip(dnode.bonus().bytes) {
            *sums.entry(format!("{id:x}")).or_default() += 512 + dnode.used_bytes();
            *sums.entry(format!("obj-{id:x}")).or_default() += 1;
        }
    }
    sums
}

#[test]
fn every_change_moves_the_sums() {
    let mut bench = bench();
    let small = make(&bench, [1, 2, 3], 1);
    let large = make(&bench, [1, 20, 0], 200);
    bench.sync();
    assert_eq!(sums(&bench), counted(&bench));
    assert_eq!(sums(&bench)[0]["obj-1"], 2);

    let tx = bench.tx();
    bench.objset.hold(large).unwrap().free_range(4096, u64::MAX, &tx).unwrap();
    bench.objset.hold(small).unwrap().update_bonus(&tx, |bonus| bonus[0] = 31).unwrap();
    bench.reopen();
    bench.objset.set_owner_of(Arc::new(FirstBytes));
    assert_eq!(sums(&bench), counted(&bench));
    assert_eq!(sums(&bench)[0]["obj-1f"], 1, "ids are in hexadecimal");

    let tx = bench.tx();
    bench.objset.free(small, &tx).unwrap();
    bench.objset.free(large, &tx).unwrap();
    bench.sync();
    assert_eq!(sums(&bench), <[BTreeMap<String, u64>; 3]>::default());
}

#[test]
fn an_uncounted_file_system_is_counted_on_request() {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy { account_space: false, ..ObjsetPolicy::dataset() });
    assert_eq!(bench.objset.flags(), 0);
    for user in 1..100 {
        make(&bench, [user, 1, 1], 1);
    }
    bench.sync();
    bench.objset.set_policy(ObjsetPolicy::dataset());
    bench.objset.set_owner_of(Arc::new(FirstBytes));
    assert!(bench.objset.lacks_accounting());
    let mut last = 0;
    while let Some(next) = bench.objset.count_objects(last, 40).unwrap() {
        last = next;
    }
    bench.objset.accounting_complete(&bench.tx());
    assert!(!bench.objset.lacks_accounting());
    bench.sync();
    assert_eq!(sums(&bench), counted(&bench));
}
