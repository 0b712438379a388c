use stdx::prng::Prng;

use super::*;

#[test]
fn ports_are_named_as_they_are_understood() {
    let port = "iqn.a:b,i,0x00023d000001";
    let written = transport_id(port);
    assert_eq!(initiator(&written), Some((Initiator::Port(port.into()), &[][..])));
    let mut short = transport_id("iqn.A:b,i,0x23D000001");
    assert_eq!(initiator(&short).map(|found| found.0), Some(Initiator::Port(port.into())));
    short[0] = ISCSI;
    assert_eq!(initiator(&short), None, "no initiator is called so");
    let mut device = transport_id("iqn.a:b");
    device[0] = ISCSI;
    assert_eq!(initiator(&device), Some((Initiator::Device("iqn.a:b".into()), &[][..])));
    assert!(is_port_of(port, "iqn.a:b") && !is_port_of(port, "iqn.a"));
    let mut rng = Prng::new(3);
    for _ in 0..5000 {
        let mut bytes = written.clone();
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = rng.below(256) as u8;
        bytes.truncate(rng.below(2 * bytes.len() as u64) as usize);
        drop(initiators(&bytes));
    }
}
