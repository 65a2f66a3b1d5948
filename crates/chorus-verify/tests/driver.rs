//! The driver itself, on a toy whose controllers break one rule of the contract each.

use chorus_protocol::access::{CoreOp, CoreRequest};
use chorus_protocol::address::{AgentId, LineAddr, Role};
use chorus_protocol::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, StateClass, StateSpec, Time, Unspecified, Vocabulary,
};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Channel, Message, MessageSpec, MsgKind, Size, TrafficClass, memory};
use chorus_protocol::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Protocol, Reach, Values,
};
use chorus_protocol::save::{self, Restore};
use chorus_verify::check::{Verdict, check, find_configuration, smoke_configurations};
use chorus_verify::torture::problem::Problem;
use chorus_verify::torture::{Settings, TortureFailure, torture};
use chorus_verify::violation::Violation;

/// Everything goes to memory: the L1 is the only cache, holds nothing and answers loads with zero. It serves programs
/// that only load; stores are where the rules are broken, in the order of [`FAULTS`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
struct ToyCache {
    #[save(built)]
    role: Role,
    #[save(built)]
    me: AgentId,
    #[save(built)]
    bank: AgentId,
    #[save(built)]
    fault: Option<u8>,
    stores: u8,
    loads: u8,
}

static FAULTS: [FaultSpec; 8] = [
    FaultSpec { name: "twice", breaks: "stores are answered twice" },
    FaultSpec { name: "refusal", breaks: "stores are refused, but counted" },
    FaultSpec { name: "nowhere", breaks: "stores are sent to nobody" },
    FaultSpec { name: "slow", breaks: "the bank stalls a message that takes no time" },
    FaultSpec { name: "restless", breaks: "the cache never comes to rest after a store" },
    FaultSpec { name: "no-bank", breaks: "there are no banks" },
    FaultSpec { name: "favourite", breaks: "the first cache remembers its loads, the others do not" },
    FaultSpec { name: "again", breaks: "loads are asked for again and again" },
];

const NOTE: MsgKind = MsgKind(memory::FIRST_FREE);
const ASK: MsgKind = MsgKind(memory::FIRST_FREE + 1);
static MESSAGES: [MessageSpec; 5] = [
    memory::SPECS[0],
    memory::SPECS[1],
    memory::SPECS[2],
    MessageSpec { name: "NOTE", class: TrafficClass::Request, channel: Channel::Instant, size: Size::Control },
    MessageSpec { name: "ASK", class: TrafficClass::Request, channel: Channel::Virtual(0), size: Size::Control },
];

static VOCABULARIES: [Vocabulary; 2] = [vocabulary(Role::L1), vocabulary(Role::L2)];

const fn vocabulary(role: Role) -> Vocabulary {
    let states = &[StateSpec { name: "I", class: StateClass::Stable, meaning: "nothing" }];
    Vocabulary { role, device: "", states, events: &["any"], expiry: None }
}

impl ToyCache {
    fn store(&mut self, request: &CoreRequest<2>, out: &mut Outbox<2>) -> Outcome {
        match self.fault {
            Some(0) => out.complete_empty(request.txn),
            Some(1) => {
                self.stores += 1;
                return Outcome::Stall;
            }
            Some(2) => out.send(Message::control(NOTE, request.line, self.me, AgentId(99))),
            Some(3) => out.send(Message::control(NOTE, request.line, self.me, AgentId(2))),
            Some(4) => self.stores = 1,
            _ => {}
        }
        out.complete_empty(request.txn);
        Outcome::Done
    }
}

impl Controller<2> for ToyCache {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARIES[usize::from(self.role == Role::L2)]
    }

    fn classify(&self, _input: &Input<'_, 2>, _now: Time) -> Option<Classified> {
        None
    }

    fn step(&mut self, input: &Input<'_, 2>, out: &mut Outbox<2>) -> Result<Outcome, Unspecified> {
        Ok(match input {
            Input::Core(request) if request.op == CoreOp::Store => self.store(request, out),
            Input::Core(request) if request.op == CoreOp::Load && self.fault == Some(7) => {
                out.send(Message::control(ASK, request.line, self.me, self.bank));
                Outcome::Done
            }
            Input::Message(message) if message.kind == ASK => {
                out.send(message.reply(ASK));
                Outcome::Done
            }
            Input::Core(request) => {
                self.loads += u8::from(self.fault == Some(6) && self.me == AgentId(0));
                out.complete(request.txn, &LineData::default());
                Outcome::Done
            }
            Input::Message(_) | Input::Evict(_) | Input::EvictEntry(_) | Input::Time(_) => Outcome::Stall,
        })
    }

    fn view(&self, _line: LineAddr, _now: Time) -> LineView<2> {
        LineView::default()
    }

    fn evictable(&self, _line: LineAddr, _now: Time) -> bool {
        false
    }

    fn quiescent(&self) -> bool {
        self.stores == 0
    }

    fn dirty_lines(&self, _visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<2>)) {}
}

