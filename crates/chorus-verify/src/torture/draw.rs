//! Draws random programs, and the machines that they run on.

use chorus_protocol::access::{Order, Scope};
use chorus_protocol::registry::{MemoryModel, Promise, Protocol, Reach, Values};

use super::machines::{Extent, draw_setup, draw_slots};
use super::program::{
    Access, Action, Boundary, Does, Kind, Phase, Program, Scopes, Update, WORDS, WaveSlot, Word, Words,
};
use super::random::{Random, derive};
use super::setup::{Episode, Setup};

/// Episode number `index` of a seed.
pub fn draw_episode(protocol: &dyn Protocol, seed: u64, index: u64) -> Episode {
    let mut random = Random::new(derive(seed, index));
    let extent = Extent::of(index);
    let mut setup = draw_setup(protocol, extent, &mut random);
    let slots = draw_slots(&setup, &mut random);
    let program = if random.once_in(3) {
        setup.fences = !random.once_in(4);
        setup.read_only = 0;
        // Few words make many races.
        setup.lines = setup.lines.min(random.pick(&[1, 2, 3, 4]));
        draw_racy(protocol, &setup, extent, slots, &mut random)
    } else {
        draw_race_free(protocol, &setup, extent, slots, &mut random)
    };
    Episode { setup, program, schedule: random.next() }
}

/// The scope that contains all wavefronts.
fn widest(setup: &Setup) -> Scope {
    if setup.topology.gpus > 1 || setup.topology.cpus > 0 { Scope::System } else { Scope::Gpu }
}

/// Draws whether accesses that race are strong. In PTX they must be, since weak ones promise nothing there. Elsewhere
/// all accesses of a program are strong or none is: a weak load may be served by an older copy than a strong one.
fn races_are_strong(protocol: &dyn Protocol, random: &mut Random) -> bool {
    protocol.model() == MemoryModel::Ptx || random.once_in(2)
}

/// Draws an order for an access that is not weak.
fn strong_order(does: Does, random: &mut Random) -> Order {
    match does {
        Does::Load { .. } => random.pick(&[Order::Relaxed, Order::Relaxed, Order::Acquire]),
        Does::Store => random.pick(&[Order::Relaxed, Order::Relaxed, Order::Release]),
        Does::Update(_) => random.pick(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel]),
    }
}

/// Draws one of the words, or all of them.
fn some_of(words: Words, random: &mut Random) -> Words {
    if words.count() == 1 || random.once_in(2) {
        return words;
    }
    let among: Vec<Word> = words.iter().collect();
    Words::one(random.pick(&among))
}

fn draw_racy(
    protocol: &dyn Protocol,
    setup: &Setup,
    extent: Extent,
    slots: Vec<WaveSlot>,
    random: &mut Random,
) -> Program {
    let words = (u32::from(setup.lines) * WORDS as u32).min(random.between(1, 6));
    let length = extent.pick(&[3, 5, 8, 12], &[8, 15, 30, 60], random);
    let atomics = random.pick(&[0, 2, 4, 8]);
    let widest = widest(setup);
    let is_strong = races_are_strong(protocol, random);
    let several_one_in = random.pick(&[2, 4, 1000]);
    let mut draw_action = || {
        // Words are spread over the lines before a second word of a line is used.
        let index = random.below(words);
        let lines = u32::from(setup.lines);
        let word = Word((index % lines * WORDS as u32 + index / lines % WORDS as u32) as u8);
        let words = if random.once_in(several_one_in) { Words::whole(word.line()) } else { Words::one(word) };
        let does = match random.below(16) {
            chance if chance < atomics => Does::Update(random.pick(Update::TRACEABLE)),
            15 if setup.fences => return Action::Fence,
            chance if chance.is_multiple_of(2) => Does::Load { known: Some(words) },
            _ => Does::Store,
        };
        let is_ordered = is_strong || matches!(does, Does::Update(_));
        let order = if is_ordered { strong_order(does, random) } else { Order::Weak };
        let scope = random.pick(&[widest, widest, Scope::System]);
        Action::Plain(Access { does, words, order, scope })
    };
    let actions = slots.iter().map(|_| (0..length).map(|_| draw_action()).collect()).collect();
    let scopes = Scopes { widest, narrow: Vec::new() };
    Program { kind: Kind::Racy, scopes, slots, phases: vec![Phase { actions, end: Boundary::Kernel }], filled: 0 }
}

