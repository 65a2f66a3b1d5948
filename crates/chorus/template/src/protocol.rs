//! GPU-VI with explicit PUT messages: a private cache that replaces a clean copy tells the home, which then forgets the
//! sharer and sends fewer invalidations and recalls.
//!
//! Everything that is not written here is GPU-VI's. `..gpu_vi::DECLARATION` inherits what the protocol declares,
//! `appended` adds rows to its tables, and `Derived` puts [`Announce`] and [`Forget`] around its controllers.

use chorus::protocol::prelude::*;
use chorus::protocol::protocols::gpu_vi::{self, REQUEST, WriteThroughL1, l2, l2::GpuViL2, private_cache};

/// One message behind GPU-VI's. It travels with the requests, so that the next read of the same line cannot overtake
/// it.
static MESSAGES: [MessageSpec; gpu_vi::MESSAGES.len() + 1] =
    appended(&gpu_vi::MESSAGES, &[MessageSpec::new("PUT", TrafficClass::Request, REQUEST, Size::Control)]);
const PUT: MsgKind = MsgKind::behind(&gpu_vi::MESSAGES);

/// The bank's transition table has one column more, for the message.
static EVENTS: [&str; l2::VOCABULARY.events.len() + 1] = appended(l2::VOCABULARY.events, &["PUT"]);
static VOCABULARY: Vocabulary = Vocabulary { events: &EVENTS, ..l2::VOCABULARY };

/// A mistake that is built in on request, behind GPU-VI's. The checks must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fault {
    ForgetsAll,
}
const SEEDS: [Seed<Fault>; 1] = [Seed::new(Fault::ForgetsAll, "put-forgets-all", "a PUT removes every sharer")];
static FAULTS: [FaultSpec; gpu_vi::FAULTS.len() + 1] = appended(&gpu_vi::FAULTS, &specs(&SEEDS));

static DECLARATION: Declaration = Declaration {
    name: "mine",
    title: "GPU-VI with PUT",
    summary: "GPU-VI whose private caches tell the home when they replace a clean copy.",
    citation: "after Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 4.2",
    messages: &MESSAGES,
    faults: &FAULTS,
    ..gpu_vi::DECLARATION
};

/// Changes of the private cache: it announces every copy that has left.
#[derive(Clone, Debug, Hash, Restore)]
struct Announce;

impl<const W: usize> Changes<WriteThroughL1<W>, W> for Announce {
    fn evicted(&mut self, l1: &mut WriteThroughL1<W>, line: LineAddr, out: &mut Outbox<W>) {
        out.send(Message::control(PUT, line, l1.agent(), l1.upstream(line)));
    }
}

/// Changes of the shared bank: it forgets the sender of a PUT. A PUT that has crossed an invalidation or a recall finds
/// nothing to forget.
#[derive(Clone, Debug, Hash, Restore)]
struct Forget(#[save(built)] Option<Fault>);

impl<const W: usize> Changes<GpuViL2<W>, W> for Forget {
    const MESSAGES: &'static [MsgKind] = &[PUT];
    const VOCABULARY: Option<&'static Vocabulary> = Some(&VOCABULARY);

    fn receive(&mut self, bank: &mut GpuViL2<W>, put: &Message<W>, _: &mut Outbox<W>) -> StepResult {
        let forgotten = if self.0 == Some(Fault::ForgetsAll) { Sharers::ALL } else { Sharers::of(put.src) };
        bank.forget_sharers(put.line, forgotten);
        Ok(Outcome::Done)
    }
}

/// The protocol of this crate.
pub struct Mine;

/// The value that the registry gets.
pub static MINE: Mine = Mine;

impl<const W: usize> Build<W> for Mine {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded_by_level(&gpu_vi::SEEDS, config);
        let own_fault = seeded_behind(&gpu_vi::FAULTS, &SEEDS, config);
        match role {
            Role::L1 => Some(Box::new(Derived::new(private_cache(index, config, l1_fault), Announce))),
            Role::L2 => Some(Box::new(Derived::new(GpuViL2::new(index, config, l2_fault), Forget(own_fault)))),
            Role::L3 | Role::Tu | Role::Memory => None,
        }
    }
}

impl Protocol for Mine {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
