//! The rules that a protocol can break.

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
        /// The name of the agent.
        agent: String,
    },
    /// A controller refused an input, but changed or sent something all the same.
    #[error("{agent} did not consume its input, but the attempt had effects")]
    RefusalWithEffects {
        /// The name of the controller.
        agent: String,
    },
    /// A controller says that a message only counts, which is not so.
    #[error("{agent} says that {message} only counts, but it matters when {message} is taken")]
    FalseClaim {
        /// The name of the controller.
        agent: String,
        /// The name of the message.
        message: &'static str,
    },
    /// A message that takes no time was not accepted at once.
    #[error("{agent} did not accept {message}, which takes no time, at once")]
    InstantStalled {
        /// The name of the receiver.
        agent: String,
        /// The name of the message.
        message: &'static str,
    },
    /// One input makes a controller evict or send for ever.
    #[error("one input makes {agent} evict lines or send messages for ever")]
    Endless {
        /// The name of the controller.
        agent: String,
    },
    /// An operation ended that was not outstanding.
    #[error("T{thread} was answered for {op}, which was not outstanding")]
    UnexpectedAnswer {
        /// The index of the thread.
        thread: usize,
        /// The operation in words.
        op: String,
    },
    /// A message went to an agent that the machine does not have.
    #[error("{message} went to agent {agent}, which does not exist")]
    NoSuchAgent {
        /// The name of the message.
        message: &'static str,
        /// The number of the agent that it was sent to.
        agent: u16,
    },
    /// A readable private copy differs from its home.
    #[error("single writer broken: {cache} can read {at}={copy}, but its home holds {home}")]
    NotSingleWriter {
        /// The name of the private cache.
        cache: String,
        /// The word of memory concerned.
        at: Location,
        /// The value of the private copy.
        copy: u32,
        /// The value at the line's home.
        home: u32,
    },
    /// A private copy has been written while another is readable.
    #[error("single owner broken: {owner} has written line {line:#x}, which {other} can read")]
    NotSingleOwner {
        /// The private cache that has written.
        owner: String,
        /// The private cache with the other copy.
        other: String,
        /// The number of the line.
        line: u8,
    },
    /// A readable private copy is not known at its home.
    #[error("inclusion broken: {cache} can read line {line:#x}, but {home} {reason}")]
    NotInclusive {
        /// The name of the private cache.
        cache: String,
        /// The number of the line.
        line: u8,
        /// The name of the line's home.
        home: String,
        /// The knowledge that is missing at the home.
        reason: &'static str,
    },
    /// A readable copy of a shared bank is not tracked up to its home.
    #[error("tracking broken: {bank} can read line {line:#x}, but {tracker} does not track {sharer}")]
    NotTracked {
        /// The bank that has the copy.
        bank: String,
        /// The number of the line.
        line: u8,
        /// The bank whose directory should know of the copy.
        tracker: String,
        /// The sharer that it should know of.
        sharer: String,
    },
    /// Two private caches own one word.
    #[error("ownership broken: {first} and {second} both own {at}")]
    TwoOwners {
        /// The private cache that is one owner.
        first: String,
        /// The private cache that is the other.
        second: String,
        /// The word of memory concerned.
        at: Location,
    },
    /// A shared bank does not know who owns a word.
    #[error("ownership broken: {home} {reason}: {at}")]
    WrongOwner {
        /// The name of the bank.
        home: String,
        /// The word of memory concerned.
        at: Location,
        /// The wrong belief of the bank.
        reason: &'static str,
    },
    /// Something waits and nothing can ever move again.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Some moves can follow each other for ever, and something waits all the while.
    #[error("livelock: {0}, and the machine can go round in a circle for ever")]
    Livelock(String),
    /// A thread waits for ever while others go on.
    #[error("starvation: {0}, while the other threads can go on for ever")]
    Starvation(String),
    /// Everything is answered, but a controller still waits for something.
    #[error("everything is answered and delivered, but {agent} {reason}")]
    NotClean {
        /// The name of the controller.
        agent: String,
        /// The reason in words.
        reason: String,
    },
    /// An execution that the memory model forbids.
    #[error("wrong values: {program} gave {outcome}, which the model ({model}) forbids")]
    Forbidden {
        /// The operations of the threads.
        program: String,
        /// The values that they returned, and memory at the end.
        outcome: String,
        /// The name of the model.
        model: &'static str,
    },
    /// A program that is too large for the memory model.
    #[error("nobody can say whether {program} went well: {reason}")]
    Unjudged {
        /// The operations of the threads.
        program: String,
        /// The limit that the program exceeds.
        reason: TooLarge,
    },
}
