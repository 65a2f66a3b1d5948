//! The relations of a PTX execution that do not depend on the sources of reads.

use chorus_protocol::access::{Order, Scope};

use crate::execution::path::Kind;
use crate::execution::skeleton::Skeleton;
use crate::ptx::rules::Rules;
use crate::relation::{Relation, bits};
use crate::test::FenceKind;

/// Relations that follow from the threads' code and places alone.
pub(super) struct Fixed {
    pub program_order: Relation,
    /// Program order within a location.
    pub program_order_location: Relation,
    /// Pairs of memory accesses of one location. An access is also paired with itself.
    pub same_location: Relation,
    pub morally_strong: Relation,
    /// From the read of each atomic to its write.
    pub atomic: Relation,
    /// From a read to the events that depend on it.
    pub depends: Relation,
    /// From a release to the writes by which it is observed.
    pub release: Relation,
    /// From a read that observes a release to the acquires that the read belongs to.
    pub acquire: Relation,
    /// Pairs of `fence.sc` that are morally strong, the lower first.
    pub strong_fences: Vec<(usize, usize)>,
    /// Pairs of writes of a location that are morally strong, the lower first.
    pub strong_writes: Vec<(usize, usize)>,
}

impl Fixed {
    pub fn new(skeleton: &Skeleton, rules: &Rules) -> Fixed {
        let len = skeleton.events.len();
        let empty = Relation::new(len);
        let mut fixed = Fixed {
            program_order: empty,
            program_order_location: empty,
            same_location: empty,
            morally_strong: empty,
            atomic: empty,
            depends: empty,
            release: empty,
            acquire: empty,
            strong_fences: Vec::new(),
            strong_writes: Vec::new(),
        };
        for a in 0..len {
            for b in (0..len).filter(|&b| b != a) {
                fixed.relate(skeleton, rules, a, b);
            }
            if skeleton.events[a].is_memory() {
                fixed.same_location.add(a, a);
            }
            bits(skeleton.depends_on(a)).for_each(|read| fixed.depends.add(read, a));
        }
        for event in 0..len {
            fixed.patterns(skeleton, rules, event);
        }
        fixed
    }

    fn relate(&mut self, skeleton: &Skeleton, rules: &Rules, a: usize, b: usize) {
        let (first, second) = (&skeleton.events[a], &skeleton.events[b]);
        let memory = first.is_memory() && second.is_memory();
        let same_location = memory && first.at == second.at;
        let same_thread = first.thread.is_some() && first.thread == second.thread;
        if same_location {
            self.same_location.add(a, b);
        }
        if same_thread && a < b && !first.is_beside(second) {
            self.program_order.add(a, b);
            if same_location {
                self.program_order_location.add(a, b);
            }
            if first.atomic && b == a + 1 && first.is_read() {
                self.atomic.add(a, b);
            }
        }
        if (memory && !same_location) || !morally_strong(skeleton, rules, a, b) {
            return;
        }
        self.morally_strong.add(a, b);
        let sc = Kind::Fence(FenceKind::Sc);
        if a < b && first.kind == sc && second.kind == sc {
            self.strong_fences.push((a, b));
        }
        if a < b && same_location && first.is_write() && second.is_write() {
            self.strong_writes.push((a, b));
        }
    }

    /// Adds the release patterns that end with an event, and the acquire patterns that start with it.
    fn patterns(&mut self, skeleton: &Skeleton, rules: &Rules, event: usize) {
        let access = &skeleton.events[event];
        let strong = access.is_memory() && access.order != Order::Weak;
        let Some(thread) = access.thread.filter(|_| strong) else { return };
        let releases = |other: usize| {
            let event = &skeleton.events[other];
            event.releases() || (!rules.relaxed_does_not_release && event.is_write() && event.order != Order::Weak)
        };
        let acquires = |other: usize| {
            let event = &skeleton.events[other];
            let returned = !event.reduction || !rules.reductions_do_not_acquire;
            let acquires = event.is_read() && matches!(event.order, Order::Acquire | Order::AcqRel) && returned;
            acquires || (!rules.relaxed_does_not_acquire && event.is_read() && event.order != Order::Weak)
        };
        let starts = !access.reduction || !rules.reductions_do_not_acquire;
        for other in skeleton.of_thread(usize::from(thread)) {
            let same = self.same_location.has(event, other) && rules.later_writes_in_patterns;
            let fence = matches!(skeleton.events[other].kind, Kind::Fence(_)) && rules.fences_in_patterns;
            if access.is_write() && other <= event && (fence || (releases(other) && (same || other == event))) {
                self.release.add(other, event);
            }
            if access.is_read() && starts && other >= event && (fence || (acquires(other) && (same || other == event)))
            {
                self.acquire.add(event, other);
            }
        }
    }
}

/// Moral strength of two events, apart from the condition on their location.
fn morally_strong(skeleton: &Skeleton, rules: &Rules, a: usize, b: usize) -> bool {
    let strong = |event: usize| {
        let event = &skeleton.events[event];
        matches!(event.kind, Kind::Fence(_)) || (event.is_memory() && event.order != Order::Weak)
    };
    let (Some(first), Some(second)) = (skeleton.events[a].thread, skeleton.events[b].thread) else { return false };
    if first == second {
        return true;
    }
    let includes = |scope: Scope| {
        let (here, there) = (skeleton.work_group(first), skeleton.work_group(second));
        match scope {
            _ if !rules.scopes_count => true,
            Scope::System => true,
            Scope::WorkGroup if rules.work_groups_count => here == there,
            Scope::WorkGroup | Scope::Gpu => here.0 == there.0,
        }
    };
    let (one, other) = (includes(skeleton.events[a].scope), includes(skeleton.events[b].scope));
    let included = if rules.inclusion_is_mutual { one && other } else { one || other };
    strong(a) && strong(b) && included
}
