//! The races of section III-C of the Spandex paper: each can happen, and is handled as the paper says. The cells are
//! those of the tables that explorations fill.

use chorus_protocol::address::Role;
use chorus_protocol::registry::find;
use chorus_verify::table::{Reaction, TransitionTable};

use crate::explored;

/// A cell in which a race shows, and what must happen there: all that is sent, or `stall`.
struct Race {
    role: Role,
    device: &'static str,
    state: &'static str,
    event: &'static str,
    sends: &'static [&'static str],
}

const STALL: &[&str] = &["stall"];

const fn unit(device: &'static str, state: &'static str, event: &'static str, sends: &'static [&'static str]) -> Race {
    Race { role: Role::Tu, device, state, event, sends }
}

const fn cache(device: &'static str, state: &'static str, event: &'static str, sends: &'static [&'static str]) -> Race {
    Race { role: Role::L1, device, state, event, sends }
}

/// Case 1, a pending transition to the expected state: what needs the words that are on their way is delayed. The paper
/// answers ReqO, which carries no data, at once. Here it waits, too: the next owner could otherwise be asked for the
/// words before they were its own.
const DELAYED: [Race; 13] = [
    unit("MESI", "IO", "fwd ReqO", STALL),
    unit("MESI", "IO", "fwd ReqO+data", STALL),
    unit("MESI", "IO", "RvkO", STALL),
    unit("MESI", "IO", "fwd ReqV", STALL),
    unit("MESI", "IO", "fwd ReqS", STALL),
    unit("MESI", "IS", "fwd ReqO+data", STALL),
    unit("DeNovo", "XO", "FwdReqO", STALL),
    unit("DeNovo", "XO", "FwdReqO+data", STALL),
    unit("DeNovo", "XO", "RvkO", STALL),
    unit("DeNovo", "XOD", "FwdReqO", STALL),
    unit("DeNovo", "XOD", "FwdReqO+data", STALL),
    unit("DeNovo", "XOD", "RvkO", STALL),
    unit("DeNovo", "XOD", "FwdReqV", STALL),
];

/// Case 1: a read of a word whose store waits for ownership finds no value to answer with, and is refused at once.
const AT_ONCE: [Race; 1] = [cache("DeNovo", "XO", "FwdReqV", &["Nack"])];

/// Case 2, an upgrade from Shared: an invalidation is acknowledged and the upgrade goes on.
const UPGRADE: [Race; 1] = [unit("MESI", "SO", "Inv", &["INV", "Ack"])];

/// Case 2, a pending write-back: requests are answered from what is held, and a downgrade ends the write-back; the LLC
/// is told without data.
const WRITE_BACK: [Race; 8] = [
    unit("MESI", "WB", "fwd ReqV", &["RspV"]),
    unit("MESI", "WB", "fwd ReqO", &["RspO"]),
    unit("MESI", "WB", "fwd ReqO+data", &["RspO+data"]),
    unit("MESI", "WB", "RvkO", &["RspRvkO without data"]),
    unit("MESI", "WB", "fwd ReqS", &["RspS", "RspRvkO without data"]),
    cache("DeNovo", "O_I", "FwdReqV", &["RspV"]),
    cache("DeNovo", "O_I", "FwdReqO", &["RspO"]),
    cache("DeNovo", "O_I", "RvkO", &["RspRvkO without data"]),
];

/// Case 3, a stable state other than the expected one: ReqV is refused, an invalidation acknowledged.
const OTHER: [Race; 4] = [
    unit("MESI", "Ask", "PeekMiss", &["Nack"]),
    cache("DeNovo", "I", "FwdReqV", &["Nack"]),
    cache("DeNovo", "V", "FwdReqV", &["Nack"]),
    unit("MESI", "Idle", "Inv", &["INV", "Ack"]),
];

/// Checks that each race happens in one of the tables, and as it should.
fn check(tables: &[&TransitionTable], races: &[Race]) {
    for Race { role, device, state, event, sends } in races {
        let place = format!("{} of {device} in {state}, {event}", role.name());
        let mut met = Vec::new();
        for table in tables.iter().filter_map(|table| table.device(*role, device)) {
            let vocabulary = table.vocabulary;
            let state =
                vocabulary.states.iter().position(|spec| spec.name == *state).unwrap_or_else(|| panic!("{place}"));
            let event = vocabulary.events.iter().position(|name| name == event).unwrap_or_else(|| panic!("{place}"));
            met.extend(table.cell(state as u8, event as u8).into_iter().flatten().cloned());
        }
        let fits = |reaction: &Reaction| match reaction {
            Reaction::Done { sends: sent, .. } => sends.iter().all(|name| sent.contains(name)),
            Reaction::Stall => *sends == STALL,
            Reaction::MakeRoom => false,
        };
        let texts: Vec<String> = met.iter().map(Reaction::text).collect();
        assert!(!met.is_empty(), "{place}: it never happens");
        assert!(met.iter().any(fits), "{place}: {texts:?}");
        assert!(*sends == STALL || met.iter().all(|reaction| *reaction != Reaction::Stall), "{place}: {texts:?}");
    }
}

#[test]
fn every_race_of_section_iii_c_happens_and_is_handled() {
    let tables = ["smd", "sdd"].map(|name| explored::table(find(name).unwrap()));
    for races in [&DELAYED[..], &AT_ONCE, &UPGRADE, &WRITE_BACK, &OTHER] {
        check(&tables, races);
    }
}
