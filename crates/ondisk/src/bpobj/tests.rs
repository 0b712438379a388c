use super::*;
use crate::blkptr::{ChecksumKind, Dva};
use crate::object_type::ObjectType;

#[test]
fn the_length_tells_the_form() {
    let full = BpobjPhys {
        form: BpobjForm::V3,
        num_blkptrs: 1,
        bytes: 2,
        comp: 3,
        uncomp: 4,
        subobjs: 5,
        num_subobjs: 6,
        num_freed: 7,
    };
    assert_eq!(BpobjPhys::decode(&full.encode()), Ok(full));
    for form in [BpobjForm::V0, BpobjForm::V1, BpobjForm::V2] {
        let bytes = BpobjPhys { form, ..full }.encode();
        assert_eq!(bytes.len(), form.size());
        let read = BpobjPhys::decode(&bytes).expect("a form of its own");
        assert_eq!((read.form, read.num_blkptrs, read.bytes, read.num_freed), (form, 1, 2, 0));
        assert_eq!(read.encode(), bytes);
    }
    assert!(BpobjPhys::decode(&[0; 15]).is_err());
}

#[test]
fn entries_keep_what_freeing_needs() {
    let mut bp = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 0, 131072, 4096);
    bp.set_dva(0, Dva::new(1, 8192, 4096));
    bp.set_checksum(ChecksumKind::Fletcher4, [1, 2, 3, 4]).set_birth(7, 7).set_fill(9);
    let (kept, freed) = (entry(&bp, false), entry(&bp, true));
    assert!(!is_freed(&kept) && is_freed(&freed));
    for entry in [kept, freed] {
        assert!(entry.same_block(&bp));
        assert_eq!((entry.checksum(), entry.psize(), entry.lsize()), ([0; 4], 4096, 131072));
    }
    bp.set_dedup(true);
    assert_eq!(entry(&bp, false).checksum(), [1, 2, 3, 4]);
}
