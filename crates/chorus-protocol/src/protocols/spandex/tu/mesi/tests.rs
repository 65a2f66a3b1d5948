//! Tests of a MESI cache and its translation unit. The test takes the part of the LLC and the other devices.

use super::*;
use crate::access::{AtomicOp, CoreOp, Order, Txn};
use crate::protocols::mesi::faults::L1Fault;
use crate::protocols::mesi::l1::MesiL1;
use crate::protocols::mesi::messages::{EXCLUSIVE_UNBLOCK, FWD_DATA, GETS, GETX, INV_ACK, INV_DATA, PUTX, WB_PENDING};
use crate::protocols::spandex::messages::{
    FWD_REQ_O, FWD_REQ_O_DATA, FWD_REQ_S, FWD_REQ_V, INV, RSP_WB, RVK_O, TRANSLATED,
};
use crate::protocols::spandex::tu::bench::{ALL, Bench, FIRST, LINE, LLC, OTHER, SECOND, Sent, config};

type Device = Bench<MesiL1<2>, MesiTu<2>>;

impl Device {
    fn new() -> Device {
        Device::faulty(None, None)
    }

    fn faulty(l1: Option<L1Fault>, tu: Option<TuFault>) -> Device {
        let (l1, tu) = (MesiL1::new(0, &config(), l1), MesiTu::new(0, &config(), tu));
        Device { l1, tu, messages: &TRANSLATED, completed: Vec::new() }
    }

    /// A device whose cache owns the line and holds these values.
    fn owning(values: [u32; 2]) -> Device {
        let mut device = Device::new();
        device.store(0, values[0]);
        assert_eq!(device.net(RSP_O_DATA, ALL, [0, values[1]]), []);
        device
    }

    /// A device whose cache holds a shared copy of zeros.
    fn sharing() -> Device {
        let mut device = Device::new();
        device.load();
        assert_eq!(device.net(RSP_S, ALL, [0, 0]), []);
        device
    }

    fn net(&mut self, kind: MsgKind, words: ByteMask, data: [u32; 2]) -> Vec<Sent> {
        self.llc(0, kind, words, data)
    }

    /// A request of another device for words that this one owns.
    fn ask(&mut self, kind: MsgKind, words: ByteMask) -> Vec<Sent> {
        self.net(kind, words, [0; 2])
    }

    fn waits(&mut self, kind: MsgKind, words: ByteMask) -> bool {
        self.offer(0, kind, words, [0; 2]) == (Ok(Outcome::Stall), Vec::new())
    }
}

#[test]
fn a_read_asks_for_the_line_to_be_shared_and_waits_for_all_its_parts() {
    let mut device = Device::new();
    assert_eq!(device.load(), [(REQ_S, LLC, ALL, [0, 0])]);
    assert_eq!(device.net(RSP_S, SECOND, [0, 5]), []);
    assert_eq!(device.states(), ("IS", "IS"));
    assert_eq!(device.net(RSP_S, FIRST, [4, 0]), []);
    assert_eq!(device.states(), ("S", "Idle"));
    assert_eq!(device.completed, [[4, 5]]);
}

#[test]
fn a_read_that_is_answered_with_ownership_counts_as_written() {
    let mut device = Device::new();
    device.load();
    assert_eq!(device.net(RSP_O_DATA, ALL, [4, 5]), []);
    assert_eq!(device.states(), ("M", "Idle"));
    assert_eq!(device.evict(), [(REQ_WB, LLC, ALL, [4, 5])]);
}

#[test]
fn writes_and_updates_ask_for_ownership_of_the_line_with_its_data() {
    for op in [CoreOp::Store, CoreOp::Atomic(AtomicOp::Exchange)] {
        let mut device = Device::new();
        assert_eq!(device.core(2, op, Order::Weak, 0, 7), [(REQ_O_DATA, LLC, ALL, [0, 0])]);
        assert_eq!(device.net(RSP_O_DATA, FIRST, [1, 0]), []);
        assert_eq!(device.states(), ("IM", "IO"));
        device.net(RSP_O_DATA, SECOND, [0, 2]);
        assert_eq!((device.states(), device.l1.view(LINE, 0).data.0), (("M", "Idle"), [7, 2]));
    }
}

