//! Shards merged into the store.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Attempt, ClusterError, Plan, all_attempts};
use crate::run::RunSpec;
use crate::store::{Merged, Store, StoreError};

/// Two stores that have different results of one run. A run is deterministic, so one of them is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Disagreement {
    /// The run of which there are two results.
    pub spec: RunSpec,
    /// The shard with the result that was there first, or the store itself.
    pub first: PathBuf,
    /// The shard with another result.
    pub second: PathBuf,
}

/// The outcome of merging shards.
#[derive(Debug, Default)]
pub struct Collected {
    /// The number of shards that were read.
    pub shards: usize,
    /// The number of runs that the store has now and did not have.
    pub new: usize,
    /// The number of runs that the store had already.
    pub there: usize,
    /// The number of planned runs that no shard has, nor the store.
    pub missing: usize,
    /// The runs with different results. The store keeps the result that was there first.
    pub disagreements: Vec<Disagreement>,
    /// The shards that cannot be read, with the reasons.
    pub unreadable: Vec<StoreError>,
}

/// Merges the shards of some plans into the store. Whatever can be read is merged, whatever else is wrong.
pub fn collect(store: &Store, plans: &[Plan]) -> Result<Collected, ClusterError> {
    let mut collected = Collected::default();
    let mut origins = BTreeMap::new();
    for plan in plans {
        for attempt in all_attempts(plan)?.iter().flatten() {
            collected.take(store, attempt, &mut origins)?;
        }
    }
    for plan in plans {
        collected.missing += plan.missing(store)?;
    }
    Ok(collected)
}

impl Collected {
    /// Merges one shard. `origins` tells in which shard each result was seen first.
    fn take(
        &mut self,
        store: &Store,
        attempt: &Attempt,
        origins: &mut BTreeMap<String, PathBuf>,
    ) -> Result<(), ClusterError> {
        let shard = &attempt.shard;
        let records = match attempt.open_shard().map(|opened| opened.and_then(|shard| shard.records())) {
            None => return Ok(()),
            Some(Ok(records)) => records,
            Some(Err(error)) => {
                self.unreadable.push(error);
                return Ok(());
            }
        };
        self.shards += 1;
        for (record, fate) in records.iter().zip(store.merge(&records)?) {
            let key = format!("{} {:?}", record.spec.key(&record.config_hash), record.build);
            match fate {
                Merged::New => self.new += 1,
                Merged::There => self.there += 1,
                Merged::Differs => {
                    let first = origins.get(&key).map_or_else(|| store.path().to_owned(), PathBuf::clone);
                    let second = shard.clone();
                    self.disagreements.push(Disagreement { spec: record.spec.clone(), first, second });
                    continue;
                }
            }
            origins.entry(key).or_insert_with(|| shard.clone());
        }
        Ok(())
    }
}