/// Words by which some wavefronts synchronise.
#[derive(Clone, Debug)]
struct Meeting {
    words: Words,
    /// The scope that contains all of them.
    scope: Scope,
    /// The numbers of the wavefronts.
    members: Vec<usize>,
}

/// Draws the wavefronts that synchronise by a word: all, or those of a GPU or beside a private cache where the protocol
/// knows scopes.
fn draw_meeting(words: Words, reach: Reach, setup: &Setup, slots: &[WaveSlot], random: &mut Random) -> Meeting {
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
    Meeting { words, scope, members }
}

/// The uses of words through the whole program.
#[derive(Default)]
struct Roles {
    barrier: Option<Word>,
    locks: Vec<Meeting>,
    flags: Vec<Meeting>,
    counters: Vec<Meeting>,
    /// Words in which every wavefront has a bit.
    bits: Vec<Meeting>,
    /// Data, word by word or in whole lines.
    data: Vec<Words>,
    /// Data that is never written.
    constants: Vec<Words>,
    /// A word that somebody raises, and the flag of somebody else who has seen it.
    relay: Option<(Word, Word)>,
    /// One access to data in so many has an order and a scope.
    strong_one_in: u32,
    /// Whether locks guard all data and wavefronts do little else than take them, so that data changes hands often.
    is_contended: bool,
}

impl Roles {
    fn draw(protocol: &dyn Protocol, setup: &Setup, slots: &[WaveSlot], random: &mut Random) -> Roles {
        let promised = protocol.promises().contains(&Promise::Communication);
        let communicates = promised && protocol.values() == Values::Carried;
        let meeting = |words, random: &mut Random| draw_meeting(words, protocol.reach(), setup, slots, random);
        let mut roles = Roles::default();
        let mut units = Roles::units(setup, random);
        if let Some(first) = units.pop() {
            roles.add_data(first, setup);
        }
        if communicates && !random.once_in(4) && setup.read_only == 0 {
            roles.barrier = units.pop().map(|words| roles.first_of(words, setup));
        }
        if communicates
            && random.once_in(3)
            && let Some(at) = units.iter().position(|words| !setup.is_read_only(words.line()))
        {
            let lock = Words::one(roles.first_of(units.remove(at), setup));
            roles.locks.push(meeting(lock, random));
            roles.is_contended = true;
        }
        let is_atomic = communicates && protocol.model() == MemoryModel::WriteAtomicRc && setup.read_only == 0;
        if is_atomic && units.len() > 1 && random.once_in(3) {
            let both: Vec<Word> =
                units.split_off(units.len() - 2).into_iter().map(|it| roles.first_of(it, setup)).collect();
            roles.relay = Some((both[0], both[1]));
        }
        while let Some(words) = units.pop() {
            match random.below(8) {
                _ if setup.is_read_only(words.line()) => roles.add_data(words, setup),
                0 | 1 if communicates && roles.locks.len() < 2 => {
                    let lock = Words::one(roles.first_of(words, setup));
                    roles.locks.push(meeting(lock, random));
                }
                2 if communicates && roles.flags.len() < 2 => {
                    let flag = Words::one(roles.first_of(words, setup));
                    roles.flags.push(meeting(flag, random));
                }
                3 if roles.counters.len() < 2 => roles.counters.push(meeting(words, random)),
                4 if roles.bits.len() < 2 => roles.bits.push(meeting(words, random)),
                _ => roles.add_data(words, setup),
            }
        }
        roles
    }

