//! Limits as an administrator sets them and a client meets them, and what is said of the space that
//! is used.

use crate::daemon::{Daemon, Scratch};
use crate::delegation::{JOE, run_as};
use crate::libnfs::Client;
use crate::zdb::stop_and_check;

#[track_caller]
fn refused(daemon: &Daemon, line: &str, message: &str) {
    let ran = daemon.zfs(line);
    assert!(ran.status == 1 && ran.err.trim_end() == message, "{line}: {ran:?}");
}

#[test]
fn limits_are_set_met_and_listed() {
    let scratch = Scratch::new("quotas");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let at = scratch.text("fs");
    let share = "-o sharenfs=rw,no_root_squash,insecure -o compression=off -o groupobjquota@7=3";
    daemon.zfs(&format!("create -u -o mountpoint={at} {share} tank/fs")).done();
    let client = Client::mount(&daemon, &at).expect("mounted");
    client.write_file("/a", 0o644, &[7; 1 << 20]).expect("written");
    daemon.zpool("sync tank").done();
    daemon.zfs("set userquota@root=1M projectquota@5=1G atime=off tank/fs").done();
    let full = client.write_file("/b", 0o644, b"more").expect_err("over quota");
    assert!(full.to_string().contains("NFS3ERR_DQUOT"), "{full}");
    let told =
        daemon.zfs("get -H -o property,value,source userquota@root,userquota@0,userused@77 tank/fs").done();
    assert_eq!(told, "userquota@root\t1M\tlocal\nuserquota@0\t1M\tlocal\nuserused@77\t0B\tlocal\n");
    assert_eq!(daemon.zfs("get -Hp -o value userquota@77,userused@nobodyatall tank/fs").done(), "0\n-\n");
    assert_eq!(daemon.zfs("list -H -o groupobjquota@7,atime tank/fs").done(), "3\toff\n");

    let table = daemon.zfs("userspace -o type,name,quota,objused tank/fs").done();
    assert_eq!(table, "TYPE        NAME  QUOTA  OBJUSED\nPOSIX User  root     1M        3\n");
    let used = daemon.zfs("userspace -Hnp -o name,used tank/fs").done();
    let bytes: u64 = used.trim_end().strip_prefix("0\t").expect("root").parse().expect("a number");
    assert!((1 << 20..2 << 20).contains(&bytes), "{bytes}");
    assert_eq!(
        daemon.zfs("groupspace -Hn -o name,objused,objquota -S used tank/fs").done(),
        "0\t3\tnone\n7\t0\t3\n"
    );
    assert_eq!(
        daemon.zfs("projectspace -H -o type,name,quota tank/fs").done(),
        "Project\t0\tnone\nProject\t5\t1G\n"
    );
    daemon.zfs("snapshot tank/fs@s").done();
    assert_eq!(daemon.zfs("userspace -Hnp -o name,used tank/fs@s").done(), used);
    refused(
        &daemon,
        "set userquota@root=1G tank/fs@s",
        "cannot set property for 'tank/fs@s': this property can not be modified for snapshots",
    );
    refused(
        &daemon,
        "set userused@root=1G tank/fs",
        "cannot set property for 'tank/fs': 'userused@0' is readonly",
    );
    refused(
        &daemon,
        "set userquota@nobodyatall=1G tank/fs",
        "cannot set property for 'tank/fs': 'userquota@nobodyatall' has an invalid user/group name",
    );
    daemon.zfs("set userquota@root=none tank/fs").done();
    client.write_file("/b", 0o644, b"more").expect("written");

    // Numbers of file systems and snapshots.
    daemon.zfs("create -u tank/fs/one").done();
    daemon.zfs("set filesystem_limit=2 snapshot_limit=3 tank/fs").done();
    daemon.zfs("create -u tank/fs/one/two").done();
    // They bind users, and no administrator.
    daemon.zfs(&format!("allow -u {JOE} create,mount,snapshot tank/fs")).done();
    let over = |line: &str, why: &str| {
        let ran = run_as(&daemon, JOE, &format!("zfs {line}"));
        assert_eq!((ran.status, ran.err), (1, format!("{why}\n")));
    };
    over("create -u tank/fs/three", "cannot create 'tank/fs/three': out of space");
    daemon.zfs("snapshot -r tank/fs/one@s").done();
    over("snapshot tank/fs/one@t", "cannot create snapshot 'tank/fs/one@t': out of space");
    let counts = "get -H -o value filesystem_count,snapshot_count,filesystem_limit";
    assert_eq!(daemon.zfs(&format!("{counts} tank/fs")).done(), "2\n3\n2\n");
    assert_eq!(daemon.zfs(&format!("{counts} tank/fs/one")).done(), "1\n2\nnone\n");
    assert_eq!(daemon.zfs(&format!("{counts} tank")).done(), "none\nnone\nnone\n");
    daemon.zfs(&format!("unallow -u {JOE} tank/fs")).done();
    daemon.zfs("rename tank/fs/one tank/one").done();
    assert_eq!(daemon.zfs(&format!("{counts} tank/fs")).done(), "0\n1\n2\n");
    daemon.zfs("destroy tank/fs@s").done();
    assert_eq!(daemon.zfs(&format!("{counts} tank/fs")).done(), "0\n0\n2\n");

    daemon.zfs("snapshot tank/fs@now").done();
    client.write_file("/c d", 0o644, b"new").expect("written");
    client.unlink("/b").expect("removed");
    let text = daemon.run(&["explain-space", "tank/fs"]).done();
    assert!(text.contains("contents of files, as compressed"), "{text}");
    let json = daemon.run(&["explain-space", "--json", "tank"]).done();
    assert!(
        json.contains(r#""holder":"child","bytes":"#) && json.contains(r#""names":["tank/fs"]"#),
        "{json}"
    );
    let missing = daemon.run(&["explain-space", "tank/none"]);
    assert_eq!(missing.err, "cannot open 'tank/none': dataset does not exist\n");
    let changed = daemon.zfs("diff -FH tank/fs@now").done();
    let mut changed: Vec<&str> = changed.lines().collect();
    changed.sort_unstable();
    let expected = [format!("+\tF\t{at}/c\\0040d"), format!("-\tF\t{at}/b"), format!("M\t/\t{at}/")];
    assert_eq!(changed, expected);
    assert_eq!(daemon.zfs("wait -t deleteq tank/fs").done(), "");
    assert_eq!(daemon.zfs("list -H -t snapshot -o name tank/fs").done(), "tank/fs@now\n");
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
