//! Protocols whose controllers are wrapped: something happens with every input, or a claim is another.

use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use chorus_protocol::address::{AgentId, LineAddr, Role};
use chorus_protocol::controller::{
    Classified, Controller, Input, LineView, Outbox, PlainState, StateBytes, StepResult, Time, Vocabulary,
};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;
use chorus_protocol::parameter::Parameters;
use chorus_protocol::registry::{Build, BuildConfig, Commands, Declaration, Protocol, Structure};
use chorus_protocol::save::{self, Restore};
use chorus_protocol::tally::Tally;

/// The difference between a wrapped controller and its original.
pub trait Wrap: Send + Sync + 'static {
    /// Takes an input in the original's place.
    fn step<const W: usize>(
        controller: &mut Box<dyn Controller<W>>,
        input: &Input<'_, W>,
        out: &mut Outbox<W>,
    ) -> StepResult {
        controller.step(input, out)
    }

    /// Says whether a message only counts.
    fn only_counts<const W: usize>(controller: &dyn Controller<W>, message: &Message<W>) -> bool {
        controller.only_counts(message)
    }
}

/// A controller inside another.
#[derive(Restore)]
struct Wrapped<T, const W: usize>(Box<dyn Controller<W>>, #[save(built)] PhantomData<T>);

impl<T, const W: usize> Clone for Wrapped<T, W> {
    fn clone(&self) -> Self {
        Wrapped(self.0.clone(), PhantomData)
    }
}

impl<T, const W: usize> std::fmt::Debug for Wrapped<T, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T, const W: usize> Hash for Wrapped<T, W> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = StateBytes::default();
        PlainState::encode(&*self.0, &mut bytes);
        state.write(&bytes.0);
    }
}

impl<T: Wrap, const W: usize> Controller<W> for Wrapped<T, W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        self.0.vocabulary()
    }

    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified> {
        self.0.classify(input, now)
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        T::step(&mut self.0, input, out)
    }

    fn view(&self, line: LineAddr, now: Time) -> LineView<W> {
        self.0.view(line, now)
    }

    fn evictable(&self, line: LineAddr, now: Time) -> bool {
        self.0.evictable(line, now)
    }

    fn entry_evictable(&self, line: LineAddr) -> bool {
        self.0.entry_evictable(line)
    }

    fn quiescent(&self) -> bool {
        self.0.quiescent()
    }

    fn position(&self, bank: AgentId) -> Option<u16> {
        self.0.position(bank)
    }

    fn tracker(&self, line: LineAddr) -> Option<AgentId> {
        self.0.tracker(line)
    }

    fn only_counts(&self, message: &Message<W>) -> bool {
        T::only_counts(&*self.0, message)
    }

    fn tallies(&self) -> &[Tally] {
        self.0.tallies()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        self.0.dirty_lines(visit);
    }
}

/// A protocol whose controllers are wrapped.
struct Wrapping<T>(&'static dyn Protocol, PhantomData<T>);

macro_rules! build {
    ($($words:literal)*) => {$(
        impl<T: Wrap> Build<$words> for Wrapping<T> {
            fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<$words>>> {
                let controller = Build::<$words>::build(self.0, role, index, config)?;
                Some(Box::new(Wrapped::<T, $words>(controller, PhantomData)))
            }
        }
    )*};
}

build!(2 16 32);

impl<T: Wrap> Protocol for Wrapping<T> {
    fn declaration(&self) -> &'static Declaration {
        self.0.declaration()
    }

    fn structure(&self) -> Structure {
        self.0.structure()
    }

    fn registered_networks(&self) -> &'static [u8] {
        self.0.registered_networks()
    }

    fn commands(&self, parameters: &Parameters) -> Commands {
        self.0.commands(parameters)
    }

    fn keeps_remote(&self, parameters: &Parameters) -> bool {
        self.0.keeps_remote(parameters)
    }
}

/// The protocol with its controllers wrapped by `T`.
pub fn wrapped<T: Wrap>(protocol: &'static dyn Protocol) -> &'static dyn Protocol {
    Box::leak(Box::new(Wrapping::<T>(protocol, PhantomData)))
}
