use super::*;

fn part(holder: SpaceHolder, names: &[&str], bytes: i64) -> SpacePart {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    SpacePart { holder, names, clones: Vec::new(), count: 0, bytes }
}

#[test]
fn a_table_names_who_holds_what() {
    let space = SpaceExplained {
        name: "tank/a".into(),
        used: 4096,
        unique: 512,
        raw: 6144,
        parts: vec![
            part(SpaceHolder::Snapshots, &["tank/a@x", "tank/a@z"], 3072),
            part(SpaceHolder::Snapshots, &["tank/a@x"], 2048),
            part(SpaceHolder::Overhead, &[], -1024),
        ],
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    print(
        &space,
        &mut Io { out: &mut out, err: &mut err, colour: false, progress: false, asks: true, title: |_| () },
    )
    .unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "tank/a uses 4K (4096 bytes)\n\
         \n\
         USED  BYTES   SHARE  HELD BY\n\
         \x20 3K   3072   75.0%  snapshots tank/a@x to @z together\n\
         \x20 2K   2048   50.0%  snapshot tank/a@x alone\n\
         \x20-1K  -1024  -25.0%  copies, and padding and parity beyond the pool's ratio\n\
         \n\
         Of the dataset itself, 512B is in no snapshot; its blocks take 6K of the disks, parity counted.\n"
    );
}