#[test]
fn an_owned_replacement_waits_until_every_word_is_taken() {
    let mut device = Device::owning([1, 2]);
    device.evict();
    assert_eq!(device.states(), ("M_I", "WB"));
    assert_eq!(device.tu.view(LINE, 0).dirty, ALL);
    assert_eq!(device.net(RSP_WB, FIRST, [0; 2]), []);
    let view = device.tu.view(LINE, 0);
    assert_eq!((view.readable, view.dirty, view.data.0), (ByteMask::EMPTY, SECOND, [0, 2]));
    assert_eq!(device.net(RSP_WB, SECOND, [0; 2]), []);
    assert_eq!(device.states(), ("I", "Idle"));
}

#[test]
fn an_owner_shows_its_words_and_stays_their_owner() {
    let mut device = Device::owning([1, 2]);
    assert_eq!(device.ask(FWD_REQ_V, SECOND), [(RSP_V, OTHER, SECOND, [0, 2])]);
    assert_eq!(device.states(), ("M", "Idle"));
}

#[test]
fn a_reader_that_finds_no_owner_is_told_so() {
    for mut device in [Device::new(), Device::sharing()] {
        let before = device.states();
        assert_eq!(device.ask(FWD_REQ_V, FIRST), [(NACK, OTHER, FIRST, [0, 0])]);
        assert_eq!(device.states(), before);
    }
}

#[test]
fn an_owner_asked_for_words_writes_the_others_back() {
    let answers = [
        (FWD_REQ_O, (RSP_O, OTHER, FIRST, [0, 0])),
        (FWD_REQ_O_DATA, (RSP_O_DATA, OTHER, FIRST, [1, 0])),
        (RVK_O, (RSP_RVK_O, LLC, FIRST, [1, 0])),
    ];
    for (kind, answer) in answers {
        let mut device = Device::owning([1, 2]);
        assert_eq!(device.ask(kind, FIRST), [answer, (REQ_WB, LLC, SECOND, [0, 2])]);
        assert_eq!(device.states(), ("I", "WB"));
        device.net(RSP_WB, SECOND, [0; 2]);
        assert_eq!(device.states(), ("I", "Idle"));
        assert!(device.tu.quiescent());
    }
}

#[test]
fn an_owner_asked_for_the_whole_line_has_nothing_to_write_back() {
    let mut device = Device::owning([1, 2]);
    assert_eq!(device.ask(FWD_REQ_O_DATA, ALL), [(RSP_O_DATA, OTHER, ALL, [1, 2])]);
    assert_eq!(device.states(), ("I", "Idle"));
}

#[test]
fn an_owner_shares_its_line_with_a_reader_and_the_llc() {
    let mut device = Device::owning([1, 2]);
    assert_eq!(device.ask(FWD_REQ_S, ALL), [(RSP_S, OTHER, ALL, [1, 2]), (RSP_RVK_O, LLC, ALL, [1, 2])]);
    assert_eq!(device.states(), ("S", "Idle"));
}

#[test]
fn a_line_of_which_a_word_is_given_away_is_not_shared_but_given_up() {
    let mut device = Device::owning([1, 2]);
    let sent = [(RSP_S, OTHER, SECOND, [0, 2]), (RSP_RVK_O, LLC, SECOND, [0, 2]), (REQ_WB, LLC, FIRST, [1, 0])];
    assert_eq!(device.ask(FWD_REQ_S, SECOND), sent);
    assert_eq!(device.states(), ("I", "WB"));
    assert_eq!(device.ask(FWD_REQ_O, FIRST), [(RSP_O, OTHER, FIRST, [0, 0])]);
    device.net(RSP_WB, ByteMask::EMPTY, [0; 2]);
    assert_eq!(device.states(), ("I", "Idle"));
}

