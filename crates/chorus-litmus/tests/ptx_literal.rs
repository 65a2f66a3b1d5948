//! The PTX model once more, axiom by axiom and without any shortcut, on programs at random.
//!
//! Every choice is enumerated that the text leaves open: where reads take their values, every partial order of writes,
//! every order of `fence.sc`. Relations are sets of pairs.

use std::collections::BTreeSet;

use chorus_litmus::judge::allowed;
use chorus_litmus::model::Model;
use chorus_litmus::test::{
    FenceKind, Instruction, Location, LocationId, Modify, Operand, Outcome, Program, Register, RegisterSpec, Thread,
};
use chorus_protocol::access::{Order, Scope};
use proptest::prelude::*;

use crate::wide::widened;

type Pairs = BTreeSet<(usize, usize)>;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Read,
    Write,
    Fence(FenceKind),
}

#[derive(Clone, Copy)]
struct Event {
    kind: Kind,
    /// None for initial writes.
    thread: Option<usize>,
    /// The place of its instruction, which the words of a vector access share.
    instruction: usize,
    at: usize,
    order: Order,
    scope: Scope,
    /// The value that a store writes, or that an atomic adds.
    value: u32,
    atomic: bool,
    reduction: bool,
}

impl Event {
    fn memory(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Write)
    }

    fn fence(&self) -> bool {
        matches!(self.kind, Kind::Fence(_))
    }

    fn strong(&self) -> bool {
        self.thread.is_some() && (self.fence() || self.order != Order::Weak)
    }

    fn acquire(&self) -> bool {
        self.kind == Kind::Read && !self.reduction && matches!(self.order, Order::Acquire | Order::AcqRel)
    }

    fn release(&self) -> bool {
        self.kind == Kind::Write && matches!(self.order, Order::Release | Order::AcqRel)
    }
}

fn then(a: &Pairs, b: &Pairs) -> Pairs {
    a.iter().flat_map(|&(x, y)| b.iter().filter(move |pair| pair.0 == y).map(move |pair| (x, pair.1))).collect()
}

fn or(a: &Pairs, b: &Pairs) -> Pairs {
    a.union(b).copied().collect()
}

fn and(a: &Pairs, b: &Pairs) -> Pairs {
    a.intersection(b).copied().collect()
}

fn closure(a: &Pairs) -> Pairs {
    let mut closed = a.clone();
    loop {
        let more = or(&closed, &then(&closed, &closed));
        if more.len() == closed.len() {
            return closed;
        }
        closed = more;
    }
}

fn irreflexive(a: &Pairs) -> bool {
    a.iter().all(|(x, y)| x != y)
}

/// Every way to choose one of each list.
fn choices<T: Clone>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
    let start = vec![Vec::new()];
    lists.iter().fold(start, |chosen, list| {
        chosen
            .iter()
            .flat_map(|chosen| list.iter().map(|next| [&chosen[..], std::slice::from_ref(next)].concat()))
            .collect()
    })
}

/// The program's events, the initial writes first, and for each register of each thread the read that sets it last.
fn events(program: &Program) -> (Vec<Event>, Vec<Option<usize>>) {
    let blank = Event {
        kind: Kind::Write,
        thread: None,
        instruction: 0,
        at: 0,
        order: Order::Weak,
        scope: Scope::System,
        value: 0,
        atomic: false,
        reduction: false,
    };
    let mut events: Vec<Event> = (0..program.locations.len()).map(|at| Event { at, ..blank }).collect();
    let mut set = Vec::new();
    for (thread, spec) in program.threads.iter().enumerate() {
        let mut registers = vec![None; spec.registers.len()];
        let thread = Some(thread);
        for (place, instruction) in spec.code.iter().enumerate() {
            let blank = Event { instruction: spec.parts(place).start, ..blank };
            match *instruction {
                Instruction::Load { to, at, order, scope, .. } => {
                    registers[usize::from(to.0)] = Some(events.len());
                    events.push(Event { kind: Kind::Read, thread, at: at.0.into(), order, scope, ..blank });
                }
                Instruction::Store { at, value: Operand::Constant(value), order, scope, .. } => {
                    events.push(Event { thread, at: at.0.into(), order, scope, value, ..blank });
                }
                Instruction::Atomic { to, at, modify: Modify::Add(Operand::Constant(value)), order, scope, .. } => {
                    if let Some(to) = to {
                        registers[usize::from(to.0)] = Some(events.len());
                    }
                    let reduction = to.is_none();
                    let write =
                        Event { thread, at: at.0.into(), order, scope, value, atomic: true, reduction, ..blank };
                    events.extend([Event { kind: Kind::Read, ..write }, write]);
                }
                Instruction::Fence { kind, scope } => {
                    events.push(Event { kind: Kind::Fence(kind), thread, scope, ..blank });
                }
                _ => unreachable!("not drawn"),
            }
        }
        set.extend(registers);
    }
    (events, set)
}

