//! One state for all mirror images of a state: the smallest of them, compared number by number.

use crate::hashing::FastMap;
use crate::machine::ExploredMachine;
use crate::mirror::Mirrors;
use crate::state::{Progress, State};
use crate::symmetry::{Group, Permutation};
use crate::words::Words;

/// The effect of a permutation on the numbers of a state.
struct Image {
    /// For each place before the messages, the place that its number comes from.
    sources: Vec<u16>,
    permutation: Permutation,
}

/// Finds the smallest image of a state under a group of permutations.
pub(crate) struct Canonical {
    images: Vec<Image>,
    controllers: usize,
    ops_at: usize,
    network_at: usize,
    /// The words of the alternatives that concern several, by place and alternative.
    several: FastMap<(usize, u8), Words>,
}

/// Memory that finding the smallest image needs in between, used again from state to state.
#[derive(Default)]
pub(crate) struct Scratch {
    smallest: State,
    network: Vec<u32>,
}

impl Canonical {
    /// Prepares the images for the group of permutations that a machine follows.
    pub fn of(machine: &ExploredMachine) -> Canonical {
        let images = match machine.mirrors.group() {
            None => Vec::new(),
            Some(group) => (0..group.order()).map(|element| image(machine, group, element)).collect(),
        };
        let ExploredMachine { controllers, ops_at, network_at, .. } = *machine;
        Canonical { images, controllers, ops_at, network_at, several: several(machine) }
    }

    /// Number of images of a state, itself included.
    pub fn order(&self) -> usize {
        self.images.len().max(1)
    }

    /// Makes a state the smallest of its images.
    pub fn canonicalise(&self, machine: &ExploredMachine, state: &mut State, scratch: &mut Scratch) {
        if self.images.is_empty() {
            return;
        }
        let Scratch { smallest, network } = scratch;
        smallest.clone_from(state);
        for element in 1..self.images.len() {
            self.take_smaller(machine, element, state, smallest, network);
        }
        std::mem::swap(state, smallest);
    }

    /// Image number `element` of a state.
    pub fn image(&self, machine: &ExploredMachine, element: usize, state: &State) -> State {
        if self.images.is_empty() {
            return state.clone();
        }
        let mut mirrored: State =
            (0..self.network_at).map(|place| self.number(&machine.mirrors, element, place, state)).collect();
        self.network(machine, element, state, &mut mirrored);
        mirrored
    }

    /// Replaces `smallest` by an image of `state`, if that is smaller.
    fn take_smaller(
        &self,
        machine: &ExploredMachine,
        element: usize,
        state: &State,
        smallest: &mut State,
        network: &mut Vec<u32>,
    ) {
        let mut smaller = false;
        for (place, least) in smallest[..self.network_at].iter_mut().enumerate() {
            let number = self.number(&machine.mirrors, element, place, state);
            if !smaller && number > *least {
                return;
            }
            smaller |= number < *least;
            *least = number;
        }
        if state.len() == self.network_at {
            return;
        }
        network.clear();
        self.network(machine, element, state, network);
        if smaller || network[..] < smallest[self.network_at..] {
            smallest[self.network_at..].copy_from_slice(network);
        }
    }

    /// The number in one place of an image.
    #[inline]
    fn number(&self, mirrors: &Mirrors, element: usize, place: usize, state: &State) -> u32 {
        let Image { sources, permutation } = &self.images[element];
        let source = usize::from(sources[place]);
        let number = state[source];
        if place < self.controllers {
            return mirrors.node(element, number);
        }
        if place < self.ops_at {
            return permutation.value(number);
        }
        let choices = &permutation.choices[source - self.ops_at];
        match Progress::unpack(number) {
            Progress::Waiting => number,
            Progress::Outstanding(choice) => Progress::Outstanding(choices[usize::from(choice)]).pack(),
            Progress::Answered(choice, values) => {
                let mirrored = match self.several.get(&(source - self.ops_at, choice)) {
                    None => permutation.value(values),
                    Some(&words) => permutation.packed(words, values),
                };
                Progress::Answered(choices[usize::from(choice)], mirrored).pack()
            }
        }
    }

    /// Appends the messages of an image in their order: by channel, and by age within a channel.
    fn network(&self, machine: &ExploredMachine, element: usize, state: &State, network: &mut Vec<u32>) {
        let first = network.len();
        for &number in &state[self.network_at..] {
            let number = machine.mirrors.message(element, number);
            let channel = machine.channel(number);
            let mut place = network.len();
            while place > first && machine.channel(network[place - 1]) > channel {
                place -= 1;
            }
            network.insert(place, number);
        }
    }
}

/// The words of all alternatives that concern several, by place and alternative.
fn several(machine: &ExploredMachine) -> FastMap<(usize, u8), Words> {
    let mut several = FastMap::default();
    for (thread, spec) in machine.config().threads.iter().enumerate() {
        for (slot, step) in spec.steps.iter().enumerate() {
            for (choice, op) in (0..).zip(&step.alternatives) {
                if let Some(words) = op.words().filter(|words| words.are_several()) {
                    several.insert((thread * machine.slots + slot, choice), words);
                }
            }
        }
    }
    several
}

fn image(machine: &ExploredMachine, group: &Group, element: usize) -> Image {
    let permutation = group.element(element).clone();
    let mut sources = vec![0; machine.network_at];
    for agent in 0..machine.controllers {
        sources[usize::from(permutation.agents[agent])] = agent as u16;
    }
    for index in 0..machine.ops_at - machine.controllers {
        let to = permutation.location(crate::program::Location::from_index(index)).index();
        sources[machine.controllers + to] = (machine.controllers + index) as u16;
    }
    for (thread, to) in permutation.threads.iter().enumerate() {
        for slot in 0..machine.slots {
            let [from, to] = [thread, *to].map(|thread| machine.ops_at + thread * machine.slots + slot);
            sources[to] = from as u16;
        }
    }
    Image { sources, permutation }
}
