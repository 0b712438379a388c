use super::*;

fn mount(mountpoint: &str) -> LocalMount {
    LocalMount { dataset: "tank/a b".into(), mountpoint: mountpoint.into(), options: "ro,noatime".into() }
}

#[test]
fn a_mount_is_read_back_as_it_was_written() {
    let without = LocalMount { options: String::new(), ..mount("/mnt/a b") };
    for mount in [mount("/mnt"), without] {
        assert_eq!(parse(format(&mount).unwrap().trim_end_matches('\n')), Some(mount));
    }
}

#[test]
fn lines_without_sense_and_paths_with_tabs_are_left_out() {
    assert_eq!(format(&mount("/a\tb")), None);
    for line in ["", "tank", "tank\trelative\t", "\t/mnt\t"] {
        assert_eq!(parse(line), None, "{line:?}");
    }
}
