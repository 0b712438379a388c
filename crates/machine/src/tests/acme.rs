//! Settings of ACME: kept, replaced, and what is noted of them.

use api_types::{AcmeFailure, AcmeFault};

use super::*;

fn wanted(email: &str, roots: Option<&str>) -> AcmeWanted {
    AcmeWanted {
        domains: ["nas.example.org", "files.example.org"].map(str::to_owned).to_vec(),
        email: Some(email.to_owned()),
        directory: "https://ca.example/directory".to_owned(),
        roots: roots.map(str::to_owned),
    }
}

fn kept(machine: &Machine) -> Acme {
    machine.acme().expect("read").expect("it is set")
}

#[test]
fn what_is_set_outlives_the_program_with_its_account_and_its_failures() {
    let (machine, world, folder) = machine();
    assert!(machine.acme().expect("read").is_none() && !machine.end_acme().expect("done"));
    let set = machine.set_acme(&wanted("ada@example.org", Some("roots"))).expect("set");
    assert_eq!((set.tries, set.next, &set.account), (0, 0, &None));
    machine.keep_acme_account(set.id, "secret key").expect("kept");
    let failure = AcmeFailure { at: START, fault: AcmeFault::Unreachable, why: "silence".to_owned() };
    machine.note_acme(set.id, 3, START + 60, Some(&failure)).expect("noted");
    drop(machine);
    let (machine, _) = open(&folder, &world);
    let found = kept(&machine);
    assert_eq!(found.wanted, wanted("ada@example.org", Some("roots")));
    assert_eq!((found.tries, found.next, found.failure), (3, START + 60, Some(failure)));
    assert_eq!(found.account.as_deref(), Some("secret key"));
    machine.note_acme(set.id, 0, START + 600, None).expect("noted");
    assert_eq!(kept(&machine).failure, None);
    assert!(machine.end_acme().expect("done") && machine.acme().expect("read").is_none());
}

#[test]
fn an_account_is_for_one_authority_and_address_and_an_old_setting_gets_nothing() {
    let (machine, ..) = machine();
    let first = machine.set_acme(&wanted("ada@example.org", None)).expect("set");
    machine.keep_acme_account(first.id, "first").expect("kept");
    let second = machine.set_acme(&wanted("ada@example.org", Some("roots"))).expect("set");
    assert_ne!(second.id, first.id);
    assert_eq!(second.account.as_deref(), Some("first"));
    machine.keep_acme_account(first.id, "late").expect("nothing is done");
    machine.note_acme(first.id, 9, 9, None).expect("nothing is done");
    assert!(kept(&machine) == second);
    let third = machine.set_acme(&wanted("eve@example.org", None)).expect("set");
    assert_eq!(third.account, None, "another address is another account");
    let other =
        AcmeWanted { directory: "https://other.example/".to_owned(), ..wanted("eve@example.org", None) };
    machine.keep_acme_account(third.id, "third").expect("kept");
    assert_eq!(machine.set_acme(&other).expect("set").account, None, "and so is another authority");
}
