//! Observation: who wants to know where the time of every access goes, and what an observer is told.
//!
//! A run that is observed computes the same as one that is not. Its recorder ([`recorder`]) keeps the journey of every
//! message ([`journey`]): adjoining segments of time, each with a cause and a place. When an access ends, the journeys
//! are followed backwards from the message that ended it to the access itself. So its chain of intervals has no gap and
//! no overlap, and its cycles add up to its latency.

mod cause;
mod journey;
mod recorder;
mod watched;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use chorus_protocol::address::{AgentId, Topology};
use chorus_protocol::message::MessageSpec;

pub use cause::Cause;
pub(crate) use journey::Carried;
use journey::Journey;
pub use journey::{Passage, Segment};
pub(crate) use recorder::{AccessEnd, AccessTry, Arrived, Recorder, Sent, Trigger};
pub use watched::Change;
pub(crate) use watched::{Changes, Watched};

use crate::clock::Ticks;

/// The number of an access: the private caches number theirs in turn, so it is the same for any number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessNumber(pub u64);

/// The purpose of an access that was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Part of a load.
    Load,
    /// Part of an atomic.
    Atomic,
    /// A fence, of a barrier or of an atomic too.
    Fence,
    /// The release at the end of a wavefront.
    End,
    /// Part of a store, which its wavefront does not wait for.
    Store,
    /// Work of a cache or of the host that serves no access.
    Other,
}

impl Purpose {
    /// The purposes whose accesses hold a wavefront up.
    pub const AWAITED: [Purpose; 4] = [Purpose::Load, Purpose::Atomic, Purpose::Fence, Purpose::End];

    /// Its name for people, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Load => "loads",
            Purpose::Atomic => "atomics",
            Purpose::Fence => "fences",
            Purpose::End => "ends of wavefronts",
            Purpose::Store => "stores",
            Purpose::Other => "other work",
        }
    }

    /// Its name for people, in the singular.
    pub fn one(self) -> &'static str {
        match self {
            Purpose::Load => "load",
            Purpose::Atomic => "atomic",
            Purpose::Fence => "fence",
            Purpose::End => "wavefront end",
            Purpose::Store => "store",
            Purpose::Other => "other work",
        }
    }
}

/// The access that something serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The number of the access.
    pub number: AccessNumber,
    /// The purpose of the access.
    pub purpose: Purpose,
    /// The private cache that it went to.
    pub cache: AgentId,
    /// The slot of its wavefront there.
    pub wave: u16,
}

/// An access that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its number, purpose and place.
    pub served: Served,
    /// The kernel that it belongs to.
    pub kernel: Arc<str>,
    /// The virtual line that it touches; none for fences.
    pub line: Option<u64>,
    /// When its instruction was issued, and when its wavefront could go on, in ticks.
    pub issued: Ticks,
    /// When the access ended, in ticks.
    pub ended: Ticks,
}

/// A part of the time of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The tick at which it begins.
    pub from: Ticks,
    /// The tick at which the next interval begins.
    pub until: Ticks,
    /// The thing that the time went to.
    pub cause: Cause,
    /// The component at which the time passed, or from which a message went.
    pub place: AgentId,
    /// The message that was on its way, by its row in the protocol's table.
    pub message: Option<u8>,
    /// Whether that message asks for copies of the line to be given up, or answers that.
    pub is_probe: bool,
    /// The other access that the time was spent for.
    pub other: Option<Served>,
}

/// The machine that is observed.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Ticks of a core cycle.
    pub cycle: Ticks,
    /// Ticks of a microsecond.
    pub microsecond: Ticks,
    /// The agents of the machine. They name components.
    pub topology: Topology,
    /// The message table of the protocol.
    pub messages: &'static [MessageSpec],
    /// Bytes of a line.
    pub line_bytes: u32,
    /// The words of every buffer of the program, in the order in which they were made.
    pub buffers: Vec<Range<usize>>,
}

impl Scene {
    /// The name of the message of an interval. It is empty where there is none.
    pub fn message_name(&self, interval: &Interval) -> &'static str {
        interval.message.and_then(|kind| self.messages.get(usize::from(kind))).map_or("", |spec| spec.name)
    }

    /// The buffer that a virtual line lies in, by its number.
    pub fn buffer_of(&self, line: u64) -> Option<usize> {
        let words = self.line_bytes as usize / 4;
        let (first, end) = (line as usize * words, (line as usize + 1) * words);
        let number = self.buffers.partition_point(|buffer| buffer.end <= first);
        self.buffers.get(number).filter(|buffer| buffer.start < end).map(|_| number)
    }
}

/// Somebody who wants to know what happens in a run.
pub trait Observer: Send {
    /// The run begins on a machine.
    fn begin(&mut self, _scene: &Scene) {}

    /// An access has ended. The intervals adjoin: the first begins when it was issued, the last ends when it ended.
    fn access(&mut self, access: &Access, chain: &[Interval]);

    /// Whether it wants to know of messages and changes of state.
    fn wants_messages(&self) -> bool {
        false
    }

    /// A message has been on its way.
    fn message(&mut self, _passage: &Passage<'_>) {}

    /// The state of a line has changed in a cache or a bank.
    fn change(&mut self, _change: &Change, _now: Ticks) {}

    /// A wavefront of a kernel begins in a slot of a compute unit or a CPU core.
    fn wave_begins(&mut self, _cache: AgentId, _slot: u16, _kernel: &str, _now: Ticks) {}

    /// The wavefront in a slot issues an instruction.
    fn wave_issues(&mut self, _cache: AgentId, _slot: u16, _instruction: &'static str, _now: Ticks) {}

    /// The wavefront in a slot waits for something, perhaps for longer already, or it can go on.
    fn wave_waits(&mut self, _cache: AgentId, _slot: u16, _reason: Option<&'static str>, _now: Ticks) {}

    /// The wavefront in a slot of a compute unit or a CPU core has ended.
    fn wave_ends(&mut self, _cache: AgentId, _slot: u16, _now: Ticks) {}
}

/// An observer that the parts of a machine share.
pub type SharedObserver = Arc<Mutex<dyn Observer>>;
