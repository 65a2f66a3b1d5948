//! Draws machines and programs.

use chorus_protocol::registry::{Promise, Protocol};

use super::program::{Access, Action, Boundary, Kind, Phase, Program, Seat, WORDS, Word};
use super::random::{Random, derive};
use super::setup::{Episode, Setup, draw_setup};

/// Episode number `index` of a seed.
pub fn draw_episode(protocol: &dyn Protocol, seed: u64, index: u64) -> Episode {
    let mut random = Random::new(derive(seed, index));
    let mut setup = draw_setup(protocol, &mut random);
    let seats: Vec<Seat> = (0..setup.topology.l1s)
        .flat_map(|cache| (0..setup.waves).map(move |slot| Seat { cache, slot }))
        .filter(|_| !random.once_in(8))
        .collect();
    let communicates = protocol.promises().contains(&Promise::Communication);
    let program = if random.once_in(3) {
        setup.fences = !random.once_in(4);
        // Few words make races.
        setup.lines = setup.lines.min(random.pick(&[1, 2, 3, 4]));
        draw_racy(&setup, seats, &mut random)
    } else {
        draw_race_free(&setup, seats, communicates, &mut random)
    };
    Episode { setup, program, schedule: random.next() }
}

fn draw_racy(setup: &Setup, seats: Vec<Seat>, random: &mut Random) -> Program {
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
            chance if chance.is_multiple_of(2) => Action::Plain(Access::Load(word)),
            _ => Action::Plain(Access::Store(word)),
        }
    };
    let actions = seats.iter().map(|_| (0..length).map(|_| draw_action()).collect()).collect();
    Program { kind: Kind::Racy, seats, phases: vec![Phase { actions, end: Boundary::Kernel }] }
}

/// Which words are used for what through the whole program.
struct Roles {
    barrier: Option<Word>,
    locks: Vec<Word>,
    flags: Vec<Word>,
    counters: Vec<Word>,
    data: Vec<Word>,
}

impl Roles {
    fn draw(setup: &Setup, communicates: bool, random: &mut Random) -> Roles {
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
                0 | 1 if communicates && roles.locks.len() < 2 => roles.locks.push(word),
                2 if communicates && roles.flags.len() < 2 => roles.flags.push(word),
                3 if roles.counters.len() < 2 => roles.counters.push(word),
                _ => roles.data.push(word),
            }
        }
        roles
    }
}

/// What the data words of one phase are for.
struct PhaseRoles {
    /// The words of each wavefront.
    own: Vec<Vec<Word>>,
    read_only: Vec<Word>,
    /// The words that each lock guards.
    guarded: Vec<Vec<Word>>,
    /// The words that go with each flag, and who raises it.
    handed: Vec<(usize, Vec<Word>)>,
}

impl PhaseRoles {
    fn draw(roles: &Roles, waves: usize, random: &mut Random) -> PhaseRoles {
        let mut drawn = PhaseRoles {
            own: vec![Vec::new(); waves],
            read_only: Vec::new(),
            guarded: vec![Vec::new(); roles.locks.len()],
            handed: roles.flags.iter().map(|_| (random.below(waves as u32) as usize, Vec::new())).collect(),
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

fn draw_race_free(setup: &Setup, seats: Vec<Seat>, communicates: bool, random: &mut Random) -> Program {
    let roles = Roles::draw(setup, communicates, random);
    let waves = seats.len();
    let phases = random.between(1, 4);
    let length = random.pick(&[3, 6, 12]);
    let mut program = Program { kind: Kind::DataRaceFree, seats, phases: Vec::new() };
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

/// The actions of one wavefront in one phase. It waits for flags only when it has raised its own, so nobody waits in a circle.
fn draw_wave(wave: usize, length: u32, roles: &Roles, phase: &PhaseRoles, random: &mut Random) -> Vec<Action> {
    let mut actions = Vec::new();
    for _ in 0..length {
        let Some(action) = draw_free_action(wave, roles, phase, random) else { continue };
        // Stores in quick succession make timestamps run ahead of time.
        let times = match action {
            Action::Plain(Access::Store(_)) if random.once_in(4) => random.between(2, 8),
            _ => 1,
        };
        actions.extend(std::iter::repeat_n(action, times as usize));
    }
    let mut publish_end = 0;
    for (flag, (producer, words)) in roles.flags.iter().zip(&phase.handed) {
        if *producer == wave && !words.is_empty() {
            let at = random.between(publish_end, actions.len() as u32);
            actions.insert(at as usize, Action::Publish { flag: *flag, words: words.clone() });
            publish_end = at + 1;
        }
    }
    for (flag, (producer, words)) in roles.flags.iter().zip(&phase.handed) {
        if *producer != wave && !words.is_empty() && !random.once_in(3) {
            let at = random.between(publish_end, actions.len() as u32) as usize;
            let loads = (0..random.between(1, 3)).map(|_| random.pick(words)).collect();
            actions.insert(at, Action::Consume { flag: *flag, by_atomics: random.once_in(3), words: loads });
        }
    }
    actions
}

/// An action that waits for nobody but the holder of a lock.
fn draw_free_action(wave: usize, roles: &Roles, phase: &PhaseRoles, random: &mut Random) -> Option<Action> {
    let access = |word: Word, random: &mut Random| {
        if random.once_in(2) { Access::Load(word) } else { Access::Store(word) }
    };
    let own = &phase.own[wave];
    if random.once_in(6) {
        return Some(Action::Peek(random.pick(&roles.data)));
    }
    match random.below(8) {
        0 if !phase.read_only.is_empty() => Some(Action::Plain(Access::Load(random.pick(&phase.read_only)))),
        1 if !roles.counters.is_empty() => Some(Action::Count(random.pick(&roles.counters))),
        2..5 if !roles.locks.is_empty() => {
            let lock = random.below(roles.locks.len() as u32) as usize;
            let guarded = &phase.guarded[lock];
            let accesses = if guarded.is_empty() { 0 } else { random.between(1, 4) };
            let inside = (0..accesses).map(|_| random.pick(guarded)).collect::<Vec<_>>();
            let inside = inside.into_iter().map(|word| access(word, random)).collect();
            Some(Action::Critical { lock: roles.locks[lock], by_exchange: random.once_in(3), inside })
        }
        _ if !own.is_empty() => {
            let word = random.pick(own);
            Some(Action::Plain(access(word, random)))
        }
        _ if !phase.read_only.is_empty() => Some(Action::Plain(Access::Load(random.pick(&phase.read_only)))),
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
