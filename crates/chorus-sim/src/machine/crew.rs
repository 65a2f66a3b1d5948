//! A machine and the threads that run it: some partitions for each thread. The threads meet at the end of every turn.
//!
//! The main thread runs partitions too. At the end of a turn all partitions have come to the same time. Then the main
//! thread handles the reports of components, decides how long the next turn is, and lets everybody go on. Partitions
//! read the page table and the program's memory during a turn. Only the main thread changes the page table, between
//! turns.

mod checkpoint;
mod noting;
mod waiting;

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;

use chorus_kernel::{HostMemory, Kernel};
use chorus_protocol::address::AgentId;
use chorus_protocol::registry::{Build, Protocol, Values};
use chorus_protocol::save::{self, Reader, Restore};
use chorus_protocol::tally::TallySpec;
use chorus_system::SystemConfig;

use super::context::{Env, Mail, Report};
use super::dispatcher::Dispatcher;
use super::host::{Host, Order};
use super::launch::{Launch, Phase};
use super::partition::{Failure, Fault, Newer, Partition, shared_owners, shares};
use super::patience::Patience;
use super::plan::{NEVER, Plan};
use super::stuck::{LISTED, StuckCause, StuckReport, StuckWave};
use super::{SimError, build, noted};
use crate::clock::{ClockDomains, Ticks};
use crate::command_processor::CommandProcessor;
use crate::definitions::metric_key;
use crate::distribution::Noting;
use crate::pages::Pages;
use crate::quiet::{is_quiet, set_quiet};
use crate::series::Sampler;
use crate::sharing_profile::SharingProfile;
use crate::simulate::Settings;
use crate::stats::{Counter, Stats};
use crate::watch::{Checkpoints, Progress, Watch};
pub(crate) use checkpoint::Pause;
use checkpoint::{Kept, Refused};
use waiting::wait_until;

/// A piece of work for all partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Run until everything before this time has happened.
    Run(Ticks),
    /// Write copies that are newer than memory to memory.
    WriteBack(Newer),
    /// Say what has been counted.
    Count,
    /// Hand over what has been noted beside counters.
    Notes,
    /// List wavefronts that have not finished.
    ListWaves,
    /// Say until when something is on its way.
    LastComing,
    /// Say whether the state can be written down.
    AskToKeep,
    /// Write the state down.
    Keep,
    /// Take over a state that was written down.
    Restore,
    /// The run is over.
    Stop,
}

/// The answer of a partition to the last task.
#[derive(Default)]
struct Answer {
    next: Ticks,
    progress: Ticks,
    last: Ticks,
    reports: Vec<Report>,
    failure: Option<Failure>,
    /// Line accesses accepted so far.
    accesses: u64,
    stats: Stats,
    tallies: Vec<u64>,
    latencies: Option<Box<Noting>>,
    profile: Option<Box<SharingProfile>>,
    unfinished: usize,
    not_started: u32,
    waves: Vec<StuckWave>,
    last_coming: Option<Ticks>,
    can_be_kept: bool,
    state: Vec<u8>,
    is_restored: bool,
}

/// The things that wait for a partition: the mail of every partition, and orders of the host.
struct Tray<const W: usize> {
    mail: Vec<Mail<W>>,
    orders: Vec<(Ticks, AgentId, Order)>,
    kept: Option<Kept>,
}

impl<const W: usize> Tray<W> {
    fn new(partitions: usize) -> Tray<W> {
        Tray { mail: (0..partitions).map(|_| Mail::default()).collect(), orders: Vec::new(), kept: None }
    }
}

/// Everything that threads share.
struct Shared<'a, const W: usize> {
    plan: &'a Plan<'a>,
    memory: &'a HostMemory,
    pages: RwLock<Pages>,
    trays: Vec<Mutex<Tray<W>>>,
    answers: Vec<Mutex<Answer>>,
    task: Mutex<Task>,
    /// How many tasks there have been.
    tasks: AtomicU64,
    /// Threads that have not finished the current task.
    busy: AtomicUsize,
    /// Whether a thread has ended by a panic.
    failed: AtomicBool,
    /// Tallies of a controller.
    tally_count: usize,
}