/// The relations that do not depend on choices.
struct Fixed {
    events: Vec<Event>,
    po: Pairs,
    po_loc: Pairs,
    ms: Pairs,
    rmw: Pairs,
    release: Pairs,
    acquire: Pairs,
}

impl Fixed {
    fn new(program: &Program, events: Vec<Event>) -> Fixed {
        let all = || (0..events.len()).flat_map(|a| (0..events.len()).map(move |b| (a, b)));
        let select = |keep: &dyn Fn(usize, usize) -> bool| all().filter(|&(a, b)| keep(a, b)).collect::<Pairs>();
        let event = |a: usize| &events[a];
        let same_place = |a: usize, b: usize| event(a).memory() && event(b).memory() && event(a).at == event(b).at;
        let beside = |a: usize, b: usize| event(a).instruction == event(b).instruction && event(a).at != event(b).at;
        let po =
            select(&|a, b| a < b && event(a).thread.is_some() && event(a).thread == event(b).thread && !beside(a, b));
        let po_loc = select(&|a, b| po.contains(&(a, b)) && same_place(a, b));
        let includes = |a: usize, b: usize| {
            let (Some(here), Some(there)) = (event(a).thread, event(b).thread) else { return false };
            let (here, there) = (&program.threads[here], &program.threads[there]);
            match event(a).scope {
                Scope::System => true,
                Scope::Gpu => here.gpu == there.gpu,
                Scope::WorkGroup => here.gpu == there.gpu && here.cta == there.cta,
            }
        };
        let ms = select(&|a, b| {
            let named = a != b && event(a).thread.is_some() && event(b).thread.is_some();
            let strong = event(a).strong() && event(b).strong() && includes(a, b) && includes(b, a);
            let overlap = !(event(a).memory() && event(b).memory()) || same_place(a, b);
            named && (event(a).thread == event(b).thread || strong) && overlap
        });
        let rmw = select(&|a, b| b == a + 1 && event(a).atomic && event(a).kind == Kind::Read);
        let strong_access = |a: usize, kind: Kind| event(a).kind == kind && event(a).strong();
        let release = select(&|e, w| {
            strong_access(w, Kind::Write)
                && ((e == w && event(e).release())
                    || (event(e).release() && po_loc.contains(&(e, w)))
                    || (event(e).fence() && po.contains(&(e, w))))
        });
        let acquire = select(&|r, e| {
            strong_access(r, Kind::Read)
                && !event(r).reduction
                && ((r == e && event(e).acquire())
                    || (event(e).acquire() && po_loc.contains(&(r, e)))
                    || (event(e).fence() && po.contains(&(r, e))))
        });
        Fixed { events, po, po_loc, ms, rmw, release, acquire }
    }

    fn observation(&self, rf: &Pairs) -> Pairs {
        let mut obs = and(rf, &self.ms);
        loop {
            let more = or(&obs, &then(&then(&obs, &self.rmw), &obs));
            if more.len() == obs.len() {
                return obs;
            }
            obs = more;
        }
    }

