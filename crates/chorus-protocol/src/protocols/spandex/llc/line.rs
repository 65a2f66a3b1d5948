//! A line of the LLC: two bits that say whether it is Valid or Shared, and one bit for each word that says whether the
//! word is Owned (Spandex paper, section III-B).
//!
//! If a word is owned, its place in the data holds the number of the owner.

use crate::address::AgentId;
use crate::line::{ByteMask, LineData};
use crate::save::{self, Save};
use crate::sharers::Sharers;

/// The tag of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Line {
    /// The reason for which the line waits, if it does.
    pub busy: Busy,
    /// Whether devices hold the line Shared.
    pub is_shared: bool,
    /// The permission of the cache behind the LLC, where there is one.
    pub permission: Permission,
    /// Whether the line differs from the copy behind the LLC.
    pub is_dirty: bool,
    /// The words that devices own, one bit each.
    pub owned: u32,
    /// The devices that may hold the line Shared, by the numbers of their translation units.
    pub sharers: Sharers,
}

/// The reason for which a line waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub enum Busy {
    /// The line does not wait.
    #[default]
    No,
    /// The line waits for the level behind the LLC.
    Fetch(Fetch),
    /// The line waits for answers of devices.
    Answers,
}

/// The request that has been sent to the level behind the LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub enum Fetch {
    /// A request for data to read.
    Read,
    /// A request for data to read, where another cache has written the line meanwhile. The data serves the request that
    /// waits and is not kept.
    ReadOnce,
    /// A request for data to read and write.
    Write,
    /// A request for permission to write the line that is here.
    Upgrade,
}

/// The permission that the cache behind the LLC gives for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub enum Permission {
    /// The LLC may read the line.
    Read,
    /// The LLC may read and write the line. Memory always permits this.
    #[default]
    Write,
}

impl Line {
    /// Whether nothing is outstanding for the line.
    pub fn is_idle(&self) -> bool {
        self.busy == Busy::No
    }
}

/// The words of a mask, one bit each.
pub fn words_of(mask: ByteMask) -> u32 {
    // Each step halves the distance between the bits of neighbouring groups of words.
    let mut bits = mask.0 | mask.0 >> 1;
    bits = (bits | bits >> 2) & (u128::MAX / 0xF);
    bits = (bits | bits >> 3) & (u128::MAX / 0xFF * 0x3);
    bits = (bits | bits >> 6) & (u128::MAX / 0xFFFF * 0xF);
    bits = (bits | bits >> 12) & (u128::MAX / 0xFFFF_FFFF * 0xFF);
    bits = (bits | bits >> 24) & (u128::MAX / 0xFFFF_FFFF_FFFF_FFFF * 0xFFFF);
    (bits | bits >> 48) as u32
}

/// The set of all words of a line of `W` words.
pub const fn all_words<const W: usize>() -> u32 {
    u32::MAX >> (32 - W)
}

/// Makes `owner` the owner of `words`.
pub fn give<const W: usize>(line: &mut Line, data: &mut LineData<W>, words: u32, owner: AgentId) {
    line.owned |= words;
    for word in ByteMask::of_words(words).words() {
        data.0[word] = u32::from(owner.0);
    }
}

/// The words among `words` whose owner is `agent`.
pub fn owned_by<const W: usize>(line: &Line, data: &LineData<W>, words: u32, agent: AgentId) -> u32 {
    let owned = ByteMask::of_words(words & line.owned).words();
    owned.filter(|&word| data.0[word] == u32::from(agent.0)).fold(0, |words, word| words | 1 << word)
}

/// The owners of `words`, each with the words among them that it owns, in the order of their first word.
pub fn owners<const W: usize>(line: &Line, data: &LineData<W>, words: u32) -> impl Iterator<Item = (AgentId, u32)> {
    let (line, data) = (*line, *data);
    let mut rest = words & line.owned;
    std::iter::from_fn(move || {
        let first = rest.trailing_zeros() as usize;
        let owner = AgentId(*data.0.get(first).filter(|_| rest != 0)? as u16);
        let theirs = owned_by(&line, &data, rest, owner);
        rest &= !theirs;
        Some((owner, theirs))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_mask_are_those_with_any_byte() {
        for words in [0, 1, 0b1010, 0x8000_0001, 0x1234_5678, u32::MAX] {
            assert_eq!(words_of(ByteMask::of_words(words)), words);
        }
        assert_eq!(words_of(ByteMask(1 << 3 | 1 << 5 | 1 << 126)), 1 << 31 | 0b11);
    }

    #[test]
    fn owners_come_once_each_with_their_words() {
        let (mut line, mut data) = (Line::default(), LineData::<4>::default());
        give(&mut line, &mut data, 0b0101, AgentId(7));
        give(&mut line, &mut data, 0b1000, AgentId(9));
        assert_eq!(owners(&line, &data, 0b1111).collect::<Vec<_>>(), [(AgentId(7), 0b0101), (AgentId(9), 0b1000)]);
        assert_eq!(owners(&line, &data, 0b0110).collect::<Vec<_>>(), [(AgentId(7), 0b0100)]);
        assert_eq!(owned_by(&line, &data, 0b1111, AgentId(9)), 0b1000);
    }
}
