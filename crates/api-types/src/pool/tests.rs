use serde_json::{from_str, to_string};

use super::*;

#[test]
fn what_is_added_or_attached_stands_among_the_members_of_the_request() {
    let text = r#"{"vdevs":[{"leaf":"/a"}],"logs":[],"special":[],"dedup":[],"cache":["/c"],"spares":[],"ashift":12,"force":true,"history":"h"}"#;
    let add: PoolAdd = from_str(text).unwrap();
    assert_eq!(add.vdevs.data, [VdevSpec::Leaf("/a".into())]);
    assert_eq!((add.vdevs.ashift, add.force), (Some(12), true));
    assert_eq!(to_string(&add).unwrap(), text);
    let text = r#"{"guid":7,"path":null,"force":false,"ashift":null,"sequential":true,"history":""}"#;
    let attach: PoolAttach = from_str(text).unwrap();
    assert_eq!((attach.guid, &attach.new.path, attach.new.sequential), (7, &None, true));
    assert_eq!(to_string(&attach).unwrap(), text);
}

#[test]
fn a_request_takes_no_member_that_it_does_not_know() {
    assert_eq!(from_str::<PoolAdd>("{}").unwrap(), PoolAdd::default());
    assert_eq!(from_str::<PoolAttach>("{}").unwrap(), PoolAttach::default());
    for wrong in [r#"{"data":[]}"#, r#"{"logs":[],"log":[]}"#, r#"{"cache":[],"cache":[]}"#] {
        assert!(from_str::<PoolAdd>(wrong).is_err(), "{wrong}");
    }
    assert!(from_str::<PoolAttach>(r#"{"new":{"force":true}}"#).is_err());
}
