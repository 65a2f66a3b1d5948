//! The permutations of a machine's parts that map the machine to itself.
//!
//! A permutation moves threads with their private caches and wavefront slots, modules and GPUs with everything in them,
//! lines with their banks and memory channels, and the words within each line. Written values follow the operations
//! that write them. A permutation is a symmetry of a configuration if every thread's operations become those of the
//! thread in whose place it comes. Values are data to everything but arithmetic: where an atomic computes, or where a
//! thread's code decides by values, only permutations that leave all values alone count.
//!
//! Whether a protocol keeps such a permutation is not decided here: [`crate::mirror`] proves it, step by step.

use chorus_protocol::access::{AtomicOp, Completion, CoreRequest, Txn};
use chorus_protocol::address::{AgentId, LineAddr, Role, Topology};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;

use crate::config::MachineConfig;
use crate::issue::{index_of, txn_of};
use crate::program::{Location, Op, WORDS};
use crate::words::{Values as WordValues, Words};

/// One permutation of a machine's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// The image of each agent.
    pub agents: Vec<u16>,
    /// The image of each thread.
    pub threads: Vec<usize>,
    /// The image of each line.
    pub lines: Vec<u8>,
    /// The image of each word within every line.
    pub words: [u8; WORDS],
    /// The image of each value. Values beyond the table stay.
    pub values: Vec<u32>,
    /// The image of each alternative, for each thread and place: an alternative of the thread's image.
    pub choices: Vec<Vec<u8>>,
    /// The wavefront slots of the threads, and of their images.
    waves: Vec<(u16, u16)>,
    slots: usize,
}

impl Permutation {
    /// The image of a word of memory.
    pub fn location(&self, at: Location) -> Location {
        Location { line: self.lines[usize::from(at.line)], word: self.words[usize::from(at.word)] }
    }

    /// The image of a value.
    pub fn value(&self, value: u32) -> u32 {
        self.values.get(value as usize).copied().unwrap_or(value)
    }

    /// The image of the values that an operation returned, packed as the words of the operation have them.
    pub fn packed(&self, words: Words, values: u32) -> u32 {
        words.moved_values(values, |at| self.location(at), |value| self.value(value))
    }

    /// The image of an agent. Agents that do not exist stay.
    pub fn agent(&self, agent: AgentId) -> AgentId {
        AgentId(self.agents.get(usize::from(agent.0)).copied().unwrap_or(agent.0))
    }

    /// The image of a line. Lines that do not exist stay.
    pub fn line(&self, line: LineAddr) -> LineAddr {
        LineAddr(self.lines.get(line.0 as usize).map_or(line.0, |&line| u64::from(line)))
    }

    /// The image of a line's contents.
    pub fn data(&self, data: &LineData<WORDS>) -> LineData<WORDS> {
        let mut mirrored = LineData::default();
        for (word, to) in self.words.into_iter().enumerate() {
            mirrored.0[usize::from(to)] = self.value(data.0[word]);
        }
        mirrored
    }

    /// The image of a mask over a line's bytes.
    pub fn mask(&self, mask: ByteMask) -> ByteMask {
        let bytes = ByteMask::word(0);
        let mut mirrored = mask.0 & !ByteMask::full::<WORDS>().0;
        for (word, to) in self.words.into_iter().enumerate() {
            let [shift, to] = [word, usize::from(to)].map(|word| ByteMask::word(word).0.trailing_zeros());
            mirrored |= (mask.0 >> shift & bytes.0) << to;
        }
        ByteMask(mirrored)
    }

    /// The image of an operation's transaction name and wavefront slot. Names of no operation stay.
    fn operation(&self, txn: Txn, wave: u16) -> (Txn, u16) {
        let Some(index) = index_of(txn) else { return (txn, wave) };
        let thread = index / self.slots.max(1);
        match self.threads.get(thread) {
            None => (txn, wave),
            Some(to) => {
                let (from_wave, to_wave) = self.waves[thread];
                let wave = if wave == from_wave { to_wave } else { wave };
                (txn_of(to * self.slots + index % self.slots), wave)
            }
        }
    }

