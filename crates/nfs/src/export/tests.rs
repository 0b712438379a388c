use super::*;
use sunrpc::msg::AuthSys;

fn grant(text: &str, addr: &str) -> Option<bool> {
    let options = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    options.grant(addr.parse().expect("an address"), &Names::default())
}

#[test]
fn lists_decide_who_comes_and_how() {
    for (text, addr, expect) in [
        ("off", "10.1.2.3", None),
        ("on", "10.1.2.3", Some(true)),
        ("ro", "10.1.2.3", Some(false)),
        ("sec=sys,rw,crossmnt,no_subtree_check", "::1", Some(true)),
        ("rw=@10.0.0.0/8", "10.1.2.3", Some(true)),
        ("rw=@10.0.0.0/8", "11.1.2.3", None),
        ("rw=10.0.0.0/255.0.0.0", "10.255.2.3", Some(true)),
        ("rw=10.0.0.0/8", "::ffff:10.1.2.3", Some(true)),
        ("rw=192.168.1.4:192.168.1.5,ro", "192.168.1.5", Some(true)),
        ("rw=192.168.1.4:192.168.1.5,ro", "192.168.1.6", Some(false)),
        ("ro=@10.1.0.0/16,rw=@10.0.0.0/8", "10.1.0.9", Some(false)),
        ("rw=@10.0.0.0/8,ro=@10.1.0.0/16", "10.2.0.9", Some(true)),
        ("rw=[2001:db8::]/32:[fe80::1]", "2001:db8:1::9", Some(true)),
        ("rw=[2001:db8::/32]:[fe80::1]", "fe80::1", Some(true)),
        ("rw=[2001:db8::/32]:[fe80::1]", "fe80::2", None),
        ("rw=*", "1.2.3.4", Some(true)),
        ("rw=0.0.0.0/0", "1.2.3.4", Some(true)),
        ("rw=localhost", "127.0.0.1", Some(true)),
        ("rw=localhost", "127.0.0.2", None),
        ("no_root_squash", "1.2.3.4", Some(true)),
    ] {
        assert_eq!(grant(text, addr), expect, "{addr} on {text}");
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_with_a_reason() {
    for (text, reason) in [
        ("", "must be 'on', 'off'"),
        ("rw=@trusted", "netgroups"),
        ("rw=*.example.com", "patterns"),
        ("rw=.example.com", "patterns"),
        ("sec=krb5", "only sec=sys"),
        ("rw=10.0.0.0/33", "0 to 32"),
        ("rw=10.0.0.0/255.0.255.0", "0 to 32"),
        ("rw=300.1.2.3", "neither an address"),
        ("rw=example.com/24", "not a network"),
        ("rw=a::b", "empty entry"),
        ("rw,,ro", "empty entry"),
        ("rw=[::1", "']' is missing"),
        ("anonuid=joe", "needs a number"),
        ("anonuid", "needs a number"),
        ("frobnicate", "not an option"),
        ("root_squash=1", "not an option"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn credentials_are_squashed_as_asked() {
    let ids = |text: &str, credential: Credential| {
        let cred = parse(text).expect(text).cred(&credential);
        (cred.uid, cred.gid, cred.groups)
    };
    let root = Credential::Sys(AuthSys::new(0, 0, &[0, 5]));
    let user = Credential::Sys(AuthSys::new(7, 8, &[9]));
    assert_eq!(ids("on", root), (NOBODY, NOBODY, vec![NOBODY, 5]));
    assert_eq!(ids("on", user), (7, 8, vec![9]));
    assert_eq!(ids("no_root_squash", root), (0, 0, vec![0, 5]));
    assert_eq!(ids("all_squash,anonuid=1000,anongid=-2", user), (1000, u32::MAX - 1, vec![]));
    assert_eq!(ids("no_root_squash", Credential::None), (NOBODY, NOBODY, vec![]));
    assert_eq!(ids("root_mapping=3", root).0, 3);
    // -1 is nobody's number, and the owner of nothing.
    let nobodys = Credential::Sys(AuthSys::new(u32::MAX, u32::MAX, &[u32::MAX, 5]));
    assert_eq!(ids("no_root_squash", nobodys), (NOBODY, NOBODY, vec![NOBODY, 5]));
}

#[test]
fn showmount_lists_hosts() {
    let groups = |text| parse(text).expect("good").groups();
    assert!(groups("on").is_empty());
    assert!(groups("rw=10.0.0.1,ro").is_empty());
    assert_eq!(groups("rw=@10.0.0.0/8:Host,ro=10.0.0.1"), ["10.0.0.0/8", "host", "10.0.0.1"]);
}

#[test]
fn options_that_others_need_are_taken() {
    let options = parse("rw,async,fsid=3,insecure,no_wdelay,sec=krb5:sys").expect("good");
    assert_eq!((options.secure, options.crossmnt, options.sync), (false, false, false));
    assert!(parse("rw").expect("good").sync, "a server waits unless told not to");
    let on = parse("on").expect("good");
    assert!(on.crossmnt && on.secure);
    assert!(parse("rw,no_root_squash").expect("good").secure);
}
