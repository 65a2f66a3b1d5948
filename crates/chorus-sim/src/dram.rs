//! Memory channels: a fixed latency and a bandwidth, or GDDR5 banks with row buffers under FR-FCFS.
//!
//! A channel decides one request at a time and says when its data has moved. Values are not its business.

use chorus_protocol::save::{self, Restore, Save};
use chorus_system::{Dram, DramModel, DramTiming, Gddr5};

use crate::clock::{Clock, Ticks};
use crate::jitter::Jitter;
use crate::port::{Port, Rate};

/// A request to a channel.
#[derive(Clone, Copy, Debug)]
pub struct DramRequest {
    /// The time at which it is at the channel. Requests get there in the order in which they are given.
    pub arrives: Ticks,
    /// The number that the driver gives the request.
    pub id: u32,
    /// Line number within the channel.
    pub line: u64,
    /// Writes rather than reads.
    pub write: bool,
    /// Bytes that it moves. Banks with row buffers move whole lines.
    pub bytes: u32,
}

/// The request that a channel has chosen, and when it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the request that is served.
    pub id: u32,
    /// Whether the request is a write.
    pub write: bool,
    /// The time at which its data has arrived at the L2 bank, or is written.
    pub done: Ticks,
    /// Whether its row was open.
    pub row_hit: bool,
}

/// A request in the queue, with the bank and row that its line falls on.
#[derive(Clone, Copy, Debug, Save)]
struct Queued {
    arrives: Ticks,
    row: u64,
    id: u32,
    bytes: u32,
    bank: u16,
    write: bool,
}

/// One memory channel with its queue.
#[derive(Clone, Debug, Restore)]
pub struct MemoryChannel {
    queue: Vec<Queued>,
    #[save(built)]
    capacity: usize,
    #[save(built)]
    latency: Ticks,
    /// When it can decide the next request.
    ready: Ticks,
    bus: Bus,
    /// The variation of its latency, and when the last read was done. No read overtakes another.
    jitter: Option<(Jitter, Ticks)>,
}

/// The timing model of a channel.
#[derive(Clone, Debug, Save)]
enum Bus {
    /// A bandwidth and nothing more.
    Fixed(Port),
    /// Banks with row buffers behind a bus that moves a line in a whole number of cycles.
    Gddr5 { banks: Banks, free: Ticks, burst: Ticks },
}

impl MemoryChannel {
    /// An idle channel for lines of `line_bytes`, whose latency varies by `jitter`.
    pub fn new(config: &Dram, clock: Clock, line_bytes: u32, jitter: Option<Jitter>) -> MemoryChannel {
        MemoryChannel {
            jitter: jitter.map(|jitter| (jitter, 0)),
            queue: Vec::with_capacity(config.queue as usize),
            capacity: config.queue as usize,
            latency: clock.cycles(u64::from(config.latency_cycles)),
            ready: 0,
            bus: match &config.model {
                DramModel::Fixed => {
                    let rate = Rate { bytes: u64::from(config.bytes_per_cycle), ticks: clock.period() };
                    // Requests are decided at edges of the clock, which may be a little after the bus is free.
                    Bus::Fixed(Port::new(rate, clock.period()))
                }
                DramModel::Gddr5(gddr5) => Bus::Gddr5 {
                    banks: Banks::new(gddr5, clock, line_bytes),
                    free: 0,
                    burst: clock.cycles(u64::from(line_bytes.div_ceil(config.bytes_per_cycle))),
                },
            },
        }
    }

    /// How many more requests may wait or be on their way.
    #[inline]
    pub fn room(&self) -> usize {
        self.capacity.saturating_sub(self.queue.len())
    }

    /// Whether no request waits or is on its way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The time at which the first request is there. It may be long past.
    #[inline]
    pub fn first_arrival(&self) -> Option<Ticks> {
        self.queue.first().map(|request| request.arrives)
    }

    /// When it can decide the next request. It never goes back.
    #[inline]
    pub fn ready(&self) -> Ticks {
        self.ready
    }

    /// When its bus is free.
    pub fn free(&self) -> Ticks {
        match &self.bus {
            Bus::Fixed(port) => port.free(),
            Bus::Gddr5 { free, .. } => *free,
        }
    }

    /// Adds a request. The caller has checked that there is room.
    pub fn push(&mut self, request: DramRequest) {
        let DramRequest { arrives, id, line, write, bytes } = request;
        let (bank, row) = match &self.bus {
            Bus::Fixed(_) => (0, 0),
            Bus::Gddr5 { banks, .. } => banks.place(line),
        };
        self.queue.push(Queued { arrives, row, id, bytes, bank, write });
    }

