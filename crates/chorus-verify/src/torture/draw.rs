//! Draws random machines and programs.

use chorus_protocol::access::{Order, Scope};
use chorus_protocol::registry::{MemoryModel, Promise, Protocol, Reach, Values};

use super::program::{Action, Boundary, Kind, Phase, PlainAccess, Program, Scopes, WORDS, WaveSlot, Word};
use super::random::{Random, derive};
use super::setup::{Episode, Setup, draw_setup};
use crate::heterogeneous;

/// Episode number `index` of a seed.
pub fn draw_episode(protocol: &dyn Protocol, seed: u64, index: u64) -> Episode {
    let mut random = Random::new(derive(seed, index));
    let mut setup = draw_setup(protocol, &mut random);
    let slots: Vec<WaveSlot> = (0..setup.topology.l1s)
        .flat_map(|cache| (0..setup.waves).map(move |slot| WaveSlot { cache, slot }))
        .filter(|_| !random.once_in(8))
        .collect();
    let program = if random.once_in(3) {
        setup.fences = !random.once_in(4);
        // Few words make many races.
        setup.lines = setup.lines.min(random.pick(&[1, 2, 3, 4]));
        let mut scopes = scopes(protocol, &setup);
        if heterogeneous::applies(protocol) {
            scopes.races = random.pick(&[Order::Weak, Order::Relaxed]);
        }
        draw_racy(&setup, scopes, slots, &mut random)
    } else {
        draw_race_free(protocol, &setup, slots, &mut random)
    };
    Episode { setup, program, schedule: random.next() }
}

/// The scope that contains all wavefronts.
fn widest(setup: &Setup) -> Scope {
    if setup.topology.gpus > 1 || setup.topology.cpus > 0 { Scope::System } else { Scope::Gpu }
}

/// The scopes of synchronisation, and the order of accesses that race: in PTX, weak ones promise nothing, so that they
/// must be strong there.
fn scopes(protocol: &dyn Protocol, setup: &Setup) -> Scopes {
    let widest = widest(setup);
    let races = if protocol.model() == MemoryModel::Ptx { Order::Relaxed } else { Order::Weak };
    Scopes { widest, narrow: Vec::new(), races }
}

fn draw_racy(setup: &Setup, scopes: Scopes, slots: Vec<WaveSlot>, random: &mut Random) -> Program {
    let words = (u32::from(setup.lines) * WORDS as u32).min(random.between(1, 6));
    let length = random.pick(&[8, 15, 30, 60]);
    let atomics = random.pick(&[0, 2, 4, 8]);
    let mut draw_action = || {
        // Words are spread over the lines before a second word of a line is used.
        let index = random.below(words);
        let lines = u32::from(setup.lines);
        let word = Word((index % lines * WORDS as u32 + index / lines % WORDS as u32) as u8);
        match random.below(16) {
            chance if chance < atomics && chance.is_multiple_of(4) => Action::CompareExchange(word),
            chance if chance < atomics => Action::Exchange(word),
            15 if setup.fences => Action::Fence,
            chance if chance.is_multiple_of(2) => Action::Plain(PlainAccess::Load(word)),
            _ => Action::Plain(PlainAccess::Store(word)),
        }
    };
    let actions = slots.iter().map(|_| (0..length).map(|_| draw_action()).collect()).collect();
    Program { kind: Kind::Racy, scopes, slots, phases: vec![Phase { actions, end: Boundary::Kernel }] }
}

/// A word by which some wavefronts synchronise.
#[derive(Clone, Debug)]
struct Meeting {
    word: Word,
    /// The scope that contains all of them.
    scope: Scope,
    /// The numbers of the wavefronts.
    members: Vec<usize>,
}

/// Draws the wavefronts that synchronise by a word: all, or those of a GPU or beside a private cache where the protocol
/// knows scopes.
fn draw_meeting(word: Word, reach: Reach, setup: &Setup, slots: &[WaveSlot], random: &mut Random) -> Meeting {
    let topology = setup.topology;
    let widest = widest(setup);
    let scope = match reach {
        Reach::OneModule => widest,
        Reach::AnyMachine => random.pick(&[widest, widest, Scope::System, Scope::Gpu, Scope::Gpu, Scope::WorkGroup]),
    };
    let gpu = |slot: &WaveSlot| topology.gpu_of(topology.module_of(topology.l1(slot.cache)));
    let (cache, one_gpu) = match scope {
        Scope::System => (0, 0),
        _ if scope == widest => (0, 0),
        Scope::Gpu => (0, random.below(u32::from(topology.gpus)) as u16),
        Scope::WorkGroup => (random.below(u32::from(topology.l1s)) as u16, 0),
    };
    let is_member = |slot: &WaveSlot| match scope {
        Scope::System => true,
        _ if scope == widest => true,
        Scope::Gpu => gpu(slot) == one_gpu,
        Scope::WorkGroup => slot.cache == cache,
    };
    let members = slots.iter().enumerate().filter(|(_, slot)| is_member(slot)).map(|(wave, _)| wave).collect();
    Meeting { word, scope, members }
}

