//! The part of a partition that its components share: messages in transit, counters, and what goes to other partitions
//! and to the host.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use chorus_kernel::HostMemory;
use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::Outbox;
use chorus_protocol::message::{Channel, Message, MessageSpec};
use chorus_protocol::registry::Counters;
use chorus_protocol::save::{self, Restore, Save};

use super::SimError;
use super::egress::{Departure, Egress, Parcel};
use super::endpoint::{Arrival, Endpoint, Entry};
use super::fabric::{Fabric, Passed};
use super::grid::Grid;
use super::packets::{AccessFacts, Packet, Packets};
use super::paths::Paths;
use super::plan::{NEVER, Plan};
use crate::clock::Ticks;
use crate::distribution::{Noting, Source};
use crate::observe::{Carried, Cause, Recorder};
use crate::pages::Pages;
use crate::sharing::Sharing;
use crate::sharing_profile::SharingProfile;
use crate::stats::{Counter, Distance, Stats};

/// The state that components read and that changes only between turns.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) memory: &'a HostMemory,
    pub(super) pages: &'a Pages,
}

/// News of a component for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Save)]
pub(super) enum News {
    /// A work-group or a CPU thread of a stream's kernel has finished.
    Finished { stream: u8, is_cpu: bool },
    /// A private cache has answered the beginning or the end of a stream's kernel.
    Answered { stream: u8 },
    /// A bank has carried out a command for a stream's kernel.
    Commanded { stream: u8 },
    /// A compute unit has touched a page that lies nowhere yet.
    Touched { page: u32 },
}

/// A report of an agent for the host: when, from whom, what.
pub(super) type Report = (Ticks, AgentId, News);

/// A message that goes to another partition: to an agent there, or to a port between modules.
#[derive(Save)]
pub(super) struct Posted<const W: usize> {
    port: Option<u16>,
    entry: Entry,
    packet: Packet,
    message: Message<W>,
}

/// News for a source in another partition that flits of its have been consumed.
#[derive(Save)]
pub(super) struct Credit {
    source: AgentId,
    network: u8,
    flits: u16,
    time: Ticks,
}

/// Everything that one partition sends to another in a turn.
#[derive(Restore)]
pub(super) struct Mail<const W: usize> {
    messages: Vec<Posted<W>>,
    credits: Vec<Credit>,
    /// The journeys of the messages, where the run is observed.
    #[save(apart)]
    pub(super) journeys: Vec<Carried>,
}

impl<const W: usize> Default for Mail<W> {
    fn default() -> Self {
        Mail { messages: Vec::new(), credits: Vec::new(), journeys: Vec::new() }
    }
}

impl<const W: usize> Mail<W> {
    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.credits.is_empty()
    }

    /// Moves everything to a tray, in which mail of an earlier turn may still lie.
    pub(super) fn hand_to(&mut self, tray: &mut Mail<W>) {
        if tray.is_empty() {
            std::mem::swap(tray, self);
        } else {
            tray.messages.append(&mut self.messages);
            tray.credits.append(&mut self.credits);
            tray.journeys.append(&mut self.journeys);
        }
    }

    /// The time at which the first of it comes.
    pub(super) fn next(&self) -> Ticks {
        let messages = self.messages.iter().map(|posted| posted.entry.time);
        messages.chain(self.credits.iter().map(|credit| credit.time)).min().unwrap_or(NEVER)
    }
}

