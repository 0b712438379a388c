use super::*;

fn mount(mountpoint: &str) -> LocalMount {
    LocalMount { dataset: "tank/a b".into(), mountpoint: mountpoint.into(), options: "ro,noatime".into() }
}

#[test]
fn a_mount_is_read_back_as_it_was_written() {
    let without = LocalMount { options: String::new(), ..mount("/mnt/a b") };
    for mount in [mount("/mnt"), mount("/a\tb\nc\\"), without] {
        assert_eq!(parse(format(&mount).trim_end_matches('\n')), Some(mount));
    }
}

#[test]
fn lines_without_sense_name_no_mount() {
    for line in ["", "tank", "tank\trelative\t", "\t/mnt\t"] {
        assert_eq!(parse(line), None, "{line:?}");
    }
}

#[test]
fn a_list_that_is_as_it_was_is_not_written_again() {
    use std::os::unix::fs::MetadataExt;
    let state = std::env::temp_dir().join(format!("cistern-mount-list-{}", std::process::id()));
    std::fs::create_dir_all(&state).expect("made");
    let list = MountList::in_state(&state);
    let file = || std::fs::metadata(list.path()).expect("it is there").ino();
    let (a, b) = (mount("/a"), mount("/b"));
    list.save([a.clone(), b.clone()].into_iter());
    let first = file();
    list.save([b.clone(), a.clone()].into_iter());
    assert_eq!(file(), first);
    list.save([b.clone()].into_iter());
    assert_ne!(file(), first);
    assert_eq!(list.load().expect("it can be read"), [b]);
    std::fs::remove_dir_all(&state).expect("removed");
}
