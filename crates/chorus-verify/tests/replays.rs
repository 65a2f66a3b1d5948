//! Is every way to a violation walked again from its text, and is bad text refused with a good message?

use chorus_protocol::controller::Passage;
use chorus_protocol::registry::{PROTOCOLS, find};
use chorus_verify::check::{check_bounded, configurations};
use chorus_verify::config::Stores;
use chorus_verify::faults::programs_of;
use chorus_verify::litmus;
use chorus_verify::machine::Action;
use chorus_verify::networks::Networks;
use chorus_verify::node::Victim;
use chorus_verify::pressure;
use chorus_verify::replay::Replay;
use proptest::prelude::*;

#[test]
fn violations_of_the_smallest_configurations_replay_to_themselves() {
    let mut replayed_count = 0;
    for protocol in PROTOCOLS {
        let smoke = &configurations(*protocol)[0];
        for fault in 0..protocol.faults().len() as u8 {
            let report = check_bounded(*protocol, Some(fault), smoke, 5_000);
            let Some(replay) = report.replay() else { continue };
            let again: Replay = replay.to_string().parse().unwrap();
            assert_eq!(again, replay);
            let machine = Replay::machine_of(*protocol, &again.test, &[]).unwrap();
            let replayed = again.run(*protocol, Some(fault), &machine).unwrap();
            let chart = report.chart().unwrap();
            assert_eq!(replayed.violation.as_ref(), Some(&chart.violation), "{replay}");
            assert_eq!(replayed.sequence, chart.sequence, "{replay}");
            replayed_count += 1;
        }
    }
    assert!(replayed_count > 30, "{replayed_count}");
}

#[test]
fn no_configuration_is_named_like_another_or_like_a_litmus_test() {
    for protocol in PROTOCOLS {
        let mut names: Vec<&str> = configurations(*protocol).iter().map(|config| config.name).collect();
        let others = [pressure::configurations_of(*protocol), programs_of(*protocol)].concat();
        names.extend(others.iter().map(|config| config.name));
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name) && litmus::find(name).is_none(), "{name}");
        }
    }
}

#[test]
fn a_replay_without_its_fault_violates_nothing() {
    let protocol = find("gpu-vi").unwrap();
    let replay: Replay = "gpu-vi/smoke:w:i0.2,d0".parse().unwrap();
    let replayed = replay.run(protocol, None, &Replay::machine_of(protocol, "smoke", &[]).unwrap()).unwrap();
    assert_eq!(replayed.violation, None);
    assert!(replayed.to_text().contains("nothing is violated after 2 moves"), "{}", replayed.to_text());
}

#[track_caller]
fn check_impossible(moves: &str, expected: &str) {
    let protocol = find("gpu-vi").unwrap();
    let replay: Replay = format!("gpu-vi/smoke:c:{moves}").parse().unwrap();
    let machine = Replay::machine_of(protocol, "smoke", &[]).unwrap();
    let message = replay.run(protocol, None, &machine).unwrap_err().to_string();
    assert_eq!(message, expected);
}

#[test]
fn a_move_that_is_not_possible_is_named_with_those_that_are() {
    check_impossible(
        "i0.0,d1",
        "move 2 of the replay, `d1`, is not possible there: possible are d0, i1.0, i1.1, i1.2, i1.3, i1.4, i1.5, i1.6",
    );
    check_impossible(
        "e200.9",
        "move 1 of the replay, `e200.9`, is not possible there: possible are i0.0, i0.1, i0.2, i0.3, i0.4, i0.5, i0.6, \
         i1.0, i1.1, i1.2, i1.3, i1.4, i1.5, i1.6",
    );
}