/// The part of a partition that its components share.
#[derive(Restore)]
pub(super) struct Context<const W: usize> {
    pub(super) stats: Stats,
    pub(super) packets: Packets<W>,
    /// The access that causes what is sent now.
    pub(super) facts: AccessFacts,
    /// The farthest place that the answers come from which a private cache gets now.
    pub(super) answered_from: Source,
    /// The latencies of accesses, where they are noted.
    pub(super) latencies: Option<Box<Noting>>,
    /// The sharing of lines, where that is noted.
    pub(super) profile: Option<Box<SharingProfile>>,
    pub(super) outbox: Outbox<W>,
    /// Messages within a component that take no time. They wait until the step that sent them has ended.
    pub(super) instant: VecDeque<Message<W>>,
    /// The end of every agent at the network. Those of other partitions stay idle.
    #[save(each)]
    pub(super) endpoints: Vec<Endpoint>,
    /// The time at which each component has something to do, by the agent that names it.
    pub(super) next: Vec<Ticks>,
    /// The least of these times.
    pub(super) soonest: Ticks,
    /// Whether components are read ahead of their turn.
    #[save(built)]
    pub(super) reads_ahead: bool,
    /// The end of the window.
    pub(super) horizon: Ticks,
    /// The partition of every port between modules.
    #[save(built)]
    port_owners: Vec<u8>,
    /// The ports by which messages come into modules and GPUs of this partition, in the order in which they pass them.
    #[save(built)]
    incoming: Vec<u16>,
    /// The ports by which messages leave modules and GPUs of this partition, in the order in which they pass them.
    #[save(built)]
    outgoing: Vec<u16>,
    /// The number of this partition.
    #[save(built)]
    pub(super) own: u8,
    /// The mail for every partition.
    #[save(each)]
    pub(super) mail: Vec<Mail<W>>,
    pub(super) reports: Vec<Report>,
    /// Accesses to lines of other GPUs, where GPUs have several modules that could share them.
    #[save(each)]
    pub(super) sharing: Option<Sharing>,
    #[save(each)]
    pub(super) fabric: Option<Fabric>,
    #[save(each)]
    pub(super) grid: Option<Grid>,
    /// The last time at which something happened that shows progress.
    pub(super) progress: Ticks,
    /// The time of the last event.
    pub(super) last: Ticks,
    /// The recorder, where the run is observed.
    #[save(built)]
    pub(super) recorder: Option<Box<Recorder>>,
}

impl<const W: usize> Context<W> {
    /// An idle partition, number `own` of `partitions`, with compute units of these GPUs.
    pub(super) fn new(
        plan: &Plan<'_>,
        owners: Arc<Vec<u8>>,
        own: u8,
        partitions: usize,
        gpus: Range<u16>,
    ) -> Context<W> {
        let network = &plan.config.network;
        // The stages of the pipeline hold one flit per cycle of latency, and so does the way back of the news.
        let news = plan.clocks.network.count(plan.crossing) as u32;
        let window = plan.has_credits.then(|| network.vc_buffer_flits + network.latency_cycles() + news);
        let end = |(agent, &owner): (u16, &u8)| {
            let networks = if owner == own { plan.networks } else { 0 };
            let place = plan.place(AgentId(agent));
            // A private cache has one latency for all messages. Those of a bank with data take longer.
            let is_in_order = place.role == Role::L1 && plan.topology.tus == 0;
            Endpoint::new(place.component.0, owner, Egress::new(networks, plan.clocks.network, window, is_in_order))
        };
        let port_owners = port_owners(plan, &owners);
        let is_own = |port: &u16| port_owners[usize::from(*port)] == own;
        let own_ports = |ports: &mut dyn Iterator<Item = u16>| ports.filter(is_own).collect::<Vec<_>>();
        let incoming = own_ports(&mut plan.paths.iter().flat_map(Paths::all_incoming));
        let outgoing = own_ports(&mut plan.paths.iter().flat_map(Paths::all_outgoing));
        let own_fabric = |paths| Fabric::new(paths, [&incoming[..], &outgoing[..]].concat(), plan.crossing);
        Context {
            stats: Stats::default(),
            packets: Packets::default(),
            facts: AccessFacts::default(),
            answered_from: Source::default(),
            latencies: plan.notes_latencies.then(Box::default),
            profile: plan.notes_sharing.then(Box::default),
            outbox: Outbox { evicts: true, ..Outbox::default() },
            instant: VecDeque::new(),
            endpoints: (0..).zip(owners.iter()).map(end).collect(),
            next: vec![NEVER; owners.len()],
            soonest: NEVER,
            reads_ahead: false,
            horizon: 0,
            fabric: plan.paths.as_ref().map(own_fabric),
            incoming,
            outgoing,
            port_owners,
            own,
            mail: (0..partitions).map(|_| Mail::default()).collect(),
            reports: Vec::new(),
            sharing: (plan.topology.gpms > 1).then(|| Sharing::new(gpus)),
            grid: plan.network.as_ref().map(|network| Grid::new(network, plan.topology.modules())),
            progress: 0,
            last: 0,
            recorder: None,
        }
    }

