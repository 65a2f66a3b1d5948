//! Messages and requests that arrive at controllers, and their consequences.

use std::collections::VecDeque;

use chorus_protocol::access::Txn;
use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::Outcome as StepOutcome;
use chorus_protocol::line::LineData;
use chorus_protocol::message::{Message, memory};

use super::{ExploredMachine, Halt, Happening, Route, Unknown};
use crate::issue::index_of;
use crate::networks::Networks;
use crate::node::{StepInput, Victim};
use crate::program::{Op, WORDS};
use crate::state::{Progress, State};
use crate::violation::Violation;

/// The most lines that leave for one input, and the most messages that take no time and follow from one input. Right
/// protocols stay far below.
const EVICTIONS_MAX: usize = 16;
const INSTANTS_MAX: usize = 1_000;

/// The result of offering an input to a controller.
pub(super) enum Offer {
    Consumed,
    EvictedOnly,
    Refused,
}

impl ExploredMachine {
    pub(super) fn deliver(&self, state: &mut State, number: u32) -> Result<bool, Halt> {
        let message = self.nodes.message(number);
        let (role, _) = self.config.topology.role(message.dst);
        let offer = if role == Role::Memory {
            self.memory_takes(state, number, message)?;
            Offer::Consumed
        } else {
            self.offer(state, message.dst.0, StepInput::Message(number))?
        };
        match offer {
            Offer::Consumed => {
                let head = self.network(state).iter().position(|&other| other == number);
                if let Some(head) = head {
                    state.remove(self.network_at + head);
                }
                Ok(true)
            }
            Offer::EvictedOnly => Ok(true),
            Offer::Refused => Ok(false),
        }
    }

    fn memory_takes(&self, state: &mut State, number: u32, message: &Message<WORDS>) -> Result<(), Halt> {
        self.note(Happening::Memory(number));
        let mut data = self.memory_line(state, message.line.0 as usize);
        match message.kind {
            memory::WB => {
                data.merge(message.mask, &message.data);
                let at = self.controllers + message.line.0 as usize * WORDS;
                state[at..at + WORDS].copy_from_slice(&data.0);
                Ok(())
            }
            _ => {
                let answer = self.nodes.known_message(&message.reply_line(memory::MEM_DATA, &data));
                let answer = answer.ok_or(Halt::Unknown(Unknown::Answer(number, data)))?;
                self.send(state, answer, &mut VecDeque::new())
            }
        }
    }

    /// Gives an input to a controller, and then delivers the messages that take no time.
    pub(super) fn offer(&self, state: &mut State, agent: u16, input: StepInput) -> Result<Offer, Halt> {
        let mut instants = VecDeque::new();
        let offer = self.try_input(state, agent, input, &mut instants)?;
        self.deliver_instants(state, instants)?;
        Ok(offer)
    }

    /// Delivers the messages that take no time, and the further ones that they cause, in the order sent.
    pub(super) fn deliver_instants(&self, state: &mut State, mut instants: VecDeque<u32>) -> Result<(), Halt> {
        let mut delivered = 0;
        while let Some(number) = instants.pop_front() {
            let message = self.nodes.message(number);
            delivered += 1;
            if delivered > INSTANTS_MAX {
                return Err(Violation::Endless { agent: self.config.topology.name(message.dst) }.into());
            }
            let offer = self.try_input(state, message.dst.0, StepInput::Message(number), &mut instants)?;
            if !matches!(offer, Offer::Consumed) {
                if self.config.networks != Networks::Unbounded {
                    return Err(Halt::NoRoom);
                }
                let agent = self.config.topology.name(message.dst);
                let message = self.protocol.messages()[usize::from(message.kind.0)].name;
                return Err(Violation::InstantStalled { agent, message }.into());
            }
        }
        Ok(())
    }

    /// Gives an input to a controller, and makes room first if the controller asks for it.
    fn try_input(
        &self,
        state: &mut State,
        agent: u16,
        input: StepInput,
        instants: &mut VecDeque<u32>,
    ) -> Result<Offer, Halt> {
        let mut evicted = false;
        for _ in 0..EVICTIONS_MAX {
            let result = self.step(state[usize::from(agent)], input)?;
            if self.commit_if_done(state, agent, result, instants)? {
                return Ok(Offer::Consumed);
            }
            let Some(victim) = self.nodes.result(result).outcome.ok().and_then(Victim::of) else {
                return Ok(if evicted { Offer::EvictedOnly } else { Offer::Refused });
            };
            let eviction = self.step(state[usize::from(agent)], StepInput::Evict(victim))?;
            if !self.commit_if_done(state, agent, eviction, instants)? {
                return Ok(if evicted { Offer::EvictedOnly } else { Offer::Refused });
            }
            evicted = true;
        }
        Err(Violation::Endless { agent: self.config.topology.name(AgentId(agent)) }.into())
    }

