//! Messages and requests with one field that is wrong.

use chorus_protocol::access::{CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::{AgentId, Role, Topology};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;
use chorus_protocol::registry::BuildConfig;

use super::operators::Alteration;

/// The surroundings in which something is altered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// The agents of the machine.
    pub(super) topology: Topology,
    /// The number of wavefront slots beside each private cache.
    pub(super) waves: u16,
}

impl Surroundings {
    /// The surroundings of a controller that is built from `config`.
    pub(super) fn of(config: &BuildConfig) -> Surroundings {
        Surroundings { topology: config.topology, waves: config.waves }
    }

    /// The next agent of the same role. It is the agent itself where there is no other, and for nobody.
    fn neighbour(&self, agent: AgentId) -> AgentId {
        let topology = self.topology;
        if agent.0 >= topology.agents() {
            return agent;
        }
        let (role, index) = topology.role(agent);
        let next = |count: u16| (index + 1) % count.max(1);
        match role {
            Role::L1 => topology.l1(next(topology.l1s)),
            Role::L2 => topology.l2(next(topology.l2s)),
            Role::L3 => topology.l3(next(topology.l3s)),
            Role::Tu => topology.tu(next(topology.tus)),
            Role::Memory => topology.memory(next(topology.channels())),
        }
    }

    fn next_wave(&self, wave: u16) -> u16 {
        (wave + 1) % self.waves.max(1)
    }

    /// The message with one thing wrong. `old` is the line before the step.
    pub(super) fn message<const W: usize>(
        &self,
        message: &Message<W>,
        alteration: Alteration,
        old: &LineData<W>,
    ) -> Message<W> {
        let mut altered = *message;
        match alteration {
            Alteration::Destination => altered.dst = self.neighbour(message.dst),
            Alteration::Sender => altered.src = self.neighbour(message.src),
            Alteration::Origin => altered.origin = self.neighbour(message.origin),
            Alteration::Wave => altered.wave = self.next_wave(message.wave),
            Alteration::Operation => altered.txn = other_operation(message.txn),
            Alteration::Scope => altered.scope = Scope::WorkGroup,
            Alteration::Weak => {}
            Alteration::MoreCredit if message.credit > 0 => altered.credit += 1,
            Alteration::LessCredit if message.credit > 0 => altered.credit -= 1,
            Alteration::LateStamp if message.stamp > 0 => altered.stamp += 1,
            Alteration::EarlyStamp if message.stamp > 1 => altered.stamp -= 1,
            Alteration::MoreCredit | Alteration::LessCredit | Alteration::LateStamp | Alteration::EarlyStamp => {}
            Alteration::FewerWords => altered.mask = fewer_words(message.mask),
            Alteration::MoreWords => altered.mask = more_words::<W>(message.mask),
            Alteration::OtherWord => altered.mask = other_word::<W>(message.mask),
            Alteration::OldData if !message.mask.is_empty() => altered.data = *old,
            Alteration::NoData if !message.mask.is_empty() => altered.data = LineData::default(),
            Alteration::OldData | Alteration::NoData => {}
            Alteration::Kind(kind) => altered.kind = kind,
        }
        altered
    }

    /// The request of a core with one thing wrong.
    pub(super) fn request<const W: usize>(
        &self,
        request: &CoreRequest<W>,
        alteration: Alteration,
        old: &LineData<W>,
    ) -> CoreRequest<W> {
        let mut altered = *request;
        match alteration {
            Alteration::Wave => altered.wave = self.next_wave(request.wave),
            Alteration::Operation => altered.txn = other_operation(request.txn),
            Alteration::Scope => altered.scope = Scope::WorkGroup,
            Alteration::Weak => altered.order = Order::Weak,
            Alteration::FewerWords => altered.mask = fewer_words(request.mask),
            Alteration::MoreWords => altered.mask = more_words::<W>(request.mask),
            Alteration::OtherWord => altered.mask = other_word::<W>(request.mask),
            Alteration::OldData => altered.data = *old,
            Alteration::NoData => altered.data = LineData::default(),
            Alteration::Destination
            | Alteration::Sender
            | Alteration::Origin
            | Alteration::MoreCredit
            | Alteration::LessCredit
            | Alteration::LateStamp
            | Alteration::EarlyStamp
            | Alteration::Kind(_) => {}
        }
        altered
    }
}

fn other_operation(txn: Txn) -> Txn {
    txn.operation().map_or(txn, |number| Txn::Operation(number ^ 1))
}

fn fewer_words(mask: ByteMask) -> ByteMask {
    mask.words().last().map_or(mask, |word| mask.without(ByteMask::word(word)))
}

/// A mask without any byte stays: messages without data have it.
fn more_words<const W: usize>(mask: ByteMask) -> ByteMask {
    let absent = (0..W).find(|&word| (mask & ByteMask::word(word)).is_empty()).filter(|_| !mask.is_empty());
    absent.map_or(mask, |word| mask | ByteMask::word(word))
}

fn other_word<const W: usize>(mask: ByteMask) -> ByteMask {
    let mut words = mask.words();
    match (words.next(), words.next()) {
        (Some(word), None) => ByteMask::word((word + 1) % W),
        (None, _) | (Some(_), Some(_)) => mask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_lose_gain_and_move_one_word() {
        let [first, second] = [0, 1].map(ByteMask::word);
        assert_eq!(fewer_words(first | second), first);
        assert_eq!((more_words::<2>(second), more_words::<2>(first | second)), (first | second, first | second));
        assert_eq!((more_words::<2>(ByteMask::EMPTY), other_word::<2>(second)), (ByteMask::EMPTY, first));
    }

    #[test]
    fn the_last_agent_of_a_role_is_followed_by_the_first() {
        let surroundings = Surroundings { topology: Topology::one_gpu(2, 1), waves: 1 };
        let [first, second] = [0, 1].map(|index| surroundings.topology.l1(index));
        assert_eq!((surroundings.neighbour(first), surroundings.neighbour(second)), (second, first));
        let bank = surroundings.topology.l2(0);
        assert_eq!((surroundings.neighbour(bank), surroundings.neighbour(AgentId::NOBODY)), (bank, AgentId::NOBODY));
    }
}