impl<'a, const W: usize> Shared<'a, W> {
    fn new(plan: &'a Plan<'a>, memory: &'a HostMemory, pages: Pages, partitions: usize, tally_count: usize) -> Self {
        Shared {
            plan,
            memory,
            pages: RwLock::new(pages),
            trays: (0..partitions).map(|_| Mutex::new(Tray::new(partitions))).collect(),
            answers: (0..partitions).map(|_| Mutex::default()).collect(),
            task: Mutex::new(Task::Stop),
            tasks: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            tally_count,
        }
    }
}

/// Takes a lock. A thread that panicked while holding it has ended the run anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<const W: usize> Shared<'_, W> {
    /// Carries out a task for one partition.
    fn carry_out(&self, task: Task, partition: &mut Partition<W>, number: usize) {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let env = Env { plan: self.plan, memory: self.memory, pages: &pages };
        self.empty_tray(partition, number);
        match task {
            Task::Run(until) => partition.run(until, &env),
            Task::WriteBack(newer) => partition.write_back(newer, &env),
            Task::Count
            | Task::Notes
            | Task::ListWaves
            | Task::LastComing
            | Task::AskToKeep
            | Task::Keep
            | Task::Restore
            | Task::Stop => {}
        }
    }

    /// Gives a partition what waits for it. Others may put more there as soon as this is done.
    fn empty_tray(&self, partition: &mut Partition<W>, number: usize) {
        let mut tray = lock(&self.trays[number]);
        partition.receive(&mut tray.mail);
        partition.obey(tray.orders.drain(..));
    }

    /// Hands over what a partition has produced.
    fn hand_over(&self, task: Task, partition: &mut Partition<W>, number: usize) {
        let answer = &mut *lock(&self.answers[number]);
        match task {
            Task::Run(_) => {
                answer.next = partition.next();
                answer.accesses = partition.stats().get(Counter::L1Accesses);
                (answer.progress, answer.last) = (partition.ctx.progress, partition.ctx.last);
                answer.reports.append(&mut partition.take_reports());
                answer.failure = partition.take_failure();
                for (to, mail) in partition.ctx.mail.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
                    mail.hand_to(&mut lock(&self.trays[to]).mail[number]);
                }
            }
            Task::Count => {
                answer.stats = partition.stats().clone();
                answer.tallies = partition.tallies(self.tally_count);
            }
            Task::Notes => {
                answer.latencies = partition.ctx.latencies.take();
                answer.profile = partition.ctx.profile.take();
            }
            Task::ListWaves => {
                (answer.unfinished, answer.waves) = partition.stuck_waves(self.plan, LISTED);
                answer.not_started = partition.not_started();
            }
            Task::LastComing => answer.last_coming = partition.last_coming(),
            Task::AskToKeep => answer.can_be_kept = partition.can_be_kept(),
            Task::Keep => partition.keep(&mut answer.state),
            Task::Restore => {
                let kept = lock(&self.trays[number]).kept.take();
                answer.is_restored = kept.is_some_and(|Kept { state, jobs }| {
                    partition.restore(&mut Reader::new(&state), &jobs, self.plan).is_ok()
                });
            }
            Task::WriteBack(_) | Task::Stop => {}
        }
    }

    /// Carries out a task for the partitions of a thread. The first of them has number `first`.
    fn perform(&self, task: Task, partitions: &mut [Partition<W>], first: usize) {
        for (number, partition) in (first..).zip(&mut *partitions) {
            self.carry_out(task, partition, number);
        }
        for (number, partition) in (first..).zip(partitions) {
            self.hand_over(task, partition, number);
        }
    }

    /// The work of a thread: one task after the other, until the run is over.
    fn work(&self, mut partitions: Vec<Partition<W>>, first: usize) {
        let mut done = 0;
        loop {
            wait_until(|| self.tasks.load(Ordering::Acquire) > done);
            done += 1;
            let task = *lock(&self.task);
            self.perform(task, &mut partitions, first);
            self.busy.fetch_sub(1, Ordering::Release);
            if task == Task::Stop {
                return;
            }
        }
    }
}

/// Lets the other threads end when the main thread is done or has failed.
struct Crew<'m, const W: usize> {
    shared: &'m Shared<'m, W>,
    workers: usize,
}

