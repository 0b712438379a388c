use super::*;

fn block(offset: u64) -> BlkPtr {
    let mut bp = BlkPtr::HOLE;
    bp.set_dva(0, Dva::new(0, offset, 4096));
    bp
}

/// With a burst of ten records at each of these places.
fn flying(places: &[u64]) -> Pipeline {
    let fly =
        |(at, place): (usize, &u64)| Flying { bp: block(*place), upto: 10 * (at as u64 + 1), landed: false };
    Pipeline { flying: places.iter().enumerate().map(fly).collect(), ..Pipeline::default() }
}

#[test]
fn a_record_waited_for_the_device_of_the_burst_that_made_it_durable() {
    let mut pipeline = flying(&[0, 8192, 16384, 32768]);
    pipeline.land(&block(8192), false, Some(2));
    assert_eq!((pipeline.done(), pipeline.slowest(15)), (0, None), "the burst before it has not landed");
    // The first was the last of the two: whoever waited for either has waited for its device.
    pipeline.land(&block(0), false, Some(1));
    assert_eq!((pipeline.done(), pipeline.slowest(1), pipeline.slowest(20)), (20, Some(1), Some(1)));
    // Nobody looked at the third, so nothing is known of it; nor of what is not durable.
    pipeline.land(&block(16384), false, None);
    pipeline.land(&block(32768), true, Some(4));
    assert_eq!((pipeline.done(), pipeline.slowest(21), pipeline.slowest(31)), (30, None, None));
}

#[test]
fn as_many_stretches_are_told_as_there_is_room_for() {
    let places: Vec<u64> = (0..TOLD as u64 + 1).map(|at| at << 13).collect();
    let mut pipeline = flying(&places);
    for (at, place) in places.iter().enumerate() {
        pipeline.land(&block(*place), false, Some(at as u64 + 1));
    }
    assert_eq!((pipeline.closed.len(), pipeline.slowest(1), pipeline.slowest(11)), (TOLD, None, Some(2)));
    assert_eq!(pipeline.slowest(pipeline.done()), Some(TOLD as u64 + 1));
}
