//! How long a lease is: always the same, or predicted by each bank from what happens to it (TC paper, section 6.4).

/// What changes a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Prediction {
    /// The longest lease predicted.
    pub(super) max: u64,
    /// Taken away when a line leaves the L2 with a lease running.
    pub(super) t_evict: u64,
    /// Added when a load comes because a lease ended too early.
    pub(super) t_hit: u64,
    /// Taken away when a write finds a lease running; zero for programs without fences.
    pub(super) t_write: u64,
}

/// The length of leases at one bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lifetime {
    cycles: u64,
    prediction: Option<Prediction>,
}

impl Lifetime {
    /// Leases of `cycles`, always.
    pub(super) fn fixed(cycles: u64) -> Lifetime {
        Lifetime { cycles, prediction: None }
    }

    /// Leases that begin with `cycles` and change.
    pub(super) fn predicted(cycles: u64, prediction: Prediction) -> Lifetime {
        Lifetime { cycles: cycles.min(prediction.max), prediction: Some(prediction) }
    }

    /// The length of a lease given now.
    pub(super) fn cycles(&self) -> u64 {
        self.cycles
    }

    /// A line leaves the L2 with a lease running.
    pub(super) fn evicted_unexpired(&mut self) {
        self.shorten(|prediction| prediction.t_evict);
    }

    /// A load comes whose private copy, or whose line's last lease, has ended.
    pub(super) fn expired_too_early(&mut self) {
        if let Some(prediction) = &self.prediction {
            self.cycles = (self.cycles + prediction.t_hit).min(prediction.max);
        }
    }

    /// A write finds a lease running.
    pub(super) fn written_unexpired(&mut self) {
        self.shorten(|prediction| prediction.t_write);
    }

    fn shorten(&mut self, by: impl Fn(&Prediction) -> u64) {
        if let Some(prediction) = &self.prediction {
            self.cycles = self.cycles.saturating_sub(by(prediction));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREDICTION: Prediction = Prediction { max: 1000, t_evict: 8, t_hit: 4, t_write: 8 };

    #[test]
    fn a_fixed_lifetime_stays() {
        let mut lifetime = Lifetime::fixed(800);
        lifetime.evicted_unexpired();
        lifetime.expired_too_early();
        lifetime.written_unexpired();
        assert_eq!(lifetime.cycles(), 800);
    }

    #[test]
    fn a_prediction_follows_the_papers_constants_within_its_bounds() {
        let mut lifetime = Lifetime::predicted(10, PREDICTION);
        lifetime.evicted_unexpired();
        assert_eq!(lifetime.cycles(), 2);
        lifetime.written_unexpired();
        assert_eq!(lifetime.cycles(), 0);
        lifetime.expired_too_early();
        assert_eq!(lifetime.cycles(), 4);
        (0..1000).for_each(|_| lifetime.expired_too_early());
        assert_eq!(lifetime.cycles(), 1000);
    }
}
