//! Message passing where more than one wavefront of a core, or more than one word of a line, takes part: what copies that expire by
//! themselves make delicate.

use super::Expectation::{Forbidden, Permitted, Reachable};
use super::{Expected, FENCE, LitmusTest, X, X1, Y, ld, registers, st, test};

const SYNCHRONISED: Expected = [Forbidden, Forbidden, Reachable];

/// All of them.
pub fn tests() -> Vec<LitmusTest> {
    vec![
        test(
            "MP+merged-load",
            "does a load that joins another wavefront's miss see what its own wavefront must see?",
            [&[st(X, 1), FENCE, st(Y, 1)], &[ld(X)], &[ld(Y), FENCE, ld(X)]],
            registers(&[(2, 0, 1), (2, 1, 0)]),
            SYNCHRONISED,
        )
        .on_caches(&[0, 1, 1]),
        test(
            "MP+written-line",
            "is a message seen in a line of which the reader itself has written another word?",
            [&[st(X1, 1), FENCE, st(Y, 1)], &[st(X, 1), ld(Y), FENCE, ld(X1)]],
            registers(&[(1, 0, 1), (1, 1, 0)]),
            // Where stores drop the private copy, the reader's own takes its stale copy away.
            [Forbidden, Forbidden, Permitted],
        ),
        test(
            "MP+core-reader",
            "is a message seen in a line of which another wavefront of its reader's core has written another word?",
            [&[st(X1, 1), FENCE, st(Y, 1)], &[st(X, 1)], &[ld(Y), FENCE, ld(X1)]],
            registers(&[(2, 0, 1), (2, 1, 0)]),
            SYNCHRONISED,
        )
        .on_caches(&[0, 1, 1]),
        test(
            "MP+core-writers",
            "is a message seen in a line of which another wavefront of its writer's core has just written another word?",
            [&[st(X, 1)], &[st(X1, 1), FENCE, st(Y, 1)], &[ld(Y), FENCE, ld(X1)]],
            registers(&[(2, 0, 1), (2, 1, 0)]),
            SYNCHRONISED,
        )
        .on_caches(&[0, 0, 1]),
    ]
}
