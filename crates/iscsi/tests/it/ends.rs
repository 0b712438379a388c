//! What ends commands and sessions before their time, with two initiators: who asks, and who is
//! told.

use engine_api::Error;

use super::*;

/// A write of one block, at a block of the tag's number, without its data.
fn announced(tag: u32) -> Pdu {
    command(tag, 0xa0, 512, &[0x2a, 0, 0, 0, 0, tag as u8, 0, 0, 1, 0])
}

fn whole(tag: u32) -> Pdu {
    announced(tag).with_data(vec![tag as u8; 512])
}

fn function(code: u8) -> Pdu {
    Pdu::new(0x42, 0x80 | code).put_u32(16, 0x77).put_u32(20, u32::MAX)
}

impl Peer {
    /// Waits until nothing has come for a moment.
    fn hears_nothing(&mut self) {
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(matches!(Pdu::read(&mut self.stream, self.digests, MOST), Err(iscsi::PduError::Silence)));
        self.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }

    /// Tags and status of so many answers to commands, in the order of tags.
    fn ended(&mut self, count: usize) -> Vec<(u32, u8)> {
        let mut ended: Vec<(u32, u8)> = (0..count)
            .map(|_| {
                let answer = self.hear().expect("an answer");
                assert_eq!(answer.opcode(), 0x21);
                (answer.tag(), answer.header[3])
            })
            .collect();
        ended.sort_unstable();
        ended
    }

    /// Two commands under way: one waits for its data, one for the volume, which is paused.
    fn has_two_under_way(&mut self, rig: &Rig) {
        rig.volume.pause(true);
        assert_eq!(self.ask(&announced(1)).opcode(), 0x31);
        self.send(&whole(2));
        rig.volume.wait_for(1);
    }
}

#[test]
fn a_reset_ends_the_commands_of_all_and_all_are_told() {
    for code in [5, 6] {
        let rig = rig("on");
        let (mut one, mut two) = (Peer::named(&rig, "iqn.test:one"), Peer::named(&rig, "iqn.test:two"));
        two.has_two_under_way(&rig);
        assert_eq!(one.ask(&announced(1)).opcode(), 0x31);
        one.send(&function(code));
        assert_eq!(two.ended(1), [(1, 0x40)]);
        // What is being executed cannot be taken back: who asks waits for it.
        one.hears_nothing();
        rig.volume.pause(false);
        let done = one.hear().unwrap();
        assert_eq!((done.opcode(), done.header[2]), (0x22, 0));
        assert_eq!(two.ended(1), [(2, 0x40)]);
        assert_eq!((one.told(0), one.told(0)), (Some(0x2903), None));
        assert_eq!((two.told(0), two.told(0)), (Some(0x2903), None));
        assert_eq!(rig.volume.read(512, 512).unwrap().to_vec(), [0; 512], "its data never came");
        two.send(&whole(3));
        assert_eq!(two.ended(1), [(3, 0)]);
    }
}

#[test]
fn who_is_not_told_by_a_status_is_told_by_an_attention() {
    let rig = rig("on");
    let (mut one, mut two) = (Peer::named(&rig, "iqn.test:one"), Peer::named(&rig, "iqn.test:two"));
    let page = one.ask(&command(1, 0xc0, 255, &[0x1a, 8, 0x0a, 0, 255, 0])).data;
    assert_eq!(page[4 + 5], 0x40, "TAS");
    let mut list = vec![0; 4];
    list.extend(&page[4..]);
    list[4 + 5] = 0;
    let select = command(2, 0xa0, 16, &[0x15, 0x10, 0, 0, 16, 0]).with_data(list);
    assert_eq!(one.ask(&select).header[3], 0);
    assert_eq!(two.told(0), Some(0x2a01));
    // ABORT TASK SET ends nothing of others.
    assert_eq!(two.ask(&announced(1)).opcode(), 0x31);
    assert_eq!(one.ask(&function(2)).header[2], 0);
    assert_eq!(two.told(0), None);
    // CLEAR TASK SET does: they hear of it with their next command.
    assert_eq!(one.ask(&function(4)).header[2], 0);
    two.hears_nothing();
    assert_eq!((two.told(0), two.told(0)), (Some(0x2f00), None));
    assert_eq!(one.ask(&function(4)).header[2], 0);
    assert_eq!((one.told(0), two.told(0)), (None, None), "nobody had any command");
    let no_unit = function(5).put(8, &[0, 9]);
    let answers =
        [function(1).put_u32(20, 1), no_unit, function(8), function(3)].map(|pdu| one.ask(&pdu).header[2]);
    assert_eq!(answers, [1, 2, 4, 5]);
}