    /// The image of a message.
    pub fn message(&self, message: &Message<WORDS>) -> Message<WORDS> {
        let (txn, wave) = self.operation(message.txn, message.wave);
        Message {
            line: self.line(message.line),
            src: self.agent(message.src),
            dst: self.agent(message.dst),
            origin: self.agent(message.origin),
            txn,
            wave,
            mask: self.mask(message.mask),
            data: self.data(&message.data),
            ..*message
        }
    }

    /// The image of a request.
    pub fn request(&self, request: &CoreRequest<WORDS>) -> CoreRequest<WORDS> {
        let (txn, wave) = self.operation(request.txn, request.wave);
        let (mask, data) = (self.mask(request.mask), self.data(&request.data));
        // A fence concerns no line and carries the number of the first one.
        let line = if request.mask.is_empty() { request.line } else { self.line(request.line) };
        CoreRequest { line, mask, data, wave, txn, ..*request }
    }

    /// The image of a completion.
    pub fn completion(&self, completion: &Completion<WORDS>) -> Completion<WORDS> {
        Completion { txn: self.operation(completion.txn, 0).0, data: self.data(&completion.data) }
    }

    /// The permutation that applies `first` and then this one.
    fn after(&self, first: &Permutation) -> Permutation {
        let choices = first.choices.iter().enumerate().map(|(index, choices)| {
            let to = first.threads[index / self.slots] * self.slots + index % self.slots;
            choices.iter().map(|&choice| self.choices[to][usize::from(choice)]).collect()
        });
        let values = 0..self.values.len().max(first.values.len()) as u32;
        Permutation {
            agents: first.agents.iter().map(|&agent| self.agents[usize::from(agent)]).collect(),
            threads: first.threads.iter().map(|&thread| self.threads[thread]).collect(),
            lines: first.lines.iter().map(|&line| self.lines[usize::from(line)]).collect(),
            words: first.words.map(|word| self.words[usize::from(word)]),
            values: shortest(values.map(|value| self.value(first.value(value))).collect()),
            choices: choices.collect(),
            waves: first.threads.iter().zip(&first.waves).map(|(&to, from)| (from.0, self.waves[to].1)).collect(),
            slots: self.slots,
        }
    }
}

/// A table of values without the entries at its end that stay.
fn shortest(mut values: Vec<u32>) -> Vec<u32> {
    while values.len().checked_sub(1).is_some_and(|last| values[last] as usize == last) {
        values.pop();
    }
    values
}

/// Permutations that contain the products of any two of them. The first is the identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    elements: Vec<Permutation>,
    /// The product of any two elements: `products[h][g]` is `h` after `g`.
    products: Vec<Vec<usize>>,
}

impl Group {
    fn of(elements: Vec<Permutation>) -> Group {
        let find = |product: &Permutation| elements.iter().position(|element| element == product);
        let row = |h: &Permutation| elements.iter().filter_map(|g| find(&h.after(g))).collect();
        let products = elements.iter().map(row).collect();
        Group { elements, products }
    }

    /// Every symmetry of a configuration.
    pub fn of_config(config: &MachineConfig) -> Group {
        let mut elements = Vec::new();
        for lines in permutations(usize::from(config.lines)) {
            for words in permutations(WORDS) {
                for threads in permutations(config.threads.len()) {
                    elements.extend(symmetry(config, &lines, &words, &threads));
                }
            }
        }
        Group::of(elements)
    }

    /// A large subgroup without the elements of `excluded`.
    pub fn without(&self, excluded: &[usize]) -> Group {
        let mut kept = vec![0];
        for candidate in 1..self.order() {
            let closed = self.closure(&kept, candidate);
            if !closed.iter().any(|element| excluded.contains(element)) {
                kept = closed;
            }
        }
        Group::of(kept.into_iter().map(|element| self.elements[element].clone()).collect())
    }