    /// The end of an agent at the network.
    #[inline]
    pub(super) fn end(&mut self, agent: AgentId) -> &mut Endpoint {
        &mut self.endpoints[usize::from(agent.0)]
    }

    /// Drops what a step that failed has left behind.
    #[cold]
    pub(super) fn abandon_step(&mut self) {
        self.outbox.messages.clear();
        self.outbox.completions.clear();
        self.outbox.wake = None;
        self.instant.clear();
    }

    /// Tells the controllers the time before a step, where the protocol has synchronised counters.
    #[inline]
    pub(super) fn tell_time(&mut self, plan: &Plan<'_>, now: Ticks) {
        if plan.counters == Counters::Synchronised {
            self.outbox.now = plan.clocks.core.count(now) + 1;
        }
    }

    /// Takes the wish of the controller that has just made a step to be woken: the time, if there is such a wish.
    #[inline(always)]
    pub(super) fn wake_time(&mut self, plan: &Plan<'_>) -> Option<Ticks> {
        if plan.counters == Counters::None {
            return None;
        }
        self.outbox.wake.take().map(|cycle| plan.clocks.core.cycles(cycle - 1))
    }

    /// Sends a message of an agent, with so many bytes of data, into the network at `ready`, or to another module.
    #[inline(always)]
    pub(super) fn post(
        &mut self,
        plan: &Plan<'_>,
        message: &Message<W>,
        spec: &MessageSpec,
        payload: u32,
        ready: Ticks,
    ) {
        match plan.notes_messages {
            true => self.post_noted(plan, message, spec, payload, ready),
            false => self.post_plainly(plan, message, spec, payload, ready),
        }
    }

    /// Sends a message with exactly so many bytes of data, without a note of it.
    #[inline(never)]
    pub(super) fn post_plainly(
        &mut self,
        plan: &Plan<'_>,
        message: &Message<W>,
        spec: &MessageSpec,
        payload: u32,
        ready: Ticks,
    ) {
        let Channel::Virtual(network) = spec.channel else { return };
        let packet = Packet {
            enqueued: self.end(message.src).egress.in_order(network, ready),
            from: message.src.0,
            to: message.dst.0,
            flits: plan.flits[payload as usize],
            bytes: (plan.header_bytes + payload) as u16,
            network,
            is_credited: plan.has_credits,
            facts: self.facts,
            ..Packet::default()
        };
        match &plan.paths {
            Some(paths) => self.post_between(plan, paths, message, spec, packet, payload > 0),
            None => self.post_inside(plan, message, spec, packet, payload > 0),
        }
    }

    /// Sends a message into the network of its module. `data` says whether it carries any.
    #[inline(always)]
    fn post_inside(&mut self, plan: &Plan<'_>, message: &Message<W>, spec: &MessageSpec, packet: Packet, data: bool) {
        self.count_inside(plan, message, spec, &packet, data);
        let id = self.packets.insert(packet, message);
        let Packet { enqueued: ready, to, flits, network, .. } = packet;
        let parcel = Parcel { ready, id, to, flits, network };
        if let Some(start) = self.end(message.src).egress.put(parcel) {
            self.depart(plan, message.src, Departure { parcel, start });
        }
    }

    #[inline(always)]
    fn count_inside(&mut self, plan: &Plan<'_>, message: &Message<W>, spec: &MessageSpec, packet: &Packet, data: bool) {
        let (flits, bytes) = (u64::from(packet.flits), u64::from(packet.bytes));
        self.stats.add(Counter::L1L2Flits, short_flits::<W>(data));
        self.stats.add(Counter::NetworkMessages, 1);
        self.stats.add_traffic(spec.class, flits, bytes);
        if let Some(network) = &plan.network {
            let routers = 1 + network.hops(message.src.0, message.dst.0).len() as u64;
            self.stats.add_flit_hops(spec.class, flits * routers);
        }
    }

