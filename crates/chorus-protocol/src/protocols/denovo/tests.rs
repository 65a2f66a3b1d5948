//! Tests of a DeNovo cache behind its translation unit, step by step. The test takes the part of the rest of the
//! machine.

use crate::access::{CoreRequest, Order};
use crate::address::LineAddr;
use crate::controller::Outcome;
use crate::line::ByteMask;
use crate::protocols::denovo::l1::{Atomics, DeNovoL1, L1Options, Stores};
use crate::protocols::spandex::messages::{
    FWD_REQ_O, FWD_REQ_O_DATA, FWD_REQ_V, NACK, REQ_O, REQ_O_DATA, REQ_V, REQ_WB, REQ_WT, REQ_WT_DATA, RSP_O,
    RSP_O_DATA, RSP_V, RSP_WB, RSP_WT, RSP_WT_DATA, RVK_O,
};
use crate::protocols::spandex::pair::{Pair, WORDS, X, Y, add, by_other_wave, config, fence, load, store, topology};
use crate::protocols::spandex::tu::denovo::DeNovoTu;
use crate::read_only::ReadOnlyLines;

const OWNING: L1Options = L1Options { atomics: Atomics::Here, stores: Stores::Own, regions: ReadOnlyLines::NONE };

fn device_with(options: L1Options, retries: u8) -> Pair {
    let config = config();
    Pair::new(Box::new(DeNovoL1::new(0, &config, options, None)), Box::new(DeNovoTu::new(0, &config, retries, None)))
}

fn device() -> Pair {
    device_with(OWNING, 1)
}

/// A device that owns words of a line, all with the same value.
fn owner(words: u32, value: u32) -> Pair {
    let mut device = device();
    device.issue(store(90, X, words, value));
    let request = device.expect(REQ_O, words);
    device.deliver(RSP_O, words, 0, &request);
    assert_eq!(device.ended(), [90]);
    device
}

fn ordered(request: CoreRequest<WORDS>) -> CoreRequest<WORDS> {
    CoreRequest { order: Order::Relaxed, ..request }
}

#[test]
fn a_read_asks_for_its_words_and_keeps_what_comes_along() {
    let mut device = device();
    device.issue(load(1, X, 0b0011));
    let read = device.expect(REQ_V, 0b0011);
    device.deliver(RSP_V, 0b1101, 5, &read);
    assert!(device.ended().is_empty());
    device.deliver(RSP_V, 0b0010, 6, &read);
    assert_eq!(device.value(1, 1), 6);
    device.issue(load(2, X, 0b1111));
    assert_eq!(device.value(2, 3), 5);
    assert!(device.sent.is_empty() && device.is_quiescent());
}

#[test]
fn a_store_is_done_when_every_word_is_owned_and_owned_words_hit() {
    let mut device = device();
    device.issue(store(1, X, 0b0011, 5));
    let request = device.expect(REQ_O, 0b0011);
    device.issue(load(2, X, 0b0001));
    assert_eq!(device.value(2, 0), 5);
    device.issue(fence(3, Order::Release));
    device.deliver(RSP_O, 0b0010, 0, &request);
    assert!(device.ended().is_empty());
    device.deliver(RSP_O, 0b0001, 0, &request);
    assert_eq!(device.ended(), [1, 3]);
    device.issue(add(4, X, 0b0001, 1));
    device.issue(store(5, X, 0b0011, 9));
    assert_eq!(device.ended(), [4, 5]);
    assert!(device.sent.is_empty());
    assert_eq!((device.state(X), device.view(X).dirty), ("O", ByteMask::of_words(0b0011)));
}

#[test]
fn an_acquire_keeps_owned_words_and_drops_valid_ones() {
    let mut device = owner(0b0001, 5);
    device.issue(load(1, X, 0b0010));
    let read = device.expect(REQ_V, 0b0010);
    device.deliver(RSP_V, 0b0010, 6, &read);
    assert_eq!(device.state(X), "VO");
    device.issue(fence(2, Order::Acquire));
    assert_eq!((device.state(X), device.view(X).readable), ("O", ByteMask::of_words(0b0001)));
}

