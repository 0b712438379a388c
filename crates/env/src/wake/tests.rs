use super::*;
use crate::RealClock;

#[test]
fn costs_are_told_for_any_rest() {
    let cost = |latency, work| WakeCost { latency, work };
    let mut costs = WakeCosts::default();
    for (n, point) in costs.0.iter_mut().enumerate() {
        *point = (Nanos(100 * n as u64), cost(10.0 * n as f64, 20.0 * n as f64));
    }
    assert_eq!(costs.after(0.0), cost(0.0, 0.0));
    assert_eq!(costs.after(150.0), cost(15.0, 30.0));
    assert_eq!(costs.after(399.0), cost(39.9, 79.8));
    assert_eq!(costs.after(1e12), cost(40.0, 80.0));
    assert_eq!(WakeCosts::default().after(5.0), WakeCost::default());
}

#[test]
fn waking_takes_some_time_and_ends() {
    let costs = measure(&RealClock::new());
    assert!(costs.0.iter().all(|(_, cost)| cost.latency > 0.0 && cost.work > 0.0), "{costs:?}");
    assert!(costs.0.iter().all(|(_, cost)| cost.work < 1e9), "{costs:?}");
}
