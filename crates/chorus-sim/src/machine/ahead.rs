//! Components are read ahead of their turn.
//!
//! The state of a large machine does not fit the host's caches. A component that runs would wait for the host's memory
//! at every pointer that it follows. So while one component runs, the host is asked for what the next ones will look
//! at. Those that come next are at different depths: each time another component runs, they follow one more pointer,
//! to what the host was asked for the last time.

use super::context::{Context, Env};
use super::partition::Component;
use crate::clock::Ticks;

/// Depths to which components are read ahead.
const DEPTHS: usize = 9;

/// The least number of components of a partition that are worth it. The state of fewer fits the host's caches.
pub(super) const COMPONENTS_MIN: usize = 64;

/// The components that run next in a window, the last of them first.
pub(super) struct Ahead {
    places: [usize; DEPTHS],
    /// The place from which the next one is searched.
    next: usize,
}

impl Ahead {
    /// Reads ahead from a place on, until the component that runs first is at the last depth.
    pub(super) fn new<const W: usize, C: Component<W>>(
        components: &[C],
        (first, place): (usize, usize),
        until: Ticks,
        ctx: &Context<W>,
        env: &Env<'_>,
    ) -> Ahead {
        let mut ahead = Ahead { places: [usize::MAX; DEPTHS], next: place };
        (0..DEPTHS).for_each(|_| ahead.advance(components, first, until, ctx, env));
        ahead
    }

    /// Reads ahead while a component runs. `first` is the agent of the first component.
    #[inline(never)]
    pub(super) fn advance<const W: usize, C: Component<W>>(
        &mut self,
        components: &[C],
        first: usize,
        until: Ticks,
        ctx: &Context<W>,
        env: &Env<'_>,
    ) {
        self.places.rotate_right(1);
        let times = &ctx.next[first..first + components.len()];
        let from = self.next.min(times.len());
        let next = times[from..].iter().position(|&time| time < until).map_or(times.len(), |more| from + more);
        (self.places[0], self.next) = (next, next + 1);
        for (depth, &place) in self.places.iter().enumerate() {
            if let Some(component) = components.get(place) {
                component.read_ahead(first + place, depth, ctx, env);
            }
        }
    }
}
