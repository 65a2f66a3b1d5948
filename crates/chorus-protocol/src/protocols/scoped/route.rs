//! The routes between banks: from the bank of a request's module to the home of its line, and back for the answer.

use crate::access::Scope;
use crate::address::{AgentId, Divisor, LineAddr, Topology};
use crate::sharers::Sharers;

/// Whether requests for another GPU's memory pass a home in their own GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hierarchy {
    /// They do not: every module talks to the home of a line (HMG paper, section IV).
    Flat,
    /// They do: the module in the same place as the home is the home within its GPU (section V).
    GpuHomes,
}

/// The part that a bank plays for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Station {
    /// The bank of the module that asks.
    Local,
    /// The home of the line within a GPU that is not the line's own.
    GpuHome,
    /// The bank beside the line's memory.
    Home,
}

/// The machine as one bank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    topology: Topology,
    hierarchy: Hierarchy,
    module: u16,
    gpu: u16,
    /// The number of the bank's module within its GPU.
    place: u16,
    /// The number of the bank within its module.
    bank: u16,
    /// The numbers of shared banks and of private caches of a module.
    banks: u16,
    caches: u16,
    /// The numbers of modules of the machine and of a GPU, and of shared banks and private caches of a module.
    divisors: Divisors,
}

/// The numbers by which a bank divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Divisors {
    modules: Divisor,
    gpms: Divisor,
    banks: Divisor,
    caches: Divisor,
}

impl Route {
    /// The view of shared bank `index`.
    pub fn new(index: u16, topology: Topology, hierarchy: Hierarchy) -> Route {
        let module = topology.module_of(topology.l2(index));
        let (banks, caches) = (topology.banks_per_module(), topology.l1s / topology.modules());
        let divisor = |value: u16| Divisor::new(u32::from(value));
        Route {
            topology,
            hierarchy,
            module,
            gpu: topology.gpu_of(module),
            place: topology.place_in_gpu(module),
            bank: index % banks,
            banks,
            caches,
            divisors: Divisors {
                modules: divisor(topology.modules()),
                gpms: divisor(topology.gpms),
                banks: divisor(banks),
                caches: divisor(caches),
            },
        }
    }

    /// The module in whose memory a line lies.
    #[inline]
    fn home_module(&self, line: LineAddr) -> u16 {
        self.divisors.modules.remainder(line.0 >> self.topology.home_shift) as u16
    }

    #[inline]
    fn gpu_of(&self, module: u16) -> u16 {
        self.divisors.gpms.quotient(u64::from(module)) as u16
    }

    #[inline]
    fn place_in_gpu(&self, module: u16) -> u16 {
        self.divisors.gpms.remainder(u64::from(module)) as u16
    }

    /// The bank with the same number in another module. It serves the same lines there.
    #[inline]
    fn peer(&self, module: u16) -> AgentId {
        self.topology.l2(module * self.banks + self.bank)
    }

    /// The module of a private cache or a bank.
    #[inline]
    fn module_of(&self, agent: AgentId) -> u16 {
        let Divisors { banks, caches, .. } = self.divisors;
        let module = match agent.0.checked_sub(self.topology.l1s) {
            Some(bank) => banks.quotient(u64::from(bank)),
            None => caches.quotient(u64::from(agent.0)),
        };
        module as u16
    }

    /// The part that this bank plays for `line`.
    #[inline]
    pub fn station(&self, line: LineAddr) -> Station {
        let home = self.home_module(line);
        if home == self.module {
            Station::Home
        } else if self.hierarchy == Hierarchy::GpuHomes && self.place_in_gpu(home) == self.place {
            Station::GpuHome
        } else {
            Station::Local
        }
    }

    /// Whether `line` lies in this GPU's memory.
    pub fn is_of_this_gpu(&self, line: LineAddr) -> bool {
        self.gpu_of(self.home_module(line)) == self.gpu
    }

    /// The bank to which a request for `line` goes from here. The home sends it to memory instead.
    #[inline]
    pub fn next(&self, line: LineAddr) -> AgentId {
        let home = self.home_module(line);
        let module = match self.hierarchy {
            Hierarchy::Flat => home,
            Hierarchy::GpuHomes => {
                let place = self.place_in_gpu(home);
                if place == self.place { home } else { self.gpu * self.topology.gpms + place }
            }
        };
        self.peer(module)
    }