#[test]
fn answers_carry_the_names_of_the_request_that_they_serve() {
    let mut device = Device::owning([1, 2]);
    let message = Message::<2>::control(FWD_REQ_O, LINE, LLC, device.tu.me);
    let message = Message { mask: ALL, origin: OTHER, txn: Txn::Operation(9), wave: 3, ..message };
    let mut out = Outbox::default();
    device.tu.step(&Input::Message(&message), &mut out).unwrap();
    let inv = out.messages.pop().unwrap();
    device.l1.step(&Input::Message(&inv), &mut out).unwrap();
    let given_up = out.messages.pop().unwrap();
    device.tu.step(&Input::Message(&given_up), &mut out).unwrap();
    let answer = out.messages[0];
    assert_eq!((answer.kind, answer.txn, answer.wave, answer.src), (RSP_O, Txn::Operation(9), 3, device.tu.me));
}

#[test]
fn requests_wait_until_the_line_is_complete() {
    for kind in [FWD_REQ_V, FWD_REQ_S, FWD_REQ_O, FWD_REQ_O_DATA, RVK_O] {
        for reads in [false, true] {
            let mut device = Device::new();
            if reads {
                device.load()
            } else {
                device.store(0, 7)
            };
            device.net(RSP_O_DATA, SECOND, [0, 2]);
            assert!(device.waits(kind, SECOND));
            device.net(RSP_O_DATA, FIRST, [1, 0]);
            let carried = if kind == FWD_REQ_O { [0, 0] } else { [0, 2] };
            assert_eq!(device.ask(kind, SECOND)[0].3, carried);
        }
    }
}

#[test]
fn an_invalidation_is_acknowledged_whatever_the_cache_has() {
    let ack = [(ACK, LLC, ByteMask::EMPTY, [0, 0])];
    let mut absent = Device::new();
    assert_eq!(absent.ask(INV, ALL), ack);
    let mut sharing = Device::sharing();
    assert_eq!(sharing.ask(INV, ALL), ack);
    assert_eq!(sharing.states(), ("I", "Idle"));
    let mut leaving = Device::owning([1, 2]);
    leaving.evict();
    assert_eq!(leaving.ask(INV, ALL), ack);
    assert_eq!(leaving.states(), ("M_I", "WB"));
}

#[test]
fn a_read_that_is_invalidated_on_its_way_is_used_once() {
    let mut device = Device::new();
    device.load();
    device.net(RSP_S, FIRST, [1, 0]);
    device.ask(INV, ALL);
    device.net(RSP_S, SECOND, [0, 2]);
    assert_eq!((device.completed.as_slice(), device.states()), ([[1, 2]].as_slice(), ("I", "Idle")));
}

#[test]
fn an_invalidated_read_may_still_be_answered_with_ownership() {
    let mut device = Device::new();
    device.load();
    device.ask(INV, ALL);
    device.net(RSP_O_DATA, ALL, [1, 2]);
    assert_eq!(device.states(), ("M", "Idle"));
}

#[test]
fn an_upgrade_that_is_invalidated_goes_on_and_gets_data() {
    let mut device = Device::sharing();
    assert_eq!(device.store(0, 7), [(REQ_O_DATA, LLC, ALL, [0, 0])]);
    assert_eq!(device.states(), ("SM", "SO"));
    assert_eq!(device.ask(INV, ALL)[0].0, ACK);
    assert_eq!(device.states(), ("IM", "IO"));
    device.net(RSP_O_DATA, ALL, [1, 2]);
    assert_eq!((device.states(), device.l1.view(LINE, 0).data.0), (("M", "Idle"), [7, 2]));
}

#[test]
fn an_upgrade_that_nobody_invalidates_keeps_its_copy() {
    let mut device = Device::sharing();
    device.store(0, 7);
    device.net(RSP_O_DATA, ALL, [0, 0]);
    assert_eq!((device.states(), device.l1.view(LINE, 0).data.0), (("M", "Idle"), [7, 0]));
}

#[test]
fn a_pending_write_back_answers_readers_and_stays_pending() {
    let mut device = Device::owning([1, 2]);
    device.evict();
    assert_eq!(device.ask(FWD_REQ_V, SECOND), [(RSP_V, OTHER, SECOND, [0, 2])]);
    assert_eq!(device.states(), ("M_I", "WB"));
    device.net(RSP_WB, SECOND, [0; 2]);
    assert_eq!(device.ask(FWD_REQ_V, ALL), [(RSP_V, OTHER, FIRST, [1, 0]), (NACK, OTHER, SECOND, [0, 0])]);
}

