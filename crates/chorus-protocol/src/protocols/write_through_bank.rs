//! The parts that the shared banks of the write-through protocols have in common: readers that wait, writes that are
//! performed, lines that are written back.

use crate::access::Txn;
use crate::address::{AgentId, LineAddr};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, memory};
use crate::protocols::write_through::{ACK, ATOMIC_DATA, DATA};
use crate::save::{self, Save};

/// A reader merged into a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct Reader {
    /// The private cache that reads.
    pub agent: AgentId,
    txn: Txn,
    wave: u16,
}

impl Reader {
    /// The reader that a request comes from.
    pub fn of<const W: usize>(message: &Message<W>) -> Reader {
        Reader { agent: message.src, txn: message.txn, wave: message.wave }
    }

    /// The answer to the reader once memory has sent `fill`.
    pub fn answer<const W: usize>(&self, fill: &Message<W>) -> Message<W> {
        let Reader { agent, txn, wave } = *self;
        let answer = Message::control(DATA, fill.line, fill.dst, agent);
        Message { txn, wave, mask: ByteMask::full::<W>(), data: fill.data, ..answer }
    }
}

/// Performs a write or an atomic on a line's data and gives the answer to it.
pub fn perform<const W: usize>(message: &Message<W>, data: &mut LineData<W>) -> Message<W> {
    match message.atomic {
        Some(op) => {
            let mut answer = message.reply(ATOMIC_DATA);
            (answer.mask, answer.data) = (message.mask, message.data);
            op.perform(data, message.mask, &mut answer.data);
            answer
        }
        None => {
            data.merge(message.mask, &message.data);
            message.reply(ACK)
        }
    }
}

/// A mistake in performing a write or an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteFault {
    /// Everything lands one word further.
    WrongWord,
    /// The whole line is replaced, not only the bytes concerned.
    WholeLine,
    /// An atomic answers with what it has written, not with what it found.
    NewValue,
}

/// As [`perform`], with a mistake if there is one to build in.
pub fn perform_with<const W: usize>(
    fault: Option<WriteFault>,
    message: &Message<W>,
    data: &mut LineData<W>,
) -> Message<W> {
    match fault {
        None => perform(message, data),
        Some(WriteFault::WrongWord) => {
            data.0.rotate_right(1);
            let answer = perform(message, data);
            data.0.rotate_left(1);
            answer
        }
        Some(WriteFault::WholeLine) => {
            let mask = ByteMask::full::<W>();
            perform(&Message { mask, ..*message }, data)
        }
        Some(WriteFault::NewValue) => {
            let mut answer = perform(message, data);
            answer.data.merge(answer.mask, data);
            answer
        }
    }
}

/// The message that writes a whole line back to memory.
pub fn write_back<const W: usize>(line: LineAddr, data: &LineData<W>, bank: AgentId, memory: AgentId) -> Message<W> {
    Message { mask: ByteMask::full::<W>(), data: *data, ..Message::control(memory::WB, line, bank, memory) }
}