#[test]
fn what_ends_commands_waits_for_those_that_are_on_their_way() {
    let rig = rig("on");
    let [mut first, mut second] = two(&rig);
    second.send(&function(2).put_u32(24, 2));
    second.hears_nothing();
    assert_eq!(first.ask(&announced(1)).opcode(), 0x31);
    assert_eq!(second.hear().map(|done| (done.opcode(), done.header[2])), Some((0x22, 0)));
    assert_eq!(second.ask(&function(1).put_u32(20, 1).put_u32(24, 2)).header[2], 1, "it is no more");
    first.hears_nothing();
}

/// PERSISTENT RESERVE OUT: what it does, its keys.
fn reserve_out(tag: u32, action: u8, kind: u8, (key, new): (u8, u8)) -> Pdu {
    let mut list = vec![0; 24];
    (list[7], list[15]) = (key, new);
    command(tag, 0xa0, 24, &[0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0]).with_data(list)
}

#[test]
fn who_is_preempted_writes_nothing_any_more() {
    let rig = rig("on");
    let (mut one, mut two) = (Peer::named(&rig, "iqn.test:one"), Peer::named(&rig, "iqn.test:two"));
    assert_eq!(one.ask(&reserve_out(1, 0, 0, (0, 1))).header[3], 0);
    rig.volume.pause(false);
    assert_eq!(two.ask(&reserve_out(1, 0, 0, (0, 2))).header[3], 0);
    assert_eq!(two.ask(&reserve_out(2, 1, 5, (2, 0))).header[3], 0);
    assert_eq!(two.ask(&announced(3)).opcode(), 0x31);
    rig.volume.pause(true);
    two.send(&whole(4));
    rig.volume.wait_for(1);
    one.send(&reserve_out(2, 5, 5, (1, 2)));
    assert_eq!(two.ended(1), [(3, 0x40)]);
    one.hears_nothing();
    rig.volume.pause(false);
    assert_eq!(one.ended(1), [(2, 0)]);
    assert_eq!(two.ended(1), [(4, 0x40)]);
    assert_eq!((two.told(0), two.told(0)), (Some(0x2a05), None));
    two.send(&whole(5));
    assert_eq!(two.ended(1), [(5, 0x18)]);
    // PREEMPT alone ends no commands.
    assert_eq!(two.ask(&reserve_out(6, 6, 0, (0, 2))).header[3], 0);
    assert_eq!(two.ask(&announced(7)).opcode(), 0x31);
    assert_eq!(one.ask(&reserve_out(3, 4, 5, (1, 2))).header[3], 0);
    two.hears_nothing();
}

#[test]
fn a_cold_reset_is_like_the_loss_of_power() {
    let rig = rig("on");
    let (mut one, mut two) = (Peer::named(&rig, "iqn.test:one"), Peer::named(&rig, "iqn.test:two"));
    let done = one.ask(&function(7));
    assert_eq!((done.opcode(), done.header[2]), (0x22, 0));
    assert_eq!((one.hear(), two.hear()), (None, None));
    drop(Peer::named(&rig, "iqn.test:two"));
}

/// Event and three parameters of an asynchronous message.
fn event(pdu: &Pdu) -> (u8, [u16; 3]) {
    assert_eq!((pdu.opcode(), pdu.tag()), (0x32, u32::MAX));
    (pdu.header[36], [38, 40, 42].map(|at| u16::from_be_bytes(pdu.field(at))))
}