#[test]
fn a_downgrade_completes_the_write_back_of_its_words_and_the_llc_is_referred_to_it() {
    let cases: [(MsgKind, &[Sent]); 4] = [
        (FWD_REQ_O, &[(RSP_O, OTHER, FIRST, [0, 0])]),
        (FWD_REQ_O_DATA, &[(RSP_O_DATA, OTHER, FIRST, [1, 0])]),
        (RVK_O, &[(RSP_RVK_O_REFERRED, LLC, FIRST, [0, 0])]),
        (FWD_REQ_S, &[(RSP_S, OTHER, FIRST, [1, 0]), (RSP_RVK_O_REFERRED, LLC, FIRST, [0, 0])]),
    ];
    for (kind, answers) in cases {
        let mut device = Device::owning([1, 2]);
        device.evict();
        assert_eq!(device.ask(kind, FIRST), answers);
        assert_eq!(device.states(), ("M_I", "WB"));
        device.net(RSP_WB, SECOND, [0; 2]);
        assert_eq!(device.states(), ("I", "Idle"));
    }
}

#[test]
fn a_request_for_a_line_that_is_written_back_waits_for_the_end_of_that() {
    let mut device = Device::owning([1, 2]);
    device.ask(FWD_REQ_O, FIRST);
    assert_eq!(device.load(), []);
    assert_eq!(device.states(), ("IS", "WB_Req"));
    assert_eq!(device.net(RSP_WB, SECOND, [0; 2]), [(REQ_S, LLC, ALL, [0, 0])]);
    assert_eq!(device.states(), ("IS", "IS"));
}

#[test]
fn a_line_is_not_asked_for_again_before_the_llc_has_seen_its_write_back() {
    let mut device = Device::owning([1, 2]);
    device.ask(FWD_REQ_O, FIRST);
    device.ask(FWD_REQ_O, SECOND);
    assert_eq!(device.load(), []);
    assert_eq!(device.states(), ("IS", "WB_Req"));
    assert_eq!(device.net(RSP_WB, ByteMask::EMPTY, [0; 2]), [(REQ_S, LLC, ALL, [0, 0])]);
}

#[test]
fn reads_that_leave_no_state_behind_are_used_once_and_asked_for_again_if_nobody_has_the_words() {
    let mut device = Device::new();
    device.tu = device.tu.reading_once();
    assert_eq!(device.load(), [(REQ_S, LLC, ALL, [0, 0])]);
    device.net(RSP_V, ALL, [1, 2]);
    assert_eq!(device.states(), ("I", "Idle"));
    device.load();
    assert_eq!(device.net(NACK, FIRST, [0, 0]), []);
    assert_eq!(device.net(RSP_V, SECOND, [0, 2]), [(REQ_O_DATA, LLC, ALL, [0, 0])]);
    device.net(RSP_O_DATA, ALL, [3, 4]);
    assert_eq!((device.completed.as_slice(), device.states().0), ([[1, 2], [3, 4]].as_slice(), "M"));
}

#[test]
fn a_cache_with_all_its_registers_in_use_still_gives_lines_up() {
    let mut device = Device::owning([1, 2]);
    (device.tu.registers, device.tu.mshrs) = (1, Mshrs::new(3));
    let request = device.tu.request(Wanted::Write, LineAddr(8), &mut Outbox::default());
    device.tu.mshrs.insert(LineAddr(8), request);
    assert_eq!(device.ask(FWD_REQ_O, ALL), [(RSP_O, OTHER, ALL, [0, 0])]);
}

#[test]
fn downgrades_wait_while_the_write_backs_of_others_have_all_registers() {
    let mut device = Device::owning([1, 2]);
    (device.tu.registers, device.tu.mshrs) = (1, Mshrs::new(3));
    let held = WriteBack { left: ALL, on_its_way: true, data: LineData::default(), evicted: false, then: None };
    device.tu.mshrs.insert(LineAddr(8), Pending::WriteBack(held));
    assert!(device.waits(FWD_REQ_O, FIRST));
}