    /// All words in a random order. The words of some lines stay together.
    fn units(setup: &Setup, random: &mut Random) -> Vec<Words> {
        let mut units = Vec::new();
        for line in 0..u64::from(setup.lines) {
            let whole = Words::whole(line);
            if random.once_in(2) {
                units.push(whole);
            } else {
                units.extend(whole.iter().map(Words::one));
            }
        }
        random.shuffle(&mut units);
        units
    }

    fn add_data(&mut self, words: Words, setup: &Setup) {
        if setup.is_read_only(words.line()) { self.constants.push(words) } else { self.data.push(words) }
    }

    /// The first of some words. The others become data.
    fn first_of(&mut self, words: Words, setup: &Setup) -> Word {
        words.iter().skip(1).for_each(|word| self.add_data(Words::one(word), setup));
        words.first()
    }

    /// The words that hold a value at the beginning: data, of which nobody relies on zeros.
    fn filled(&self) -> u32 {
        let data = self.data.iter().chain(&self.constants).flat_map(|words| words.iter());
        data.fold(0, |bits, word| bits | 1 << word.0)
    }
}

/// The uses of data words in one phase.
struct PhaseRoles {
    /// The words of each wavefront.
    own: Vec<Vec<Words>>,
    read_only: Vec<Words>,
    /// The words that each lock guards.
    guarded: Vec<Vec<Words>>,
    /// The words that go with each flag, and the wavefront that raises it, if one can.
    handed: Vec<(Option<usize>, Vec<Words>)>,
    /// The wavefront that raises a word, and the one that sees it and raises a flag.
    relay: (usize, usize),
}

impl PhaseRoles {
    fn draw(roles: &Roles, waves: usize, random: &mut Random) -> PhaseRoles {
        let producer = |flag: &Meeting, random: &mut Random| {
            let index = random.below(flag.members.len() as u32) as usize;
            flag.members.get(index).copied()
        };
        let mut drawn = PhaseRoles {
            own: vec![Vec::new(); waves],
            read_only: roles.constants.clone(),
            guarded: vec![Vec::new(); roles.locks.len()],
            handed: roles.flags.iter().map(|flag| (producer(flag, random), Vec::new())).collect(),
            relay: (random.below(waves as u32) as usize, random.below(waves as u32) as usize),
        };
        for &words in &roles.data {
            match random.below(8) {
                0 => drawn.read_only.push(words),
                chance if !roles.locks.is_empty() && (chance < 4 || roles.is_contended) => {
                    drawn.guarded[random.below(roles.locks.len() as u32) as usize].push(words);
                }
                4..6 if !roles.flags.is_empty() => {
                    drawn.handed[random.below(roles.flags.len() as u32) as usize].1.push(words);
                }
                _ => drawn.own[random.below(waves as u32) as usize].push(words),
            }
        }
        drawn
    }
}