#[test]
fn who_sees_nothing_any_more_is_asked_to_leave() {
    let rig = rig("initiator=iqn.test:one,initiator=iqn.test:two,initiator=iqn.test:three");
    let [mut one, mut two, mut three] =
        ["iqn.test:one", "iqn.test:two", "iqn.test:three"].map(|name| Peer::named(&rig, name));
    rig.engine.set_volumes(vec![served("tank/v", "initiator=iqn.test:three", &rig.volume)]);
    for peer in [&mut one, &mut two] {
        assert_eq!(event(&peer.hear().unwrap()), (1, [0, 0, 3]));
    }
    let gone = one.ask(&command(1, 0x80, 0, &[0; 6]));
    assert_eq!((gone.header[3], &gone.data[2 + 12..2 + 14]), (2, &[0x25, 0][..]));
    assert_eq!(one.ask(&Pdu::new(0x46, 0x80).put_u32(16, 10)).opcode(), 0x26);
    assert_eq!(one.hear(), None);
    // One that does not leave is shown out.
    assert_eq!(two.hear(), None);
    assert_eq!(three.told(0), None);
    // When the server stops, everybody hears of it.
    let began = std::time::Instant::now();
    rig.server.stop();
    assert!(began.elapsed() < Duration::from_secs(3), "it waits for nobody who has nothing to do");
    assert_eq!(event(&three.hear().unwrap()), (3, [0, 2, 0]));
    assert_eq!(three.hear(), None);
}

#[test]
fn each_hears_when_it_sees_other_units() {
    let rig = rig("target=iqn.x:t,lun=0");
    let target = ["iqn.test:one", "iqn.test:two"].map(|name| {
        let mut peer = Peer::connect(&rig);
        assert_eq!(peer.login(0x87, &[&format!("InitiatorName={name}"), "TargetName=iqn.x:t"]).0, 0);
        peer.is_greeted();
        peer
    });
    let [mut one, mut two] = target;
    let second = volume(3);
    let both = |share: &str| {
        rig.engine.set_volumes(vec![
            served("tank/v", "target=iqn.x:t,lun=0", &rig.volume),
            served("tank/w", share, &second),
        ]);
    };
    both("target=iqn.x:t,lun=1,initiator=iqn.test:two");
    assert_eq!((one.told(0), two.told(0), two.told(0)), (None, Some(0x3f0e), None));
    assert_eq!((two.told(1), two.told(1), two.told(1)), (Some(0x2900), Some(0x3f0e), None));
    both("off");
    assert_eq!((one.told(0), two.told(0)), (None, Some(0x3f0e)));
    // The number is the same, and stands for another volume.
    rig.engine.set_volumes(vec![served("tank/v", "target=iqn.x:t,lun=0", &second)]);
    assert_eq!((one.told(0), one.told(0), one.told(0)), (Some(0x2900), Some(0x3f0e), None));
    // A replica that says the same takes nothing from it, wherever it stands.
    let share = "target=iqn.x:t,lun=0";
    let replica = served("a/v", share, &volume(4));
    rig.engine.set_volumes(vec![replica.clone(), served("tank/v", share, &second)]);
    assert_eq!(one.told(0), None);
    rig.engine.set_volumes(vec![replica]);
    assert_eq!(one.told(0), Some(0x2900));
}

#[test]
fn a_volume_whose_reservations_cannot_be_read_comes_when_they_can() {
    let rig = rig("target=iqn.x:t,lun=0");
    let mut one = Peer::connect(&rig);
    assert_eq!(one.login(0x87, &[NAMES[0], "TargetName=iqn.x:t"]).0, 0);
    one.is_greeted();
    let second = volume(3);
    second.fail(Some(Error::Corrupt { object: 1, block: 2 }));
    rig.engine.set_volumes(vec![
        served("tank/v", "target=iqn.x:t,lun=0", &rig.volume),
        served("tank/w", "target=iqn.x:t,lun=1", &second),
    ]);
    let ready = one.ask(&Pdu::new(0x41, 0x80).put(8, &[0, 1]).put_u32(16, 0xabc));
    assert_eq!((ready.header[3], &ready.data[2 + 12..2 + 14]), (2, &[0x25, 0][..]), "there is no such unit");
    second.fail(None);
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while one.told(0) != Some(0x3f0e) {
        assert!(std::time::Instant::now() < end, "nobody looked again");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(one.told(1), Some(0x2900));
}