    fn axioms(&self, rf: &Pairs, sc: &Pairs, co: &Pairs) -> bool {
        let same = |pairs: Pairs| -> Pairs {
            let here = |a: usize| &self.events[a];
            let keep = |&(a, b): &(usize, usize)| here(a).memory() && here(b).memory() && here(a).at == here(b).at;
            pairs.into_iter().filter(keep).collect()
        };
        let write = |a: usize| self.events[a].kind == Kind::Write;
        let inverse: Pairs = rf.iter().map(|&(w, r)| (r, w)).collect();
        let fr = then(&inverse, co);
        let obs = self.observation(rf);
        let sync = and(&then(&then(&self.release, &obs), &self.acquire), &self.ms);
        let bc = closure(&or(&self.po, &or(&sync, sc)));
        let ppbc = same(bc.clone());
        let cause = or(&ppbc, &then(&obs, &ppbc));
        let full = |a: usize| self.events[a].kind == Kind::Fence(FenceKind::Sc);
        let coherence = cause.iter().all(|&(a, b)| !write(a) || !write(b) || co.contains(&(a, b)));
        let fence_sc =
            bc.iter().all(|&(a, b)| !full(a) || !full(b) || !self.ms.contains(&(a, b)) || sc.contains(&(a, b)));
        let between = then(&and(&fr, &self.ms), &and(co, &self.ms));
        let atomicity = and(&between, &self.rmw).is_empty();
        let thin_air = irreflexive(&closure(&or(rf, &self.rmw)));
        let communication = and(&or(rf, &or(co, &fr)), &self.ms);
        let per_location = irreflexive(&closure(&or(&communication, &self.po_loc)));
        let causality = irreflexive(&then(&or(rf, &fr), &cause));
        coherence && fence_sc && atomicity && thin_air && per_location && causality
    }

    /// Every strict partial order of a location's writes in which the initial write is first and morally strong ones
    /// are ordered.
    fn orders(&self, at: usize) -> Vec<Pairs> {
        let writes: Vec<usize> =
            (0..self.events.len()).filter(|&w| self.events[w].kind == Kind::Write && self.events[w].at == at).collect();
        let initial: Pairs = writes[1..].iter().map(|&w| (writes[0], w)).collect();
        let mut open = Vec::new();
        for (place, &a) in writes.iter().enumerate().skip(1) {
            for &b in &writes[place + 1..] {
                let unordered = (!self.ms.contains(&(a, b))).then_some(None);
                open.push([Some((a, b)), Some((b, a))].into_iter().chain(unordered).collect());
            }
        }
        let orders = choices(&open).into_iter().map(|chosen| or(&initial, &chosen.into_iter().flatten().collect()));
        orders.filter(|order| irreflexive(order) && then(order, order).is_subset(order)).collect()
    }

    /// Every order of morally strong `fence.sc`.
    fn fence_orders(&self) -> Vec<Pairs> {
        let full = |a: usize| self.events[a].kind == Kind::Fence(FenceKind::Sc);
        let pairs = self.ms.iter().filter(|&&(a, b)| a < b && full(a) && full(b));
        let open: Vec<Vec<(usize, usize)>> = pairs.map(|&(a, b)| vec![(a, b), (b, a)]).collect();
        let orders = choices(&open).into_iter().map(|chosen| chosen.into_iter().collect::<Pairs>());
        orders.filter(|order| irreflexive(&closure(order))).collect()
    }
}

/// The values of all events; none if one depends on itself.
fn values(events: &[Event], sources: &[(usize, usize)]) -> Option<Vec<u32>> {
    let mut values: Vec<Option<u32>> = vec![None; events.len()];
    for _ in 0..=events.len() {
        for (index, event) in events.iter().enumerate() {
            values[index] = match event.kind {
                Kind::Read => sources.iter().find(|pair| pair.1 == index).and_then(|pair| values[pair.0]),
                Kind::Write if event.atomic => values[index - 1].map(|old| old.wrapping_add(event.value)),
                Kind::Write | Kind::Fence(_) => Some(event.value),
            };
        }
    }
    values.into_iter().collect()
}