    /// Sends a message on a machine of several modules. `data` says whether it carries any.
    #[inline(always)]
    fn post_between(
        &mut self,
        plan: &Plan<'_>,
        paths: &Paths,
        message: &Message<W>,
        spec: &MessageSpec,
        packet: Packet,
        data: bool,
    ) {
        let (from, to) = (plan.place(message.src), plan.place(message.dst));
        if from.module == to.module {
            if from.role == to.role {
                self.post_to_bank(plan, message, spec, Packet { is_credited: false, origin: 1, ..packet }, data);
            } else {
                self.post_inside(plan, message, spec, packet, data);
            }
            return;
        }
        let (distance, origin, farthest) = match from.gpu == to.gpu {
            true => (Distance::InterGpm, 1, Source::OtherModule),
            false => (Distance::InterGpu, 2, Source::OtherGpu),
        };
        let facts = AccessFacts { farthest: packet.facts.farthest.max(farthest), ..packet.facts };
        let (path, time) = (paths.path(from.module, to.module), packet.enqueued);
        self.stats.add_distant(distance, spec.class, u64::from(packet.bytes), u64::from(path.links));
        self.stats.add(Counter::RemoteFlits, short_flits::<W>(data));
        let source = self.end(message.src).next_key(message.src.0);
        let id = self.packets.insert(Packet { is_credited: false, origin, facts, ..packet }, message);
        if let Some(fabric) = &mut self.fabric {
            fabric.put(paths.step(path.first).port, Entry { time, source, id, length: path.first });
        }
    }

    /// Sends a message to another bank of its module: by the network of the module, where that joins banks, or past no
    /// port.
    #[inline(never)]
    fn post_to_bank(&mut self, plan: &Plan<'_>, message: &Message<W>, spec: &MessageSpec, packet: Packet, data: bool) {
        if plan.network.is_some() {
            self.post_inside(plan, message, spec, packet, data);
            return;
        }
        let source = self.end(message.src).next_key(message.src.0);
        self.count_inside(plan, message, spec, &packet, data);
        let time = packet.enqueued + plan.latencies.network;
        let id = self.packets.insert(packet, message);
        self.deliver(message.dst, Entry { time, source, id, length: 0 });
    }

    /// Hands an agent a message of this partition, here or in another partition.
    #[inline(always)]
    pub(super) fn deliver(&mut self, to: AgentId, entry: Entry) {
        let end = &mut self.endpoints[usize::from(to.0)];
        if end.owner != self.own {
            let owner = end.owner;
            self.post_away(owner, None, entry);
            return;
        }
        let (arrival, component) = (end.put(entry), end.component);
        self.call(component, arrival);
    }

    /// Lets a component run at `time`, or earlier.
    #[inline]
    pub(super) fn call(&mut self, component: u16, time: Ticks) {
        let next = &mut self.next[usize::from(component)];
        *next = time.min(*next);
        self.soonest = time.min(self.soonest);
    }

    /// Takes the mail of another partition.
    pub(super) fn receive(&mut self, mail: &mut Mail<W>) {
        if !mail.journeys.is_empty() {
            self.note_mail(&mut mail.journeys);
        }
        for Posted { port, mut entry, packet, message } in mail.messages.drain(..) {
            entry.id = self.packets.insert(packet, &message);
            match (port, &mut self.fabric) {
                (Some(port), Some(fabric)) => fabric.put(port, entry),
                (Some(_) | None, _) => self.deliver(message.dst, entry),
            }
        }
        for Credit { source, network, flits, time } in mail.credits.drain(..) {
            self.credit(source, network, flits, time);
        }
    }

    /// Takes the message that arrives at an agent now.
    #[inline(always)]
    pub(super) fn arrive(&mut self, agent: AgentId, now: Ticks) -> Option<Arrival> {
        let arrival = self.end(agent).arrive(now)?;
        self.stats.add(Counter::NetworkQueueTicks, arrival.waited);
        Some(arrival)
    }

