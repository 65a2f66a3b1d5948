//! The messages of a machine some of whose compute units have the private caches of GPU-VI.

use crate::message::{Channel, MessageSpec, TrafficClass, memory};
use crate::protocols::spandex::messages::TRANSLATED;
use crate::protocols::vi_protocols;
use crate::protocols::write_through::Kinds;

/// The rows of GPU-VI.
const ROWS: usize = vi_protocols::MESSAGES.len() - memory::SPECS.len();

/// Where those rows are: last.
pub const KINDS: Kinds = Kinds::after(TRANSLATED.len());

/// The class, as requests of Spandex are counted, of each row of GPU-VI.
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

/// The message table: that of machines whose devices all have translation units, then what caches of GPU-VI and their units say to each other.
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