impl<const W: usize> Crew<'_, W> {
    /// Gives the other threads a task.
    fn begin(&self, task: Task) {
        if self.workers > 0 {
            *lock(&self.shared.task) = task;
            self.shared.busy.store(self.workers, Ordering::Relaxed);
            self.shared.tasks.fetch_add(1, Ordering::Release);
        }
    }

    /// Waits until the other threads have finished their task.
    fn wait(&self) {
        let Shared { busy, failed, .. } = self.shared;
        wait_until(|| busy.load(Ordering::Acquire) == 0 || failed.load(Ordering::Acquire));
        assert!(!failed.load(Ordering::Acquire), "a thread of the run has panicked");
    }
}

impl<const W: usize> Drop for Crew<'_, W> {
    fn drop(&mut self) {
        self.begin(Task::Stop);
    }
}

/// Notes the end of a thread, also where it ends by a panic, so that nobody waits for it.
struct Leaving<'m>(&'m AtomicBool);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// A simulated machine with a protocol, which runs programs.
#[derive(Restore)]
pub(crate) struct Machine<'m, const W: usize> {
    #[save(apart)]
    crew: Crew<'m, W>,
    #[save(apart)]
    host: Host<'m>,
    #[save(built)]
    owners: Arc<Vec<u8>>,
    #[save(apart)]
    own: Vec<Partition<W>>,
    /// The time that all components have come to.
    reached: Ticks,
    /// The time at which the last kernel ended.
    over: Ticks,
    /// The time at which a component has something to do.
    next: Ticks,
    progress: Ticks,
    patience: Patience,
    last: Ticks,
    #[save(built)]
    tallies: &'static [TallySpec],
    sampler: Sampler,
    #[save(built)]
    shown: Option<&'m Progress>,
    #[save(built)]
    stop: Option<&'m AtomicBool>,
    /// Line accesses accepted so far.
    accesses: u64,
    /// How far the run had come when it last could not be kept.
    #[save(built)]
    refused: Option<Refused>,
}

