use super::*;

#[test]
fn a_path_is_met_once_it_was_taken_in_whichever_thread() {
    let take = |is_rare: bool| {
        if is_rare {
            mark("a path of this test");
        }
    };
    take(false);
    assert!(!met().contains("a path of this test"));
    std::thread::scope(|scope| drop(scope.spawn(|| take(true))));
    assert_eq!(met().contains("a path of this test"), cfg!(debug_assertions));
}
