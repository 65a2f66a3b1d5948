//! The rules that an episode can break.

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
        /// The name of the agent.
        agent: String,
    },
    /// A load or an atomic of a program without data races returned another value than the last one written.
    #[error("wrong value: {wave} got {got} from {operation}, expected {expected}")]
    WrongValue {
        /// The name of the wavefront.
        wave: String,
        /// The operation in words.
        operation: String,
        /// The value that it returned.
        got: u32,
        /// The value that it should have returned, in words.
        expected: String,
    },
    /// The values of a word fit no order of its writes.
    #[error("incoherent: {reason}")]
    Incoherent {
        /// The reads or writes that do not fit.
        reason: String,
    },
    /// A word holds another value than the last one written when everything is done.
    #[error("wrong final value: {word} holds {got}, expected {expected}")]
    WrongFinal {
        /// The name of the word.
        word: String,
        /// The value that it holds.
        got: u32,
        /// The value that it should hold.
        expected: u32,
    },
    /// Something waits and nothing moves any more.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Inputs are consumed but no wavefront makes progress.
    #[error("livelock: nothing got on for {steps} steps: {waiting}")]
    Livelock {
        /// The number of steps without progress.
        steps: u64,
        /// Everything that waits, in words.
        waiting: String,
    },
    /// An operation that its cache has accepted gets no answer, although inputs are consumed.
    #[error("starvation: {wave} has waited for {operation} for {steps} steps: {waiting}")]
    Starvation {
        /// The name of the wavefront.
        wave: String,
        /// The operation in words.
        operation: String,
        /// The number of steps since it was accepted.
        steps: u64,
        /// Everything that waits, in words.
        waiting: String,
    },
    /// Everything is answered and delivered, but a controller still waits for something.
    #[error("everything is answered and delivered, but {agent} still waits for something")]
    NotQuiescent {
        /// The name of the controller.
        agent: String,
    },
    /// A controller refused an input, but changed or sent something all the same.
    #[error("{agent} did not consume its input, but the attempt had effects")]
    RefusalWithEffects {
        /// The name of the controller.
        agent: String,
    },
    /// An input that takes no time was not accepted at once.
    #[error("{agent} did not accept {input}, which takes no time, at once")]
    NotAtOnce {
        /// The name of the receiver.
        agent: String,
        /// The input in words.
        input: &'static str,
    },
    /// An operation ended that was not outstanding.
    #[error("{agent} answered an operation that was not outstanding")]
    UnexpectedAnswer {
        /// The name of the cache.
        agent: String,
    },
    /// A message went to an agent that the machine does not have.
    #[error("{message} went to agent {agent}, which does not exist")]
    NoSuchAgent {
        /// The name of the message.
        message: &'static str,
        /// The number of the agent that it was sent to.
        agent: u16,
    },
}

impl Problem {
    /// Whether two problems are of one kind. All wrong values are of one kind, however they were noticed, and so are
    /// deadlocks, livelocks and starvation.
    pub fn is_like(&self, other: &Problem) -> bool {
        let class = |problem: &Problem| match problem {
            Problem::WrongValue { .. } | Problem::Incoherent { .. } | Problem::WrongFinal { .. } => 1,
            Problem::Deadlock(_) | Problem::Livelock { .. } | Problem::Starvation { .. } => 2,
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