/// Builds a machine and lets `program` use it.
pub(crate) fn with_machine<const W: usize, R>(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    settings: Settings,
    watch: Watch<'_>,
    memory: &HostMemory,
    program: impl FnOnce(&mut Machine<'_, W>) -> Result<R, SimError>,
) -> Result<R, SimError>
where
    dyn Protocol: Build<W>,
{
    build::check(config, protocol)?;
    let plan = Plan::new(config, protocol, W as u32 * 4, &settings, watch);
    watch.observer.into_iter().for_each(|observer| noted::begin(observer, &plan, memory));
    let read_only = build::read_only_lines::<W>(config, memory);
    let build = build::build_config(config, plan.topology, settings, read_only);
    let shares = shares(&plan, settings.threads as usize);
    let owners = shared_owners(&plan, &shares);
    let pages = Pages::new(&config.memory, config.hierarchy.modules(), memory.buffers(), config.l1.line_bytes);
    let shared = Shared::new(&plan, memory, pages, shares.len(), protocol.tallies().len());
    let partition = |number: usize| {
        let own = build::partition::<W, _>(&plan, protocol, &build, &shares, number as u8, Arc::clone(&owners))?;
        Ok(own.observed(watch.observer, &plan))
    };
    let threads = shares.len().min(settings.threads as usize).max(1);
    let first_of = |thread: usize| thread * shares.len() / threads;
    // Every partition has the same kinds of controllers. If these can be built, the others can.
    let own = (0..first_of(1)).map(&partition).collect::<Result<Vec<_>, SimError>>()?;
    let quiet = is_quiet();
    thread::scope(|scope| {
        for thread in 1..threads {
            let (shared, partition, first_of) = (&shared, &partition, &first_of);
            scope.spawn(move || {
                let _leaving = Leaving(&shared.failed);
                set_quiet(quiet);
                let numbers = first_of(thread)..first_of(thread + 1);
                if let Ok(partitions) = numbers.map(partition).collect::<Result<Vec<_>, SimError>>() {
                    shared.work(partitions, first_of(thread));
                }
            });
        }
        let processor = CommandProcessor::new(config, &plan.clocks, protocol, &settings.parameters);
        let mut machine = Machine {
            crew: Crew { shared: &shared, workers: threads - 1 },
            host: Host::new(&plan, &shared.pages, processor, settings.check_annotations),
            owners: Arc::clone(&owners),
            own,
            reached: 0,
            over: 0,
            next: NEVER,
            progress: 0,
            patience: Patience::new(0, &config.watchdog, plan.clocks.core),
            last: 0,
            tallies: protocol.tallies(),
            sampler: Sampler::new(watch.every.map(|cycles| plan.clocks.core.cycles(cycles))),
            shown: watch.progress,
            stop: watch.stop,
            accesses: 0,
            refused: None,
        };
        program(&mut machine)
    })
}

impl<const W: usize> Machine<'_, W> {
    fn plan(&self) -> &Plan<'_> {
        self.crew.shared.plan
    }

    /// The time at which the last kernel ended, in core cycles.
    pub(crate) fn cycles(&self) -> u64 {
        self.plan().clocks.core.count(self.over)
    }

    /// The time at which the last kernel ended, in nanoseconds.
    pub(crate) fn nanoseconds(&self) -> f64 {
        self.plan().clocks.nanoseconds(self.over)
    }

    /// The clock domains of the machine.
    pub(crate) fn clocks(&self) -> ClockDomains {
        self.plan().clocks
    }

    /// The command processor of the machine.
    pub(crate) fn processor(&self) -> &CommandProcessor {
        &self.host.processor
    }

    /// Launches the next kernel of a stream on `modules`. The last kernel of the stream is over.
    pub(crate) fn launch(&mut self, stream: usize, kernel: Kernel, modules: Range<u16>) -> Result<(), SimError> {
        self.host.launch(stream, kernel, modules, self.over, self.reached)
    }

    /// Carries out the final commands when all programs have ended.
    pub(crate) fn finish(&mut self) -> Result<(), SimError> {
        if self.host.finish(self.over, self.reached) {
            self.run_until_over(None)?;
        }
        Ok(())
    }

    /// Runs until the host program hears that the kernel of a stream is over. Memory is then as the kernels of the
    /// stream left it. Pauses before that if checkpoints are due.
    pub(crate) fn run_until_over(&mut self, checkpoints: Option<&dyn Checkpoints>) -> Result<Pause, SimError> {
        loop {
            self.host.run(self.reached);
            if self.sampler.next == self.reached {
                self.sample()?;
            }
            let told = self.host.told();
            if told.is_some_and(|told| told <= self.reached)
                && let Some((over, stream)) = self.host.take_over()
            {
                self.over = over;
                self.write_back_for_host();
                return Ok(Pause::Over(stream));
            }
            let next = self.next.min(self.host.next()).min(self.next_order());
            let end = match told {
                Some(told) => told,
                None => self.watch(next)?,
            };
            let until = next.max(self.reached).saturating_add(self.plan().turn).min(end).min(self.sampler.next);
            self.run_turn(until)?;
            if let Some(progress) = self.shown {
                self.show(progress);
            }
            if checkpoints.is_some_and(|checkpoints| checkpoints.are_due()) && self.can_be_kept() {
                return Ok(Pause::Checkpoint);
            }
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(SimError::Stopped);
            }
        }
    }

    /// The time of the first order that the host has not handed to a component.
    fn next_order(&self) -> Ticks {
        self.host.orders.iter().map(|&(time, ..)| time).min().unwrap_or(NEVER)
    }

    /// Lets all partitions run until everything before `until` has happened, and hears their reports.
    fn run_turn(&mut self, until: Ticks) -> Result<(), SimError> {
        self.perform(Task::Run(until));
        let mut failure: Option<Failure> = None;
        (self.next, self.accesses) = (NEVER, 0);
        for answer in &self.crew.shared.answers {
            let mut answer = lock(answer);
            self.next = self.next.min(answer.next);
            self.accesses += answer.accesses;
            self.progress = self.progress.max(answer.progress);
            self.last = self.last.max(answer.last);
            self.host.hear(answer.reports.drain(..));
            if let Some(other) = answer.failure.take()
                && failure.as_ref().is_none_or(|first| (other.0, other.1) < (first.0, first.1))
            {
                failure = Some(other);
            }
        }
        self.reached = until;
        match failure {
            None => Ok(()),
            Some((_, _, Fault::Error(error))) => Err(*error),
            Some((_, _, Fault::Panic(panic))) => resume_unwind(panic),
        }
    }

    /// Gives all partitions a task and waits until it is done.
    fn perform(&mut self, task: Task) {
        let shared = self.crew.shared;
        for (time, agent, order) in self.host.orders.drain(..) {
            let owner = self.owners[usize::from(agent.0)];
            lock(&shared.trays[usize::from(owner)]).orders.push((time, agent, order));
        }
        self.crew.begin(task);
        shared.perform(task, &mut self.own, 0);
        self.crew.wait();
    }

    /// Ends a run in which nothing changes any more or that is too long. Its next event is at `next`. Returns the time
    /// until which it may go on. No turn goes beyond that, so the report of a run that hangs does not depend on them.
    fn watch(&mut self, next: Ticks) -> Result<Ticks, SimError> {
        if next == NEVER {
            return Err(self.stuck(StuckCause::Deadlock, self.last));
        }
        let (core, watchdog) = (self.plan().clocks.core, &self.plan().config.watchdog);
        let most = core.cycles(watchdog.cycles);
        let progress = self.progress.max(self.host.progress);
        if self.patience.since != progress {
            self.patience = Patience::new(progress, watchdog, core);
        }
        while next > self.patience.until && self.patience.until < most {
            if self.patience.is_over() {
                return Err(self.stuck(StuckCause::Livelock, self.patience.until));
            }
            self.perform(Task::LastComing);
            let coming = self.crew.shared.answers.iter().filter_map(|answer| lock(answer).last_coming).max();
            self.patience.begin_round(coming, core);
        }
        if next > most { Err(self.stuck(StuckCause::TooLong, most)) } else { Ok(self.patience.until.min(most) + 1) }
    }

    /// Writes the newest copies of all lines to memory, so that the host reads what the caches would answer.
    fn write_back_for_host(&mut self) {
        let (topology, over) = (self.plan().topology, self.host.all_over());
        if self.plan().values != Values::Carried {
            return;
        }
        for newer in Newer::ALL {
            let exists = match newer {
                Newer::Translated => topology.tus > 0,
                Newer::L3 | Newer::ToL3 => topology.l3s > 0,
                Newer::L2Elsewhere => topology.modules() > 1,
                Newer::L2AtHome | Newer::FromL1 | Newer::L1 => true,
            };
            if exists && (over || !newer.needs_rest()) {
                self.perform(Task::WriteBack(newer));
            }
        }
    }

    /// The counters of the whole machine, and the tallies of all controllers under the keys of metrics.
    pub(crate) fn count(&mut self) -> (Stats, Vec<(String, f64)>) {
        self.perform(Task::Count);
        let mut stats = self.host.stats.clone();
        let mut totals = vec![0; self.tallies.len()];
        for answer in &self.crew.shared.answers {
            let answer = lock(answer);
            stats.add_all(&answer.stats);
            totals.iter_mut().zip(&answer.tallies).for_each(|(total, tally)| *total += tally);
        }
        let keys = self.tallies.iter().map(metric_key);
        (stats, keys.zip(totals).map(|(key, total)| (key, total as f64)).collect())
    }

    /// The report of a run that hangs at `time`.
    fn stuck(&mut self, cause: StuckCause, time: Ticks) -> SimError {
        self.perform(Task::ListWaves);
        let (mut unfinished, mut waves) = (0, Vec::new());
        let mut not_started = self.host.dispatcher.as_ref().map_or(0, Dispatcher::not_started);
        for answer in &self.crew.shared.answers {
            let mut answer = lock(answer);
            unfinished += answer.unfinished;
            not_started += answer.not_started;
            waves.append(&mut answer.waves);
        }
        waves.truncate(LISTED);
        let core = self.plan().clocks.core;
        let unfinished_launches = || self.host.launches.iter().filter(|launch| launch.phase != Phase::Over);
        let names: Vec<&str> = unfinished_launches().map(|launch| launch.job.kernel.name.as_str()).collect();
        SimError::Stuck(Box::new(StuckReport {
            cause,
            kernel: names.join(" and "),
            cycle: core.count(time),
            idle_cycles: core.count(time.saturating_sub(self.progress.max(self.host.progress))),
            unfinished,
            not_started: not_started + unfinished_launches().map(Launch::not_dispatched).sum::<u32>(),
            unanswered: unfinished_launches().map(|launch| launch.unanswered).sum(),
            waves,
            line_bytes: W as u64 * 4,
        }))
    }
}
