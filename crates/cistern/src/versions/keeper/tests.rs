use api_types::{AccountState, Role};
use machine::Account;

use super::*;

fn contents(accounts: &[(&str, Role, u8)]) -> Contents {
    let account = |(name, role, secrets): &(&str, Role, u8)| {
        let state = AccountState { role: *role, uid: 7, disabled: false, has_totp: false };
        ((*name).to_owned(), Account { state, secrets: [*secrets; 32] })
    };
    Contents { accounts: accounts.iter().map(account).collect(), ..Contents::default() }
}

#[test]
fn accounts_come_go_change_or_are_left_out() {
    let now =
        contents(&[("ada", Role::Administrator, 1), ("bob", Role::Operator, 2), ("eve", Role::ReadOnly, 3)]);
    let then =
        contents(&[("ada", Role::Administrator, 1), ("eve", Role::ReadOnly, 9), ("joe", Role::ReadOnly, 4)]);
    let told: Vec<_> = differing(&now, &then)
        .into_iter()
        .map(|change| (change.name, change.now.is_some(), change.then.is_some(), change.other_secrets))
        .collect();
    let change = |name: &str, now, then, secrets| (name.to_owned(), now, then, secrets);
    assert_eq!(
        told,
        [
            change("bob", true, false, false),
            change("eve", true, true, true),
            change("joe", false, true, false)
        ]
    );
    assert_eq!(differing(&now, &now), []);
}

#[test]
fn a_version_is_young_for_a_day_whichever_way_the_clock_went() {
    let now = 1_800_000_000;
    for (time, is) in [(now, true), (now - DAY + 1, true), (now + DAY - 1, true), (now - DAY, false)] {
        assert_eq!(is_young(time, now), is, "{time}");
    }
    for time in [now + DAY, i64::MAX, i64::MIN] {
        assert!(!is_young(time, now), "{time}");
    }
}

#[test]
fn only_a_pool_that_comes_back_is_looked_for_at_each_look() {
    assert!(is_away(&Error::Suspended) && is_away(&refused(StateFault::Away)));
    assert!(!is_away(&Error::NoSpace) && !is_away(&refused(StateFault::NoDatabase)));
}
