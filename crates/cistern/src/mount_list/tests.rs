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