    pub(super) fn step(&self, node: u32, input: StepInput) -> Result<u32, Halt> {
        self.nodes.known_step(node, input).ok_or(Halt::Unknown(Unknown::Step(node, input)))
    }

    /// Takes over the effects of a step, unless its input was refused.
    pub(super) fn commit_if_done(
        &self,
        state: &mut State,
        agent: u16,
        result: u32,
        instants: &mut VecDeque<u32>,
    ) -> Result<bool, Halt> {
        if !self.has_room(state, result) {
            return Ok(false);
        }
        let effect = self.nodes.effect(result);
        if !effect.done {
            return self.refused(agent, result);
        }
        self.note(Happening::Step(result));
        state[usize::from(agent)] = effect.after;
        for completion in self.nodes.completions(effect) {
            self.answer(state, completion.txn, &completion.data)?;
        }
        for &number in self.nodes.sent(effect) {
            self.send(state, number, instants)?;
        }
        Ok(true)
    }

    /// The meaning of a step that did not consume its input.
    fn refused(&self, agent: u16, result: u32) -> Result<bool, Halt> {
        let step = self.nodes.result(result);
        if step.outcome != Ok(StepOutcome::Stall) {
            self.note(Happening::Step(result));
        }
        if !step.honest {
            return Err(Violation::RefusalWithEffects { agent: self.config.topology.name(AgentId(agent)) }.into());
        }
        step.outcome.map_err(Violation::from)?;
        Ok(false)
    }

    fn note(&self, happening: Happening) {
        if self.replaying
            && let Ok(mut journal) = self.journal.lock()
        {
            journal.push(happening);
        }
    }

    fn answer(&self, state: &mut State, txn: Txn, data: &LineData<WORDS>) -> Result<(), Violation> {
        if txn == Txn::Warming {
            return Ok(());
        }
        let index = index_of(txn).unwrap_or(usize::MAX / 2);
        let thread = index / self.slots.max(1);
        let unexpected = |op: String| Violation::UnexpectedAnswer { thread, op };
        let Some(word) = state[..self.network_at].get_mut(self.ops_at + index) else {
            return Err(unexpected(format!("operation {index}")));
        };
        let steps = &self.config.threads[thread].steps;
        let op = |choice: u8| steps[index % self.slots].alternatives[usize::from(choice)];
        match Progress::unpack(*word) {
            Progress::Outstanding(choice) => {
                let value = match op(choice) {
                    Op::Load { at, .. } | Op::Atomic { at, .. } => at.pack(data),
                    Op::Store { .. }
                    | Op::Fence { .. }
                    | Op::Barrier { .. }
                    | Op::Kernel(_)
                    | Op::Command { .. }
                    | Op::Settle => 0,
                };
                *word = Progress::Answered(choice, value).pack();
                self.begin_anew(state, thread);
                Ok(())
            }
            Progress::Answered(choice, _) => Err(unexpected(op(choice).to_string())),
            Progress::Waiting => Err(unexpected(format!("operation {}", index % self.slots))),
        }
    }

    /// Forgets the operations of a thread that repeats them, once all of them are answered.
    fn begin_anew(&self, state: &mut State, thread: usize) {
        let spec = &self.config.threads[thread];
        let answered = |slot| matches!(self.progress(state, thread, slot), Progress::Answered(..));
        if spec.repeats && (0..spec.steps.len()).all(answered) {
            let first = self.ops_at + thread * self.slots;
            state[first..first + spec.steps.len()].fill(Progress::Waiting.pack());
        }
    }

    fn send(&self, state: &mut State, number: u32, instants: &mut VecDeque<u32>) -> Result<(), Halt> {
        let message = self.nodes.message(number);
        let name = || self.protocol.messages()[usize::from(message.kind.0)].name;
        match self.routes[number as usize] {
            Route::Queue(_) | Route::Pool(_) => {
                let channel = self.channel(number);
                let behind = |&other: &u32| self.channel(other) > channel;
                let position = self.network(state).iter().position(behind).unwrap_or(state.len() - self.network_at);
                state.insert(self.network_at + position, number);
                Ok(())
            }
            Route::Instant => {
                instants.push_back(number);
                Ok(())
            }
            Route::Nowhere => Err(Violation::NoSuchAgent { message: name(), agent: message.dst.0 }.into()),
        }
    }
}
