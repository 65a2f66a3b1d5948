//! The time between two kernels: private caches hear of the end and of the beginning, and in between shared banks get
//! the commands of a command processor, where the protocol has commands.

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope};
use chorus_protocol::address::{LineAddr, Role};
use chorus_protocol::controller::Input;
use chorus_protocol::line::ByteMask;
use chorus_protocol::registry::{Commands, Reach};

use super::driver::{Driver, lineless};
use super::problem::Problem;
use super::program::WORDS;
use super::setup::PAGE_LINES;
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
        let Notice { to, edge } = self.notice;
        let (op, order, input) = match edge {
            Edge::End => (CoreOp::KernelEnd, Order::Release, "the end of a kernel"),
            Edge::Begin => (CoreOp::KernelBegin, Order::Acquire, "the start of a kernel"),
        };
        let topology = self.topology();
        let agents = if to == Role::L1 { 0..topology.l1s } else { topology.l1s..topology.l1s + topology.l2s };
        let pages: Vec<Option<u64>> = match self.commands() {
            Commands::TableOfRanges if to == Role::L2 => {
                (0..u64::from(self.setup.lines)).step_by(PAGE_LINES as usize).map(Some).collect()
            }
            Commands::None | Commands::EveryKernel | Commands::Table | Commands::TableOfRanges => vec![None],
        };
        self.hearing = agents.len() * pages.len();
        for agent in agents {
            for page in &pages {
                let txn = self.operations.insert_kernel(agent);
                let mut request = CoreRequest { order, ..lineless(op, Scope::System, 0, txn) };
                if let Some(first) = *page {
                    (request.line, request.mask) = (LineAddr(first), ByteMask::full::<WORDS>());
                }
                if !self.offer(agent, &Input::Core(&request))? {
                    return Err(Problem::NotAtOnce { agent: self.name(agent), input });
                }
            }
        }
        Ok(())
    }

    /// Notes that a cache is done with a notice.
    pub(super) fn heard(&mut self) {
        self.hearing -= 1;
        if self.hearing > 0 {
            return;
        }
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