/// A device with a region that consists of one line.
fn device_with_region(line: LineAddr) -> Pair {
    device_with(L1Options { regions: ReadOnlyLines::longest(Some(line.0..line.0 + 1)), ..OWNING }, 1)
}

#[test]
fn an_acquire_spares_lines_that_nobody_writes() {
    for (region, state) in [(X, "V"), (Y, "I")] {
        let mut device = device_with_region(region);
        device.issue(load(1, X, 0b0010));
        let read = device.expect(REQ_V, 0b0010);
        device.deliver(RSP_V, 0b1110, 6, &read);
        assert_eq!(device.value(1, 1), 6);
        device.issue(fence(2, Order::Acquire));
        assert_eq!(device.state(X), state);
    }
}

#[test]
fn a_read_of_a_line_that_nobody_writes_is_kept_across_an_acquire() {
    let mut device = device_with_region(X);
    device.issue(load(1, X, 0b0011));
    let read = device.expect(REQ_V, 0b0011);
    device.deliver(RSP_V, 0b0001, 4, &read);
    device.issue(by_other_wave(fence(2, Order::Acquire)));
    device.issue(by_other_wave(load(3, X, 0b0011)));
    device.deliver(RSP_V, 0b0110, 5, &read);
    assert_eq!(device.ended(), [2, 1, 3]);
    let view = device.view(X);
    assert_eq!((view.readable, &view.data.0[..3]), (ByteMask::of_words(0b0111), &[4, 5, 5][..]));
    assert!(device.sent.is_empty() && device.is_quiescent());
}

#[test]
fn a_word_is_given_away_only_after_its_ownership_is_confirmed() {
    let mut device = device();
    device.issue(store(1, X, 0b0011, 5));
    let request = device.expect(REQ_O, 0b0011);
    for kind in [FWD_REQ_O, FWD_REQ_O_DATA, RVK_O] {
        assert_eq!(device.forward(kind, X, 0b0001), Outcome::Stall);
    }
    device.deliver(RSP_O, 0b0011, 0, &request);
    assert_eq!(device.ended(), [1]);
    device.forward(FWD_REQ_O_DATA, X, 0b0001);
    let given = device.expect(RSP_O_DATA, 0b0001);
    assert_eq!((given.data.0[0], given.dst), (5, topology().tu(1)));
    assert_eq!((device.state(X), device.view(X).dirty), ("O", ByteMask::of_words(0b0010)));
    device.issue(load(2, X, 0b0001));
    device.expect(REQ_V, 0b0001);
}

#[test]
fn an_atomic_performs_each_word_as_it_comes() {
    let mut device = device();
    device.issue(add(1, X, 0b0011, 1));
    let request = device.expect(REQ_O_DATA, 0b0011);
    device.deliver(RSP_O_DATA, 0b0001, 5, &request);
    device.forward(FWD_REQ_O_DATA, X, 0b0001);
    assert_eq!(device.expect(RSP_O_DATA, 0b0001).data.0[0], 6);
    device.deliver(RSP_O_DATA, 0b0010, 8, &request);
    assert!(device.sent.is_empty(), "a word that was taken away is not asked for again");
    assert_eq!(device.value(1, 0), 5);
    assert_eq!(device.view(X).dirty, ByteMask::of_words(0b0010));
}

#[test]
fn requests_for_words_on_their_way_wait() {
    let mut device = device();
    device.issue(add(1, X, 0b0001, 1));
    let request = device.expect(REQ_O_DATA, 0b0001);
    for kind in [FWD_REQ_V, FWD_REQ_O, FWD_REQ_O_DATA, RVK_O] {
        assert_eq!(device.forward(kind, X, 0b0001), Outcome::Stall);
    }
    device.deliver(RSP_O_DATA, 0b0001, 5, &request);
    assert_eq!(device.value(1, 0), 5);
    device.forward(FWD_REQ_O, X, 0b0001);
    device.expect(RSP_O, 0b0001);
    assert_eq!(device.state(X), "I");
    assert!(device.is_quiescent());
    device.forward(FWD_REQ_V, X, 0b0001);
    device.expect(NACK, 0b0001);
}

