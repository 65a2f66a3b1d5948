//! Notes for the recorder, where a run is observed: steps, messages that are sent and that arrive, accesses that end.
//!
//! Everything here is off the path of runs that nobody observes.

use std::sync::PoisonError;

use chorus_kernel::HostMemory;
use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::message::{Channel, Message, MessageSpec, TrafficClass};

use super::context::Context;
use super::fabric::{Fabric, Passed};
use super::paths::Paths;
use super::plan::Plan;
use crate::clock::Ticks;
use crate::observe::{Arrived, Carried, Cause, Scene, Sent, SharedObserver, Trigger};

/// Tells an observer of the machine that a run begins on.
pub(super) fn begin(observer: &SharedObserver, plan: &Plan<'_>, memory: &HostMemory) {
    observer.lock().unwrap_or_else(PoisonError::into_inner).begin(&Scene {
        cycle: plan.clocks.core.period(),
        microsecond: plan.clocks.ticks_per_microsecond(),
        topology: plan.topology,
        messages: plan.specs,
        line_bytes: plan.config.l1.line_bytes,
        buffers: memory.buffers().to_vec(),
    });
}

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
        self.tell_time(plan, now);
        if let Trigger::Message { id, .. } = trigger
            && self.recorder.is_some()
        {
            self.note_way(plan, id, now);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_step(now, trigger);
        }
    }

    /// Sends a message like [`Context::post_plainly`], with the bytes of its sectors, and with a note of it.
    #[inline(never)]
    pub(super) fn post_noted(
        &mut self,
        plan: &Plan<'_>,
        message: &Message<W>,
        spec: &MessageSpec,
        payload: u32,
        ready: Ticks,
    ) {
        if self.recorder.is_some()
            && let Channel::Virtual(network) = spec.channel
        {
            let lookup = match plan.place(message.src).role {
                Role::L1 => Cause::L1Lookup,
                Role::Tu => Cause::Translation,
                Role::L2 | Role::L3 | Role::Memory => Cause::BankLookup,
            };
            let in_order = self.end(message.src).egress.in_order(network, ready);
            self.note_sent(self.packets.next(), message, is_probe(spec), (ready, lookup), in_order);
        }
        let payload = match self.facts.sectors {
            0 => payload,
            sectors => payload.min(plan.bytes_of(sectors)),
        };
        self.post_plainly(plan, message, spec, payload, ready);
    }

    /// Notes that the message with a number is sent.
    #[inline(never)]
    pub(super) fn note_sent(
        &mut self,
        id: u32,
        message: &Message<W>,
        is_probe: bool,
        looked_up: (Ticks, Cause),
        ready: Ticks,
    ) {
        let Some(recorder) = &mut self.recorder else { return };
        let &Message { kind, src: from, dst: to, line, txn, .. } = message;
        recorder.send(id, Sent { message: kind.0, is_probe, from, to, line, txn, looked_up, ready });
    }

    /// Notes how a message came to the agent that is given it now. Where that is known already, nothing changes.
    fn note_way(&mut self, plan: &Plan<'_>, id: u32, now: Ticks) {
        let (message, packet) = (self.packets.message(id), self.packets.get(id));
        let (enqueued, waited) = (packet.enqueued, Ticks::from(packet.waited));
        match (plan.place(message.src).role, plan.place(message.dst).role) {
            (Role::Memory, _) => {
                self.note_read(id, plan.network.as_ref().map_or(0, |network| network.memory_leg(message.dst.0)))
            }
            (_, Role::Tu) => {}
            (_, Role::L1) => self.note_arrival(plan, id, now, 0),
            (..) => self.note_arrival(plan, id, enqueued, waited),
        }
    }

    /// Notes how long a fetch waited for its memory channel, and how long that took. The line was read `leg` before it
    /// was at the bank.
    pub(super) fn note_read(&mut self, id: u32, leg: Ticks) {
        let (packet, to) = (self.packets.get(id), self.packets.message(id).dst);
        let (there, took) = (packet.enqueued, Ticks::from(packet.waited));
        let Some(recorder) = &mut self.recorder else { return };
        recorder.mark(id, there.saturating_sub(leg + took), Cause::DramQueue, to);
        recorder.mark(id, there.saturating_sub(leg), Cause::Dram, to);
        recorder.mark(id, there, Cause::MemoryWay, to);
    }

    /// Notes that a message has arrived at `now`, which waited before the port of its destination.
    pub(super) fn note_arrival(&mut self, plan: &Plan<'_>, id: u32, now: Ticks, waited: Ticks) {
        let Some(recorder) = &mut self.recorder else { return };
        let (message, packet) = (self.packets.message(id), self.packets.get(id));
        let (from, to) = (plan.place(message.src), plan.place(message.dst));
        let has_ports = from.module == to.module && (from.role != to.role || plan.network.is_some());
        let flits = if has_ports { u64::from(packet.flits) } else { 0 };
        let came = now - waited - plan.clocks.network.cycles(flits);
        // Where messages share links, the time at which they left is known already.
        let latency = if plan.network.is_some() { 0 } else { plan.latencies.network.min(came) };
        recorder.arrive(id, Arrived { left: came - latency, came, waited, now });
    }

    /// Lets messages pass ports between modules, with a note of each.
    #[inline(never)]
    pub(super) fn pass_noted(&mut self, paths: &Paths, fabric: &mut Fabric, ports: &[u16], horizon: Ticks) {
        for &port in ports {
            while let Some(passed) = fabric.pass(port, horizon, |id| u64::from(self.packets.get(id).bytes)) {
                let Passed { entry, start, end } = passed;
                let (step, from) = (paths.step(entry.length), AgentId(self.packets.get(entry.id).from));
                if let Some(recorder) = &mut self.recorder {
                    recorder.mark(entry.id, start, Cause::LinkQueue, from);
                    let sent = if step.streams { start } else { end };
                    recorder.mark(entry.id, sent, Cause::Serialisation, from);
                    recorder.mark(entry.id, sent + step.latency, Cause::Network, from);
                }
                self.go_on(paths, fabric, passed);
            }
        }
    }

    /// Lets the journey of a message go with it to another partition.
    #[cold]
    pub(super) fn note_away(&mut self, owner: u8, id: u32) {
        let carried = self.recorder.as_mut().map(|recorder| recorder.hand_over(id)).unwrap_or_default();
        self.mail[usize::from(owner)].journeys.push(carried);
    }

    /// Takes the journeys of messages that come from another partition, just before the messages.
    #[cold]
    pub(super) fn note_mail(&mut self, journeys: &mut Vec<Carried>) {
        let Some(recorder) = &mut self.recorder else { return };
        for (place, carried) in journeys.drain(..).enumerate() {
            let id = self.packets.next_after(place);
            if !matches!(carried, Carried::Nothing) {
                recorder.put(id, carried);
            }
        }
    }
}

/// Whether a message asks for copies to be given up, or answers that.
fn is_probe(spec: &MessageSpec) -> bool {
    matches!(spec.class, TrafficClass::Invalidation | TrafficClass::Recall | TrafficClass::Probe)
}
