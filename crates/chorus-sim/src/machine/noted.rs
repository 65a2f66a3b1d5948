//! Notes for the recorder, where a run is observed: steps, messages that are sent and that arrive, accesses that end.
//!
//! Everything here is off the path of runs that nobody observes.

use chorus_protocol::address::Role;
use chorus_protocol::message::{Message, MessageSpec, TrafficClass};
use chorus_protocol::registry::Counters;

use super::context::Context;
use super::plan::Plan;
use crate::clock::Ticks;
use crate::observe::{Arrived, Cause, Sent, Trigger};

impl<const W: usize> Context<W> {
    /// Prepares a step of a controller: tells it the time where the protocol has synchronised counters, and notes what
    /// the step is for where the run is observed.
    #[inline(always)]
    pub(super) fn begin_step(&mut self, plan: &Plan<'_>, now: Ticks, trigger: impl FnOnce() -> Trigger) {
        if plan.notes_steps {
            self.note_step(plan, now, trigger());
        }
    }

    #[inline(never)]
    fn note_step(&mut self, plan: &Plan<'_>, now: Ticks, trigger: Trigger) {
        if plan.counters == Counters::Synchronised {
            self.outbox.now = plan.clocks.core.count(now) + 1;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_step(now, trigger);
        }
    }

    /// Notes a message that is about to be sent, with so many bytes of data. Returns how many it carries.
    #[inline(never)]
    pub(super) fn note_message(
        &mut self,
        plan: &Plan<'_>,
        message: &Message<W>,
        spec: &MessageSpec,
        payload: u32,
        ready: Ticks,
    ) -> u32 {
        if self.recorder.is_some()
            && let chorus_protocol::message::Channel::Virtual(network) = spec.channel
        {
            let lookup = match plan.place(message.src).role {
                Role::L1 => Cause::L1Lookup,
                Role::Tu => Cause::Translation,
                Role::L2 | Role::L3 | Role::Memory => Cause::BankLookup,
            };
            let in_order = self.end(message.src).egress.in_order(network, ready);
            self.note_sent(message, is_probe(spec), (ready, lookup), in_order);
        }
        match self.cause.sectors {
            0 => payload,
            sectors => payload.min(plan.bytes_of(sectors)),
        }
    }

    /// Notes that the message which gets the next number is sent.
    #[inline(never)]
    pub(super) fn note_sent(&mut self, message: &Message<W>, is_probe: bool, looked_up: (Ticks, Cause), ready: Ticks) {
        let (id, Some(recorder)) = (self.packets.next(), &mut self.recorder) else { return };
        let &Message { kind, src: from, dst: to, line, txn, .. } = message;
        recorder.send(id, Sent { message: kind.0, is_probe, from, to, line, txn, looked_up, ready });
    }

    /// Notes that a message has arrived which waited before the incoming port.
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, plan: &Plan<'_>, id: u32, waited: Ticks, now: Ticks) {
        let Some(recorder) = &mut self.recorder else { return };
        let message = self.packets.message(id);
        let (from, to) = (plan.place(message.src), plan.place(message.dst));
        let has_ports = from.module == to.module && (from.role != to.role || plan.network.is_some());
        let flits = if has_ports { u64::from(self.packets.get(id).flits) } else { 0 };
        let came = now - waited - plan.clocks.network.cycles(flits);
        // Where messages share links, the time at which they left is known already.
        let latency = if plan.network.is_some() { 0 } else { plan.latencies.network.min(came) };
        recorder.arrive(id, Arrived { left: came - latency, came, waited, now });
    }
}

/// Whether a message asks for copies to be given up, or answers that.
fn is_probe(spec: &MessageSpec) -> bool {
    matches!(spec.class, TrafficClass::Invalidation | TrafficClass::Recall | TrafficClass::Probe)
}
