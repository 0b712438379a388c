use super::*;

#[test]
fn it_ends_after_so_many_blocks_or_at_a_word() {
    let leash = Leash::default();
    assert!(leash.take(u64::MAX - 1) && leash.take(u64::MAX) && !leash.is_over());
    leash.allow(10);
    assert!(leash.take(4) && leash.take(5) && !leash.is_over());
    assert!(!leash.take(1) && leash.is_over() && !leash.take(1));
    leash.allow(10);
    assert!(leash.take(1));
    leash.cancel();
    assert!(!leash.take(1) && leash.is_over() && leash.is_cancelled());
    leash.let_go();
    assert!(leash.take(1 << 60) && !leash.is_over());
    // Who comes too late takes nothing from a pool that is imported.
    leash.cancel();
    assert!(leash.take(1 << 60) && !leash.is_over() && !leash.is_cancelled());
}
