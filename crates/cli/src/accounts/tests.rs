use super::*;

#[test]
fn names_stand_for_numbers() {
    let accounts = Accounts::parse(
        "root:x:0:0:root:/root:/bin/sh\n# comment:x:5\n+nis:x:7\njoe:x:1000:1000::/:\n",
        "users:x:100:joe\n",
    );
    assert_eq!((accounts.name(true, 1000), accounts.name(false, 1000)), (Some("joe"), None));
    assert_eq!(accounts.name(true, 7), None);
    let numbered = |name: &str| accounts.numbered(name);
    assert_eq!(numbered("userquota@joe").as_deref(), Some("userquota@1000"));
    assert_eq!(numbered("groupobjused@users").as_deref(), Some("groupobjused@100"));
    assert_eq!(numbered("userused@12").as_deref(), Some("userused@12"));
    assert_eq!(numbered("userused@jane"), None);
    assert_eq!(numbered("projectquota@7").as_deref(), Some("projectquota@7"));
    assert_eq!(numbered("written@user").as_deref(), Some("written@user"));
    assert_eq!(numbered("compression").as_deref(), Some("compression"));
}
