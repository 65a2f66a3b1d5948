//! Values that loads and atomics have asked for and that are not in their registers yet.

use chorus_kernel::{LANES, WaveState};
use chorus_protocol::save::{self, Save};

use super::access::spread;
use crate::code::Elements;
use crate::registers::{BankKind, Register, Registers};

/// A load in flight.
#[derive(Save)]
pub(super) struct InFlight {
    pub(super) slot: u16,
    pub(super) mask: u32,
    pub(super) elements: Elements,
    /// Where in its word the value of each lane begins, in bits, if it is narrower than the word.
    pub(super) shifts: Option<Box<[u8; LANES]>>,
}

/// Loads in flight, and the registers that wait for them.
#[derive(Default, Save)]
pub(super) struct Pending {
    flights: Vec<Option<InFlight>>,
    count: usize,
    /// For each register of the first two banks, the flight that brings its value, plus one.
    words: Vec<u16>,
    longs: Vec<u16>,
}

impl Pending {
    pub(super) fn new(registers: &Registers) -> Pending {
        let (words, longs) = (vec![0; registers.words.len()], vec![0; registers.longs.len()]);
        Pending { flights: Vec::new(), count: 0, words, longs }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    fn flight_of(&mut self, register: Register) -> Option<&mut u16> {
        match register.bank {
            BankKind::Word => self.words.get_mut(usize::from(register.number)),
            BankKind::Long => self.longs.get_mut(usize::from(register.number)),
            BankKind::Predicate => None,
        }
    }

    pub(super) fn add(&mut self, flight: InFlight) {
        let place = self.flights.iter().position(Option::is_none).unwrap_or_else(|| {
            self.flights.push(None);
            self.flights.len() - 1
        });
        for element in flight.elements.iter() {
            if let Some(number) = element.register.and_then(|register| self.flight_of(register)) {
                *number = place as u16 + 1;
            }
        }
        self.flights[place] = Some(flight);
        self.count += 1;
    }

    /// Brings the values of registers that are used next. Returns whether all are there; notes that the wavefront waits
    /// for the others.
    pub(super) fn resolve(&mut self, uses: &[Register], registers: &mut Registers, state: &mut WaveState) -> bool {
        let mut all = true;
        for &register in uses {
            let number = self.flight_of(register).map_or(0, |number| *number);
            if number == 0 {
                continue;
            }
            let place = usize::from(number) - 1;
            // Two registers of one vector may wait for the same load, which is asked for once.
            match self.flights[place].take() {
                Some(flight) if state.is_ready(flight.slot) => {
                    self.count -= 1;
                    self.deliver(&flight, registers, state);
                }
                flight => {
                    self.flights[place] = flight;
                    all = false;
                }
            }
        }
        all
    }

    fn deliver(&mut self, flight: &InFlight, registers: &mut Registers, state: &mut WaveState) {
        for element in flight.elements.iter() {
            if let Some(number) = element.register.and_then(|register| self.flight_of(register)) {
                *number = 0;
            }
        }
        let op = state.memory_op(flight.slot);
        let words = |k: usize| op.values(k);
        spread(registers, &flight.elements, flight.mask, words, flight.shifts.as_deref());
        state.finish(flight.slot);
    }

    /// Nobody asks for any value any more.
    pub(super) fn abandon_all(&mut self, state: &mut WaveState) {
        self.flights.drain(..).flatten().for_each(|flight| state.abandon(flight.slot));
        self.count = 0;
    }
}
