//! The images of controllers and messages under the symmetries of a configuration, proven while exploring.
//!
//! Controllers cannot be relabelled from outside. But the mirror image of a controller's state is the state that the
//! mirrored inputs lead to: the initial states of agents are images of each other, and where a state makes a step, its
//! image makes the mirrored step. Every step that is run is run in all its images too, and each image must do the
//! mirrored thing: consume or refuse alike, send the mirrored messages in the same order in every channel, end the
//! mirrored operations, and come to the same image as every other path to that state does. The lines that a state shows
//! must be mirrored as well. So all images of a state of the machine behave alike if they ever did, and exploring one
//! of them is enough (Ip and Dill, Better verification through symmetry, 1996, give the argument for symmetries that
//! are declared instead).
//!
//! A protocol that prefers one agent, line or word fails these checks. The permutation that failed is then left out.

use chorus_protocol::access::Completion;
use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::controller::{LineView, Outcome, Passage};
use chorus_protocol::line::LineData;
use chorus_protocol::message::{Channel, Message, MessageSpec};
use chorus_protocol::sharers::Sharers;

use crate::node::{Node, Nodes, StepInput, StepResult, Victim};
use crate::program::WORDS;
use crate::symmetry::{Group, Permutation};

const NONE: u32 = u32::MAX;

/// The images of everything that was seen, under every permutation of a group.
#[derive(Debug, Default)]
pub struct Mirrors {
    group: Option<Group>,
    specs: &'static [MessageSpec],
    /// For each permutation, the image of each state of a controller.
    nodes: Vec<Vec<u32>>,
    /// For each permutation, the image of each message.
    messages: Vec<Vec<u32>>,
    /// For each permutation, the image of each request.
    requests: Vec<Vec<u32>>,
    /// The permutations for which a check failed.
    broken: Vec<usize>,
    /// The permutation for which some step sent messages that take no time in another order than its image did.
    reordered: Option<usize>,
    /// Whether some message that takes no time made its receiver send or replace something.
    chained: bool,
}

impl Mirrors {
    /// The group that has no permutation but the identity.
    pub fn trivial() -> Mirrors {
        Mirrors::default()
    }

    /// The images under `group`, beginning with the initial states of the controllers.
    pub fn new(group: Group, nodes: &Nodes, initial: &[u32], specs: &'static [MessageSpec]) -> Mirrors {
        let order = group.order();
        let mut mirrors =
            Mirrors { specs, nodes: vec![Vec::new(); order], messages: vec![Vec::new(); order], ..Mirrors::default() };
        for (index, permutation) in (0..order).map(|index| (index, group.element(index))) {
            let requests = nodes.requests();
            let image = |number: usize| {
                let request = permutation.request(nodes.request(number as u32));
                (0..requests).position(|other| *nodes.request(other as u32) == request)
            };
            let images: Option<Vec<u32>> = (0..requests).map(|number| Some(image(number)? as u32)).collect();
            if images.is_none() {
                mirrors.broken.push(index);
            }
            mirrors.requests.push(images.unwrap_or_default());
            for (agent, &node) in initial.iter().enumerate() {
                let to = permutation.agent(AgentId(agent as u16));
                mirrors.set_node(nodes, permutation, index, node, initial[usize::from(to.0)]);
            }
        }
        mirrors.group = Some(group);
        mirrors
    }

    /// The number of permutations.
    pub fn order(&self) -> usize {
        self.group.as_ref().map_or(1, Group::order)
    }

    /// The group, unless it has one element only.
    pub fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// The permutations that the protocol has been seen not to keep.
    pub fn broken(&self) -> &[usize] {
        &self.broken
    }

    /// The image of a controller's state.
    #[inline]
    pub fn node(&self, element: usize, number: u32) -> u32 {
        self.nodes[element][number as usize]
    }

    /// The image of a message.
    #[inline]
    pub fn message(&self, element: usize, number: u32) -> u32 {
        self.messages[element][number as usize]
    }

