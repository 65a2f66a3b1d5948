//! What can go wrong in an episode.

use std::mem::discriminant;

use chorus_protocol::controller::Unspecified;
use thiserror::Error;

/// A broken rule, in words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// A controller has no transition for an input.
    #[error("a hole in the table: {0}")]
    Hole(#[from] Unspecified),
    /// The protocol has no controller for an agent.
    #[error("the protocol has no controller for {agent}")]
    NoController {
        /// The agent.
        agent: String,
    },
    /// A load or an atomic of a data-race-free program returned something else than what was last written.
    #[error("wrong value: {wave} got {got} from {operation}, expected {expected}")]
    WrongValue {
        /// The wavefront.
        wave: String,
        /// The operation.
        operation: String,
        /// What it returned.
        got: u32,
        /// What it should have returned, in words.
        expected: String,
    },
    /// The values of a word fit no order of its writes.
    #[error("incoherent: {reason}")]
    Incoherent {
        /// What does not fit.
        reason: String,
    },
    /// A word holds something else than what was last written, when all is done.
    #[error("wrong final value: {word} holds {got}, expected {expected}")]
    WrongFinal {
        /// The word.
        word: String,
        /// What it holds.
        got: u32,
        /// What it should hold.
        expected: u32,
    },
    /// Something waits and nothing moves any more.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Much moves but no wavefront gets on.
    #[error("livelock: nothing got on for {steps} steps: {waiting}")]
    Livelock {
        /// Steps without progress.
        steps: u64,
        /// What waits.
        waiting: String,
    },
    /// Everything is answered and delivered, but a controller still waits for something.
    #[error("everything is answered and delivered, but {agent} still waits for something")]
    NotQuiescent {
        /// The controller.
        agent: String,
    },
    /// A controller refused an input and changed or sent something all the same.
    #[error("{agent} did not consume its input, but the attempt had effects")]
    RefusalWithEffects {
        /// The controller.
        agent: String,
    },
    /// An input that takes no time was not accepted at once.
    #[error("{agent} did not accept {input}, which takes no time, at once")]
    NotAtOnce {
        /// The receiver.
        agent: String,
        /// The input.
        input: &'static str,
    },
    /// An operation ended that was not outstanding.
    #[error("{agent} answered an operation that was not outstanding")]
    UnexpectedAnswer {
        /// The cache.
        agent: String,
    },
    /// A message went to an agent that the machine does not have.
    #[error("{message} went to agent {agent}, which does not exist")]
    NoSuchAgent {
        /// The message's name.
        message: &'static str,
        /// The id it was sent to.
        agent: u16,
    },
}

impl Problem {
    /// Whether two problems are of one kind. Wrong values are, however they were noticed, and so is everything that is stuck.
    pub fn is_like(&self, other: &Problem) -> bool {
        let class = |problem: &Problem| match problem {
            Problem::WrongValue { .. } | Problem::Incoherent { .. } | Problem::WrongFinal { .. } => 1,
            Problem::Deadlock(_) | Problem::Livelock { .. } => 2,
            Problem::Hole(_)
            | Problem::NoController { .. }
            | Problem::NotQuiescent { .. }
            | Problem::RefusalWithEffects { .. }
            | Problem::NotAtOnce { .. }
            | Problem::UnexpectedAnswer { .. }
            | Problem::NoSuchAgent { .. } => 0,
        };
        class(self) == class(other) && (class(self) > 0 || discriminant(self) == discriminant(other))
    }
}