#[test]
fn a_nacked_word_is_asked_for_with_ownership() {
    let mut device = device();
    device.issue(load(1, X, 0b0011));
    let read = device.expect(REQ_V, 0b0011);
    device.deliver(NACK, 0b0010, 0, &read);
    let converted = device.expect(REQ_O_DATA, 0b0010);
    device.deliver(RSP_V, 0b0001, 5, &read);
    assert_eq!(device.forward(FWD_REQ_V, X, 0b0010), Outcome::Stall);
    device.deliver(RSP_O_DATA, 0b0010, 6, &converted);
    assert_eq!(device.value(1, 1), 6);
    assert_eq!((device.state(X), device.view(X).dirty), ("VO", ByteMask::of_words(0b0010)));
}

#[test]
fn a_nacked_word_is_asked_for_as_often_as_the_parameter_says() {
    let mut device = device_with(OWNING, 2);
    device.issue(load(1, X, 0b0001));
    let read = device.expect(REQ_V, 0b0001);
    device.deliver(NACK, 0b0001, 0, &read);
    let again = device.expect(REQ_V, 0b0001);
    device.deliver(NACK, 0b0001, 0, &again);
    device.expect(REQ_O_DATA, 0b0001);
}

#[test]
fn a_forwarded_read_leaves_the_word_owned_and_a_revocation_takes_it() {
    let mut device = owner(0b0011, 5);
    device.forward(FWD_REQ_V, X, 0b0111);
    assert_eq!(device.names(), ["Nack 0100", "RspV 0011"]);
    device.forward(RVK_O, X, 0b0001);
    let revoked = device.sent.remove(0);
    assert_eq!((revoked.dst, revoked.data.0[0]), (topology().l2(0), 5));
    assert_eq!(device.view(X).dirty, ByteMask::of_words(0b0010));
}

#[test]
fn owned_words_are_written_back_and_the_line_waits_until_all_are_taken() {
    let mut device = owner(0b0011, 5);
    assert_eq!(device.issue(load(1, Y, 0b0001)), Outcome::Evict(X));
    assert_eq!(device.evict(X), Outcome::Done);
    let back = device.expect(REQ_WB, 0b0011);
    assert_eq!(device.issue(load(2, X, 0b0001)), Outcome::Stall);
    assert_eq!((device.state(X), device.view(X).dirty), ("O_I", ByteMask::of_words(0b0011)));
    device.forward(FWD_REQ_O_DATA, X, 0b0001);
    assert_eq!(device.expect(RSP_O_DATA, 0b0001).data.0[0], 5);
    assert!(!device.is_quiescent());
    device.deliver(RSP_WB, 0b0010, 0, &back);
    assert!(device.is_quiescent());
}

#[test]
fn a_revocation_that_crosses_a_write_back_is_referred_to_it() {
    let mut device = owner(0b0001, 5);
    device.evict(X);
    let back = device.expect(REQ_WB, 0b0001);
    device.forward(FWD_REQ_V, X, 0b0001);
    assert_eq!(device.expect(RSP_V, 0b0001).data.0[0], 5);
    device.forward(RVK_O, X, 0b0001);
    assert_eq!(device.names(), ["RspRvkO without data 0001"]);
    assert_eq!((device.view(X).dirty, device.issue(load(1, X, 0b0001))), (ByteMask::EMPTY, Outcome::Stall));
    device.deliver(RSP_WB, 0, 0, &back);
    assert!(device.is_quiescent());
}

