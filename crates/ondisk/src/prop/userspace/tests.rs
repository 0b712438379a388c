use super::*;

#[test]
fn names_are_parsed_and_entries_found_again() {
    let (prop, who) = UserspaceProp::parse("groupobjused@1000").unwrap();
    assert_eq!((prop.of, prop.objects, prop.quota, who), (Spender::Group, true, false, "1000"));
    assert_eq!(prop.entry(1000), "obj-3e8");
    assert_eq!((prop.id_of("obj-3e8"), prop.id_of("3e8")), (Some(1000), None));
    let quota = UserspaceProp { quota: true, ..prop };
    assert_eq!((quota.master_name().as_str(), quota.entry(10).as_str()), ("groupobjquota@", "a"));
    assert_eq!(quota.id_of("a"), Some(10));
    assert!(UserspaceProp::parse("written@a").is_none() && UserspaceProp::parse("userquota").is_none());
    assert_eq!(UserspaceProp::quotas().count(), 6);
}
