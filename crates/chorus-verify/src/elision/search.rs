//! Every history of a configuration, with the table's plans, on the caches.
//!
//! Histories that lead to the same table, the same account and the same moments of the caches are followed together.
//! They are counted one by one.

use std::collections::HashMap;

use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::state::Operation;

use super::account::{Account, Need, Needs, Reason, Rules};
use super::graph::{Graph, Set, Until};
use super::history::Kernel;
use super::processor::{Orders, Processor};
use super::report::{Counts, Line};

/// A launch of a history: the stream, and whether kernels of other streams may still run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Launch {
    stream: usize,
    kernel: usize,
    overlaps: bool,
}

/// Where a history has led.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Node<P> {
    processor: P,
    account: Account,
    set: Set,
    /// The last kernel of each stream, if it may still run.
    running: Vec<Option<usize>>,
}

/// A node with the number of histories that lead to it, and one of them.
struct Reached<P> {
    node: Node<P>,
    histories: u64,
    trail: usize,
}

/// A history as the one before it and its last line.
struct Step {
    before: usize,
    line: Option<Line>,
}

/// A history that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The launches with their plans.
    pub history: Vec<Line>,
    /// The reason, in words.
    pub wrong: String,
}

/// The search through all histories.
pub struct Search {
    graph: Graph,
    rules: Rules,
    kernels: Vec<Kernel>,
    trails: Vec<Step>,
    counts: Counts,
}

impl Search {
    /// A search that has not begun.
    pub fn new(graph: Graph, rules: Rules) -> Search {
        let kernels = rules.size.kernels();
        let trails = vec![Step { before: 0, line: None }];
        Search { graph, rules, kernels, trails, counts: Counts::default() }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        Counts { states: self.graph.states(), transitions: self.graph.transitions(), ..self.counts.clone() }
    }

    /// Follows every history of a command processor.
    pub fn run<P: Processor>(&mut self, processor: P) -> Result<(), Finding> {
        let size = self.rules.size;
        let account = Account::new(&size);
        let node = Node { processor, account, set: 0, running: vec![None; size.streams] };
        let mut level = vec![Reached { node, histories: 1, trail: 0 }];
        for _ in 0..size.launches {
            let mut next: Vec<Reached<P>> = Vec::new();
            let mut places: HashMap<Node<P>, usize> = HashMap::new();
            for reached in &level {
                for launch in self.launches(&reached.node) {
                    let (node, trail) = self.launch(reached, launch)?;
                    match places.get(&node) {
                        Some(&place) => next[place].histories += reached.histories,
                        None => {
                            places.insert(node.clone(), next.len());
                            next.push(Reached { node, histories: reached.histories, trail });
                        }
                    }
                }
            }
            level = next;
            for reached in &level {
                self.counts.histories += reached.histories;
                self.end(reached)?;
            }
        }
        Ok(())
    }

    /// The launches that may follow.
    fn launches<P>(&self, node: &Node<P>) -> Vec<Launch> {
        let mut launches = Vec::new();
        // Streams are alike, so that the first kernel is of the first.
        let is_first = node.set == 0;
        let streams = if is_first { 1 } else { self.rules.size.streams };
        for stream in 0..streams {
            let others = node.running.iter().enumerate().filter(|(other, _)| *other != stream);
            let others: Vec<usize> = others.filter_map(|(_, kernel)| *kernel).collect();
            for kernel in 0..self.kernels.len() {
                launches.push(Launch { stream, kernel, overlaps: false });
                let beside = |&other: &usize| self.kernels[kernel].may_run_beside(&self.kernels[other]);
                if !others.is_empty() && others.iter().all(beside) {
                    launches.push(Launch { stream, kernel, overlaps: true });
                }
            }
        }
        launches
    }

    /// Launches a kernel after a history.
    fn launch<P: Processor>(&mut self, reached: &Reached<P>, launch: Launch) -> Result<(Node<P>, usize), Finding> {
        let Launch { stream, kernel, overlaps } = launch;
        let until = if overlaps { Until::Over(stream) } else { Until::AllOver };
        let set = self.graph.walk(reached.node.set, until).map_err(|wrong| self.finding(reached.trail, wrong))?;
        let mut node = reached.node.clone();
        for other in (0..node.running.len()).filter(|&other| other == stream || !overlaps) {
            node.running[other] = None;
            node.processor.over(other);
        }
        let told = self.rules.size.told(&self.kernels[kernel], &self.graph.caches().addresses());
        let orders = node.processor.launch(stream, told.as_deref());
        let whole = matches!(orders, Orders::Whole(_));
        let asked = self.needs(&orders);
        let line = self.line(launch, &asked);
        self.trails.push(Step { before: reached.trail, line: Some(line) });
        let trail = self.trails.len() - 1;
        let judged = self.judge(&node.account, kernel, &asked, reached.histories);
        let kernel = &self.kernels[kernel];
        node.set = self.graph.map(set, |caches, moment| caches.launched(moment, stream, kernel, &asked, whole));
        node.account.carry_out(&asked);
        node.running[stream] = Some(launch.kernel);
        for running in node.running.iter().flatten() {
            node.account.run(&self.kernels[*running]);
        }
        if let Err(wrong) = judged {
            // The caches may show what comes of it.
            let shown = self.graph.walk(node.set, Until::AllOver).err();
            let wrong = shown.map_or(wrong.clone(), |shown| format!("{shown}: {wrong}"));
            return Err(self.finding(trail, wrong));
        }
        Ok((node, trail))
    }

