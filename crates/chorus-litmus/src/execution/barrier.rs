//! The meetings of threads at barriers.
//!
//! Threads of a work-group meet if they name the same instance and the same barrier. With a quorum, this number of
//! threads meets, and others wait for the next to come. A thread that waits in vain never continues. Such an execution
//! counts only if the thread had nothing left to do.

use crate::execution::linear::Linear;
use crate::execution::path::{BarrierName, Kind};
use crate::execution::skeleton::Skeleton;
use crate::execution::values::{Sources, Values};
use crate::judge::TooLarge;
use crate::search::{Search, Stop};
use crate::test::BarrierMode;

/// The largest number of ways in which threads can meet.
const MAX_MEETINGS: usize = 1024;

/// The error for programs with more ways.
const TOO_MANY: Stop = Stop::TooLarge(TooLarge::Meetings { limit: MAX_MEETINGS });

/// Pairs of barrier events: the first arrives before the second is passed.
pub(crate) type Meeting = Vec<(u8, u8)>;

/// The full name of a barrier of a work-group.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name {
    work_group: (u32, u32),
    instance: u32,
    id: Option<u32>,
    quorum: Option<u32>,
}

/// Every way in which threads can meet. There is none if some would wait for ever.
pub(crate) fn meetings(
    skeleton: &Skeleton,
    sources: &Sources,
    values: &Values,
    search: &mut Search,
) -> Result<Vec<Meeting>, Stop> {
    let mut groups: Vec<(Name, Vec<u8>)> = Vec::new();
    for (index, event) in skeleton.events.iter().enumerate() {
        let (Some(thread), Some(barrier)) =
            (event.thread, skeleton.in_path(index).and_then(|event| event.barrier.as_ref()))
        else {
            continue;
        };
        let name = name_of(skeleton, sources, values, thread, barrier);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(index as u8),
            None => groups.push((name, vec![index as u8])),
        }
    }
    let mut all: Vec<Meeting> = vec![Vec::new()];
    for (name, members) in groups {
        let mut ways = Vec::new();
        match name.quorum {
            None => ways.push(pairs(skeleton, &members)),
            Some(quorum) => {
                let quorum = (quorum.max(1) as usize).min(members.len() + 1);
                let mut parties = Quorum { skeleton, quorum, ways: &mut ways, search };
                parties.form(&members, &mut Vec::new(), &mut Vec::new())?;
            }
        }
        let combined = all.iter().flat_map(|known| ways.iter().map(|way| [known.as_slice(), way].concat()));
        all = combined.take(MAX_MEETINGS + 1).collect();
        if all.len() > MAX_MEETINGS {
            return Err(TOO_MANY);
        }
    }
    Ok(all)
}

fn name_of(skeleton: &Skeleton, sources: &Sources, values: &Values, thread: u8, barrier: &BarrierName) -> Name {
    let start = usize::from(skeleton.starts[usize::from(thread)]);
    let value = |linear: &Linear| linear.value(|event| Some(values.read(sources, start + event))).unwrap_or(0);
    Name {
        work_group: skeleton.work_group(thread),
        instance: barrier.instance,
        id: barrier.id.as_ref().map(value),
        quorum: barrier.quorum.as_ref().map(value),
    }
}

/// The pairs of threads that meet.
fn pairs(skeleton: &Skeleton, members: &[u8]) -> Meeting {
    let event = |member: u8| skeleton.events[usize::from(member)];
    let mut pairs = Vec::new();
    for &from in members {
        for &to in members {
            if event(from).thread != event(to).thread && event(to).kind == Kind::Barrier(BarrierMode::Sync) {
                pairs.push((from, to));
            }
        }
    }
    pairs
}

/// Enumerates the ways in which the members of a group can meet, where the quorum says how many meet at a time.
struct Quorum<'a, 'b> {
    skeleton: &'a Skeleton<'a>,
    quorum: usize,
    ways: &'a mut Vec<Meeting>,
    search: &'a mut Search<'b>,
}

impl Quorum<'_, '_> {
    /// Forms parties of the members in `left`, which have not met yet. The members in `over` never will, and `met` has
    /// the pairs so far.
    fn form(&mut self, left: &[u8], over: &mut Vec<u8>, met: &mut Meeting) -> Result<(), Stop> {
        if self.ways.len() > MAX_MEETINGS {
            return Err(TOO_MANY);
        }
        let Some((&first, rest)) = left.split_first() else {
            self.ways.push(met.clone());
            return Ok(());
        };
        if self.may_stay(first) && over.len() + 1 < self.quorum {
            over.push(first);
            self.form(rest, over, met)?;
            over.pop();
        }
        self.complete(&mut vec![first], rest, 0, over, met)
    }

    /// Completes a party with members of `rest` from `next` on.
    fn complete(
        &mut self,
        party: &mut Vec<u8>,
        rest: &[u8],
        next: usize,
        over: &mut Vec<u8>,
        met: &mut Meeting,
    ) -> Result<(), Stop> {
        self.search.spend(1)?;
        if party.len() == self.quorum {
            let left: Vec<u8> = rest.iter().copied().filter(|member| !party.contains(member)).collect();
            let before = met.len();
            met.extend(pairs(self.skeleton, party));
            self.form(&left, over, met)?;
            met.truncate(before);
            return Ok(());
        }
        for index in next..rest.len() {
            if party.len() + rest.len() - index < self.quorum {
                break;
            }
            let thread = |member: u8| self.skeleton.events[usize::from(member)].thread;
            if party.iter().any(|&member| thread(member) == thread(rest[index])) {
                continue;
            }
            party.push(rest[index]);
            self.complete(party, rest, index + 1, over, met)?;
            party.pop();
        }
        Ok(())
    }

    /// Whether a thread may remain at this barrier for ever: it only arrives there, or has no instruction behind it.
    fn may_stay(&self, member: u8) -> bool {
        let event = &self.skeleton.events[usize::from(member)];
        let last = event.thread.map(|thread| self.skeleton.starts[usize::from(thread) + 1] - 1);
        event.kind == Kind::Barrier(BarrierMode::Arrive) || last == Some(member)
    }
}