/// The uses of words through the whole program.
struct Roles {
    barrier: Option<Word>,
    locks: Vec<Meeting>,
    flags: Vec<Meeting>,
    counters: Vec<Meeting>,
    data: Vec<Word>,
}

impl Roles {
    fn draw(protocol: &dyn Protocol, setup: &Setup, slots: &[WaveSlot], random: &mut Random) -> Roles {
        let promised = protocol.promises().contains(&Promise::Communication);
        let communicates = promised && protocol.values() == Values::Carried;
        let meeting = |word, random: &mut Random| draw_meeting(word, protocol.reach(), setup, slots, random);
        let mut words: Vec<Word> = (0..setup.lines * WORDS as u8).map(Word).collect();
        random.shuffle(&mut words);
        let mut roles =
            Roles { barrier: None, locks: Vec::new(), flags: Vec::new(), counters: Vec::new(), data: Vec::new() };
        roles.data.extend(words.pop());
        if communicates && !random.once_in(4) {
            roles.barrier = words.pop();
        }
        while let Some(word) = words.pop() {
            match random.below(8) {
                0 | 1 if communicates && roles.locks.len() < 2 => roles.locks.push(meeting(word, random)),
                2 if communicates && roles.flags.len() < 2 => roles.flags.push(meeting(word, random)),
                3 if roles.counters.len() < 2 => roles.counters.push(meeting(word, random)),
                _ => roles.data.push(word),
            }
        }
        roles
    }
}

/// The uses of data words in one phase.
struct PhaseRoles {
    /// The words of each wavefront.
    own: Vec<Vec<Word>>,
    read_only: Vec<Word>,
    /// The words that each lock guards.
    guarded: Vec<Vec<Word>>,
    /// The words that go with each flag, and the wavefront that raises it, if one can.
    handed: Vec<(Option<usize>, Vec<Word>)>,
}

impl PhaseRoles {
    fn draw(roles: &Roles, waves: usize, random: &mut Random) -> PhaseRoles {
        let producer = |flag: &Meeting, random: &mut Random| {
            let index = random.below(flag.members.len() as u32) as usize;
            flag.members.get(index).copied()
        };
        let mut drawn = PhaseRoles {
            own: vec![Vec::new(); waves],
            read_only: Vec::new(),
            guarded: vec![Vec::new(); roles.locks.len()],
            handed: roles.flags.iter().map(|flag| (producer(flag, random), Vec::new())).collect(),
        };
        for &word in &roles.data {
            match random.below(8) {
                0 => drawn.read_only.push(word),
                1..4 if !roles.locks.is_empty() => {
                    drawn.guarded[random.below(roles.locks.len() as u32) as usize].push(word);
                }
                4..6 if !roles.flags.is_empty() => {
                    drawn.handed[random.below(roles.flags.len() as u32) as usize].1.push(word);
                }
                _ => drawn.own[random.below(waves as u32) as usize].push(word),
            }
        }
        drawn
    }
}

fn draw_race_free(protocol: &dyn Protocol, setup: &Setup, slots: Vec<WaveSlot>, random: &mut Random) -> Program {
    let roles = Roles::draw(protocol, setup, &slots, random);
    let waves = slots.len();
    let phases = random.between(1, 4);
    // Where values are those of a coherent machine, copies stay as they are even when a kernel begins.
    let phases = if protocol.values() == Values::Functional { 1 } else { phases };
    let length = random.pick(&[3, 6, 12]);
    let meetings = [&roles.locks, &roles.flags, &roles.counters].into_iter().flatten();
    let narrow = meetings.map(|meeting| (meeting.word, meeting.scope)).collect();
    let scopes = Scopes { narrow, ..scopes(protocol, setup) };
    let mut program = Program { kind: Kind::DataRaceFree, scopes, slots, phases: Vec::new() };
    if waves == 0 {
        return program;
    }
    for _ in 0..phases {
        let phase_roles = PhaseRoles::draw(&roles, waves, random);
        let actions = (0..waves).map(|wave| draw_wave(wave, length, &roles, &phase_roles, random)).collect();
        let end = match roles.barrier {
            Some(word) if !random.once_in(4) => Boundary::Barrier(word),
            Some(_) | None => Boundary::Kernel,
        };
        program.phases.push(Phase { actions, end });
    }
    program
}

