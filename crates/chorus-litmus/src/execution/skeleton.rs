//! One path for each thread, with all their events.

use chorus_protocol::access::{Order, Scope};

use crate::execution::path::{Kind, MAX_EVENTS, Path, PathEvent};
use crate::judge::TooLarge;
use crate::test::Program;

/// An event. Initial writes come first, one for each location that is accessed. The events of the threads follow,
/// thread by thread. Program order goes from lower numbers to higher ones, but not within a vector access
/// ([`Event::is_beside`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The thread, or `None` for initial writes.
    pub thread: Option<u8>,
    /// The index of its instruction. Of a vector access it is the index of the first part.
    pub place: u16,
    pub kind: Kind,
    /// The location of reads and writes.
    pub at: u8,
    pub order: Order,
    pub scope: Scope,
    pub atomic: bool,
    pub reduction: bool,
}

impl Event {
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }

    pub fn is_read(&self) -> bool {
        self.kind == Kind::Read
    }

    pub fn is_memory(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Write)
    }

    /// Whether both are accesses of different words by one instruction. Program order leaves them unordered.
    pub fn is_beside(&self, other: &Event) -> bool {
        self.thread.is_some() && (self.thread, self.place) == (other.thread, other.place) && self.at != other.at
    }

    /// Whether it is a read behind which later accesses stay. The value that a reduction reads is not returned, so
    /// nothing can wait for it.
    pub fn acquires(&self) -> bool {
        self.is_read() && !self.reduction && matches!(self.order, Order::Acquire | Order::AcqRel)
    }

    /// Whether it is the reading half of an atomic without a result.
    pub fn reduction_read(&self) -> bool {
        self.reduction && self.is_read()
    }

    /// Whether it is a write before which earlier accesses stay.
    pub fn releases(&self) -> bool {
        self.is_write() && matches!(self.order, Order::Release | Order::AcqRel)
    }
}

/// The events of all threads, if each takes a given path.
pub(crate) struct Skeleton<'a> {
    pub program: &'a Program,
    pub paths: Vec<&'a Path>,
    pub events: Vec<Event>,
    /// The first event of each thread, and the end of the last thread.
    pub starts: Vec<u8>,
    /// The initial writes, one for each location that is accessed.
    pub initial: Vec<u8>,
    /// Whether there are barriers in the paths.
    pub meets: bool,
}

impl<'a> Skeleton<'a> {
    pub fn new(program: &'a Program, paths: Vec<&'a Path>) -> Result<Skeleton<'a>, TooLarge> {
        if program.locations.len() > MAX_EVENTS {
            return Err(TooLarge::Events { limit: MAX_EVENTS });
        }
        let accessed = paths.iter().flat_map(|path| &path.events).filter(|event| is_memory(event));
        let accessed = accessed.fold(0u64, |bits, event| bits | 1 << event.at);
        let mut events = Vec::with_capacity(MAX_EVENTS);
        for at in (0..program.locations.len() as u8).filter(|at| accessed >> at & 1 == 1) {
            events.push(Event {
                thread: None,
                place: 0,
                kind: Kind::Write,
                at,
                order: Order::Weak,
                scope: Scope::System,
                atomic: false,
                reduction: false,
            });
        }
        let initial = (0..events.len() as u8).collect();
        let all = events.len() + paths.iter().map(|path| path.events.len()).sum::<usize>();
        if all > MAX_EVENTS {
            return Err(TooLarge::Events { limit: MAX_EVENTS });
        }
        let mut starts = Vec::with_capacity(paths.len() + 1);
        for (thread, path) in paths.iter().enumerate() {
            starts.push(events.len() as u8);
            events.extend(path.events.iter().map(|event| Event {
                thread: Some(thread as u8),
                place: event.place,
                kind: event.kind,
                at: event.at,
                order: event.order,
                scope: event.scope,
                atomic: event.atomic,
                reduction: event.reduction,
            }));
        }
        starts.push(events.len() as u8);
        let meets = events.iter().any(|event| matches!(event.kind, Kind::Barrier(_)));
        Ok(Skeleton { program, paths, events, starts, initial, meets })
    }

    /// The event in the path of its thread. Initial writes have none.
    pub fn in_path(&self, event: usize) -> Option<&'a PathEvent> {
        let thread = usize::from(self.events[event].thread?);
        self.paths[thread].events.get(event - usize::from(self.starts[thread]))
    }

    /// The indices of a thread's events.
    pub fn of_thread(&self, thread: usize) -> std::ops::Range<usize> {
        usize::from(self.starts[thread])..usize::from(self.starts[thread + 1])
    }

    /// The reads that an event depends on, as bits over all events.
    pub fn depends_on(&self, event: usize) -> u64 {
        match (self.in_path(event), self.events[event].thread) {
            (Some(in_path), Some(thread)) if in_path.depends_on != 0 => {
                in_path.depends_on << self.starts[usize::from(thread)]
            }
            _ => 0,
        }
    }

    /// The work-group of a thread: its GPU, and its number on that GPU.
    pub fn work_group(&self, thread: u8) -> (u32, u32) {
        let thread = &self.program.threads[usize::from(thread)];
        (thread.gpu, thread.cta)
    }
}

fn is_memory(event: &PathEvent) -> bool {
    matches!(event.kind, Kind::Read | Kind::Write)
}
