//! What can be wrong with a protocol.

use chorus_litmus::judge::TooLarge;
use chorus_protocol::controller::Unspecified;
use thiserror::Error;

use crate::program::Location;

/// A broken rule, in words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// A controller has no transition for an input.
    #[error("a hole in the table: {0}")]
    Unspecified(#[from] Unspecified),
    /// The protocol has no controller for an agent that the machine has.
    #[error("the protocol has no controller for {agent}")]
    NoController {
        /// The agent.
        agent: String,
    },
    /// A controller refused an input and changed or sent something all the same.
    #[error("{agent} did not consume its input, but the attempt had effects")]
    RefusalWithEffects {
        /// The controller.
        agent: String,
    },
    /// A message that takes no time was not accepted at once.
    #[error("{agent} did not accept {message}, which takes no time, at once")]
    InstantStalled {
        /// The receiver.
        agent: String,
        /// The message's name.
        message: &'static str,
    },
    /// An operation ended that was not outstanding.
    #[error("T{thread} was answered for {op}, which was not outstanding")]
    UnexpectedAnswer {
        /// Index of the thread.
        thread: usize,
        /// The operation, in words.
        op: String,
    },
    /// A message went to an agent that the machine does not have.
    #[error("{message} went to agent {agent}, which does not exist")]
    NoSuchAgent {
        /// The message's name.
        message: &'static str,
        /// The id it was sent to.
        agent: u16,
    },
    /// A readable private copy differs from its home.
    #[error("single writer broken: {cache} can read {at}={copy}, but its home holds {home}")]
    NotSingleWriter {
        /// The private cache.
        cache: String,
        /// The word.
        at: Location,
        /// The value of the private copy.
        copy: u32,
        /// The value at home.
        home: u32,
    },
    /// A private copy has been written while another is readable.
    #[error("single owner broken: {owner} has written line {line:#x}, which {other} can read")]
    NotSingleOwner {
        /// The private cache that has written.
        owner: String,
        /// The other private cache.
        other: String,
        /// The line.
        line: u8,
    },
    /// A readable private copy is not known at its home.
    #[error("inclusion broken: {cache} can read line {line:#x}, but {home} {reason}")]
    NotInclusive {
        /// The private cache.
        cache: String,
        /// The line.
        line: u8,
        /// The home.
        home: String,
        /// What is missing there.
        reason: &'static str,
    },
    /// A readable copy of a shared bank is not tracked up to its home.
    #[error("tracking broken: {bank} can read line {line:#x}, but {tracker} does not track {sharer}")]
    NotTracked {
        /// The bank that has the copy.
        bank: String,
        /// The line.
        line: u8,
        /// The bank whose directory should know.
        tracker: String,
        /// Of whom.
        sharer: String,
    },
    /// Two private caches own one word.
    #[error("ownership broken: {first} and {second} both own {at}")]
    TwoOwners {
        /// One owner.
        first: String,
        /// The other.
        second: String,
        /// The word.
        at: Location,
    },
    /// A shared bank does not know who owns a word.
    #[error("ownership broken: {home} {reason}: {at}")]
    WrongOwner {
        /// The bank.
        home: String,
        /// The word.
        at: Location,
        /// What it takes it for.
        reason: &'static str,
    },
    /// Something waits and nothing can ever move again.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Everything is answered, but a controller still waits for something.
    #[error("everything is answered and delivered, but {agent} {reason}")]
    NotClean {
        /// The controller.
        agent: String,
        /// What is left, in words.
        reason: String,
    },
    /// An execution that the memory model forbids.
    #[error("wrong values: {program} gave {outcome}, which the model ({model}) forbids")]
    Forbidden {
        /// What the threads did.
        program: String,
        /// What came of it.
        outcome: String,
        /// The model.
        model: &'static str,
    },
    /// A program that is too large for the memory model.
    #[error("nobody can say whether {program} went well: {reason}")]
    Unjudged {
        /// What the threads did.
        program: String,
        /// Why not.
        reason: TooLarge,
    },
}