    /// The agent to which an answer for a private cache goes from here.
    #[inline]
    pub fn toward(&self, origin: AgentId, line: LineAddr) -> AgentId {
        if origin.0.wrapping_sub(self.module * self.caches) < self.caches {
            return origin;
        }
        let module = self.module_of(origin);
        let gpu = self.gpu_of(module);
        match self.hierarchy {
            Hierarchy::GpuHomes if gpu != self.gpu => {
                self.peer(gpu * self.topology.gpms + self.place_in_gpu(self.home_module(line)))
            }
            Hierarchy::GpuHomes | Hierarchy::Flat => self.peer(module),
        }
    }

    /// Whether there is one module beside this bank's.
    pub fn is_pair(&self) -> bool {
        self.topology.modules() == 2
    }

    /// The number of private caches of the module.
    pub fn private_caches(&self) -> usize {
        usize::from(self.caches)
    }

    /// Whether a bank is in this GPU.
    pub fn is_neighbour(&self, bank: AgentId) -> bool {
        self.gpu_of(self.module_of(bank)) == self.gpu
    }

    /// Whether requests for homes in other GPUs pass here.
    pub fn is_on_the_way(&self) -> bool {
        self.hierarchy == Hierarchy::GpuHomes
    }

    /// Whether this bank passes invalidations of `home` on within its GPU.
    pub fn forwards_for(&self, home: AgentId) -> bool {
        self.hierarchy == Hierarchy::GpuHomes && !self.is_neighbour(home)
    }

    /// The scope that a release or acquire of `scope` really has. Without GPU homes there is one home for every scope.
    pub fn reach(&self, scope: Scope) -> Scope {
        match self.hierarchy {
            Hierarchy::Flat => Scope::System,
            Hierarchy::GpuHomes => scope,
        }
    }

    /// Whether copies in other banks may be stale for an acquire of `scope`: those of GPU homes.
    pub fn acquires_elsewhere(&self, scope: Scope) -> bool {
        self.hierarchy == Hierarchy::GpuHomes && scope == Scope::System
    }

    /// Whether a request came from a private cache of this module.
    #[inline]
    pub fn is_local(&self, sender: AgentId) -> bool {
        sender.0 < self.topology.l1s
    }

    /// The first station whose copy an operation of `scope` may see.
    pub fn point_of(&self, scope: Scope) -> Station {
        match (scope, self.hierarchy) {
            (Scope::WorkGroup, _) => Station::Local,
            (Scope::Gpu, Hierarchy::GpuHomes) => Station::GpuHome,
            (Scope::Gpu | Scope::System, _) => Station::Home,
        }
    }

    /// The position of a bank among the sharers that this bank's directory tells apart. Positions are modules or, with
    /// GPU homes, the modules of this GPU followed by the GPUs.
    #[inline]
    pub fn position(&self, sharer: AgentId) -> u16 {
        let module = self.module_of(sharer);
        let gpu = self.gpu_of(module);
        match self.hierarchy {
            Hierarchy::Flat => module,
            Hierarchy::GpuHomes if gpu == self.gpu => self.place_in_gpu(module),
            Hierarchy::GpuHomes => self.topology.gpms + gpu,
        }
    }

    /// Whether the sharer at `position` is in this GPU.
    pub fn is_in_this_gpu(&self, position: u16) -> bool {
        match self.hierarchy {
            Hierarchy::Flat => self.gpu_of(position) == self.gpu,
            Hierarchy::GpuHomes => position < self.topology.gpms,
        }
    }

    /// The bank to which invalidations for the sharer at `position` are sent: the bank of a module, or the GPU home of
    /// the lines in this bank's memory.
    pub fn sharer(&self, position: u16) -> AgentId {
        let gpms = self.topology.gpms;
        match self.hierarchy {
            Hierarchy::Flat => self.peer(position),
            Hierarchy::GpuHomes if position < gpms => self.peer(self.gpu * gpms + position),
            Hierarchy::GpuHomes => self.peer((position - gpms) * gpms + self.place),
        }
    }

    /// The positions of this bank itself: its module, and its GPU where GPUs are positions.
    pub fn own_positions(&self) -> Sharers {
        let mut own = Sharers::NONE;
        match self.hierarchy {
            Hierarchy::Flat => own.insert(AgentId(self.module)),
            Hierarchy::GpuHomes => {
                own.insert(AgentId(self.place));
                own.insert(AgentId(self.topology.gpms + self.gpu));
            }
        }
        own
    }

    /// The number of positions of sharers.
    pub fn positions(&self) -> u16 {
        match self.hierarchy {
            Hierarchy::Flat => self.topology.modules(),
            Hierarchy::GpuHomes => self.topology.gpms + self.topology.gpus,
        }
    }