fn literal(program: &Program) -> BTreeSet<Outcome> {
    let (events, set) = events(program);
    let fixed = Fixed::new(program, events);
    let events = &fixed.events;
    let reads = (0..events.len()).filter(|&r| events[r].kind == Kind::Read);
    let writes_of = |at: usize| (0..events.len()).filter(move |&w| events[w].kind == Kind::Write && events[w].at == at);
    let sources: Vec<Vec<(usize, usize)>> = reads.map(|r| writes_of(events[r].at).map(|w| (w, r)).collect()).collect();
    let orders: Vec<Vec<Pairs>> = (0..program.locations.len()).map(|at| fixed.orders(at)).collect();
    let orders = choices(&orders);
    let fences = fixed.fence_orders();
    let mut found = BTreeSet::new();
    for rf in choices(&sources) {
        let Some(values) = values(events, &rf) else { continue };
        let rf: Pairs = rf.into_iter().collect();
        let registers: Vec<u32> = set.iter().map(|read| read.map_or(0, |read| values[read])).collect();
        for order in &orders {
            let co: Pairs = order.iter().flatten().copied().collect();
            if !fences.iter().any(|sc| fixed.axioms(&rf, sc, &co)) {
                continue;
            }
            let last = |at: usize| {
                let last = writes_of(at).filter(|w| !co.iter().any(|pair| pair.0 == *w));
                last.map(|w| values[w]).collect::<Vec<u32>>()
            };
            let finals: Vec<Vec<u32>> = (0..program.locations.len()).map(last).collect();
            let outcomes = choices(&finals).into_iter();
            found.extend(outcomes.map(|finals| Outcome { registers: registers.clone(), finals }));
        }
    }
    found
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let scope = prop_oneof![1 => Just(Scope::WorkGroup), 3 => Just(Scope::Gpu), 1 => Just(Scope::System)];
    (0..8, 0..2u8, 0..2u8, 1..4u32, 0..4usize, scope).prop_map(|(kind, at, to, value, order, scope)| {
        let (at, to, value) = (LocationId(at), Register(to), Operand::Constant(value));
        match kind {
            0..3 => {
                let order = [Order::Weak, Order::Relaxed, Order::Acquire, Order::Acquire][order];
                Instruction::Load { to, at, order, scope, joined: false }
            }
            3..6 => {
                let order = [Order::Weak, Order::Relaxed, Order::Release, Order::Release][order];
                Instruction::Store { at, value, order, scope, joined: false }
            }
            6 => {
                let to = (order != 1).then_some(to);
                let order = [Order::Relaxed, Order::AcqRel, Order::Release, Order::Acquire][order];
                Instruction::Atomic { to, at, modify: Modify::Add(value), order, scope, joined: false }
            }
            _ => Instruction::Fence { kind: if order > 0 { FenceKind::Sc } else { FenceKind::AcqRel }, scope },
        }
    })
}

/// Some accesses of the first word as accesses of both words.
fn vector(instruction: Instruction, marked: bool) -> Vec<Instruction> {
    match instruction {
        Instruction::Load { at: LocationId(0), .. }
        | Instruction::Store { at: LocationId(0), .. }
        | Instruction::Atomic { at: LocationId(0), .. }
            if marked =>
        {
            widened(instruction, LocationId(1), 2)
        }
        _ => vec![instruction],
    }
}

fn program() -> impl Strategy<Value = Program> {
    let register = |name: &str| RegisterSpec { name: name.to_string(), initial: 0 };
    let place = prop_oneof![Just((0, 0)), Just((1, 0)), Just((0, 1))];
    let thread = (place, prop::collection::vec((instruction(), any::<bool>()), 1..4));
    let thread = thread.prop_map(move |((cta, gpu), code)| Thread {
        cta,
        gpu,
        registers: vec![register("r0"), register("r1")],
        code: code.into_iter().flat_map(|(instruction, marked)| vector(instruction, marked)).collect(),
    });
    let locations: Vec<Location> =
        (0..2).map(|word| Location { name: format!("x{word}"), initial: 0, line: 0, word }).collect();
    let short = |threads: &Vec<Thread>| threads.iter().map(|thread| thread.code.len()).sum::<usize>() <= 6;
    prop::collection::vec(thread, 2..4)
        .prop_filter("too long to enumerate", short)
        .prop_map(move |threads| Program { locations: locations.clone(), threads })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shortcuts_of_the_search_lose_nothing_and_add_nothing(program in program()) {
        let found = allowed(&program, Model::Ptx).expect("a small program").outcomes;
        prop_assert_eq!(found, literal(&program));
    }
}
