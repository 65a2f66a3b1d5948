//! The messages of a machine in which some compute units have the private caches of GPU-VI.

use crate::message::{Channel, MessageSpec, TrafficClass, memory};
use crate::protocols::spandex::messages::TRANSLATED;
use crate::protocols::vi_protocols;
use crate::protocols::write_through::Kinds;

/// The number of GPU-VI's own rows.
const ROWS: usize = vi_protocols::MESSAGES.len() - memory::SPECS.len();

/// The place of these rows, which is behind all others.
pub const KINDS: Kinds = Kinds::after(TRANSLATED.len());

/// The traffic class of each row of GPU-VI, counted as the Spandex request that it corresponds to.
const CLASSES: [TrafficClass; ROWS] = [
    TrafficClass::ReqS,
    TrafficClass::ReqWt,
    TrafficClass::ReqWtData,
    TrafficClass::ReqS,
    TrafficClass::ReqWt,
    TrafficClass::ReqWtData,
    TrafficClass::Probe,
    TrafficClass::Probe,
    TrafficClass::Probe,
    TrafficClass::Probe,
];

/// The message table: the table of machines whose devices all have translation units, then the messages between caches
/// of GPU-VI and their units.
pub static MESSAGES: [MessageSpec; TRANSLATED.len() + ROWS] = {
    let mut rows = [TRANSLATED[0]; TRANSLATED.len() + ROWS];
    let mut kind = 0;
    while kind < TRANSLATED.len() {
        rows[kind] = TRANSLATED[kind];
        kind += 1;
    }
    let mut row = 0;
    while row < ROWS {
        let spec = vi_protocols::MESSAGES[memory::SPECS.len() + row];
        rows[TRANSLATED.len() + row] = MessageSpec { class: CLASSES[row], channel: Channel::Instant, ..spec };
        row += 1;
    }
    rows
};
