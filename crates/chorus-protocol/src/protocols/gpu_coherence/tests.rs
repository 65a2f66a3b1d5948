//! Tests of a GPU coherence cache behind its translation unit, step by step. The test takes the part of the rest of the
//! machine.

use crate::access::Order;
use crate::controller::Outcome;
use crate::line::ByteMask;
use crate::protocols::gpu_coherence::l1::GpuCoherenceL1;
use crate::protocols::spandex::messages::{NACK, REQ_V, REQ_WT, REQ_WT_DATA, RSP_O, RSP_V, RSP_WT, RSP_WT_DATA};
use crate::protocols::spandex::pair::{Pair, X, Y, add, by_other_wave, config, fence, load, store};
use crate::protocols::spandex::tu::gpu::GpuTu;

const LINE: u32 = 0b1111;

fn device(retries: u8) -> Pair {
    let config = config();
    Pair::new(Box::new(GpuCoherenceL1::new(0, &config, None)), Box::new(GpuTu::new(0, &config, retries, None)))
}

#[test]
fn a_read_asks_for_the_line_and_waits_until_every_part_has_come() {
    let mut device = device(1);
    device.issue(load(1, X, 0b0001));
    let read = device.expect(REQ_V, LINE);
    device.deliver(RSP_V, 0b0011, 5, &read);
    assert!(device.ended().is_empty());
    device.deliver(RSP_V, 0b1100, 6, &read);
    assert_eq!(device.value(1, 0), 5);
    device.issue(load(2, X, 0b1000));
    assert_eq!(device.value(2, 3), 6);
    assert!(device.sent.is_empty() && device.is_quiescent());
}

#[test]
fn a_nacked_word_is_asked_for_as_an_update_and_counts_as_data() {
    let mut device = device(1);
    device.issue(load(1, X, 0b0100));
    let read = device.expect(REQ_V, LINE);
    device.deliver(NACK, 0b0100, 0, &read);
    let update = device.expect(REQ_WT_DATA, 0b0100);
    assert_eq!(update.atomic, None);
    device.deliver(RSP_V, 0b1011, 1, &read);
    device.deliver(RSP_WT_DATA, 0b0100, 9, &update);
    assert_eq!(device.value(1, 2), 9);
    assert!(device.is_quiescent());
}

#[test]
fn without_conversion_a_nacked_read_is_repeated_and_what_comes_along_is_not_counted() {
    let mut device = device(0);
    device.issue(load(1, X, LINE));
    let read = device.expect(REQ_V, LINE);
    device.deliver(NACK, 0b0001, 0, &read);
    let again = device.expect(REQ_V, 0b0001);
    device.deliver(RSP_V, LINE, 7, &again);
    assert!(device.ended().is_empty(), "the other words have answers of their own on their way");
    device.deliver(RSP_V, 0b1110, 8, &read);
    assert_eq!(device.value(1, 1), 8);
    assert!(device.is_quiescent());
}

#[test]
fn a_store_is_readable_at_once_and_done_when_every_part_is_answered() {
    let mut device = device(1);
    device.issue(store(1, X, 0b0011, 5));
    let write = device.expect(REQ_WT, 0b0011);
    device.issue(load(2, X, 0b0001));
    assert_eq!(device.value(2, 0), 5);
    device.issue(fence(3, Order::Release));
    device.deliver(RSP_WT, 0b0001, 0, &write);
    assert!(device.ended().is_empty());
    device.deliver(RSP_O, 0b0010, 0, &write);
    assert_eq!(device.ended(), [1, 3]);
    assert_eq!(device.state(X), "V");
}

#[test]
fn a_write_waits_for_the_one_before_it_to_the_same_word() {
    let mut device = device(1);
    device.issue(store(1, X, 0b0001, 5));
    let first = device.expect(REQ_WT, 0b0001);
    device.issue(store(2, X, 0b0010, 6));
    device.issue(store(3, X, 0b0001, 7));
    device.expect(REQ_WT, 0b0010);
    device.deliver(RSP_WT, 0b0001, 0, &first);
    device.expect(REQ_WT, 0b0001);
}

#[test]
fn atomics_of_different_wavefronts_on_one_word_are_outstanding_together() {
    let mut device = device(1);
    device.issue(add(1, X, 0b0001, 1));
    device.issue(by_other_wave(add(2, X, 0b0001, 1)));
    device.issue(add(3, X, 0b0001, 1));
    assert_eq!(device.names(), ["ReqWT+data 0001", "ReqWT+data 0001"]);
}

#[test]
fn the_answer_of_an_atomic_leaves_its_words_invalid() {
    let mut device = device(1);
    device.issue(store(1, X, 0b0011, 5));
    let write = device.expect(REQ_WT, 0b0011);
    device.issue(add(2, X, 0b0001, 1));
    assert!(device.sent.is_empty(), "the store must not be overtaken");
    device.deliver(RSP_WT, 0b0011, 0, &write);
    let update = device.expect(REQ_WT_DATA, 0b0001);
    device.ended();
    device.deliver(RSP_WT_DATA, 0b0001, 5, &update);
    assert_eq!(device.value(2, 0), 5);
    assert_eq!(device.view(X).readable, ByteMask::of_words(0b0010));
}

#[test]
fn a_read_that_crosses_an_acquire_serves_who_waits_and_is_not_kept() {
    let mut device = device(1);
    device.issue(load(1, X, 0b0001));
    let read = device.expect(REQ_V, LINE);
    device.issue(by_other_wave(fence(2, Order::Acquire)));
    assert_eq!(device.state(X), "I_I");
    device.issue(by_other_wave(load(3, X, 0b0001)));
    assert_eq!(device.ended(), [2]);
    device.deliver(RSP_V, LINE, 4, &read);
    assert_eq!(device.value(1, 0), 4);
    let read = device.expect(REQ_V, LINE);
    device.deliver(RSP_V, LINE, 5, &read);
    assert_eq!(device.value(3, 0), 5);
    assert_eq!(device.state(X), "V");
}

#[test]
fn a_refill_does_not_bring_words_whose_writes_were_outstanding() {
    let mut device = device(1);
    device.issue(store(1, X, 0b0001, 5));
    let write = device.expect(REQ_WT, 0b0001);
    device.issue(by_other_wave(fence(2, Order::Acquire)));
    device.issue(load(3, X, 0b0010));
    let read = device.expect(REQ_V, LINE);
    device.deliver(RSP_WT, 0b0001, 0, &write);
    device.deliver(RSP_V, LINE, 0, &read);
    assert_eq!(device.ended(), [2, 1, 3]);
    assert_eq!(device.view(X).readable, ByteMask::of_words(0b1110));
}

#[test]
fn a_fence_that_acquires_and_releases_invalidates_once_it_has_waited() {
    let mut device = device(1);
    device.issue(store(1, X, 0b0001, 5));
    let write = device.expect(REQ_WT, 0b0001);
    device.issue(fence(2, Order::AcqRel));
    assert_eq!(device.state(X), "V_W");
    device.deliver(RSP_WT, 0b0001, 0, &write);
    assert_eq!(device.ended(), [1, 2]);
    assert_eq!(device.state(X), "I");
}

#[test]
fn a_line_gives_its_place_up_silently() {
    let mut device = device(1);
    device.issue(store(1, X, 0b0001, 5));
    assert_eq!(device.issue(store(2, Y, 0b0001, 6)), Outcome::Done);
    assert_eq!((device.state(X), device.state(Y)), ("I_W", "V_W"));
    assert_eq!(device.names(), ["ReqWT 0001", "ReqWT 0001"]);
}
