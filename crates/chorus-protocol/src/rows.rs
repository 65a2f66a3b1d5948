//! Constant tables that are made of others: messages, events, faults and counts of a protocol behind those of the
//! protocol that it is derived from.

/// The rows of `base`, followed by those of `own`. `N` is the number of rows of both together.
///
/// ```
/// use chorus_protocol::rows::appended;
///
/// const BASE: [&str; 2] = ["GETS", "GETX"];
/// static EVENTS: [&str; BASE.len() + 1] = appended(&BASE, &["PUT"]);
/// assert_eq!(EVENTS, ["GETS", "GETX", "PUT"]);
/// ```
pub const fn appended<T: Copy, const N: usize>(base: &[T], own: &[T]) -> [T; N] {
    assert!(base.len() + own.len() == N, "the table has as many rows as both of its parts together");
    let mut rows = [if base.is_empty() { own[0] } else { base[0] }; N];
    let mut row = 0;
    while row < N {
        rows[row] = if row < base.len() { base[row] } else { own[row - base.len()] };
        row += 1;
    }
    rows
}