    /// The number of permutations.
    pub fn order(&self) -> usize {
        self.elements.len()
    }

    /// The permutation number `index`.
    pub fn element(&self, index: usize) -> &Permutation {
        &self.elements[index]
    }

    /// The number of `second` after `first`.
    pub fn product(&self, second: usize, first: usize) -> usize {
        self.products[second][first]
    }

    /// The smallest set that contains some elements, one more, and all products.
    fn closure(&self, elements: &[usize], more: usize) -> Vec<usize> {
        let mut closed = elements.to_vec();
        closed.push(more);
        loop {
            let products = closed.iter().flat_map(|&h| closed.iter().map(move |&g| (h, g)));
            let new = products.map(|(h, g)| self.product(h, g)).find(|product| !closed.contains(product));
            let Some(new) = new else { break };
            closed.push(new);
        }
        closed.sort_unstable();
        closed.dedup();
        closed
    }
}

/// The most threads, lines or words that are permuted. Where there are more, they stay.
const MOST: usize = 5;

/// All permutations of `0..count`, in ascending order, so that the identity is the first.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count > MOST {
        return vec![(0..count).collect()];
    }
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |begun: Vec<usize>| {
            let free = (0..count).filter(|next| !begun.contains(next)).collect::<Vec<_>>();
            free.into_iter().map(move |next| begun.iter().copied().chain([next]).collect())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// The images of banks when modules and lines move; none if they do not fit together. The banks of a module move with
/// it. The bank that serves a line in some module becomes the bank that serves the line's image in the module's image.
fn banks_of(topology: Topology, modules: &[usize], lines: &[usize]) -> Option<Vec<u16>> {
    let bank = |module: usize, line: usize| {
        let agent = topology.bank_of_module(module as u16, LineAddr(line as u64));
        usize::from(topology.role(agent).1)
    };
    let served = modules.iter().enumerate().flat_map(|(module, &to)| {
        lines.iter().enumerate().map(move |(line, &image)| (bank(module, line), bank(to, image)))
    });
    let served: Vec<(usize, usize)> = served.collect();
    let per_module = usize::from(topology.banks_per_module());
    let others = modules.iter().enumerate().flat_map(|(module, &to)| {
        (0..per_module).map(move |place| (module * per_module + place, to * per_module + place))
    });
    let others = others.filter(|(from, _)| served.iter().all(|(other, _)| other != from));
    let banks = bijection(usize::from(topology.l2s), served.iter().copied().chain(others))?;
    Some(banks.into_iter().map(|bank| bank as u16).collect())
}

/// The images of modules when private caches move; none if caches of one module come to different modules, if modules
/// of one GPU come to different GPUs, or if the home of a line does not become the home of the line's image.
fn modules_of(topology: Topology, caches: &[(usize, usize)], lines: &[usize]) -> Option<Vec<usize>> {
    let module = |cache: usize| usize::from(topology.module_of(topology.l1(cache as u16)));
    let pairs = caches.iter().map(|&(from, to)| (module(from), module(to)));
    let modules = bijection(usize::from(topology.modules()), pairs)?;
    let gpu = |module: usize| topology.gpu_of(module as u16);
    let together = |a: usize, b: usize| gpu(a) == gpu(b);
    let count = 0..modules.len();
    let keeps_gpus = |a: usize| count.clone().all(|b| together(a, b) == together(modules[a], modules[b]));
    let home = |line: usize| usize::from(topology.home_module(LineAddr(line as u64)));
    let keeps_homes = lines.iter().enumerate().all(|(line, &to)| modules[home(line)] == home(to));
    (count.clone().all(keeps_gpus) && keeps_homes).then_some(modules)
}

/// The images of all private caches: those of threads as given, the others with their modules.
fn all_caches(topology: Topology, moved: &[(usize, usize)], modules: &[usize]) -> Option<Vec<usize>> {
    let per_module = usize::from(topology.l1s) / modules.len();
    let others = (0..usize::from(topology.l1s)).filter(|cache| moved.iter().all(|(from, _)| from != cache));
    let others = others.map(|cache| (cache, modules[cache / per_module] * per_module + cache % per_module));
    bijection(usize::from(topology.l1s), moved.iter().copied().chain(others))
}

/// The bijection of `0..count` that contains `pairs` and leaves the rest alone.
fn bijection(count: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Option<Vec<usize>> {
    let mut to = vec![None; count];
    for (from, target) in pairs {
        if to[from].is_some_and(|known| known != target) {
            return None;
        }
        to[from] = Some(target);
    }
    let to: Vec<usize> = to.into_iter().enumerate().map(|(from, to)| to.unwrap_or(from)).collect();
    let mut reached = to.clone();
    reached.sort_unstable();
    reached.into_iter().eq(0..count).then_some(to)
}

/// The images of agents when private caches and banks move. Translation units move with their caches, banks of an L3
/// and memory channels with the banks of the L2.
fn agents(topology: Topology, caches: &[usize], banks: &[u16]) -> Vec<u16> {
    let bank = |index: u16| banks[usize::from(index)];
    let place = |agent: AgentId| match topology.role(agent) {
        (Role::L1, index) => topology.l1(caches[usize::from(index)] as u16),
        (Role::L2, index) => topology.l2(bank(index)),
        (Role::L3, index) => topology.l3(bank(index)),
        (Role::Memory, index) => topology.memory(bank(index)),
        (Role::Tu, _) => agent,
    };
    let with_cache = |agent: AgentId| match topology.role(agent) {
        (Role::Tu, index) => topology.tu_of(place(topology.translated(index))).unwrap_or(agent),
        _ => place(agent),
    };
    (0..topology.agents()).map(|agent| with_cache(AgentId(agent)).0).collect()
}

/// The symmetry that moves lines, words and threads as given, if there is one.
fn symmetry(config: &MachineConfig, lines: &[usize], words: &[usize], threads: &[usize]) -> Option<Permutation> {
    let topology = config.topology;
    let spec = |thread: usize| &config.threads[thread];
    let caches = threads.iter().enumerate();
    let caches = caches.map(|(from, &to)| (usize::from(spec(from).cache), usize::from(spec(to).cache)));
    let moved: Vec<(usize, usize)> = caches.collect();
    let modules = modules_of(topology, &moved, lines)?;
    let caches = all_caches(topology, &moved, &modules)?;
    let banks = banks_of(topology, &modules, lines)?;
    // A CPU core's cache never takes the place of a compute unit's.
    if caches.iter().enumerate().any(|(from, &to)| topology.is_cpu(from as u16) != topology.is_cpu(to as u16)) {
        return None;
    }
    let mut permutation = Permutation {
        agents: agents(topology, &caches, &banks),
        threads: threads.to_vec(),
        lines: lines.iter().map(|&line| line as u8).collect(),
        words: std::array::from_fn(|word| words[word] as u8),
        values: Vec::new(),
        choices: Vec::new(),
        waves: threads.iter().enumerate().map(|(from, &to)| (spec(from).wave, spec(to).wave)).collect(),
        slots: config.longest(),
    };
    let mut values = Values { fixed: values_matter(config), pairs: vec![(0, 0)] };
    for (from, &to) in threads.iter().enumerate() {
        let (from, to) = (spec(from), spec(to));
        let same_code = match (&from.code, &to.code) {
            (None, None) => true,
            (Some(from), Some(to)) => from.becomes(to, |at| permutation.location(at)),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if !same_code || from.repeats != to.repeats || from.steps.len() != to.steps.len() {
            return None;
        }
        for slot in 0..permutation.slots {
            let (Some(step), Some(other)) = (from.steps.get(slot), to.steps.get(slot)) else {
                permutation.choices.push(Vec::new());
                continue;
            };
            if step.implied != other.implied || step.alternatives.len() != other.alternatives.len() {
                return None;
            }
            let target = |op: &Op| {
                let fits = |other: &Op| {
                    becomes(&permutation, op, other).is_some_and(|pairs| pairs.into_iter().all(|pair| values.add(pair)))
                };
                other.alternatives.iter().position(fits).map(|choice| choice as u8)
            };
            let choices = step.alternatives.iter().map(target).collect::<Option<Vec<u8>>>()?;
            permutation.choices.push(choices);
        }
    }
    for index in 0..usize::from(config.lines) * WORDS {
        let to = permutation.location(Location::from_index(index)).index();
        let initial = |index: usize| config.memory.get(index).copied().unwrap_or(0);
        values.add((initial(index), initial(to))).then_some(())?;
    }
    permutation.values = values.table()?;
    Some(permutation)
}

/// Whether something depends on values beyond passing them on.
fn values_matter(config: &MachineConfig) -> bool {
    let computes = |op: &Op| matches!(op, Op::Atomic { op, .. } if *op != AtomicOp::Exchange);
    let steps = |thread: &crate::config::ThreadSpec| {
        thread.code.is_some() || thread.steps.iter().flat_map(|step| &step.alternatives).any(computes)
    };
    config.threads.iter().any(steps)
}

/// The values that `op` writes, each with the value that its image `other` writes in its place, if `other` is its image
/// apart from values.
fn becomes(permutation: &Permutation, op: &Op, other: &Op) -> Option<Vec<(u32, u32)>> {
    let written = |op: &Op| match *op {
        Op::Store { values, .. } => values,
        Op::Atomic { operands, .. } => operands,
        Op::Load { .. } | Op::Fence { .. } | Op::Barrier { .. } | Op::Kernel(_) | Op::Command { .. } | Op::Settle => {
            WordValues::default()
        }
    };
    let moved = |at: Words| at.moved(|at| permutation.location(at));
    let mut image = *op;
    match &mut image {
        Op::Load { at, .. } => *at = moved(*at),
        Op::Store { at, values, .. } => (*at, *values) = (moved(*at), written(other)),
        Op::Atomic { at, operands, .. } => (*at, *operands) = (moved(*at), written(other)),
        Op::Command { bank, page, .. } => {
            *bank = permutation.agent(*bank);
            *page = page.map(|line| permutation.location(Location { line, word: 0 }).line);
        }
        Op::Fence { .. } | Op::Barrier { .. } | Op::Kernel(_) | Op::Settle => {}
    }
    let pair = |word: usize| (written(op)[word], written(other)[usize::from(permutation.words[word])]);
    (image == *other).then(|| (0..WORDS).map(pair).collect())
}

/// The image of each value. Zero, the initial content of memory, stays.
struct Values {
    /// Whether every value must stay.
    fixed: bool,
    pairs: Vec<(u32, u32)>,
}

/// Larger values are not followed, since programs use small ones.
const LARGEST_VALUE: u32 = 4096;

impl Values {
    /// Adds a pair, if it contradicts no other.
    fn add(&mut self, (from, to): (u32, u32)) -> bool {
        if self.fixed && from != to {
            return false;
        }
        match self.pairs.iter().find(|pair| pair.0 == from || pair.1 == to) {
            Some(&known) => known == (from, to),
            None => {
                self.pairs.push((from, to));
                true
            }
        }
    }

    /// The image of each value, if the pairs are a bijection.
    fn table(&self) -> Option<Vec<u32>> {
        let moved = self.pairs.iter().filter(|(from, to)| from != to);
        let largest = moved.map(|&(from, to)| from.max(to)).max().unwrap_or(0);
        if largest > LARGEST_VALUE {
            return None;
        }
        let pairs = self.pairs.iter().filter(|(from, to)| from != to);
        let pairs = pairs.map(|&(from, to)| (from as usize, to as usize));
        let table = bijection(largest as usize + 1, pairs)?;
        Some(shortest(table.into_iter().map(|value| value as u32).collect()))
    }
}