    /// Serves the request that is best served now, among those that are there.
    pub fn decide(&mut self, now: Ticks) -> Option<Decision> {
        self.first_arrival().filter(|&arrives| arrives <= now)?;
        let index = match &self.bus {
            Bus::Fixed(_) => 0,
            Bus::Gddr5 { banks, .. } => {
                let mut there = self.queue.iter().take_while(|request| request.arrives <= now);
                there.position(|request| banks.is_open(request)).unwrap_or(0)
            }
        };
        let request = self.queue.remove(index);
        let (moved, row_hit, next) = match &mut self.bus {
            Bus::Fixed(port) => (port.pass(u64::from(request.bytes), now).end, false, port.free()),
            Bus::Gddr5 { banks, free, burst } => {
                let (data_start, row_hit, lead) = banks.access(&request, now, *free, *burst);
                *free = data_start + *burst;
                (*free, row_hit, free.saturating_sub(lead))
            }
        };
        let (id, write) = (request.id, request.write);
        let mut done = moved + self.latency;
        if let Some((jitter, last)) = self.jitter.as_mut().filter(|_| !write) {
            done = (done + jitter.next()).max(*last);
            *last = done;
        }
        self.ready = next.max(now + 1);
        Some(Decision { id, write, done, row_hit })
    }
}

#[derive(Clone, Copy, Debug, Default, Save)]
struct Bank {
    open_row: Option<u64>,
    activated: Option<Ticks>,
    precharge_ready: Ticks,
}

/// GDDR5 timing in ticks.
#[derive(Clone, Copy, Debug, Save)]
struct Timing {
    cl: Ticks,
    rp: Ticks,
    rc: Ticks,
    ras: Ticks,
    ccd: Ticks,
    wl: Ticks,
    rcd: Ticks,
    rrd: Ticks,
    cdlr: Ticks,
    wr: Ticks,
    ccdl: Ticks,
    rtpl: Ticks,
}

#[derive(Clone, Debug, Save)]
struct Banks {
    banks: Vec<Bank>,
    /// The bits of a line's number within its row, where a row has a power of two of lines in a power of two of banks.
    row_bits: Option<u32>,
    lines_per_row: u64,
    timing: Timing,
    last_activate: Option<Ticks>,
    /// When and at which bank the last column command was given.
    last_column: Option<(Ticks, usize)>,
    write_end: Option<Ticks>,
}

impl Banks {
    fn new(config: &Gddr5, clock: Clock, line_bytes: u32) -> Banks {
        let DramTiming { t_cl, t_rp, t_rc, t_ras, t_ccd, t_wl, t_rcd, t_rrd, t_cdlr, t_wr, t_ccdl, t_rtpl } =
            config.timing.clone();
        let ticks = |cycles: u32| clock.cycles(u64::from(cycles));
        let lines_per_row = u64::from((config.row_bytes / line_bytes).max(1));
        let is_even = lines_per_row.is_power_of_two() && config.banks.is_power_of_two();
        Banks {
            banks: vec![Bank::default(); config.banks as usize],
            row_bits: is_even.then(|| lines_per_row.trailing_zeros()),
            lines_per_row,
            timing: Timing {
                cl: ticks(t_cl),
                rp: ticks(t_rp),
                rc: ticks(t_rc),
                ras: ticks(t_ras),
                ccd: ticks(t_ccd),
                wl: ticks(t_wl),
                rcd: ticks(t_rcd),
                rrd: ticks(t_rrd),
                cdlr: ticks(t_cdlr),
                wr: ticks(t_wr),
                ccdl: ticks(t_ccdl),
                rtpl: ticks(t_rtpl),
            },
            last_activate: None,
            last_column: None,
            write_end: None,
        }
    }

    /// The bank that a line lies in, and the row. A row is named by its number among those of all banks.
    fn place(&self, line: u64) -> (u16, u64) {
        let banks = self.banks.len() as u64;
        match self.row_bits {
            Some(bits) => (((line >> bits) & (banks - 1)) as u16, line >> bits),
            None => ((line / self.lines_per_row % banks) as u16, line / self.lines_per_row),
        }
    }

    #[inline]
    fn is_open(&self, request: &Queued) -> bool {
        self.banks[usize::from(request.bank)].open_row == Some(request.row)
    }