/// Draws the actions of one wavefront in one phase. The wavefront waits for flags only after it has raised its own, so
/// that wavefronts never wait in a circle.
fn draw_wave(wave: usize, length: u32, roles: &Roles, phase: &PhaseRoles, random: &mut Random) -> Vec<Action> {
    let mut actions = Vec::new();
    for _ in 0..length {
        let Some(action) = draw_free_action(wave, roles, phase, random) else { continue };
        // Stores in quick succession make timestamps run ahead of time.
        let times = match action {
            Action::Plain(PlainAccess::Store(_)) if random.once_in(4) => random.between(2, 8),
            _ => 1,
        };
        actions.extend(std::iter::repeat_n(action, times as usize));
    }
    let mut publish_end = 0;
    for (flag, (producer, words)) in roles.flags.iter().zip(&phase.handed) {
        if *producer == Some(wave) && !words.is_empty() {
            let at = random.between(publish_end, actions.len() as u32);
            actions.insert(at as usize, Action::Publish { flag: flag.word, words: words.clone() });
            publish_end = at + 1;
        }
    }
    for (flag, (producer, words)) in roles.flags.iter().zip(&phase.handed) {
        let consumes = *producer != Some(wave) && flag.members.contains(&wave);
        if consumes && !words.is_empty() && !random.once_in(3) {
            let at = random.between(publish_end, actions.len() as u32) as usize;
            let loads = (0..random.between(1, 3)).map(|_| random.pick(words)).collect();
            actions.insert(at, Action::Consume { flag: flag.word, by_atomics: random.once_in(3), words: loads });
        }
    }
    actions
}

/// Draws an action that waits for nobody but the holder of a lock.
fn draw_free_action(wave: usize, roles: &Roles, phase: &PhaseRoles, random: &mut Random) -> Option<Action> {
    let access = |word: Word, random: &mut Random| {
        if random.once_in(2) { PlainAccess::Load(word) } else { PlainAccess::Store(word) }
    };
    let own = &phase.own[wave];
    if random.once_in(6) {
        return Some(Action::Peek(random.pick(&roles.data)));
    }
    match random.below(8) {
        0 if !phase.read_only.is_empty() => Some(Action::Plain(PlainAccess::Load(random.pick(&phase.read_only)))),
        1 if !roles.counters.is_empty() => {
            let counter = &roles.counters[random.below(roles.counters.len() as u32) as usize];
            counter.members.contains(&wave).then_some(Action::Count(counter.word))
        }
        2..5 if !roles.locks.is_empty() => {
            let lock = random.below(roles.locks.len() as u32) as usize;
            if !roles.locks[lock].members.contains(&wave) {
                return None;
            }
            let guarded = &phase.guarded[lock];
            let accesses = if guarded.is_empty() { 0 } else { random.between(1, 4) };
            let inside = (0..accesses).map(|_| random.pick(guarded)).collect::<Vec<_>>();
            let inside = inside.into_iter().map(|word| access(word, random)).collect();
            Some(Action::Critical { lock: roles.locks[lock].word, by_exchange: random.once_in(3), inside })
        }
        _ if !own.is_empty() => {
            let word = random.pick(own);
            Some(Action::Plain(access(word, random)))
        }
        _ if !phase.read_only.is_empty() => Some(Action::Plain(PlainAccess::Load(random.pick(&phase.read_only)))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::registry;

    use super::*;

    #[test]
    fn an_episode_is_the_same_whenever_it_is_drawn() {
        let protocol = registry::find("gpu-vi").unwrap();
        assert_eq!(draw_episode(protocol, 7, 3), draw_episode(protocol, 7, 3));
        assert_ne!(draw_episode(protocol, 7, 3), draw_episode(protocol, 7, 4));
    }

    #[test]
    fn without_communication_nobody_waits_for_anybody() {
        let protocol = registry::find("no-coh").unwrap();
        for index in 0..200 {
            let program = draw_episode(protocol, 1, index).program;
            for phase in &program.phases {
                assert_eq!(phase.end, Boundary::Kernel);
                let waits = |action: &Action| matches!(action, Action::Critical { .. } | Action::Consume { .. });
                assert!(!phase.actions.iter().flatten().any(waits));
            }
        }
    }
}
