use super::*;

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
    assert_eq!(BpobjPhys::decode(&full.encode(), Endian::Little), Ok(full));
    for form in [BpobjForm::V0, BpobjForm::V1, BpobjForm::V2] {
        let bytes = BpobjPhys { form, ..full }.encode();
        assert_eq!(bytes.len(), form.size());
        let read = BpobjPhys::decode(&bytes, Endian::Little).expect("a form of its own");
        assert_eq!((read.form, read.num_blkptrs, read.bytes, read.num_freed), (form, 1, 2, 0));
        assert_eq!(read.encode(), bytes);
    }
    assert!(BpobjPhys::decode(&[0; 15], Endian::Little).is_err());
}
