//! Does the private cache of `hopper` keep and drop its lines as the probes of an H200 show it? The page of the
//! protocol lists the probes.

use chorus_protocol::access::{AtomicOp, CoreOp, CoreRequest, LoadRequest, Order, Scope, Txn};
use chorus_protocol::address::{LineAddr, Role};
use chorus_protocol::controller::{Controller, Input, Outbox, Outcome};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::protocols::scoped::messages::{ATOM, ATOM_DATA, DATA, DONE, LD, REL, REL_END};
use chorus_protocol::registry::{Build, BuildConfig, CacheShape, DirectoryShape, find};

use crate::bank;

/// The line that a probe is about, and another one.
const PROBED: LineAddr = LineAddr(0);
const ELSEWHERE: LineAddr = LineAddr(1);
const FIRST: ByteMask = ByteMask::word(0);
const SECOND: ByteMask = ByteMask::word(1);

/// A private cache before an L2 that answers at once.
struct Cache(Box<dyn Controller<2>>);

impl Cache {
    fn empty() -> Cache {
        let protocol = find("hopper").unwrap();
        let config = bank::config(protocol, 1, DirectoryShape::SMALLEST);
        let config = BuildConfig { l1: CacheShape { ways: 4, ..config.l1 }, ..config };
        Cache(Build::<2>::build(protocol, Role::L1, 0, &config).unwrap())
    }

    /// A cache that has loaded the probed line.
    fn warm() -> Cache {
        let mut cache = Cache::empty();
        cache.issue(CoreOp::Load, Order::Weak, Scope::WorkGroup, PROBED, FIRST);
        assert!(cache.hits(FIRST) && cache.hits(SECOND));
        cache
    }

    fn issue(&mut self, op: CoreOp, order: Order, scope: Scope, line: LineAddr, mask: ByteMask) {
        let data = LineData([7; 2]);
        let request = CoreRequest { op, order, scope, line, mask, data, wave: 0, txn: Txn::Operation(1) };
        let mut out = Outbox { evicts: true, ..Outbox::default() };
        assert_eq!(self.0.step(&Input::Core(&request), &mut out), Ok(Outcome::Done));
        for message in std::mem::take(&mut out.messages) {
            let answer = match message.kind {
                LD => message.reply_line(DATA, &LineData::default()),
                ATOM => message.reply(ATOM_DATA),
                REL | REL_END => message.reply(DONE),
                _ => continue,
            };
            assert_eq!(self.0.step(&Input::Message(&answer), &mut out), Ok(Outcome::Done));
        }
    }

    fn fence(&mut self, order: Order, scope: Scope) {
        self.issue(CoreOp::Fence, order, scope, LineAddr(0), ByteMask::EMPTY);
    }

    /// Whether a weak load of these bytes of the probed line hits.
    fn hits(&mut self, mask: ByteMask) -> bool {
        let load = LoadRequest { line: PROBED, mask, order: Order::Weak, scope: Scope::WorkGroup };
        self.0.load_hit(&load, 0).is_some()
    }
}

/// Whether the probed line, which was loaded before, hits after something has been done.
fn hits_after(done: impl Fn(&mut Cache)) -> bool {
    let mut cache = Cache::warm();
    done(&mut cache);
    cache.hits(FIRST)
}

const ADD: CoreOp = CoreOp::Atomic(AtomicOp::Add);

#[test]
fn only_what_acquires_for_the_gpu_empties_the_cache() {
    for scope in [Scope::Gpu, Scope::System] {
        assert!(!hits_after(|cache| cache.fence(Order::AcqRel, scope)));
        assert!(!hits_after(|cache| cache.fence(Order::Acquire, scope)));
        assert!(hits_after(|cache| cache.fence(Order::Release, scope)));
    }
    for order in [Order::Acquire, Order::Release, Order::AcqRel] {
        assert!(hits_after(|cache| cache.fence(order, Scope::WorkGroup)));
    }
    assert!(!hits_after(|cache| cache.issue(
        CoreOp::KernelBegin,
        Order::Acquire,
        Scope::System,
        LineAddr(0),
        ByteMask::EMPTY
    )));
}

#[test]
fn accesses_of_other_lines_leave_a_line_where_it_is() {
    for op in [CoreOp::Load, CoreOp::Store, ADD] {
        assert!(hits_after(|cache| cache.issue(op, Order::Relaxed, Scope::Gpu, ELSEWHERE, FIRST)));
    }
}

#[test]
fn stores_of_any_scope_keep_a_line() {
    for mask in [FIRST, SECOND] {
        assert!(hits_after(|cache| cache.issue(CoreOp::Store, Order::Weak, Scope::WorkGroup, PROBED, mask)));
        for scope in [Scope::WorkGroup, Scope::Gpu, Scope::System] {
            assert!(hits_after(|cache| cache.issue(CoreOp::Store, Order::Relaxed, scope, PROBED, mask)));
        }
    }
}

#[test]
fn loads_for_the_gpu_and_atomics_drop_their_line_whichever_sector_they_access() {
    for mask in [FIRST, SECOND] {
        for scope in [Scope::Gpu, Scope::System] {
            assert!(!hits_after(|cache| cache.issue(CoreOp::Load, Order::Relaxed, scope, PROBED, mask)));
        }
        for scope in [Scope::WorkGroup, Scope::Gpu, Scope::System] {
            assert!(!hits_after(|cache| cache.issue(ADD, Order::Relaxed, scope, PROBED, mask)));
        }
    }
    assert!(hits_after(|cache| cache.issue(CoreOp::Load, Order::Relaxed, Scope::WorkGroup, PROBED, FIRST)));
}

#[test]
fn a_store_to_an_absent_line_leaves_its_bytes_and_no_others() {
    let mut cache = Cache::empty();
    cache.issue(CoreOp::Store, Order::Weak, Scope::WorkGroup, PROBED, FIRST);
    assert!(cache.hits(FIRST) && !cache.hits(SECOND) && !cache.hits(FIRST | SECOND));
    cache.issue(CoreOp::Load, Order::Weak, Scope::WorkGroup, PROBED, SECOND);
    assert!(cache.hits(FIRST | SECOND));
}
