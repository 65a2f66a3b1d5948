//! Does a timeline show what happened, as packets that a reader of the format understands?

use std::io;
use std::sync::{Arc, Mutex};

use chorus_protocol::address::Topology;
use chorus_sim::observe::{AccessNumber, Cause, Scene};

use super::*;

/// A file in memory that somebody else reads.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fields of a message: their numbers with their values, or the bytes of texts and messages.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        let (value, length) = match key & 7 {
            0 => (number(&mut bytes), 0),
            1 => (0, 8),
            2 => (0, number(&mut bytes) as usize),
            kind => panic!("wire type {kind}"),
        };
        let (text, rest) = bytes.split_at(length);
        bytes = rest;
        fields.push((key >> 3, value, text.to_vec()));
    }
    fields
}

/// The packets of a file, each as its fields.
fn packets(file: &File) -> Vec<Vec<(u64, u64, Vec<u8>)>> {
    fields(&file.0.lock().unwrap()).into_iter().map(|(_, _, packet)| fields(&packet)).collect()
}

/// Kinds, tracks and times of all events.
fn events(file: &File) -> Vec<(u64, u64, u64)> {
    let of = |fields: &[(u64, u64, Vec<u8>)], wanted| fields.iter().find(|(field, ..)| *field == wanted).cloned();
    let event = |packet: Vec<(u64, u64, Vec<u8>)>| {
        let event = fields(&of(&packet, 11)?.2);
        Some((of(&event, 9)?.1, of(&event, 11)?.1, of(&packet, 8)?.1))
    };
    packets(file).into_iter().filter_map(event).collect()
}

fn scene() -> Scene {
    let (topology, messages) = (Topology::one_gpu(2, 1), &[][..]);
    Scene { cycle: 2, microsecond: 1000, topology, messages, line_bytes: 128, buffers: Vec::new() }
}

fn access(number: u64, issued: u64, ended: u64, line: u64) -> (Access, Vec<Interval>) {
    let cache = AgentId(0);
    let served = Served { number: AccessNumber(number), purpose: Purpose::Load, cache, wave: 0 };
    let cause = Cause::Dram;
    let interval =
        Interval { from: issued, until: ended, cause, place: cache, message: None, is_probe: false, other: None };
    (Access { served, kernel: Arc::from("k"), line: Some(line), issued, ended }, vec![interval])
}

fn shown(bounds: Bounds, accesses: &[(Access, Vec<Interval>)]) -> (Shown, File) {
    let file = File::default();
    let ((), shown) = observe(file.clone(), bounds, None, |observer| {
        let mut observer = observer.lock().unwrap();
        observer.begin(&scene());
        accesses.iter().for_each(|(access, chain)| observer.access(access, chain));
    });
    (shown.unwrap(), file)
}

#[test]
fn slices_nest_and_those_that_overlap_have_lanes_of_their_own() {
    let (shown, file) = shown(Bounds::default(), &[access(1, 0, 20, 1), access(2, 10, 30, 2), access(3, 20, 40, 3)]);
    let events = events(&file);
    assert_eq!(shown.size.0, events.len() as u64);
    let mut open: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut lanes = Vec::new();
    for (kind, track, time) in events.into_iter().filter(|(kind, ..)| *kind <= 2) {
        let stack = open.entry(track).or_default();
        if kind == 1 {
            stack.push(time);
        } else {
            assert!(stack.pop().is_some_and(|begin| begin <= time));
        }
        if kind == 1 && stack.len() == 1 {
            lanes.push(track);
        }
    }
    assert!(open.values().all(Vec::is_empty));
    assert_eq!(lanes.len(), 3);
    assert!(lanes[0] != lanes[1] && lanes[0] == lanes[2], "{lanes:?}");
}

#[test]
fn bounds_leave_out_what_is_outside_them() {
    let accesses = [access(1, 0, 20, 1), access(2, 100, 200, 2)];
    let of = |bounds: Bounds| shown(bounds, &accesses).0;
    let all = of(Bounds::default()).size.0;
    let window = of(Bounds { window: Some(0..20), ..Bounds::default() });
    assert!(window.size.0 < all);
    let line = of(Bounds { address: Some(2 * 128 + 5), ..Bounds::default() });
    assert!(line.size.0 < all && line.touches_line);
    assert!(!of(Bounds { address: Some(1 << 20), ..Bounds::default() }).touches_line);
    assert_eq!(of(Bounds { kernel: Some("other".to_owned()), ..Bounds::default() }).size.0, 0);
}

#[test]
fn a_file_that_ends_within_a_packet_is_right_up_to_there() {
    let (_, file) = shown(Bounds::default(), &[access(1, 0, 20, 1)]);
    let whole = packets(&file).len();
    let bytes = file.0.lock().unwrap().clone();
    let mut ends = vec![0];
    while let Some(&end) = ends.last().filter(|&&end| end < bytes.len()) {
        ends.push(end + 2 + usize::from(bytes[end + 1]));
    }
    assert_eq!((ends.len() - 1, ends.last()), (whole, Some(&bytes.len())));
}

#[test]
fn counters_are_in_the_file_before_its_end() {
    let file = File::default();
    let ((), shown) = observe(file.clone(), Bounds::default(), None, |observer| {
        let mut observer = observer.lock().unwrap();
        observer.begin(&scene());
        for number in 0..COUNTERS_EVERY {
            let (access, chain) = access(number, number * 10, number * 10 + 40, 1);
            observer.access(&access, &chain);
        }
        assert!(events(&file).iter().any(|&(kind, ..)| kind == 4));
    });
    assert!(shown.is_ok());
}

#[test]
fn a_wavefront_shows_what_it_issues_and_waits_for() {
    let of = |kernel: &str| {
        let (file, bounds) = (File::default(), Bounds { kernel: Some(kernel.to_owned()), ..Bounds::default() });
        let ((), shown) = observe(file.clone(), bounds, None, |observer| {
            let (mut observer, cache) = (observer.lock().unwrap(), AgentId(0));
            observer.begin(&scene());
            observer.wave_begins(cache, 3, "k", 0);
            observer.wave_issues(cache, 3, "barrier", 10);
            observer.wave_waits(cache, 3, Some("barrier"), 10);
            observer.wave_waits(cache, 3, Some("barrier"), 14);
            observer.wave_waits(cache, 3, Some("values"), 20);
            observer.wave_ends(cache, 3, 40);
        });
        shown.unwrap();
        let waits: Vec<(u64, u64)> = events(&file).into_iter().map(|(kind, _, time)| (kind, time)).collect();
        waits
    };
    // An instant, two slices, and the wavefront itself. A cycle has two ticks.
    assert_eq!(of("k"), [(3, 5), (1, 5), (2, 10), (1, 10), (2, 20), (1, 0), (2, 20)]);
    assert_eq!(of("other"), []);
}

#[test]
fn a_disk_that_is_full_is_told_once_and_the_run_goes_on() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (result, shown) = observe(Full, Bounds::default(), None, |_| 7);
    assert_eq!((result, shown.map_err(|error| error.kind())), (7, Err(io::ErrorKind::StorageFull)));
}