struct Toy;

impl Build<2> for Toy {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<2>>> {
        let me = if role == Role::L1 { config.topology.l1(index) } else { config.topology.l2(index) };
        let exists = role == Role::L1 || config.fault != Some(5);
        exists.then(|| -> Box<dyn Controller<2>> {
            let bank = config.topology.l2(0);
            Box::new(ToyCache { role, me, bank, fault: config.fault, stores: 0, loads: 0 })
        })
    }
}

impl Build<16> for Toy {
    fn build(&self, _role: Role, _index: u16, _config: &BuildConfig) -> Option<Box<dyn Controller<16>>> {
        None
    }
}

impl Build<32> for Toy {
    fn build(&self, _role: Role, _index: u16, _config: &BuildConfig) -> Option<Box<dyn Controller<32>>> {
        None
    }
}

static DECLARATION: Declaration = Declaration {
    name: "toy",
    title: "TOY",
    summary: "Holds nothing.",
    citation: "none",
    model: MemoryModel::PerLocation,
    promises: &[],
    virtual_networks: 1,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &[],
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

impl Protocol for Toy {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}

fn violation(fault: Option<&str>) -> Violation {
    let fault = fault.map(|name| FAULTS.iter().position(|fault| fault.name == name).unwrap() as u8);
    match check(&Toy, fault, &smoke_configurations()[0]).verdict {
        Verdict::Violated(chart) => chart.violation,
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn stores_that_vanish_are_wrong_values() {
    assert!(matches!(violation(None), Violation::Forbidden { .. }));
}

#[test]
fn a_second_answer_is_unexpected() {
    assert!(matches!(violation(Some("twice")), Violation::UnexpectedAnswer { thread: 0, .. }));
}

#[test]
fn a_refused_input_must_have_no_effects() {
    assert_eq!(violation(Some("refusal")), Violation::RefusalWithEffects { agent: "L1.0".to_owned() });
}

#[test]
fn a_message_to_nobody_is_noticed() {
    assert_eq!(violation(Some("nowhere")), Violation::NoSuchAgent { message: "NOTE", agent: 99 });
}

#[test]
fn a_message_that_takes_no_time_must_be_taken_at_once() {
    assert_eq!(violation(Some("slow")), Violation::InstantStalled { agent: "L2.0".to_owned(), message: "NOTE" });
}

#[test]
fn a_controller_must_come_to_rest_when_everything_is_answered() {
    assert!(matches!(violation(Some("restless")), Violation::NotClean { .. }));
}

#[test]
fn a_machine_without_all_its_controllers_is_refused() {
    assert_eq!(violation(Some("no-bank")), Violation::NoController { agent: "L2.0".to_owned() });
}

#[test]
fn random_steps_notice_a_load_that_is_asked_for_again_and_again() {
    let fault = FAULTS.iter().position(|fault| fault.name == "again").map(|fault| fault as u8);
    let alone = |episode| {
        let settings = Settings { episode: Some(episode), ..Settings::default() };
        torture(&Toy, fault, &settings).failure
    };
    let waits =
        |failure: &TortureFailure| matches!(failure.problem, Problem::Livelock { .. } | Problem::Starvation { .. });
    let failure = (0..20).filter_map(alone).find(waits).expect("some load waits");
    let shrunk = failure.shrunk.expect("it is made small");
    assert!(shrunk.problem.is_like(&failure.problem) && shrunk.episode.program.operations() <= 2, "{shrunk:?}");
}

#[test]
fn an_asymmetric_protocol_is_explored_without_the_symmetries_that_it_breaks() {
    let favourite = FAULTS.iter().position(|fault| fault.name == "favourite").map(|fault| fault as u8);
    let config = find_configuration(&Toy, "words").unwrap();
    let [symmetric, asymmetric] = [None, favourite].map(|fault| check(&Toy, fault, &config));
    assert_eq!((symmetric.symmetry, symmetric.configuration_symmetry), (4, 4), "{}", symmetric.to_text());
    assert_eq!((asymmetric.symmetry, asymmetric.configuration_symmetry), (2, 4), "{}", asymmetric.to_text());
    assert!(asymmetric.to_text().contains("the protocol does not keep the others"), "{}", asymmetric.to_text());
}
