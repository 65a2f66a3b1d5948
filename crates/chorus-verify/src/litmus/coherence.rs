//! Tests of single locations and single lines, forbidden everywhere.

use chorus_protocol::access::Order;

use super::Expectation::{Forbidden, Permitted, Reachable};
use super::{Expected, FENCE, LitmusTest, X, X1, Y, add, ld, registers, st, test};

const NEVER: Expected = [Forbidden; 3];

/// All of them.
pub fn tests() -> Vec<LitmusTest> {
    let mut tests = co();
    tests.extend(two_words());
    tests.extend(atomics());
    tests
}

fn co() -> Vec<LitmusTest> {
    let read_back = "do two loads of one thread see the writes of a location in their order?";
    let own_order = "do two stores of one thread to a location keep their order?";
    let own_store = "does a load see its own thread's earlier store?";
    vec![
        test("CoRR", read_back, [&[st(X, 1)], &[ld(X), ld(X)]], registers(&[(1, 0, 1), (1, 1, 0)]), NEVER),
        test("CoRR+fence", read_back, [&[st(X, 1)], &[ld(X), FENCE, ld(X)]], registers(&[(1, 0, 1), (1, 1, 0)]), NEVER),
        test("CoWW", own_order, [&[st(X, 1), st(X, 2)]], registers(&[]).and_finally(&[(X, 1)]), NEVER),
        test("CoWW+fence", own_order, [&[st(X, 1), FENCE, st(X, 2)]], registers(&[]).and_finally(&[(X, 1)]), NEVER),
        test("CoWR", own_store, [&[st(X, 1), ld(X)], &[st(X, 2)]], registers(&[(0, 0, 0)]), NEVER),
        test(
            "CoWR2",
            "may a load return a store that its own thread's store overwrote?",
            [&[st(X, 1), ld(X)], &[st(X, 2)]],
            registers(&[(0, 0, 2)]).and_finally(&[(X, 1)]),
            NEVER,
        ),
        test(
            "CoRW",
            "may a load return a store that came after its own thread's later store?",
            [&[ld(X), st(X, 1)], &[st(X, 2)]],
            registers(&[(0, 0, 2)]).and_finally(&[(X, 2)]),
            NEVER,
        ),
        test(
            "CoRR2",
            "do all threads see the writes of a location in one order?",
            [&[st(X, 1)], &[st(X, 2)], &[ld(X), ld(X)], &[ld(X), ld(X)]],
            registers(&[(2, 0, 1), (2, 1, 2), (3, 0, 2), (3, 1, 1)]),
            NEVER,
        ),
    ]
}

fn two_words() -> Vec<LitmusTest> {
    vec![
        test(
            "two-words",
            "do stores to two words of one line by two caches both survive?",
            [&[st(X, 1), FENCE, ld(X1)], &[st(X1, 1), FENCE, ld(X)]],
            registers(&[]).and_finally(&[(X, 0), (X1, 1)]),
            NEVER,
        ),
        test(
            "SB+one-line+fences",
            "may two threads that write two words of one line both miss the other's?",
            [&[st(X, 1), FENCE, ld(X1)], &[st(X1, 1), FENCE, ld(X)]],
            registers(&[(0, 0, 0), (1, 0, 0)]),
            [Forbidden, Forbidden, Permitted],
        ),
        test(
            "MP+one-line+fences",
            "is a message seen whose flag is in the same line?",
            [&[st(X, 1), FENCE, st(X1, 1)], &[ld(X1), FENCE, ld(X)]],
            registers(&[(1, 0, 1), (1, 1, 0)]),
            [Forbidden, Forbidden, Permitted],
        ),
    ]
}

fn atomics() -> Vec<LitmusTest> {
    let relaxed = |at| add(at, 1, Order::Relaxed);
    vec![
        test(
            "two-adds",
            "do two atomic additions both count?",
            [&[relaxed(X)], &[relaxed(X)]],
            registers(&[(0, 0, 0), (1, 0, 0)]),
            NEVER,
        ),
        test(
            "add-and-store",
            "may an atomic addition lose a store that it did not read?",
            [&[add(X, 2, Order::Relaxed)], &[st(X, 1)]],
            registers(&[(0, 0, 0)]).and_finally(&[(X, 3)]),
            NEVER,
        ),
        test(
            "MP+atomics",
            "is a message seen whose flag is raised and read by relaxed atomics?",
            [&[st(X, 1), relaxed(Y)], &[add(Y, 0, Order::Relaxed), ld(X)]],
            registers(&[(1, 0, 1), (1, 1, 0)]),
            [Reachable; 3],
        ),
        test(
            "MP+atomics+ra",
            "is a message seen whose flag is raised by a releasing and read by an acquiring atomic?",
            [&[st(X, 1), add(Y, 1, Order::Release)], &[add(Y, 0, Order::Acquire), ld(X)]],
            registers(&[(1, 0, 1), (1, 1, 0)]),
            [Forbidden, Forbidden, Reachable],
        ),
    ]
}