    /// Adds a message with all its images.
    pub fn learn_message(&mut self, nodes: &mut Nodes, message: &Message<WORDS>) {
        let number = nodes.add_message(message);
        self.mirror_message(nodes, number);
    }

    /// Computes a message after time has passed, and all its images.
    pub fn learn_aged(&mut self, nodes: &mut Nodes, number: u32, passage: Passage) {
        for element in 0..self.order() {
            let image = if self.group.is_some() { self.message(element, number) } else { number };
            let aged = nodes.aged_message(image, passage);
            self.mirror_message(nodes, aged);
        }
    }

    fn mirror_message(&mut self, nodes: &mut Nodes, number: u32) {
        let Some(group) = &self.group else { return };
        if self.messages[0].get(number as usize).is_some_and(|&image| image != NONE) {
            return;
        }
        let message = *nodes.message(number);
        let order = group.order();
        let images: Vec<u32> = (0..order).map(|g| nodes.add_message(&group.element(g).message(&message))).collect();
        for (g, &image) in images.iter().enumerate() {
            for h in 0..order {
                let table = &mut self.messages[h];
                table.resize(table.len().max(nodes.all_messages().len()), NONE);
                table[image as usize] = images[group.product(h, g)];
            }
        }
    }

    /// Runs a step and all its images, and checks that they are images of each other.
    pub fn learn_step(&mut self, nodes: &mut Nodes, node: u32, input: StepInput) {
        if self.group.is_none() {
            nodes.step(node, input);
            return;
        }
        let images: Vec<u32> = (0..self.order())
            .map(|element| {
                let input = self.input(element, input);
                nodes.step(self.node(element, node), input)
            })
            .collect();
        for &image in &images {
            for position in 0..nodes.result(image).sent.len() {
                let sent = nodes.result(image).sent[position];
                self.mirror_message(nodes, sent);
            }
        }
        let Some(group) = self.group.take() else { return };
        for (element, &image) in images.iter().enumerate() {
            let permutation = group.element(element);
            if !self.same(permutation, element, nodes, [images[0], image]) {
                self.broken.push(element);
            }
            for second in 0..group.order() {
                let [from, to] = [image, images[group.product(second, element)]].map(|step| nodes.result(step).after);
                self.set_node(nodes, group.element(second), second, from, to);
            }
        }
        self.note_instants(nodes, nodes.result(images[0]));
        if self.chained {
            self.broken.extend(self.reordered);
        }
        self.group = Some(group);
    }

    /// The image of an input.
    fn input(&self, element: usize, input: StepInput) -> StepInput {
        match input {
            StepInput::Request(number) => StepInput::Request(self.requests[element][number as usize]),
            StepInput::Message(number) => StepInput::Message(self.message(element, number)),
            StepInput::Evict(victim) => {
                let line = victim.line();
                let image = self.group.as_ref().map_or(line, |group| group.element(element).line(line));
                StepInput::Evict(victim.with_line(image))
            }
            StepInput::Time(passage) => StepInput::Time(passage),
        }
    }

    /// Notes the image of a controller's state. It must agree with the image noted before, and so must the lines that
    /// both states show.
    fn set_node(&mut self, nodes: &Nodes, permutation: &Permutation, element: usize, from: u32, to: u32) {
        let table = &mut self.nodes[element];
        table.resize(table.len().max(nodes.all_nodes().len()), NONE);
        let known = &mut table[from as usize];
        if *known == to {
            return;
        }
        let first = *known == NONE;
        *known = to;
        if !first || !shows_the_same(permutation, nodes, from, to) {
            self.broken.push(element);
        }
    }