/// Tests the messages between a bank of an L2 and its unit, and their order: the bank asks its own devices first.
#[test]
fn a_bank_may_take_its_time_and_a_line_that_leaves_it_meanwhile_is_the_answer() {
    let topology = Topology { l3s: 1, first_translated: AgentId(1), tus: 1, ..Topology::one_gpu(1, 1) };
    let config = BuildConfig { topology, ..config() };
    let mut tu = MesiTu::<2>::new(0, &config, None);
    let mut out = Outbox::default();
    let mut step = |src, kind, mask, data| {
        let message = Message { mask, data: LineData(data), origin: OTHER, ..Message::control(kind, LINE, src, tu.me) };
        out.clear();
        let outcome = tu.step(&Input::Message(&message), &mut out);
        (outcome, out.messages.iter().map(|sent| (sent.kind, sent.dst)).collect::<Vec<_>>())
    };
    let (bank, l3) = (topology.l2(0), topology.l3(0));
    let done = |sent: &[(MsgKind, AgentId)]| (Ok(Outcome::Done), sent.to_vec());
    assert_eq!(step(bank, GETX, ByteMask::EMPTY, [0; 2]), done(&[(REQ_O_DATA, l3)]));
    assert_eq!(step(l3, RSP_O_DATA, ALL, [1, 2]), done(&[(DATA_M, bank)]));
    assert_eq!(step(bank, EXCLUSIVE_UNBLOCK, ByteMask::EMPTY, [0; 2]), done(&[]));
    assert_eq!(step(l3, RVK_O, FIRST, [0; 2]), done(&[(MESI_INV, bank)]));
    assert_eq!(step(l3, FWD_REQ_V, SECOND, [0; 2]), (Ok(Outcome::Stall), Vec::new()));
    assert_eq!(step(bank, PUTX, ALL, [3, 4]), done(&[(RSP_RVK_O, l3), (REQ_WB, l3)]));
    assert_eq!(step(bank, WB_PENDING, ByteMask::EMPTY, [0; 2]), done(&[]));
    assert_eq!(step(l3, RSP_WB, SECOND, [0; 2]), done(&[(WB_ACK, bank)]));
    assert_eq!(step(bank, GETS, ByteMask::EMPTY, [0; 2]), done(&[(REQ_S, l3)]));
    assert_eq!(step(l3, RSP_O_DATA, ALL, [3, 4]), done(&[(DATA_E, bank)]));
    assert_eq!(step(l3, FWD_REQ_S, ALL, [0; 2]), done(&[(FWD_GETS, bank)]));
    assert_eq!(step(bank, FWD_DATA, ALL, [5, 6]), done(&[(RSP_S, OTHER), (RSP_RVK_O, l3)]));
    assert_eq!(step(l3, INV, ALL, [0; 2]), done(&[(MESI_INV, bank), (ACK, l3)]));
    assert_eq!(step(bank, INV_ACK, ByteMask::EMPTY, [0; 2]), done(&[]));
    assert!(step(bank, INV_DATA, ALL, [5, 6]).0.is_err());
}

#[test]
fn an_owner_that_counts_its_line_as_clean_cannot_give_it_back() {
    let mut device = Device::faulty(Some(L1Fault::CleanGrant), None);
    device.load();
    device.net(RSP_O_DATA, ALL, [1, 2]);
    assert_eq!(device.states().0, "E");
    let mut out = Outbox::default();
    device.l1.step(&Input::Evict(LINE), &mut out).unwrap();
    assert!(device.tu.step(&Input::Message(&out.messages[0]), &mut Outbox::default()).is_err());
}

#[test]
fn every_fault_has_a_name_of_its_own() {
    let mut names: Vec<_> = faults::SEEDS.iter().map(|seed| seed.spec.name).collect();
    names.extend(faults::L1_SEEDS.iter().map(|seed| seed.spec.name));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
