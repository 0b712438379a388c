use super::*;
use crate::object_type::ObjectType;

fn objset(size: ObjsetSize) -> ObjsetPhys {
    let dnode = || DnodePhys::new(ObjectType::DNODE, 16384, 17, 1);
    ObjsetPhys {
        size,
        meta_dnode: dnode(),
        zil_header: ZilHeader { claim_txg: 7, ..ZilHeader::default() },
        objset_type: ObjsetType::Zfs,
        flags: FLAG_USERACCOUNTING_COMPLETE,
        portable_mac: [1; MAC_LEN],
        local_mac: [2; MAC_LEN],
        userused_dnode: (size >= ObjsetSize::V2).then(dnode),
        groupused_dnode: None,
        projectused_dnode: (size >= ObjsetSize::V3).then(dnode),
    }
}

#[test]
fn round_trips_in_every_size() {
    for size in [ObjsetSize::V1, ObjsetSize::V2, ObjsetSize::V3] {
        let bytes = objset(size).encode();
        assert_eq!(bytes.len(), size.bytes());
        assert_eq!(ObjsetPhys::decode(&bytes), Ok(objset(size)));
    }
}

#[test]
fn hostile_bytes_are_errors() {
    let good = objset(ObjsetSize::V2).encode();
    assert!(ObjsetPhys::decode(&good[..1023]).is_err());
    assert!(ObjsetPhys::decode(&vec![0; 4096]).is_err(), "no meta dnode");
    let mut bad = good.clone();
    bad[TYPE_AT] = 9;
    assert_eq!(ObjsetPhys::decode(&bad), Err(Malformed::at("objset type", TYPE_AT)));
    let mut bad = good;
    bad[USERUSED_AT + 2] = 0;
    assert_eq!(ObjsetPhys::decode(&bad), Err(Malformed::at("dnode levels", USERUSED_AT + 2)));
}
