//! Mistakes that can be built into the LLC.

use crate::seed::Seed;

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

/// Mistakes that matter where devices have Shared state, each with its name and what it breaks.
pub const SHARED_FAULTS: [Seed<LlcFault>; 4] = [
    Seed::new(LlcFault::LostInv, "llc-lost-inv", "a write to a Shared line invalidates nobody"),
    Seed::new(LlcFault::EarlyWrite, "llc-early-write", "a write to a Shared line does not wait for acknowledgements"),
    Seed::new(LlcFault::LostSharer, "llc-lost-sharer", "ReqS on a Shared line does not note the sharer"),
    Seed::new(LlcFault::OpenBlock, "llc-open-block", "a blocked line serves writes"),
];

/// Mistakes that matter everywhere.
pub const LLC_FAULTS: [Seed<LlcFault>; 1] =
    [Seed::new(LlcFault::LostDirtyLine, "llc-lost-dirty-line", "a written line is dropped when replaced")];

/// Mistakes that matter where devices own something.
pub const OWNED_FAULTS: [Seed<LlcFault>; 5] = [
    Seed::new(LlcFault::OwnerAsData, "llc-owner-as-data", "ReqO+data on owned words is answered from the LLC"),
    Seed::new(LlcFault::StaleWriteBack, "llc-stale-write-back", "a write-back of another's words is taken"),
    Seed::new(LlcFault::UnrecalledOwner, "llc-unrecalled-owner", "a replaced line is not revoked from its owners"),
    Seed::new(LlcFault::LostRspWb, "llc-lost-rspwb", "a write-back is not answered"),
    Seed::new(
        LlcFault::UnawaitedWriteBack,
        "llc-unawaited-write-back",
        "a revocation without data is taken as complete",
    ),
];

/// Mistakes that matter where devices own words and not lines.
pub const WORD_FAULTS: [Seed<LlcFault>; 1] =
    [Seed::new(LlcFault::UnforwardedReqO, "llc-unforwarded-reqo", "ReqO on owned words is answered, not forwarded")];

/// Mistakes that matter where CPU cores own words of lines that others read whole.
pub const LINE_FAULTS: [Seed<LlcFault>; 1] =
    [Seed::new(LlcFault::FirstOwnerOnly, "llc-first-owner-only", "a read is forwarded to the first owner alone")];

/// Mistakes that matter where some devices own what others write through.
pub const THROUGH_FAULTS: [Seed<LlcFault>; 2] = [
    Seed::new(LlcFault::UnrevokedUpdate, "llc-unrevoked-update", "ReqWT+data on owned words does not revoke them"),
    Seed::new(LlcFault::KeptOwner, "llc-kept-owner", "ReqWT leaves the words to their owner"),
];