    /// Whether the second step is the mirror image of the first.
    fn same(&mut self, permutation: &Permutation, element: usize, nodes: &Nodes, steps: [u32; 2]) -> bool {
        let [step, image] = steps.map(|step| nodes.result(step));
        let outcome = match (step.outcome, image.outcome) {
            (Ok(Outcome::Evict(from)), Ok(Outcome::Evict(to)))
            | (Ok(Outcome::EvictEntry(from)), Ok(Outcome::EvictEntry(to))) => permutation.line(from) == to,
            (Ok(from), Ok(to)) => from == to,
            (Err(from), Err(to)) => {
                (from.state, from.event, permutation.line(from.line)) == (to.state, to.event, to.line)
            }
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        };
        let key = |completion: &Completion<WORDS>| (completion.txn, completion.data.0);
        let mut ended: Vec<_> = step.completions.iter().map(|end| key(&permutation.completion(end))).collect();
        let mut image_ended: Vec<_> = image.completions.iter().map(key).collect();
        ended.sort_unstable();
        image_ended.sort_unstable();
        let sent: Vec<u32> = step.sent.iter().map(|&number| self.messages[element][number as usize]).collect();
        let channels = self.same_channels(element, nodes, &sent, &image.sent);
        outcome && step.honest == image.honest && ended == image_ended && channels
    }

    /// Whether the image of a step sends the mirrored messages, in the same order in every channel. The order between
    /// channels makes no difference, except between messages that take no time, and there only if their receivers
    /// answer.
    fn same_channels(&mut self, element: usize, nodes: &Nodes, sent: &[u32], image: &[u32]) -> bool {
        if sent == image {
            return true;
        }
        let channel = |&number: &u32| self.specs[usize::from(nodes.message(number).kind.0)].channel;
        let by_channel = |list: &[u32]| {
            let place = |number: &u32| match channel(number) {
                Channel::Instant => (0, 0),
                Channel::Memory => (1, 0),
                Channel::Virtual(network) => (2, network),
            };
            let mut ordered = list.to_vec();
            ordered.sort_by_key(|number| (place(number), nodes.message(*number).dst));
            ordered
        };
        let instants = |list: &[u32]| {
            let instant = |number: &&u32| channel(number) == Channel::Instant;
            list.iter().filter(instant).copied().collect::<Vec<u32>>()
        };
        let (same, reordered) = (by_channel(sent) == by_channel(image), instants(sent) != instants(image));
        if reordered {
            self.reordered.get_or_insert(element);
        }
        same
    }

    fn note_instants(&mut self, nodes: &Nodes, step: &StepResult) {
        let StepInput::Message(number) = step.input else { return };
        let spec = &self.specs[usize::from(nodes.message(number).kind.0)];
        let replaces = matches!(step.outcome, Ok(Outcome::Evict(_) | Outcome::EvictEntry(_)));
        self.chained |= spec.channel == Channel::Instant && (replaces || !step.sent.is_empty());
    }
}

/// Whether the lines that two states of controllers show are mirror images.
fn shows_the_same(permutation: &Permutation, nodes: &Nodes, from: u32, to: u32) -> bool {
    let (from, to) = (nodes.node(from), nodes.node(to));
    let line_shown = |(line, view): (usize, &LineView<WORDS>)| {
        let image = permutation.line(LineAddr(line as u64)).0 as usize;
        let leaves = |node: &Node, line: usize| {
            [Victim::Line(line as u8), Victim::Entry(line as u8)].map(|victim| node.evictable(victim))
        };
        same_view(permutation, view, &to.views[image]) && leaves(from, line) == leaves(to, image)
    };
    permutation.agent(AgentId(from.agent)) == AgentId(to.agent)
        && from.quiescent == to.quiescent
        && from.views.iter().enumerate().all(line_shown)
}

fn same_view(permutation: &Permutation, view: &LineView<WORDS>, image: &LineView<WORDS>) -> bool {
    let mut sharers = Sharers::NONE;
    view.sharers.iter().for_each(|agent| sharers.insert(permutation.agent(agent)));
    let shown = |view: &LineView<WORDS>, data: &LineData<WORDS>| {
        let mut shown = LineData::default();
        shown.merge(view.readable, data);
        shown.merge(view.dirty, data);
        shown
    };
    view.state == image.state
        && permutation.mask(view.readable) == image.readable
        && permutation.mask(view.dirty) == image.dirty
        && sharers == image.sharers
        && permutation.data(&shown(view, &view.data)) == shown(image, &image.data)
}