fn draw_race_free(
    protocol: &dyn Protocol,
    setup: &Setup,
    extent: Extent,
    slots: Vec<WaveSlot>,
    random: &mut Random,
) -> Program {
    let roles = Roles::draw(protocol, setup, &slots, random);
    let waves = slots.len();
    let phases = random.between(1, 4);
    // Where values are those of a coherent machine, copies stay as they are even when a kernel begins.
    let phases = if protocol.values() == Values::Functional { 1 } else { phases };
    let length = extent.pick(&[2, 3, 5, 8], &[3, 6, 12], random);
    let meetings = [&roles.locks, &roles.flags, &roles.counters, &roles.bits].into_iter().flatten();
    let narrow = meetings.flat_map(|meeting| meeting.words.iter().map(|word| (word, meeting.scope))).collect();
    let scopes = Scopes { widest: widest(setup), narrow };
    let filled = if protocol.values() == Values::Functional { 0 } else { roles.filled() };
    let mut program = Program { kind: Kind::DataRaceFree, scopes, slots, phases: Vec::new(), filled };
    // Strong accesses pass copies by, so that stale ones are not found.
    let roles = Roles { strong_one_in: random.pick(&[2, 8, u32::MAX, u32::MAX]), ..roles };
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
            Action::Plain(Access { does: Does::Store, .. }) if random.once_in(4) => random.between(2, 8),
            _ => 1,
        };
        actions.extend(std::iter::repeat_n(action, times as usize));
    }
    let mut publish_end = 0;
    for (flag, (producer, words)) in roles.flags.iter().zip(&phase.handed) {
        if *producer == Some(wave) && !words.is_empty() {
            let at = random.between(publish_end, actions.len() as u32);
            actions.insert(at as usize, Action::Publish { flag: flag.words.first(), words: words.clone() });
            publish_end = at + 1;
        }
    }
    if let Some((seen, flag)) = roles.relay {
        let at = random.between(publish_end, actions.len() as u32);
        let (producer, relayer) = phase.relay;
        let action = match wave {
            _ if wave == producer => Action::Publish { flag: seen, words: Vec::new() },
            _ if wave == relayer => Action::Relay { seen, flag },
            _ => Action::Consume { flag, by_atomics: false, words: vec![Words::one(seen)] },
        };
        actions.insert(at as usize, action);
        publish_end = at + 1;
    }
    for (flag, (producer, words)) in roles.flags.iter().zip(&phase.handed) {
        let consumes = *producer != Some(wave) && flag.members.contains(&wave);
        if consumes && !words.is_empty() && !random.once_in(3) {
            let at = random.between(publish_end, actions.len() as u32) as usize;
            let words = (0..random.between(1, 3)).map(|_| some_of(random.pick(words), random)).collect();
            let (flag, by_atomics) = (flag.words.first(), random.once_in(3));
            actions.insert(at, Action::Consume { flag, by_atomics, words });
        }
    }
    actions
}

/// Draws an access to words that nobody else writes meanwhile: any operation, of any order and scope.
fn draw_access(words: Words, strong_one_in: u32, random: &mut Random) -> Access {
    let words = some_of(words, random);
    let does = match random.below(8) {
        0..4 => return draw_load(words, strong_one_in, random),
        7 if random.once_in(2) => Does::Update(random.pick(&Update::ALL)),
        _ => Does::Store,
    };
    with_order(Access { does, ..Access::load(words) }, strong_one_in, random)
}

/// Draws a load of words that nobody else writes meanwhile. It may read the rest of the line as well, of which it
/// accepts any value.
fn draw_load(known: Words, strong_one_in: u32, random: &mut Random) -> Access {
    let words = if random.once_in(4) { Words::whole(known.line()) } else { known };
    with_order(Access { does: Does::Load { known: Some(known) }, ..Access::load(words) }, strong_one_in, random)
}

fn with_order(access: Access, strong_one_in: u32, random: &mut Random) -> Access {
    if !random.once_in(strong_one_in) && !matches!(access.does, Does::Update(_)) {
        return access;
    }
    let scope = random.pick(&[Scope::WorkGroup, Scope::Gpu, Scope::System]);
    Access { order: strong_order(access.does, random), scope, ..access }
}

