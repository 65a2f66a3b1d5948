//! The steps of an episode, one line each, for people.

use std::collections::VecDeque;

use chorus_protocol::access::CoreOp;
use chorus_protocol::address::AgentId;
use chorus_protocol::controller::{Classified, Controller, Input, Outbox, Outcome, Passage, Time, Unspecified};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;
use chorus_protocol::registry::Protocol;

use super::lower::Micro;
use super::program::{Access, Does, WORDS, WaveSlot, line_name};
use super::setup::Setup;

/// The number of lines that are stored: the last ones.
const LINES_MAX: usize = 60;

/// The last steps, with how many there were before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    lines: VecDeque<String>,
    dropped: usize,
}

fn contents(mask: ByteMask, data: &LineData<WORDS>) -> String {
    let words: Vec<String> = mask.words().map(|word| data.0[word].to_string()).collect();
    if words.is_empty() { String::new() } else { format!("={}", words.join(",")) }
}

fn message_text(protocol: &dyn Protocol, message: &Message<WORDS>) -> String {
    let name = protocol.messages()[usize::from(message.kind.0)].name;
    let stamp = if message.stamp == 0 { String::new() } else { format!("@{}", message.stamp) };
    format!("{name} {}{}{stamp}", line_name(message.line.0), contents(message.mask, &message.data))
}

impl Trace {
    fn push(&mut self, line: String) {
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(line);
    }

    /// The lines, oldest first.
    pub(super) fn into_lines(self) -> Vec<String> {
        let dropped = (self.dropped > 0).then(|| format!("({} steps before)", self.dropped));
        dropped.into_iter().chain(self.lines).collect()
    }

    /// A step of a controller.
    #[expect(clippy::too_many_arguments, reason = "a step is all of these, and nobody else puts them together")]
    pub(super) fn step(
        &mut self,
        setup: &Setup,
        protocol: &dyn Protocol,
        controller: &dyn Controller<WORDS>,
        agent: u16,
        input: &Input<'_, WORDS>,
        class: Option<Classified>,
        result: &Result<Outcome, Unspecified>,
        out: &Outbox<WORDS>,
        operation: Option<(Option<WaveSlot>, Micro)>,
    ) {
        let name = |agent: AgentId| setup.topology.name(agent);
        let what = match (input, operation) {
            (Input::Core(request), Some((slot, micro))) => {
                let slot = slot.map_or(request.wave, |slot| slot.slot);
                let value = contents(request.mask, &request.data);
                let writes = matches!(micro, Micro::Access(Access { does: Does::Store | Does::Update(_), .. }));
                format!("w{slot}: {micro}{}", if writes { value } else { String::new() })
            }
            (Input::Core(request), None) if request.op == CoreOp::KernelEnd => "a kernel ends".to_owned(),
            (Input::Core(_), None) => "a kernel begins".to_owned(),
            (Input::Message(message), _) => format!("{} from {}", message_text(protocol, message), name(message.src)),
            (Input::Evict(line), _) => format!("evict {}", line_name(line.0)),
            (Input::EvictEntry(line), _) => format!("evict the entry of {}", line_name(line.0)),
            (Input::Time(Passage::Wake), _) => "woken".to_owned(),
            (Input::Time(Passage::Tick | Passage::RollOver), _) => "time passes".to_owned(),
        };
        let states = &controller.vocabulary().states;
        let before = class.map_or("", |class| states[usize::from(class.state)].name);
        let after = class.map_or("", |class| states[usize::from(controller.view(class.line, out.now).state)].name);
        let change = match result {
            Ok(Outcome::Done) if class.is_none() => String::new(),
            Ok(Outcome::Done) => format!("{before} → {after}"),
            Ok(Outcome::Stall) => format!("{before}: stalls"),
            Ok(Outcome::Evict(victim)) => format!("{before}: needs the place of {}", line_name(victim.0)),
            Ok(Outcome::EvictEntry(line)) => format!("{before}: needs the entry of {}", line_name(line.0)),
            Err(_) => format!("{before}: no transition"),
        };
        let answers = out.completions.iter().map(|completion| {
            let word = match input {
                Input::Core(request) => request.mask,
                Input::Message(_) | Input::Evict(_) | Input::EvictEntry(_) | Input::Time(_) => {
                    ByteMask::full::<WORDS>()
                }
            };
            format!("answers{}", contents(word, &completion.data))
        });
        let sends =
            out.messages.iter().map(|message| format!("{} to {}", message_text(protocol, message), name(message.dst)));
        let outputs: Vec<String> = answers.chain(sends).collect();
        let (time, agent) = (out.now, name(AgentId(agent)));
        let line = format!("{time:>5} {agent:<6} {what:<32} {change:<16} {}", outputs.join("; "));
        self.push(line.trim_end().to_owned());
    }

    /// Memory takes a message.
    pub(super) fn memory(&mut self, setup: &Setup, protocol: &dyn Protocol, now: Time, message: &Message<WORDS>) {
        let (agent, src) = (setup.topology.name(message.dst), setup.topology.name(message.src));
        self.push(format!("{now:>5} {agent:<6} {} from {src}", message_text(protocol, message)));
    }
}
