//! Progress through the steps of a long check.

/// Is told which step is under way.
pub trait Steps {
    /// A step begins, or goes on with something else.
    fn begin(&self, what: &str);
    /// A step has ended; `summary` is its line in a log.
    fn finish(&self, summary: &str);
}
