//! Do the calls that only the timing driver makes agree with the steps that explorations make?

use std::hash::{Hash, Hasher};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use chorus_protocol::access::{CoreOp, CoreRequest, LoadRequest};
use chorus_protocol::address::{AgentId, LineAddr, Role};
use chorus_protocol::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, PlainState, StateBytes, StepResult, Time, Vocabulary,
};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;
use chorus_protocol::parameter::Parameters;
use chorus_protocol::registry::{Build, BuildConfig, Commands, Declaration, PROTOCOLS, Protocol, Structure, find};
use chorus_protocol::tally::Tally;
use chorus_verify::check::{check, smoke_configurations};
use chorus_verify::torture::{Settings, torture};

/// The number of places that were made, and of loads that hit.
static EVICTIONS: AtomicU32 = AtomicU32::new(0);
static HITS: AtomicU32 = AtomicU32::new(0);

/// A controller that compares, with every input, what the timing driver would do with what the driver does.
#[derive(Clone, Debug)]
struct Compared<const W: usize>(Box<dyn Controller<W>>);

impl<const W: usize> Hash for Compared<W> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = StateBytes::default();
        PlainState::encode(&*self.0, &mut bytes);
        state.write(&bytes.0);
    }
}

/// Everything that an input leaves behind.
#[derive(PartialEq)]
struct Effects<const W: usize> {
    result: StepResult,
    state: StateBytes,
    out: Outbox<W>,
}

impl<const W: usize> Compared<W> {
    /// Takes an input on a copy of the controller, as `take` does.
    fn tried(&self, now: Time, take: impl FnOnce(&mut dyn Controller<W>, &mut Outbox<W>) -> StepResult) -> Effects<W> {
        let mut controller = self.0.clone();
        let mut out = Outbox { now, ..Outbox::default() };
        let result = take(&mut *controller, &mut out);
        let mut state = StateBytes::default();
        PlainState::encode(&*controller, &mut state);
        out.evicts = false;
        Effects { result, state, out }
    }

    /// Compares a controller that makes room by itself with one that is told to.
    fn compare_evictions(&self, input: &Input<'_, W>, now: Time) {
        let told = self.tried(now, |controller, out| {
            loop {
                let outcome = controller.step(input, out)?;
                let Some(eviction) = outcome.eviction() else { return Ok(outcome) };
                EVICTIONS.fetch_add(1, Relaxed);
                if controller.step(&eviction, out)? != Outcome::Done {
                    return Ok(Outcome::Stall);
                }
            }
        });
        let alone = self.tried(now, |controller, out| {
            out.evicts = true;
            controller.step(input, out)
        });
        assert!(told == alone, "{input:?} differs if {:?} makes room by itself", self.0);
    }

    /// Compares the short way of a load that hits with its step.
    fn compare_hit(&self, request: &CoreRequest<W>, now: Time) {
        let CoreRequest { txn, line, mask, order, scope, .. } = *request;
        let stepped = self.tried(now, |controller, out| controller.step(&Input::Core(request), out));
        let asked = self.tried(now, |controller, out| {
            match controller.load_hit(&LoadRequest { line, mask, order, scope }, now) {
                Some(data) => out.complete(txn, data),
                None => return Ok(Outcome::Stall),
            }
            Ok(Outcome::Done)
        });
        let hits = stepped.out.messages.is_empty() && stepped.out.wake.is_none() && stepped.out.completions.len() == 1;
        assert_eq!(hits, asked.result == Ok(Outcome::Done), "{request:?} of {:?}", self.0);
        let read = |effects: &Effects<W>| {
            let mut data = LineData::default();
            effects.out.completions.iter().for_each(|completion| data.merge(mask, &completion.data));
            data
        };
        if hits {
            HITS.fetch_add(1, Relaxed);
            assert!(stepped.state == asked.state, "{request:?} leaves {:?} in another state", self.0);
            assert_eq!(read(&stepped), read(&asked), "{request:?} reads other values from {:?}", self.0);
        }
    }
}

impl<const W: usize> Controller<W> for Compared<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        self.0.vocabulary()
    }

    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified> {
        self.0.classify(input, now)
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        self.compare_evictions(input, out.now);
        if let Input::Core(request) = input
            && request.op == CoreOp::Load
        {
            self.compare_hit(request, out.now);
        }
        self.0.step(input, out)
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
        self.0.only_counts(message)
    }

    fn tallies(&self) -> &[Tally] {
        self.0.tallies()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        self.0.dirty_lines(visit);
    }
}

/// A protocol whose controllers are compared.
struct Audited(&'static dyn Protocol);

macro_rules! build {
    ($($words:literal)*) => {$(
        impl Build<$words> for Audited {
            fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<$words>>> {
                let controller = Build::<$words>::build(self.0, role, index, config)?;
                Some(Box::new(Compared(controller)))
            }
        }
    )*};
}

build!(2 16 32);

impl Protocol for Audited {
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

fn audited(protocol: &'static dyn Protocol) -> &'static dyn Protocol {
    Box::leak(Box::new(Audited(protocol)))
}

#[test]
fn controllers_do_for_the_timing_driver_what_random_steps_see() {
    for protocol in PROTOCOLS {
        let settings = Settings { steps: 20_000, ..Settings::default() };
        let report = torture(audited(*protocol), None, &settings);
        assert!(report.passed(), "{}\n{}", protocol.name(), report.failure_text(*protocol));
    }
    assert!(EVICTIONS.load(Relaxed) > 10_000 && HITS.load(Relaxed) > 10_000);
}

#[test]
fn controllers_do_for_the_timing_driver_what_explorations_see() {
    for name in ["gpu-vi", "mesi", "tc-strong", "tc-weak", "hmg"] {
        let protocol = audited(find(name).expect("it is in the registry"));
        let report = check(protocol, None, &smoke_configurations()[0]);
        assert!(report.passed(), "{}", report.to_text());
    }
}