#[track_caller]
fn check_bad(text: &str, expected: &str) {
    let message = text.parse::<Replay>().unwrap_err().to_string();
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn bad_text_is_refused_with_its_place() {
    check_bad("", "character 1 of the replay: expected PROTOCOL[+FAULT]/TEST");
    check_bad("gpu-vi/smoke", "character 1 of the replay: expected PROTOCOL[+FAULT]/TEST");
    check_bad("/smoke:w:", "character 1 of the replay: the name of the protocol is missing");
    check_bad("gpu-vi+/smoke:w:", "character 8 of the replay: the name of the fault is missing");
    check_bad("gpu-vi/:w:", "character 8 of the replay: the name of the test is missing");
    check_bad("gpu-vi/smoke:x:", "character 14 of the replay: `x` is not a start; accepted are c (cold caches)");
    check_bad("gpu-vi/smoke:w:d0,q", "character 19 of the replay: `q` is not a move; accepted are iT.N");
    check_bad("gpu-vi/smoke:w:d0,,t", "character 19 of the replay: `` is not a move");
    check_bad("gpu-vi/smoke:w:d+1", "character 16 of the replay: `d+1` is not a move");
    check_bad("gpu-vi/smoke:w:i0.256", "character 16 of the replay: `i0.256` is not a move");
    check_bad("gpu-vi/smoke:w:d99999", "character 16 of the replay: `d99999` is not a move");
    check_bad("gpu-vi/smoke@0.1:w:", "character 14 of the replay: `0.1` is not an assignment of networks");
    check_bad("größe/smoke:w:ö", "character 15 of the replay: `ö` is not a move");
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        any::<(u8, u8)>().prop_map(|(thread, choice)| Action::Issue { thread, choice }),
        any::<u16>().prop_map(|position| Action::Deliver { position }),
        any::<(u8, u8)>().prop_map(|(agent, line)| Action::Evict { agent, victim: Victim::Line(line) }),
        any::<(u8, u8)>().prop_map(|(agent, line)| Action::Evict { agent, victim: Victim::Entry(line) }),
        prop_oneof![Just(Passage::Tick), Just(Passage::RollOver), Just(Passage::Wake)].prop_map(Action::Time),
    ]
}

fn networks() -> impl Strategy<Value = Networks> {
    let finite = (prop::collection::vec(any::<u8>(), 1..6), any::<u16>());
    let finite = finite.prop_map(|(pools, capacity)| Networks::Finite { pools, capacity });
    prop_oneof![Just(Networks::Unbounded), finite]
}

fn replay() -> impl Strategy<Value = Replay> {
    let fault = prop::option::of("[a-z][a-z-]{0,8}");
    let stores = prop_oneof![Just(Stores::Posted), Just(Stores::Blocking)];
    let names = ("[a-z][a-z-]{0,8}", fault, "[A-Za-z0-9+.:/@-]{0,8}[a-z]");
    let moves = prop::collection::vec(action(), 0..20);
    let fields = (names, networks(), stores, any::<bool>(), moves, prop::option::of(0..20_usize));
    fields.prop_map(|((protocol, fault, test), networks, stores, warm, moves, circle)| Replay {
        protocol,
        fault,
        test,
        networks,
        stores,
        warm,
        circle: circle.filter(|&first| first < moves.len()),
        moves,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(replay in replay()) {
        // After an @ a number reads as networks.
        let at_number = replay.test.rsplit_once('@').is_some_and(|(_, end)| end.starts_with(|c: char| c.is_ascii_digit()));
        prop_assume!(replay.networks != Networks::Unbounded || !at_number);
        prop_assert_eq!(replay.to_string().parse::<Replay>(), Ok(replay));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
        if let Ok(replay) = text.parse::<Replay>() {
            prop_assert_eq!(replay.to_string(), text);
        }
    }

    #[test]
    fn text_that_is_almost_a_replay_is_read_or_refused(text in "gpu-vi[+a/@:]{0,3}(smoke)?[:@0-9.xwcb]{0,8}:[idetrw0-9.,]{0,20}") {
        if let Ok(replay) = text.parse::<Replay>() {
            prop_assert_eq!(replay.to_string(), text);
        }
    }

    #[test]
    fn any_moves_are_made_or_refused(moves in prop::collection::vec(action(), 0..6), few in prop::collection::vec((0..3u8, 0..8u8), 0..12)) {
        let protocol = find("tc-weak").unwrap();
        let likely = few.iter().map(|&(kind, number)| match kind {
            0 => Action::Issue { thread: number % 2, choice: number },
            1 => Action::Deliver { position: u16::from(number % 2) },
            _ => Action::Time(Passage::Tick),
        });
        let mut replay: Replay = "tc-weak/smoke:c:".parse().unwrap();
        replay.moves = likely.chain(moves).collect();
        let machine = Replay::machine_of(protocol, "smoke", &[]).unwrap();
        if let Ok(replayed) = replay.run(protocol, None, &machine) {
            prop_assert_eq!(replayed.violation, None);
        }
    }
}