#[test]
fn a_read_that_crosses_an_acquire_serves_who_waits_and_is_not_kept() {
    let mut device = device();
    device.issue(load(1, X, 0b0011));
    let read = device.expect(REQ_V, 0b0011);
    device.issue(by_other_wave(fence(2, Order::Acquire)));
    device.issue(by_other_wave(load(3, X, 0b0001)));
    assert_eq!((device.state(X), device.ended()), ("R_I", vec![2]));
    device.deliver(RSP_V, 0b1101, 4, &read);
    device.deliver(RSP_V, 0b0010, 4, &read);
    assert_eq!(device.value(1, 0), 4);
    assert_eq!(device.view(X).readable, ByteMask::EMPTY);
    let read = device.expect(REQ_V, 0b0001);
    device.deliver(RSP_V, 0b0001, 5, &read);
    assert_eq!(device.value(3, 0), 5);
}

#[test]
fn what_comes_along_with_a_read_is_dropped_if_the_word_was_written_meanwhile() {
    let mut device = device();
    device.issue(store(1, X, 0b0001, 5));
    let request = device.expect(REQ_O, 0b0001);
    device.issue(load(2, X, 0b0010));
    let read = device.expect(REQ_V, 0b0010);
    device.deliver(RSP_O, 0b0001, 0, &request);
    device.forward(FWD_REQ_O, X, 0b0001);
    device.expect(RSP_O, 0b0001);
    device.deliver(RSP_V, 0b0011, 0, &read);
    assert_eq!(device.ended(), [1, 2]);
    assert_eq!(device.view(X).readable, ByteMask::of_words(0b0010));
}

#[test]
fn atomics_at_the_llc_are_sent_there_unless_the_word_is_owned() {
    let mut device = device_with(L1Options { atomics: Atomics::AtLlc, ..OWNING }, 1);
    device.issue(add(1, X, 0b0001, 1));
    let update = device.expect(REQ_WT_DATA, 0b0001);
    device.deliver(RSP_WT_DATA, 0b0001, 7, &update);
    assert_eq!(device.value(1, 0), 7);
    device.issue(ordered(load(2, X, 0b0001)));
    let read = device.expect(REQ_WT_DATA, 0b0001);
    assert_eq!(read.atomic, None);
    device.deliver(RSP_WT_DATA, 0b0001, 8, &read);
    assert_eq!(device.value(2, 0), 8);
    assert_eq!(device.state(X), "I");
    device.issue(store(3, X, 0b0001, 2));
    let request = device.expect(REQ_O, 0b0001);
    device.deliver(RSP_O, 0b0001, 0, &request);
    device.issue(add(4, X, 0b0001, 1));
    assert_eq!(device.ended(), [3, 4]);
}

#[test]
fn a_line_whose_words_are_taken_unused_is_written_through() {
    let mut device = device_with(L1Options { stores: Stores::Learn, ..OWNING }, 1);
    device.issue(store(1, X, 0b0001, 5));
    let request = device.expect(REQ_O, 0b0001);
    device.deliver(RSP_O, 0b0001, 0, &request);
    device.forward(FWD_REQ_O, X, 0b0001);
    device.names();
    device.issue(store(2, X, 0b0001, 6));
    let write = device.expect(REQ_WT, 0b0001);
    assert_eq!(write.data.0[0], 6);
    device.deliver(RSP_WT, 0b0001, 0, &write);
    assert_eq!((device.ended(), device.state(X)), (vec![1, 2], "V"));
}

#[test]
fn a_line_whose_words_are_used_again_stays_owned() {
    let mut device = device_with(L1Options { stores: Stores::Learn, ..OWNING }, 1);
    for txn in [1, 3] {
        device.issue(store(txn, X, 0b0001, 5));
        let request = device.expect(REQ_O, 0b0001);
        device.deliver(RSP_O, 0b0001, 0, &request);
        device.issue(load(txn + 1, X, 0b0001));
        device.forward(FWD_REQ_O, X, 0b0001);
        device.names();
    }
}
