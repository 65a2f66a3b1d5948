//! Records of another store, taken over exactly once.

use rusqlite::TransactionBehavior;

use super::{Store, StoreError};
use crate::run::Record;

/// The fate of a record that a store was to take over.
#[derive(Clone, Debug, PartialEq)]
pub enum Merged {
    /// The store has it now.
    New,
    /// The store had the same result already.
    There,
    /// The store has another result of the same run, and keeps it.
    Differs,
}

impl Store {
    /// Takes over records in one transaction, and says of each what became of it. It does not matter how often that is
    /// done, nor who does it at the same time.
    pub fn merge(&self, records: &[Record]) -> Result<Vec<Merged>, StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(|source| self.failed(source))?;
        let mut fates = Vec::new();
        for record in records {
            let fate = match self.find_by(&transaction, &record.spec, &record.config_hash, &record.build)? {
                Some(kept) if kept.is_settled() && record.is_settled() && !kept.agrees_with(record) => Merged::Differs,
                Some(kept) if kept.is_settled() || !record.is_settled() => Merged::There,
                Some(_) | None => {
                    self.insert_by(&transaction, record)?;
                    Merged::New
                }
            };
            fates.push(fate);
        }
        transaction.commit().map_err(|source| self.failed(source))?;
        Ok(fates)
    }
}
