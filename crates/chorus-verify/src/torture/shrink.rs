//! Makes a failing episode small: takes parts of it away as long as a rule of the same kind still breaks in one of many
//! schedules.

use chorus_protocol::address::Topology;
use chorus_protocol::registry::Protocol;

use super::driver::Driver;
use super::problem::Problem;
use super::program::WaveSlot;
use super::random::derive;
use super::setup::{CommandsGiven, Delays, Episode, Evictions};
use super::trace::Trace;

/// The steps spent on one smaller episode, over all its schedules.
const STEPS_PER_CANDIDATE: u64 = 60_000;
/// The schedules tried for one smaller episode.
const SCHEDULES_MAX: u64 = 300;
/// The steps spent on all smaller episodes together.
const STEPS_MAX: u64 = 6_000_000;

/// A failing episode that was made small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The episode that is left.
    pub episode: Episode,
    /// The rule that breaks in it.
    pub problem: Problem,
    /// The last steps, one line each: time, agent, input, state before and after, outputs.
    pub trace: Vec<String>,
}

struct Shrinker {
    driver: Driver,
    best: Episode,
    problem: Problem,
}

/// Makes `episode`, in which `problem` was found, as small as possible.
pub(super) fn shrink(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    episode: &Episode,
    problem: &Problem,
) -> Shrunk {
    let driver = Driver::new(protocol, fault, episode);
    let mut shrinker = Shrinker { driver, best: episode.clone(), problem: problem.clone() };
    loop {
        let before = (shrinker.best.clone(), shrinker.driver.steps);
        shrinker.without_waves();
        shrinker.without_phases();
        shrinker.without_actions();
        shrinker.without_parts();
        shrinker.with_fewer_words();
        shrinker.with_a_simpler_machine();
        if shrinker.best.program == before.0.program || shrinker.is_spent() {
            break;
        }
    }
    let Shrinker { mut driver, best, problem } = shrinker;
    driver.trace = Some(Trace::default());
    let problem = driver.run(&best).err().unwrap_or(problem);
    let trace = driver.trace.take().unwrap_or_default().into_lines();
    Shrunk { episode: best, problem, trace }
}

impl Shrinker {
    fn is_spent(&self) -> bool {
        self.driver.steps + self.driver.refusals > STEPS_MAX
    }

    /// Takes over a smaller episode if a rule of the same kind breaks in it.
    fn accept(&mut self, mut candidate: Episode) -> bool {
        let start = self.driver.steps + self.driver.refusals;
        let schedule = candidate.schedule;
        for attempt in 0..SCHEDULES_MAX {
            if self.is_spent() || self.driver.steps + self.driver.refusals - start > STEPS_PER_CANDIDATE {
                return false;
            }
            candidate.schedule = if attempt == 0 { schedule } else { derive(schedule, attempt) };
            if let Err(problem) = self.driver.run(&candidate)
                && problem.is_like(&self.problem)
            {
                (self.best, self.problem) = (candidate, problem);
                return true;
            }
        }
        false
    }

    fn without_waves(&mut self) {
        let mut wave = self.best.program.slots.len();
        while wave > 0 {
            wave -= 1;
            if self.best.program.slots.len() == 1 {
                return;
            }
            let mut candidate = self.best.clone();
            candidate.program.slots.remove(wave);
            for phase in &mut candidate.program.phases {
                phase.actions.remove(wave);
            }
            compact(&mut candidate);
            self.accept(candidate);
        }
    }

    fn without_phases(&mut self) {
        for phase in (0..self.best.program.phases.len()).rev() {
            if self.best.program.phases.len() == 1 {
                return;
            }
            let mut candidate = self.best.clone();
            candidate.program.phases.remove(phase);
            self.accept(candidate);
        }
    }

    /// Takes away stretches of actions, ever shorter ones.
    fn without_actions(&mut self) {
        for phase in 0..self.best.program.phases.len() {
            for wave in 0..self.best.program.slots.len() {
                let mut length = self.best.program.phases[phase].actions[wave].len();
                while length > 0 {
                    let mut end = self.best.program.phases[phase].actions[wave].len();
                    while end > 0 {
                        let start = end.saturating_sub(length);
                        let mut candidate = self.best.clone();
                        candidate.program.phases[phase].actions[wave].drain(start..end);
                        self.accept(candidate);
                        end = start;
                    }
                    length /= 2;
                }
            }
        }
    }

    fn without_parts(&mut self) {
        for phase in 0..self.best.program.phases.len() {
            for wave in 0..self.best.program.slots.len() {
                for action in 0..self.best.program.phases[phase].actions[wave].len() {
                    for part in (0..self.best.program.phases[phase].actions[wave][action].parts()).rev() {
                        let mut candidate = self.best.clone();
                        candidate.program.phases[phase].actions[wave][action].remove_part(part);
                        self.accept(candidate);
                    }
                }
            }
        }
    }

    /// Tries each action with operations of one word.
    fn with_fewer_words(&mut self) {
        for phase in 0..self.best.program.phases.len() {
            for wave in 0..self.best.program.slots.len() {
                for action in 0..self.best.program.phases[phase].actions[wave].len() {
                    for to_first in [true, false] {
                        let mut candidate = self.best.clone();
                        candidate.program.phases[phase].actions[wave][action].narrow(to_first);
                        if candidate != self.best && self.accept(candidate) {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Tries no idle caches, no evictions, one bank, loads that block and equal delays, one after the other.
    fn with_a_simpler_machine(&mut self) {
        let plain = Delays {
            message: 8,
            slow_networks: 0,
            slow_agents: 0,
            slow_links: 0,
            slowness: 0,
            late_one_in: 0,
            think: 4,
        };
        let changes: [fn(&mut Episode, Delays); 11] = [
            |episode, _| compact(episode),
            |episode, _| episode.setup.evictions = Evictions::default(),
            |episode, _| episode.setup.evictions.private = 0,
            |episode, _| episode.setup.evictions.shared = 0,
            |episode, _| episode.setup.evictions.entries = 0,
            |episode, _| episode.setup.shortcuts = false,
            |episode, _| episode.setup.commands = CommandsGiven::All,
            |episode, _| episode.program.filled = 0,
            |episode, _| episode.setup.topology.l2s = episode.setup.topology.modules(),
            |episode, _| episode.setup.loads_in_flight = 1,
            |episode, plain| episode.setup.delays = plain,
        ];
        for change in changes {
            let mut candidate = self.best.clone();
            change(&mut candidate, plain);
            if candidate != self.best {
                self.accept(candidate);
            }
        }
    }
}

/// Numbers the caches that have wavefronts, and the wavefronts beside each, without gaps. Caches that lie in several
/// modules stay.
fn compact(episode: &mut Episode) {
    if episode.setup.topology.modules() > 1 {
        return;
    }
    let mut caches: Vec<u16> = episode.program.slots.iter().map(|slot| slot.cache).collect();
    caches.dedup();
    let mut waves = vec![0; caches.len()];
    for slot in &mut episode.program.slots {
        let cache = caches.iter().position(|&cache| cache == slot.cache).unwrap_or(0);
        *slot = WaveSlot { cache: cache as u16, slot: waves[cache] };
        waves[cache] += 1;
    }
    let l1s = caches.len().max(1) as u16;
    let cpus = caches.iter().filter(|&&cache| episode.setup.topology.is_cpu(cache)).count() as u16;
    episode.setup.topology = Topology { l1s, cpus, ..episode.setup.topology };
    episode.setup.waves = waves.iter().copied().max().unwrap_or(1);
}
