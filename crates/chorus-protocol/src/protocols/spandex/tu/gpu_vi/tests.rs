//! Tests of a GPU-VI cache and its translation unit. The test takes the part of the LLC and the other devices.

use super::*;
use crate::access::{CoreOp, Order};
use crate::controller::{Controller, Input};
use crate::protocols::spandex::messages::{INV, RSP_O, RSP_S, RSP_WT, RSP_WT_DATA};
use crate::protocols::spandex::tu::bench::{ALL, Bench, FIRST, LINE, LLC, SECOND, config};
use crate::protocols::vi_protocols::private_cache;
use crate::protocols::write_through_l1::WriteThroughL1;

type Device = Bench<WriteThroughL1<2>, GpuViTu<2>>;

impl Device {
    fn new() -> Device {
        let l1 = private_cache(0, &config(), None).with_kinds(KINDS);
        Device { l1, tu: GpuViTu::new(0, &config(), None), messages: &messages::MESSAGES, completed: Vec::new() }
    }

    /// A device whose cache has a copy.
    fn sharing(values: [u32; 2]) -> Device {
        let mut device = Device::new();
        device.load();
        assert_eq!(device.llc(Txn::Merged, RSP_S, ALL, values), []);
        device
    }
}

#[test]
fn reads_ask_for_the_shared_line_and_wait_for_all_its_parts() {
    let mut device = Device::new();
    assert_eq!(device.load(), [(REQ_S, LLC, ALL, [0, 0])]);
    assert_eq!(device.llc(Txn::Merged, RSP_S, SECOND, [9, 5]), []);
    assert_eq!(device.states(), ("I_V", "Sent"));
    device.llc(Txn::Merged, RSP_S, FIRST, [4, 9]);
    assert_eq!((device.completed.as_slice(), device.states()), ([[4, 5]].as_slice(), ("V", "Idle")));
}

#[test]
fn stores_are_written_through_and_over_when_every_word_is_answered() {
    let mut device = Device::new();
    assert_eq!(device.store(1, 7), [(REQ_WT, LLC, SECOND, [7, 7])]);
    device.llc(2, RSP_O, SECOND, [0, 0]);
    assert_eq!((device.completed.len(), device.states()), (1, ("I", "Idle")));
}

#[test]
fn stores_whose_order_matters_are_updates() {
    let mut device = Device::new();
    assert_eq!(device.core(2, CoreOp::Store, Order::Release, 0, 7), [(REQ_WT_DATA, LLC, FIRST, [7, 7])]);
    device.llc(2, RSP_WT_DATA, FIRST, [3, 0]);
    assert_eq!((device.completed.as_slice(), device.states()), ([[0, 0]].as_slice(), ("I", "Idle")));
}

#[test]
fn atomics_are_updates_and_return_what_was() {
    let mut device = Device::new();
    let add = CoreOp::Atomic(AtomicOp::Add);
    assert_eq!(device.core(2, add, Order::Relaxed, 0, 7), [(REQ_WT_DATA, LLC, FIRST, [7, 7])]);
    device.llc(2, RSP_WT_DATA, FIRST, [3, 0]);
    assert_eq!((device.completed.as_slice(), device.states()), ([[3, 0]].as_slice(), ("I", "Idle")));
}

#[test]
fn invalidations_reach_the_cache_and_are_acknowledged() {
    let ack = [(ACK, LLC, ByteMask::EMPTY, [0, 0])];
    assert_eq!(Device::new().llc(0, INV, ALL, [0, 0]), ack);
    let mut device = Device::sharing([1, 2]);
    assert_eq!(device.llc(0, INV, ALL, [0, 0]), ack);
    assert_eq!(device.states(), ("I", "Idle"));
}

#[test]
fn a_read_that_is_invalidated_on_its_way_is_used_once() {
    let mut device = Device::new();
    device.load();
    device.llc(0, INV, ALL, [0, 0]);
    device.llc(Txn::Merged, RSP_S, ALL, [1, 2]);
    assert_eq!((device.completed.as_slice(), device.states()), ([[1, 2]].as_slice(), ("I", "Idle")));
}

#[test]
fn a_writer_loses_its_copy_before_its_store_is_over() {
    let mut device = Device::sharing([1, 2]);
    device.store(0, 7);
    assert_eq!(device.states(), ("V_M", "Sent"));
    device.llc(0, INV, ALL, [0, 0]);
    device.llc(2, RSP_WT, FIRST, [0, 0]);
    assert_eq!(device.states(), ("I", "Idle"));
}

#[test]
fn requests_of_one_wavefront_for_the_same_words_are_sent_one_after_the_other() {
    let mut device = Device::new();
    device.store(0, 7);
    assert_eq!(device.core(3, CoreOp::Store, Order::Weak, 0, 8), []);
    assert_eq!(device.core(4, CoreOp::Load, Order::Weak, 0, 0), []);
    assert_eq!(device.states(), ("I_I", "Queued"));
    assert_eq!(device.llc(2, RSP_WT, FIRST, [0, 0]), [(REQ_WT, LLC, FIRST, [8, 8])]);
    assert_eq!(device.llc(3, RSP_WT, FIRST, [0, 0]), [(REQ_S, LLC, ALL, [0, 0])]);
    device.llc(4, RSP_S, ALL, [8, 0]);
    assert_eq!(device.completed.last(), Some(&[8, 0]));
}

#[test]
fn requests_for_other_words_and_of_other_wavefronts_do_not_wait() {
    let mut device = Device::new();
    device.store(0, 7);
    assert_eq!(device.core(3, CoreOp::Store, Order::Weak, 1, 8).len(), 1);
    assert_eq!(device.core(12, CoreOp::Store, Order::Weak, 0, 9).len(), 1);
    device.llc(12, RSP_WT, FIRST, [0, 0]);
    device.llc(3, RSP_WT, SECOND, [0, 0]);
    assert_eq!(device.states(), ("I_I", "Sent"));
    device.llc(2, RSP_WT, FIRST, [0, 0]);
    assert!(device.tu.quiescent() && device.l1.quiescent());
}

#[test]
fn what_meets_a_read_of_several_wavefronts_waits_for_it() {
    let mut device = Device::new();
    device.load();
    assert_eq!(device.core(12, CoreOp::Store, Order::Weak, 0, 9), []);
    assert_eq!(device.llc(Txn::Merged, RSP_S, ALL, [1, 2]), [(REQ_WT, LLC, FIRST, [9, 9])]);
}

#[test]
fn an_answer_to_nobody_has_no_transition() {
    assert!(Device::new().offer(5, RSP_WT, FIRST, [0, 0]).0.is_err());
}

#[test]
fn lines_are_kept_apart() {
    let mut tu = GpuViTu::<2>::new(0, &config(), None);
    let mut out = Outbox::default();
    for line in [LINE, LineAddr(2), LineAddr(9)] {
        let message = Message::control(KINDS.named(vi::GETS), line, AgentId(0), tu.me);
        tu.step(&Input::Message(&Message { txn: Txn::Merged, ..message }), &mut out).unwrap();
    }
    let lines: Vec<u64> = tu.requests.iter().map(|request| request.line.0).collect();
    assert_eq!((lines, tu.line_state(LINE), out.messages.len()), (vec![2, 6, 9], State::Sent, 3));
}
