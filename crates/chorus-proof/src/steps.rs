//! Progress through the steps of a long check.

/// A display that is told which step of a long check is under way, from any thread.
pub trait Steps: Sync {
    /// A step begins, or goes on with another part of its work.
    fn begin(&self, what: &str);
    /// A step has ended; `summary` is its line in a log.
    fn finish(&self, summary: &str);
}
