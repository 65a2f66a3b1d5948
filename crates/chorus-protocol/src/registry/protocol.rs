//! A protocol as drivers see it.

use super::build::Build;
use super::declaration::{
    Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Reach, Structure, Values,
};
use crate::message::MessageSpec;
use crate::parameter::{ParameterSpec, Parameters};
use crate::tally::TallySpec;

/// A coherence protocol: a declaration and its controllers.
pub trait Protocol: Build<2> + Build<16> + Build<32> + Sync {
    /// Everything that is known about the protocol without running it.
    fn declaration(&self) -> &'static Declaration;

    /// The protocol that this one adds transitions to, for the tables of both.
    fn extends(&self) -> Option<&'static dyn Protocol> {
        None
    }

    /// The name on the command line, [`Declaration::name`].
    fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The name as the paper spells it, [`Declaration::title`].
    fn title(&self) -> &'static str {
        self.declaration().title
    }

    /// One sentence for lists, [`Declaration::summary`].
    fn summary(&self) -> &'static str {
        self.declaration().summary
    }

    /// The paper and section that define the protocol, [`Declaration::citation`].
    fn citation(&self) -> &'static str {
        self.declaration().citation
    }

    /// The memory model that programs may rely on, [`Declaration::model`].
    fn model(&self) -> MemoryModel {
        self.declaration().model
    }

    /// Promises beyond the memory model, [`Declaration::promises`].
    fn promises(&self) -> &'static [Promise] {
        self.declaration().promises
    }

    /// The number of virtual networks, [`Declaration::virtual_networks`].
    fn virtual_networks(&self) -> u8 {
        self.declaration().virtual_networks
    }

    /// The order of messages that the controllers rely on, [`Declaration::delivery`].
    fn delivery(&self) -> Delivery {
        self.declaration().delivery
    }

    /// The clocks that the controllers need, [`Declaration::counters`].
    fn counters(&self) -> Counters {
        self.declaration().counters
    }

    /// The machines that the protocol is for, [`Declaration::reach`].
    fn reach(&self) -> Reach {
        self.declaration().reach
    }

    /// The levels of its caches, and the caches that have translation units.
    fn structure(&self) -> Structure {
        Structure::TwoLevels
    }

    /// The virtual networks whose messages wait for room in registers of their senders. Nothing else waits for room on
    /// these networks.
    fn registered_networks(&self) -> &'static [u8] {
        &[]
    }

    /// The commands that shared banks get between kernels, with these parameters.
    fn commands(&self, _parameters: &Parameters) -> Commands {
        self.declaration().commands
    }

    /// Whether shared banks keep lines of other modules' memory, with these parameters.
    fn keeps_remote(&self, _parameters: &Parameters) -> bool {
        true
    }

    /// The source of the values that loads return, [`Declaration::values`].
    fn values(&self) -> Values {
        self.declaration().values
    }

    /// Numbers that users may set, [`Declaration::parameters`].
    fn parameters(&self) -> &'static [ParameterSpec] {
        self.declaration().parameters
    }

    /// Counts that controllers keep, [`Declaration::tallies`].
    fn tallies(&self) -> &'static [TallySpec] {
        self.declaration().tallies
    }

    /// The message table, [`Declaration::messages`].
    fn messages(&self) -> &'static [MessageSpec] {
        self.declaration().messages
    }

    /// The seeded faults of [`Declaration::faults`].
    fn faults(&self) -> &'static [FaultSpec] {
        self.declaration().faults
    }
}
