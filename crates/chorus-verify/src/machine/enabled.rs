//! The moves that may be made in a state: messages that may arrive, and lines that may leave.

use crate::config::Evictions;
use crate::machine::{Action, ExploredMachine, Route};
use crate::networks::Networks;
use crate::settings::Orders;

impl ExploredMachine {
    /// The messages that may arrive.
    pub fn deliveries(&self, state: &[u32], actions: &mut Vec<Action>) {
        let mut last = None;
        for (position, &number) in self.network(state).iter().enumerate() {
            let place = match self.routes[number as usize] {
                Route::Pool(_) => (Route::Nowhere, number),
                route @ (Route::Queue(_) | Route::Instant | Route::Nowhere) => (route, 0),
            };
            if last != Some(place) {
                actions.push(Action::Deliver { position: position as u16 });
            }
            last = Some(place);
        }
    }

    /// The first of some deliveries that nothing depends on, now or later: the message stays at the head of its
    /// channel, and taking it commutes with every other move. To follow it alone is therefore to follow all deliveries.
    /// Where buffers are finite, a message that waits blocks others, and no delivery is independent.
    pub fn independent(&self, state: &[u32], deliveries: &[Action]) -> Option<Action> {
        if self.config.networks != Networks::Unbounded || self.orders == Orders::All {
            return None;
        }
        let network = self.network(state);
        deliveries.iter().copied().find(|delivery| {
            let Action::Deliver { position } = delivery else { return false };
            let message = self.nodes.message(network[usize::from(*position)]);
            let receiver = usize::from(message.dst.0);
            receiver < self.controllers && self.nodes.node(state[receiver]).controller.only_counts(message)
        })
    }

    /// The lines that may leave.
    pub fn evictions(&self, state: &[u32], actions: &mut Vec<Action>) {
        let private = usize::from(self.config.topology.l1s);
        let free = match self.config.evictions {
            Evictions::WhenNeeded => 0..0,
            Evictions::PrivateAnytime => 0..private,
            Evictions::SharedAnytime => private..self.controllers,
            Evictions::Anytime => 0..self.controllers,
        };
        for (agent, &node) in free.clone().zip(&state[free]) {
            let victims = self.nodes.node(node).victims();
            actions.extend(victims.map(|victim| Action::Evict { agent: agent as u8, victim }));
        }
    }
}