    /// Lets the messages of an agent leave its port before `until`. Returns the time at which the agent's component has
    /// to run next for this end.
    #[inline]
    pub(super) fn finish(&mut self, plan: &Plan<'_>, agent: AgentId, until: Ticks) -> Ticks {
        if self.end(agent).egress.is_idle() {
            return self.end(agent).next_arrival();
        }
        self.send(plan, agent, until);
        let end = self.end(agent);
        end.next_arrival().min(end.egress.next_start())
    }

    /// Whether so many messages wait at the port of an agent that its controller takes no more inputs that could add to
    /// them.
    #[inline]
    pub(super) fn port_is_full(&mut self, plan: &Plan<'_>, agent: AgentId, now: Ticks) -> bool {
        let most = plan.config.network.vc_buffer_flits as usize;
        if !self.end(agent).egress.is_full(most, now) {
            return false;
        }
        self.send(plan, agent, now);
        self.end(agent).egress.is_full(most, now)
    }

    /// Lets the messages of an agent leave its port as far as that is known before `horizon`.
    #[inline(never)]
    pub(super) fn send(&mut self, plan: &Plan<'_>, agent: AgentId, horizon: Ticks) {
        while let Some(departure) = self.end(agent).egress.send(horizon) {
            self.depart(plan, agent, departure);
        }
    }

    /// Lets a message that leaves the port of an agent go on to its destination, or to the links that it shares.
    #[inline(always)]
    fn depart(&mut self, plan: &Plan<'_>, agent: AgentId, Departure { parcel, start }: Departure) {
        let waited = start - plan.clocks.network.edge(parcel.ready);
        self.stats.add(Counter::NetworkQueueTicks, waited);
        let length = plan.clocks.network.cycles(u64::from(parcel.flits)) as u32;
        let source = self.end(agent).next_key(agent.0);
        match &mut self.grid {
            Some(grid) => grid.put(Entry { time: start, source, id: parcel.id, length }),
            None => {
                let time = start + plan.latencies.network;
                self.deliver(AgentId(parcel.to), Entry { time, source, id: parcel.id, length });
            }
        }
    }

    /// Lets the messages that come to a module or a GPU before `horizon` in. They left a link earlier, so all of them
    /// are known before the components of the module run.
    pub(super) fn let_in(&mut self, plan: &Plan<'_>, horizon: Ticks) {
        if let Some(paths) = &plan.paths {
            let ports = std::mem::take(&mut self.incoming);
            self.pass_ports(paths, &ports, horizon);
            self.incoming = ports;
        }
    }

    /// Lets the messages out that leave a module or a GPU before `horizon`, and moves those that leave their ports over
    /// shared links. All of them are known after the components have run.
    pub(super) fn let_out(&mut self, plan: &Plan<'_>, horizon: Ticks) {
        if let Some(paths) = &plan.paths {
            let ports = std::mem::take(&mut self.outgoing);
            self.pass_ports(paths, &ports, horizon);
            self.outgoing = ports;
        }
        let (Some(network), Some(mut grid)) = (&plan.network, self.grid.take()) else { return };
        while let Some(entry) = grid.take(horizon) {
            let &Message { src, dst, .. } = self.packets.message(entry.id);
            let waited = grid.reserve(plan.place(src).module, network.hops(src.0, dst.0), &entry);
            self.stats.add(Counter::NetworkQueueTicks, waited);
            let time = entry.time + network.leg(src.0, dst.0) + waited;
            if let Some(recorder) = &mut self.recorder {
                recorder.mark(entry.id, entry.time, Cause::NetworkQueue, src);
                recorder.mark(entry.id, entry.time + waited, Cause::LinkQueue, src);
                recorder.mark(entry.id, time, Cause::Network, src);
            }
            self.deliver(dst, Entry { time, ..entry });
        }
        self.grid = Some(grid);
    }