    /// Issues the commands of one access as early as the timing allows. Returns three values: when its data starts,
    /// whether its row was open, and how long before the bus is free the next access should be decided so that its own
    /// commands are hidden.
    fn access(&mut self, request: &Queued, now: Ticks, bus_free: Ticks, burst: Ticks) -> (Ticks, bool, Ticks) {
        let Queued { write, bank, row, .. } = *request;
        let index = usize::from(bank);
        let row_hit = self.is_open(request);
        if !row_hit {
            self.open(index, row, now);
        }
        let timing = &self.timing;
        let bank = &mut self.banks[index];
        let activated = bank.activated.unwrap_or(now);
        let to_data = if write { timing.wl } else { timing.cl };
        let mut column = now.max(activated + timing.rcd).max(bus_free.saturating_sub(to_data));
        if let Some((last, last_bank)) = self.last_column {
            column = column.max(last + if last_bank == index { timing.ccdl } else { timing.ccd });
        }
        if let (false, Some(write_end)) = (write, self.write_end) {
            column = column.max(write_end + timing.cdlr);
        }
        let data_start = column + to_data;
        let column_done = if write { data_start + burst + timing.wr } else { column + timing.rtpl };
        bank.precharge_ready = (activated + timing.ras).max(column_done);
        self.last_column = Some((column, index));
        if write {
            self.write_end = Some(data_start + burst);
        }
        (data_start, row_hit, timing.rp + timing.rcd + timing.cl)
    }

    /// Closes the open row of the bank, if there is one, and opens another.
    fn open(&mut self, index: usize, row: u64, now: Ticks) {
        let timing = &self.timing;
        let bank = &mut self.banks[index];
        let mut activate = match bank.open_row {
            Some(_) => now.max(bank.precharge_ready) + timing.rp,
            None => now,
        };
        if let Some(activated) = bank.activated {
            activate = activate.max(activated + timing.rc);
        }
        if let Some(last) = self.last_activate {
            activate = activate.max(last + timing.rrd);
        }
        *bank = Bank { open_row: Some(row), activated: Some(activate), precharge_ready: activate + timing.ras };
        self.last_activate = Some(activate);
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::{Scale, resolve};

    use super::*;
    use crate::clock::ClockDomains;

    fn channel(set: &[&str]) -> MemoryChannel {
        let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
        let config = resolve("tc", Scale::Paper, &set).unwrap().config;
        MemoryChannel::new(&config.dram, ClockDomains::new(&config.clocks).dram, 128, None)
    }

    fn read(id: u32, line: u64) -> DramRequest {
        DramRequest { arrives: 0, id, line, write: false, bytes: 128 }
    }

    #[test]
    fn a_first_read_takes_activate_column_and_burst() {
        let mut channel = channel(&["dram.latency_cycles=0"]);
        channel.push(read(0, 0));
        assert_eq!(channel.decide(0).unwrap().done, 12 + 12 + 8);
    }

    #[test]
    fn a_row_hit_overtakes_an_older_row_miss() {
        let mut channel = channel(&[]);
        channel.push(read(0, 0));
        let first = channel.decide(0).unwrap();
        channel.push(read(1, 16 * 16));
        channel.push(read(2, 1));
        let second = channel.decide(channel.ready()).unwrap();
        assert_eq!((second.id, second.row_hit), (2, true));
        assert_eq!(second.done, first.done + 8, "row hits stream at bus speed");
    }

    #[test]
    fn a_row_conflict_waits_for_precharge() {
        let mut channel = channel(&["dram.latency_cycles=0"]);
        channel.push(read(0, 0));
        channel.decide(0).unwrap();
        channel.push(read(1, 16 * 16));
        let second = channel.decide(channel.ready()).unwrap();
        assert_eq!(second.done, 28 + 12 + 12 + 12 + 8, "tRAS, tRP, tRCD, tCL, burst");
    }

    #[test]
    fn the_fixed_model_has_one_latency_and_one_bandwidth() {
        let mut channel = channel(&["dram.model=fixed", "dram.latency_cycles=100"]);
        channel.push(read(0, 0));
        channel.push(read(1, 999));
        let first = channel.decide(0).unwrap();
        let second = channel.decide(channel.ready()).unwrap();
        assert_eq!((first.done, second.done), (108, 116));
    }

    #[test]
    fn the_fixed_model_moves_its_bytes_per_cycle_exactly() {
        let mut channel = channel(&["dram.model=fixed", "dram.latency_cycles=0", "dram.bytes_per_cycle=48"]);
        let mut now = 0;
        for id in 0..30 {
            channel.push(read(id, 0));
            let decision = channel.decide(now).unwrap();
            now = channel.ready();
            assert_eq!(decision.done, (u64::from(id + 1) * 128).div_ceil(48));
        }
    }

    #[test]
    fn the_queue_is_finite() {
        let mut channel = channel(&["dram.queue=2"]);
        channel.push(read(0, 0));
        assert_eq!(channel.room(), 1);
    }
}
