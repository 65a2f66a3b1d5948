//! Do the calls that only the timing driver makes agree with the steps that explorations make?

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use chorus_protocol::access::{CoreOp, CoreRequest, LoadRequest};
use chorus_protocol::controller::{Controller, Input, Outbox, Outcome, PlainState, StateBytes, StepResult, Time};
use chorus_protocol::line::LineData;
use chorus_protocol::registry::{PROTOCOLS, find};
use chorus_verify::check::{check, smoke_configurations};
use chorus_verify::torture::{Settings, torture};

use crate::wrapped::{Wrap, wrapped};

/// The number of places that were made, and of loads that hit.
static EVICTIONS: AtomicU32 = AtomicU32::new(0);
static HITS: AtomicU32 = AtomicU32::new(0);

/// A wrapper that compares, with every input, what the timing driver would do with what the driver does.
struct Compared;

/// Everything that an input leaves behind.
#[derive(PartialEq)]
struct Effects<const W: usize> {
    result: StepResult,
    state: StateBytes,
    out: Outbox<W>,
}

/// A controller before an input.
struct Before<'a, const W: usize>(&'a dyn Controller<W>);

impl<const W: usize> Before<'_, W> {
    /// Takes an input on a copy of the controller, as `take` does.
    fn tried(&self, now: Time, take: impl FnOnce(&mut dyn Controller<W>, &mut Outbox<W>) -> StepResult) -> Effects<W> {
        let mut controller = self.0.clone_box();
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

impl Wrap for Compared {
    fn step<const W: usize>(
        controller: &mut Box<dyn Controller<W>>,
        input: &Input<'_, W>,
        out: &mut Outbox<W>,
    ) -> StepResult {
        let before = Before(&**controller);
        before.compare_evictions(input, out.now);
        if let Input::Core(request) = input
            && request.op == CoreOp::Load
        {
            before.compare_hit(request, out.now);
        }
        controller.step(input, out)
    }
}

#[test]
fn controllers_do_for_the_timing_driver_what_random_steps_see() {
    for protocol in PROTOCOLS {
        let settings = Settings { steps: 20_000, ..Settings::default() };
        let report = torture(wrapped::<Compared>(*protocol), None, &settings);
        assert!(report.passed(), "{}\n{}", protocol.name(), report.failure_text(*protocol));
    }
    assert!(EVICTIONS.load(Relaxed) > 10_000 && HITS.load(Relaxed) > 10_000);
}

#[test]
fn controllers_do_for_the_timing_driver_what_explorations_see() {
    for name in ["gpu-vi", "mesi", "tc-strong", "tc-weak", "hmg"] {
        let protocol = wrapped::<Compared>(find(name).expect("it is in the registry"));
        let report = check(protocol, None, &smoke_configurations()[0]);
        assert!(report.passed(), "{}", report.to_text());
    }
}
