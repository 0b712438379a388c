use super::*;

fn joe() -> Arc<Actor> {
    Arc::new(Actor { user: 7, groups: vec![8], rank: Rank::Guest, within: None, way: Way::Management })
}

#[test]
fn a_thread_works_for_somebody_as_long_as_the_call_lasts() {
    assert_eq!(*actor(), Actor::itself());
    on_behalf_of(joe(), || {
        assert_eq!(actor(), joe());
        on_behalf_of(Arc::new(Actor::administrator(1, 2)), || assert_eq!(actor().user, 1));
        assert_eq!(actor(), joe(), "he is asked for again");
    });
    assert_eq!(*actor(), Actor::itself());
    assert!(std::panic::catch_unwind(|| on_behalf_of(joe(), || panic!("it fails"))).is_err());
    assert_eq!(*actor(), Actor::itself());
}

#[test]
fn who_is_held_to_a_dataset_is_no_administrator() {
    let everywhere = Actor::itself();
    assert!(everywhere.is_administrator() && everywhere.is_operator());
    let held = Actor { within: Some("tank/a".into()), ..everywhere.clone() };
    assert!(!held.is_administrator() && !held.is_operator());
    for rank in [Rank::Guest, Rank::Reader, Rank::Operator] {
        let lesser = Actor { rank, ..everywhere.clone() };
        assert!(!lesser.is_administrator(), "{rank:?}");
        assert_eq!(lesser.is_operator(), rank == Rank::Operator, "{rank:?}");
    }
}

#[test]
fn another_thread_works_for_the_program_until_it_is_told() {
    on_behalf_of(joe(), || {
        let for_whom = std::thread::spawn(actor).join().unwrap();
        assert_eq!(*for_whom, Actor::itself());
        let told = joe();
        let for_whom = std::thread::spawn(move || on_behalf_of(told, actor)).join().unwrap();
        assert_eq!(for_whom, joe());
    });
}