    fn pass_ports(&mut self, paths: &Paths, ports: &[u16], horizon: Ticks) {
        let Some(mut fabric) = self.fabric.take() else { return };
        if self.recorder.is_some() {
            self.pass_noted(paths, &mut fabric, ports, horizon);
        }
        for &port in ports {
            while let Some(passed) = fabric.pass(port, horizon, |id| u64::from(self.packets.get(id).bytes)) {
                self.go_on(paths, &mut fabric, passed);
            }
        }
        self.fabric = Some(fabric);
    }

    /// Lets a message that has passed a port go on to the next one, or to its destination.
    #[inline(always)]
    pub(super) fn go_on(&mut self, paths: &Paths, fabric: &mut Fabric, passed: Passed) {
        let Passed { entry, start, end } = passed;
        let step = paths.step(entry.length);
        let time = step.latency + if step.streams { start } else { end };
        if step.is_last {
            let to = AgentId(self.packets.get(entry.id).to);
            self.deliver(to, Entry { time, length: 0, ..entry });
            return;
        }
        let (port, entry) = (paths.step(entry.length + 1).port, Entry { time, length: entry.length + 1, ..entry });
        let owner = self.port_owners[usize::from(port)];
        if owner == self.own {
            fabric.put(port, entry);
            return;
        }
        self.post_away(owner, Some(port), entry);
    }

    /// Hands a message of this partition to another one.
    #[inline(never)]
    fn post_away(&mut self, owner: u8, port: Option<u16>, entry: Entry) {
        let packet = self.packets.remove(entry.id);
        let message = *self.packets.message(entry.id);
        self.mail[usize::from(owner)].messages.push(Posted { port, entry, packet, message });
        if self.recorder.is_some() {
            self.note_away(owner, entry.id);
        }
    }

    /// Notes that a message has been taken by its destination at `now`: its source may send more.
    #[inline(always)]
    pub(super) fn consume(&mut self, plan: &Plan<'_>, id: u32, now: Ticks) {
        let Packet { from, flits, network, is_credited, .. } = self.packets.remove(id);
        if is_credited {
            self.credit(AgentId(from), network, flits, now + plan.crossing);
        }
    }

    /// Tells a source that flits of its have been consumed.
    #[inline(always)]
    fn credit(&mut self, source: AgentId, network: u8, flits: u16, time: Ticks) {
        let end = &mut self.endpoints[usize::from(source.0)];
        if end.owner != self.own {
            self.mail[usize::from(end.owner)].credits.push(Credit { source, network, flits, time });
            return;
        }
        if end.egress.credit(network, flits, time) {
            let component = end.component;
            self.call(component, time);
        }
    }

    /// Delivers a message that takes no time to another component, where all components are at the same time.
    pub(super) fn deliver_at_once(&mut self, message: &Message<W>, now: Ticks) {
        let to = message.dst.0;
        let packet = Packet { enqueued: now, from: message.src.0, to, ..Packet::default() };
        let source = self.end(message.src).next_key(message.src.0);
        if self.recorder.is_some() {
            self.note_sent(self.packets.next(), message, false, (now, Cause::L1Lookup), now);
        }
        let id = self.packets.insert(packet, message);
        self.deliver(message.dst, Entry { time: now, source, id, length: 0 });
    }
}

/// The partition of every port between modules: the one of the private caches of its module.
fn port_owners(plan: &Plan<'_>, owners: &[u8]) -> Vec<u8> {
    let caches = plan.topology.l1s / plan.topology.modules();
    let ports = plan.paths.iter().flat_map(|paths| paths.ports());
    ports.map(|port| owners[usize::from(port.module * caches)]).collect()
}

/// The number of 16-byte flits of a message, as gem5's network counts them: one for the header, and a whole line if the
/// message carries any data.
pub(super) fn short_flits<const W: usize>(carries_data: bool) -> u64 {
    1 + if carries_data { (W as u64).div_ceil(4) } else { 0 }
}

/// The result of an event: nothing, or the reason why the simulation cannot go on.
pub(super) type Handled = Result<(), Box<SimError>>;