    /// The banks that a release or acquire of `scope` has to reach from here: those of all other modules or, with GPU
    /// homes, those of the other modules of the GPU.
    pub fn peers(&self, scope: Scope) -> impl Iterator<Item = AgentId> + use<'_> {
        let modules = match (scope, self.hierarchy) {
            (Scope::WorkGroup, _) => 0..0,
            (Scope::Gpu | Scope::System, Hierarchy::Flat) => 0..self.topology.modules(),
            (Scope::Gpu | Scope::System, Hierarchy::GpuHomes) => {
                self.gpu * self.topology.gpms..(self.gpu + 1) * self.topology.gpms
            }
        };
        modules.filter(|&module| module != self.module).map(|module| self.peer(module))
    }

    /// The system homes for which this bank is the GPU home: one in every other GPU. There are none without GPU homes.
    pub fn system_homes(&self) -> impl Iterator<Item = AgentId> + use<'_> {
        let gpus = match self.hierarchy {
            Hierarchy::Flat => 0..0,
            Hierarchy::GpuHomes => 0..self.topology.gpus,
        };
        gpus.filter(|&gpu| gpu != self.gpu).map(|gpu| self.peer(gpu * self.topology.gpms + self.place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_BY_TWO: Topology = Topology { gpus: 2, gpms: 2, home_shift: 0, ..Topology::one_gpu(4, 4) };

    fn route(module: u16, hierarchy: Hierarchy) -> Route {
        Route::new(module, TWO_BY_TWO, hierarchy)
    }

    #[test]
    fn a_request_passes_the_gpu_home_as_in_figure_6() {
        let line = LineAddr(3);
        let [requester, gpu_home, home] = [0, 1, 3].map(|module| route(module, Hierarchy::GpuHomes));
        assert_eq!(requester.next(line), TWO_BY_TWO.l2(1));
        assert_eq!(gpu_home.next(line), TWO_BY_TWO.l2(3));
        let stations = [requester, gpu_home, home].map(|bank| bank.station(line));
        assert_eq!(stations, [Station::Local, Station::GpuHome, Station::Home]);
        assert_eq!(home.toward(TWO_BY_TWO.l1(0), line), TWO_BY_TWO.l2(1));
        assert_eq!(gpu_home.toward(TWO_BY_TWO.l1(0), line), TWO_BY_TWO.l2(0));
        assert_eq!(requester.toward(TWO_BY_TWO.l1(0), line), TWO_BY_TWO.l1(0));
    }

    #[test]
    fn sharers_are_modules_here_and_gpus_elsewhere() {
        let home = route(3, Hierarchy::GpuHomes);
        let positions = [0, 1, 2].map(|module| home.position(TWO_BY_TWO.l2(module)));
        assert_eq!(positions, [2, 2, 0]);
        assert_eq!(home.sharer(2), TWO_BY_TWO.l2(1));
        assert_eq!(home.sharer(0), TWO_BY_TWO.l2(2));
    }

    #[test]
    fn a_bank_takes_the_positions_of_its_module_and_its_gpu() {
        let own = |hierarchy| route(3, hierarchy).own_positions().iter().collect::<Vec<_>>();
        assert_eq!(own(Hierarchy::GpuHomes), [AgentId(1), AgentId(3)]);
        assert_eq!(own(Hierarchy::Flat), [AgentId(3)]);
    }

    #[test]
    fn without_gpu_homes_every_module_talks_to_the_home() {
        let bank = route(0, Hierarchy::Flat);
        assert_eq!(bank.next(LineAddr(3)), TWO_BY_TWO.l2(3));
        assert_eq!(bank.peers(Scope::Gpu).count(), 3);
        assert_eq!(bank.system_homes().count(), 0);
    }

    #[test]
    fn a_release_reaches_every_other_bank_once() {
        let bank = route(0, Hierarchy::GpuHomes);
        let peers: Vec<_> = bank.peers(Scope::System).collect();
        let beyond = peers.iter().flat_map(|peer| {
            let module = TWO_BY_TWO.module_of(*peer);
            route(module, Hierarchy::GpuHomes).system_homes().collect::<Vec<_>>()
        });
        let mut reached: Vec<_> = peers.iter().copied().chain(bank.system_homes()).chain(beyond).collect();
        reached.sort_unstable();
        assert_eq!(reached, [1, 2, 3].map(|bank| TWO_BY_TWO.l2(bank)));
    }
}