/// Draws an action that waits for nobody but the holder of a lock.
fn draw_free_action(wave: usize, roles: &Roles, phase: &PhaseRoles, random: &mut Random) -> Option<Action> {
    let own = &phase.own[wave];
    if random.once_in(6) && !roles.data.is_empty() {
        let words = some_of(random.pick(&roles.data), random);
        let peek = Access { does: Does::Load { known: None }, ..Access::load(words) };
        return Some(Action::Plain(with_order(peek, roles.strong_one_in, random)));
    }
    let of_meeting = |meetings: &[Meeting], random: &mut Random| {
        let meeting = &meetings[random.below(meetings.len() as u32) as usize];
        meeting.members.contains(&wave).then(|| some_of(meeting.words, random))
    };
    let chance = if roles.is_contended && !random.once_in(4) { 3 } else { random.below(9) };
    match chance {
        0 if !phase.read_only.is_empty() => {
            let words = some_of(random.pick(&phase.read_only), random);
            Some(Action::Plain(draw_load(words, roles.strong_one_in, random)))
        }
        1 if !roles.counters.is_empty() => of_meeting(&roles.counters, random).map(Action::Count),
        2 if !roles.bits.is_empty() => {
            of_meeting(&roles.bits, random).map(|words| Action::Flip { words, by_xor: random.once_in(2) })
        }
        3..6 if !roles.locks.is_empty() => {
            let lock = random.below(roles.locks.len() as u32) as usize;
            if !roles.locks[lock].members.contains(&wave) {
                return None;
            }
            let guarded = &phase.guarded[lock];
            let accesses = if guarded.is_empty() { 0 } else { random.between(1, 4) };
            let inside =
                (0..accesses).map(|_| draw_access(random.pick(guarded), roles.strong_one_in, random)).collect();
            let lock = roles.locks[lock].words.first();
            Some(Action::Critical { lock, by_exchange: random.once_in(3), inside })
        }
        _ if !own.is_empty() => Some(Action::Plain(draw_access(random.pick(own), roles.strong_one_in, random))),
        _ if !phase.read_only.is_empty() => {
            let words = some_of(random.pick(&phase.read_only), random);
            Some(Action::Plain(draw_load(words, roles.strong_one_in, random)))
        }
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

    /// The accesses to data of many programs of a protocol, with the machine of each.
    fn accesses(name: &str, kind: Kind) -> Vec<(Setup, Access)> {
        let protocol = registry::find(name).unwrap();
        let episodes = (0..2000).map(|index| draw_episode(protocol, 1, index));
        let mut accesses = Vec::new();
        for Episode { setup, program, .. } in episodes.filter(|episode| episode.program.kind == kind) {
            for action in program.phases.iter().flat_map(|phase| &phase.actions).flatten() {
                match action {
                    Action::Plain(access) => accesses.push((setup, *access)),
                    Action::Critical { inside, .. } => accesses.extend(inside.iter().map(|access| (setup, *access))),
                    _ => {}
                }
            }
        }
        accesses
    }

    #[test]
    fn operations_of_every_kind_order_and_scope_touch_one_word_or_several() {
        let accesses = accesses("hmg", Kind::DataRaceFree);
        let some = |is_such: &dyn Fn(&Access) -> bool| accesses.iter().any(|(_, access)| is_such(access));
        for update in Update::ALL {
            for count in [1, 2] {
                let is_such = |access: &Access| access.does == Does::Update(update) && access.words.count() == count;
                assert!(some(&is_such), "{update:?} of {count} words");
            }
        }
        for order in [Order::Weak, Order::Relaxed, Order::Acquire] {
            for scope in [Scope::WorkGroup, Scope::Gpu, Scope::System] {
                let is_load = |access: &Access| matches!(access.does, Does::Load { .. }) && access.words.count() == 2;
                let is_such = |access: &Access| access.order == order && access.scope == scope;
                let exists = order == Order::Weak && scope != Scope::WorkGroup;
                assert!(exists || some(&|access| is_load(access) && is_such(access)), "{order:?} {scope:?}");
            }
        }
        assert!(some(&|access| matches!(access.does, Does::Load { known: Some(known) } if known != access.words)));
    }

    #[test]
    fn read_only_lines_are_read_and_never_written() {
        let accesses = accesses("smd", Kind::DataRaceFree);
        let of_them = || accesses.iter().filter(|(setup, access)| setup.is_read_only(access.words.line()));
        let is_read = |(_, access): &&(Setup, Access)| matches!(access.does, Does::Load { .. });
        assert!(of_them().count() > 100 && of_them().all(|access| is_read(&access)));
    }

    #[test]
    fn accesses_that_race_are_strong_in_ptx() {
        let accesses = accesses("hmg", Kind::Racy);
        assert!(accesses.iter().all(|(_, access)| access.order != Order::Weak && access.scope > Scope::WorkGroup));
        assert!(accesses.iter().any(|(_, access)| access.words.count() == 2));
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