    /// Compares what is asked for with the least that is sound.
    fn judge(&mut self, account: &Account, kernel: usize, asked: &Needs, histories: u64) -> Result<(), String> {
        let kernel = &self.kernels[kernel];
        let least = account.least(&self.rules, kernel);
        for (chiplet, line, asked) in self.rules.operations(asked) {
            let needed = least[chiplet][line];
            self.counts.operations += histories * u64::from(asked > Need::Nothing);
            self.counts.least += histories * u64::from(needed > Need::Nothing);
            if asked < needed {
                return Err(format!("{} is needed", self.rules.operation(chiplet, line, needed)));
            }
            if asked > needed {
                let reason = account.reason(&self.rules, kernel, chiplet, line, asked);
                let needless = || format!("{} is needless", self.rules.operation(chiplet, line, asked));
                self.counts.excess[reason.ok_or_else(needless)? as usize] += histories;
            }
        }
        Ok(())
    }

    /// Ends a history here: L2s are written back, and nothing may be lost.
    fn end<P: Processor>(&mut self, reached: &Reached<P>) -> Result<(), Finding> {
        let Reached { node, trail, .. } = reached;
        let set = self.graph.walk(node.set, Until::AllOver).map_err(|wrong| self.finding(*trail, wrong))?;
        let size = self.rules.size;
        let released = node.processor.finally();
        let need = |chiplet: usize| if released >> chiplet & 1 == 1 { Need::WriteBack } else { Need::Nothing };
        let asked: Needs = (0..size.chiplets).map(|chiplet| vec![need(chiplet); size.all_lines()]).collect();
        let least = node.account.least_finally(&self.rules);
        let set = self.graph.map(set, |caches, moment| caches.ending(moment, &asked));
        self.graph.walk(set, Until::AllOver).map_err(|wrong| self.finding(*trail, wrong))?;
        for chiplet in 0..size.chiplets {
            let needed = least[chiplet].iter().copied().max().unwrap_or_default();
            let operation = |verdict: &str| format!("to write back chiplet {chiplet} in the end is {verdict}");
            if asked[chiplet][0] < needed {
                return Err(self.finding(*trail, operation("needed")));
            }
            let has_reason = || node.account.final_reason(&self.rules, chiplet).is_some();
            if asked[chiplet][0] > needed && !has_reason() {
                return Err(self.finding(*trail, operation("needless")));
            }
        }
        Ok(())
    }

    /// Orders by chiplet and line.
    fn needs(&self, orders: &Orders) -> Needs {
        let size = self.rules.size;
        let mut needs = vec![vec![Need::Nothing; size.all_lines()]; size.chiplets];
        match orders {
            Orders::Whole(plan) => {
                for (chiplet, lines) in needs.iter_mut().enumerate() {
                    let is_in = |set: u64| set >> chiplet & 1 == 1;
                    let asked = match (is_in(plan.acquires), is_in(plan.releases)) {
                        (true, _) => Need::Empty,
                        (false, true) => Need::WriteBack,
                        (false, false) => Need::Nothing,
                    };
                    lines.fill(asked);
                }
            }
            Orders::Ranges(operations) => {
                let addresses = self.graph.caches().addresses();
                for operation in operations {
                    let asked = match operation.operation {
                        Operation::Acquire => Need::Empty,
                        Operation::Release => Need::WriteBack,
                    };
                    let is_in = |line: usize| operation.ranges.overlaps(&Ranges::from(addresses[line].clone()));
                    for line in (0..size.all_lines()).filter(|&line| is_in(line)) {
                        let need = &mut needs[operation.chiplet][line];
                        *need = asked.max(*need);
                    }
                }
            }
        }
        needs
    }

    fn line(&self, launch: Launch, asked: &Needs) -> Line {
        let operations = self.rules.operations(asked).filter(|(.., need)| *need > Need::Nothing);
        let plan: Vec<String> =
            operations.map(|(chiplet, line, need)| self.rules.operation(chiplet, line, need)).collect();
        Line {
            stream: (self.rules.size.streams > 1).then_some(launch.stream),
            overlaps: launch.overlaps,
            kernel: self.rules.size.describe(&self.kernels[launch.kernel]),
            plan,
        }
    }

    fn finding(&self, trail: usize, wrong: String) -> Finding {
        let mut history = Vec::new();
        let mut at = trail;
        while let Some(line) = &self.trails[at].line {
            history.push(line.clone());
            at = self.trails[at].before;
        }
        history.reverse();
        Finding { history, wrong }
    }
}

impl Rules {
    /// An operation in words.
    fn operation(&self, chiplet: usize, line: usize, need: Need) -> String {
        let what = match need {
            Need::Nothing => "to leave",
            Need::WriteBack => "to write back",
            Need::Empty => "to empty",
        };
        if self.whole {
            format!("{what} chiplet {chiplet}")
        } else {
            format!("{what} {} in chiplet {chiplet}", self.size.name(line))
        }
    }
}

/// The number of reasons.
pub const REASONS: usize = Reason::ALL.len();
