//! Mistakes that can be built into the LLC.

use crate::registry::FaultSpec;

/// A mistake that can be built into the LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LlcFault {
    /// A write to a Shared line invalidates nobody.
    LostInv,
    /// A write to a Shared line does not wait for acknowledgements.
    EarlyWrite,
    /// ReqWT+data on owned words does not revoke them.
    UnrevokedUpdate,
    /// ReqO on owned words is not forwarded, and the LLC answers it.
    UnforwardedReqO,
    /// ReqO+data on owned words is answered with the old contents of the LLC.
    OwnerAsData,
    /// A write-back of words that another device owns by now is taken.
    StaleWriteBack,
    /// ReqWT leaves the words to their owner.
    KeptOwner,
    /// ReqS on a Shared line does not record the sharer.
    LostSharer,
    /// A blocked line serves writes.
    OpenBlock,
    /// A replaced line is not revoked from its owners.
    UnrecalledOwner,
    /// A write-back is not answered.
    LostRspWb,
    /// A revocation without data does not wait for the write-back.
    UnawaitedWriteBack,
    /// A written line is dropped when replaced.
    LostDirtyLine,
    /// A read of owned words is forwarded to the first owner only.
    FirstOwnerOnly,
}

/// Mistakes that matter where devices have Shared state, each with its name and description.
pub const SHARED_FAULTS: [(FaultSpec, LlcFault); 4] = [
    (FaultSpec::new("llc-lost-inv", "a write to a Shared line invalidates nobody"), LlcFault::LostInv),
    (
        FaultSpec::new("llc-early-write", "a write to a Shared line does not wait for acknowledgements"),
        LlcFault::EarlyWrite,
    ),
    (FaultSpec::new("llc-lost-sharer", "ReqS on a Shared line does not note the sharer"), LlcFault::LostSharer),
    (FaultSpec::new("llc-open-block", "a blocked line serves writes"), LlcFault::OpenBlock),
];

/// Mistakes that matter on every machine.
pub const LLC_FAULTS: [(FaultSpec, LlcFault); 1] =
    [(FaultSpec::new("llc-lost-dirty-line", "a written line is dropped when replaced"), LlcFault::LostDirtyLine)];

/// Mistakes that matter where devices own something.
pub const OWNED_FAULTS: [(FaultSpec, LlcFault); 5] = [
    (FaultSpec::new("llc-owner-as-data", "ReqO+data on owned words is answered from the LLC"), LlcFault::OwnerAsData),
    (FaultSpec::new("llc-stale-write-back", "a write-back of another's words is taken"), LlcFault::StaleWriteBack),
    (
        FaultSpec::new("llc-unrecalled-owner", "a replaced line is not revoked from its owners"),
        LlcFault::UnrecalledOwner,
    ),
    (FaultSpec::new("llc-lost-rspwb", "a write-back is not answered"), LlcFault::LostRspWb),
    (
        FaultSpec::new("llc-unawaited-write-back", "a revocation without data is taken as complete"),
        LlcFault::UnawaitedWriteBack,
    ),
];

/// Mistakes that matter where devices own words and not lines.
pub const WORD_FAULTS: [(FaultSpec, LlcFault); 1] = [(
    FaultSpec::new("llc-unforwarded-reqo", "ReqO on owned words is answered, not forwarded"),
    LlcFault::UnforwardedReqO,
)];

/// Mistakes that matter where CPU cores own words of lines that others read whole.
pub const LINE_FAULTS: [(FaultSpec, LlcFault); 1] = [(
    FaultSpec::new("llc-first-owner-only", "a read is forwarded to the first owner alone"),
    LlcFault::FirstOwnerOnly,
)];

/// Mistakes that matter where some devices own words that others write through.
pub const THROUGH_FAULTS: [(FaultSpec, LlcFault); 2] = [
    (
        FaultSpec::new("llc-unrevoked-update", "ReqWT+data on owned words does not revoke them"),
        LlcFault::UnrevokedUpdate,
    ),
    (FaultSpec::new("llc-kept-owner", "ReqWT leaves the words to their owner"), LlcFault::KeptOwner),
];
