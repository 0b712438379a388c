//! Answers to requests that are sent again.

use super::*;
use crate::repeats::{LASTS, LONGEST, OF_ONE};

fn keyed(who: &str, key: u8, request: u8) -> Keyed {
    Keyed { who: who.into(), key: [key; 32], request: [request; 32] }
}

fn answer(body: &[u8]) -> KeptAnswer {
    KeptAnswer { status: 200, body: Some(body.to_vec()) }
}

#[test]
fn who_comes_again_is_answered_as_the_first_time_after_a_restart_too() {
    let (folder, world) = (Folder::new(), world());
    let (machine, _) = open(&folder, &world);
    let first = keyed("ann", 1, 1);
    assert_eq!(machine.claim(&first), Ok(Claim::New));
    assert_eq!(machine.claim(&first), Ok(Claim::Running));
    machine.keep_answer(&first, &answer(b"{}")).expect("kept");
    let other = keyed("ann", 2, 2);
    assert_eq!(machine.claim(&other), Ok(Claim::New));
    drop(machine);
    let (machine, _) = open(&folder, &world);
    assert_eq!(machine.claim(&first), Ok(Claim::Answered(answer(b"{}"))));
    assert_eq!(machine.claim(&keyed("ann", 1, 3)), Ok(Claim::Taken));
    assert_eq!(machine.claim(&keyed("bob", 1, 3)), Ok(Claim::New), "another's key");
    assert_eq!(machine.claim(&other), Ok(Claim::Interrupted));
    world.pass(-60);
    assert_eq!(machine.claim(&first), Ok(Claim::Answered(answer(b"{}"))), "the clock was put back");
    world.pass(60 + LASTS);
    assert_eq!(machine.claim(&first), Ok(Claim::New), "a day is over");
}

#[test]
fn what_was_not_tried_may_be_tried_again_and_what_is_lost_is_told() {
    let (folder, world) = (Folder::new(), world());
    let (machine, _) = open(&folder, &world);
    let first = keyed("ann", 1, 1);
    assert_eq!(machine.claim(&first), Ok(Claim::New));
    machine.give_back(&first).expect("given");
    assert_eq!(machine.claim(&first), Ok(Claim::New));
    machine.lose_answer(&first).expect("noted");
    assert_eq!(machine.claim(&first), Ok(Claim::Interrupted));
    let long = keyed("ann", 2, 1);
    assert_eq!(machine.claim(&long), Ok(Claim::New));
    machine.keep_answer(&long, &answer(&[b' '; LONGEST + 1])).expect("kept");
    assert_eq!(machine.claim(&long), Ok(Claim::Answered(KeptAnswer { status: 200, body: None })));
}

#[test]
fn there_are_so_many_keys_of_one_and_the_oldest_go() {
    let (folder, world) = (Folder::new(), world());
    let (machine, _) = open(&folder, &world);
    let bobs = keyed("bob", 1, 1);
    assert_eq!(machine.claim(&bobs), Ok(Claim::New));
    let first = keyed("ann", 1, 1);
    assert_eq!(machine.claim(&first), Ok(Claim::New));
    machine.keep_answer(&first, &answer(b"{}")).expect("kept");
    let more = "INSERT INTO answers (who, key, request, began, state) VALUES ('ann', ?1, x'00', ?2, 'lost')";
    let add = |db: &rusqlite::Transaction<'_>| -> Result<(), Fault> {
        (1..OF_ONE).try_for_each(|number| {
            db.execute(more, (number.to_le_bytes(), START))?;
            Ok(())
        })
    };
    machine.store.change(add).expect("added");
    assert_eq!(machine.claim(&first), Ok(Claim::Answered(answer(b"{}"))), "there is room for all");
    assert_eq!(machine.claim(&keyed("ann", 2, 1)), Ok(Claim::New));
    assert_eq!(machine.claim(&bobs), Ok(Claim::Running));
    assert_eq!(machine.claim(&first), Ok(Claim::New), "the oldest has gone");
}
