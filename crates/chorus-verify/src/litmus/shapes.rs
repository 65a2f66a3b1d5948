//! The classic shapes over two locations, plain, with fences, and with releases and acquires.

use super::Expectation::{Forbidden, Permitted, Reachable};
use super::{Condition, FENCE, LitmusTest, X, Y, acq, ld, registers, rel, st, test};

/// All of them.
pub fn tests() -> Vec<LitmusTest> {
    let mut tests = mp();
    tests.extend(sb());
    tests.extend(lb());
    tests.extend(write_orders());
    tests.extend(wrc());
    tests.extend(iriw());
    tests
}

/// Message passing.
fn mp() -> Vec<LitmusTest> {
    let question = "does who sees the flag see the message?";
    let missed = || registers(&[(1, 0, 1), (1, 1, 0)]);
    let plain_writer = &[st(X, 1), st(Y, 1)][..];
    let plain_reader = &[ld(Y), ld(X)][..];
    let releasing = &[st(X, 1), rel(Y, 1)][..];
    let acquiring = &[acq(Y), ld(X)][..];
    let fenced = [&[st(X, 1), FENCE, st(Y, 1)][..], &[ld(Y), FENCE, ld(X)]];
    vec![
        test("MP", question, [plain_writer, plain_reader], missed(), [Reachable; 3]),
        test("MP+fences", question, fenced, missed(), [Forbidden, Forbidden, Reachable]),
        test("MP+ra", question, [releasing, acquiring], missed(), [Forbidden, Forbidden, Reachable]),
        test("MP+release", question, [releasing, plain_reader], missed(), [Permitted, Permitted, Reachable]),
        test("MP+acquire", question, [plain_writer, acquiring], missed(), [Reachable; 3]),
    ]
}

/// Store buffering.
fn sb() -> Vec<LitmusTest> {
    let question = "may two threads both miss the other's store?";
    let missed = || registers(&[(0, 0, 0), (1, 0, 0)]);
    let fenced = [&[st(X, 1), FENCE, ld(Y)][..], &[st(Y, 1), FENCE, ld(X)]];
    vec![
        test("SB", question, [&[st(X, 1), ld(Y)], &[st(Y, 1), ld(X)]], missed(), [Reachable; 3]),
        test("SB+fences", question, fenced, missed(), [Forbidden, Forbidden, Reachable]),
        test("SB+ra", question, [&[rel(X, 1), acq(Y)], &[rel(Y, 1), acq(X)]], missed(), [Reachable; 3]),
    ]
}

/// Load buffering.
fn lb() -> Vec<LitmusTest> {
    let question = "may two threads both see the other's later store?";
    let both = || registers(&[(0, 0, 1), (1, 0, 1)]);
    let fenced = [&[ld(X), FENCE, st(Y, 1)][..], &[ld(Y), FENCE, st(X, 1)]];
    vec![
        test("LB", question, [&[ld(X), st(Y, 1)], &[ld(Y), st(X, 1)]], both(), [Permitted; 3]),
        test("LB+fences", question, fenced, both(), [Forbidden, Forbidden, Permitted]),
        test(
            "LB+ra",
            question,
            [&[acq(X), rel(Y, 1)], &[acq(Y), rel(X, 1)]],
            both(),
            [Forbidden, Forbidden, Permitted],
        ),
    ]
}

/// S, R and 2+2W: shapes that tell by the order of two writes.
fn write_orders() -> Vec<LitmusTest> {
    let s = "may a store come before one that was seen to be over?";
    let s_telling = || registers(&[(1, 0, 1)]).and_finally(&[(X, 2)]);
    let s_fenced = [&[st(X, 2), FENCE, st(Y, 1)][..], &[ld(Y), FENCE, st(X, 1)]];
    let r = "may a store be overwritten by one whose thread misses what came before?";
    let r_telling = || registers(&[(1, 0, 0)]).and_finally(&[(Y, 2)]);
    let r_fenced = [&[st(X, 1), FENCE, st(Y, 1)][..], &[st(Y, 2), FENCE, ld(X)]];
    let w = "may the first stores of two threads both win?";
    let w_telling = || Condition::default().and_finally(&[(X, 1), (Y, 1)]);
    let w_fenced = [&[st(X, 1), FENCE, st(Y, 2)][..], &[st(Y, 1), FENCE, st(X, 2)]];
    vec![
        test("S", s, [&[st(X, 2), st(Y, 1)], &[ld(Y), st(X, 1)]], s_telling(), [Reachable; 3]),
        test("S+fences", s, s_fenced, s_telling(), [Forbidden, Forbidden, Permitted]),
        test("R", r, [&[st(X, 1), st(Y, 1)], &[st(Y, 2), ld(X)]], r_telling(), [Reachable; 3]),
        test("R+fences", r, r_fenced, r_telling(), [Forbidden, Forbidden, Reachable]),
        test("2+2W", w, [&[st(X, 1), st(Y, 2)], &[st(Y, 1), st(X, 2)]], w_telling(), [Reachable; 3]),
        test("2+2W+fences", w, w_fenced, w_telling(), [Forbidden, Forbidden, Permitted]),
    ]
}

/// Write-to-read causality. Beside one private cache, the first reader must not see the write before everybody does.
fn wrc() -> Vec<LitmusTest> {
    let question = "does who hears of a write from a witness see it?";
    let missed = || registers(&[(1, 0, 1), (2, 0, 1), (2, 1, 0)]);
    let plain = [&[st(X, 1)][..], &[ld(X), st(Y, 1)], &[ld(Y), ld(X)]];
    let fenced = [&[st(X, 1)][..], &[ld(X), FENCE, st(Y, 1)], &[ld(Y), FENCE, ld(X)]];
    let synchronised = [&[st(X, 1)][..], &[acq(X), rel(Y, 1)], &[acq(Y), ld(X)]];
    let same_core = &[0, 0, 1];
    vec![
        test("WRC", question, plain, missed(), [Permitted, Reachable, Reachable]),
        test("WRC+fences", question, fenced, missed(), [Forbidden, Reachable, Reachable]),
        test("WRC+ra", question, synchronised, missed(), [Forbidden, Reachable, Reachable]),
        test("WRC+core", question, plain, missed(), [Permitted, Reachable, Reachable]).on_caches(same_core),
        test("WRC+core+fences", question, fenced, missed(), [Forbidden, Reachable, Reachable]).on_caches(same_core),
        test("WRC+core+ra", question, synchronised, missed(), [Forbidden, Reachable, Reachable]).on_caches(same_core),
    ]
}

/// Independent reads of independent writes.
fn iriw() -> Vec<LitmusTest> {
    let question = "do two readers agree on the order of two independent writes?";
    let disagree = || registers(&[(2, 0, 1), (2, 1, 0), (3, 0, 1), (3, 1, 0)]);
    let (x, y) = (&[st(X, 1)][..], &[st(Y, 1)][..]);
    let fenced = [x, y, &[ld(X), FENCE, ld(Y)], &[ld(Y), FENCE, ld(X)]];
    vec![
        test("IRIW", question, [x, y, &[ld(X), ld(Y)], &[ld(Y), ld(X)]], disagree(), [Permitted, Reachable, Reachable]),
        test("IRIW+fences", question, fenced, disagree(), [Forbidden, Reachable, Reachable]),
        test(
            "IRIW+ra",
            question,
            [x, y, &[acq(X), ld(Y)], &[acq(Y), ld(X)]],
            disagree(),
            [Forbidden, Reachable, Reachable],
        ),
    ]
}
