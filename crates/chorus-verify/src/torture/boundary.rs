//! The time between two kernels: private caches hear of the end and of the beginning, and in between shared banks get
//! the commands of a command processor, where the protocol has commands.

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope};
use chorus_protocol::address::{LineAddr, Role};
use chorus_protocol::chiplet_table::Holdings;
use chorus_protocol::controller::Input;
use chorus_protocol::line::ByteMask;
use chorus_protocol::registry::{Commands, Reach};

use super::driver::{Driver, lineless};
use super::elide::Elision;
use super::problem::Problem;
use super::program::{Program, WORDS};
use super::setup::{CommandsGiven, PAGE_LINES};
use crate::heterogeneous;
use crate::program::Edge;

/// A notice of a kernel's end or beginning, and its receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    to: Role,
    edge: Edge,
}

impl Notice {
    /// The first notice where the end of a kernel has an effect.
    pub(super) const FIRST: Notice = Notice { to: Role::L1, edge: Edge::End };
    const LAST: Notice = Notice { to: Role::L1, edge: Edge::Begin };
}

impl Driver {
    /// The first notice when all wavefronts have come to the end of a kernel. Within one module of compute units, the
    /// end has no effect.
    pub(super) fn first_notice(&self) -> Notice {
        match self.protocol.reach() {
            Reach::OneModule if !heterogeneous::applies(self.protocol) => Notice::LAST,
            Reach::OneModule | Reach::AnyMachine => Notice::FIRST,
        }
    }

    fn commands(&self) -> Commands {
        self.protocol.commands(&self.setup.parameters)
    }

    /// The notice that follows the last one.
    fn next_notice(&self) -> Option<Notice> {
        match self.notice {
            Notice { to: Role::L1, edge: Edge::End } if self.commands() != Commands::None => {
                Some(Notice { to: Role::L2, edge: Edge::End })
            }
            Notice { to: Role::L2, edge: Edge::End } => Some(Notice { to: Role::L2, edge: Edge::Begin }),
            Notice { to: Role::L1, edge: Edge::Begin } => None,
            Notice { to: Role::L1 | Role::L2 | Role::L3 | Role::Tu | Role::Memory, .. } => Some(Notice::LAST),
        }
    }

    /// Tells every private cache that a kernel ends or begins, or gives every shared bank its command in between.
    /// Wavefronts go on when all receivers are done.
    pub(super) fn tell_of_kernel(&mut self) -> Result<(), Problem> {
        let (op, order, input) = match self.notice.edge {
            Edge::End => (CoreOp::KernelEnd, Order::Release, "the end of a kernel"),
            Edge::Begin => (CoreOp::KernelBegin, Order::Acquire, "the start of a kernel"),
        };
        let receivers = self.receivers();
        self.hearing = receivers.len();
        if receivers.is_empty() {
            self.go_on_with_next();
            return Ok(());
        }
        for (agent, page) in receivers {
            let txn = self.operations.insert_kernel(agent);
            let mut request = CoreRequest { order, ..lineless(op, Scope::System, 0, txn) };
            if let Some(first) = page {
                (request.line, request.mask) = (LineAddr(first), ByteMask::full::<WORDS>());
            }
            if !self.offer(agent, &Input::Core(&request))? {
                return Err(Problem::NotAtOnce { agent: self.name(agent), input });
            }
        }
        Ok(())
    }

    /// The agents that get the notice, with the page that it concerns, if it does not concern everything.
    fn receivers(&mut self) -> Vec<(u16, Option<u64>)> {
        let topology = self.topology();
        let Notice { to, edge } = self.notice;
        if to == Role::L1 {
            return (0..topology.l1s).map(|cache| (cache, None)).collect();
        }
        let banks = topology.banks_per_module();
        let of_module = |module: u16| (module * banks..(module + 1) * banks).map(|bank| topology.l2(bank).0);
        if let Some(elision) = &mut self.elision {
            if edge == Edge::End {
                elision.launch();
            }
            let commands = elision.commands(edge).iter();
            return commands.flat_map(|&(module, page)| of_module(module).map(move |bank| (bank, page))).collect();
        }
        let pages: Vec<Option<u64>> = match self.commands() {
            Commands::TableOfRanges => {
                (0..u64::from(self.setup.lines)).step_by(PAGE_LINES as usize).map(Some).collect()
            }
            Commands::None | Commands::EveryKernel | Commands::Table => vec![None],
        };
        let all = (0..topology.modules()).flat_map(of_module);
        all.flat_map(|bank| pages.iter().map(move |&page| (bank, page))).collect()
    }

    /// Makes the table that says which commands can be left out, where the protocol has one and it is used.
    pub(super) fn plan_elision(&mut self, program: &Program) {
        let commands = self.commands();
        let believes = matches!(commands, Commands::Table | Commands::TableOfRanges);
        let holdings = match self.setup.commands {
            CommandsGiven::All => None,
            CommandsGiven::Needed { by_memory: true } if !self.protocol.keeps_remote(&self.setup.parameters) => {
                Some(Holdings::OwnMemory)
            }
            CommandsGiven::Needed { .. } => Some(Holdings::Copies),
        };
        let used = holdings.filter(|_| believes);
        self.elision = used.map(|holdings| Elision::new(program, self.topology(), commands, holdings));
    }

    /// Notes that a cache is done with a notice.
    pub(super) fn heard(&mut self) {
        self.hearing -= 1;
        if self.hearing == 0 {
            self.go_on_with_next();
        }
    }

    /// Prepares the next notice, or lets the wavefronts go on after the last one.
    fn go_on_with_next(&mut self) {
        if let Some(next) = self.next_notice() {
            self.notice = next;
            return;
        }
        self.notice = self.first_notice();
        self.arrived = 0;
        for number in 0..self.waves.len() as u16 {
            self.waves[usize::from(number)].waits = false;
            self.advance(number);
        }
    }
}
