//! The part of program order that a model keeps.

use crate::execution::skeleton::Event;
use crate::model::Model;

/// Whether `model` keeps `a` before `b`. They are two accesses of a thread in this order, with or without a fence
/// between them.
pub(super) fn preserved(model: Model, a: &Event, b: &Event, fenced: bool) -> bool {
    let write_to_read = a.is_write() && b.is_read();
    match model {
        Model::Sc | Model::ScForDrf | Model::ScForHrfDirect | Model::ScForHrfIndirect => true,
        Model::Tso => fenced || !write_to_read || a.atomic || b.atomic,
        Model::RcSc | Model::RcPc | Model::RcScNonAtomic | Model::RcPcNonAtomic | Model::ScForDrfOrRc => {
            let strict = matches!(model, Model::RcSc | Model::RcScNonAtomic) && a.releases() && b.acquires();
            let same_location = write_atomic(model) && a.at == b.at && !write_to_read;
            fenced || a.acquires() || b.releases() || strict || same_location
        }
        Model::PerLocation | Model::Ptx => false,
    }
}

/// Whether a write is performed for all other threads at once.
pub(super) fn write_atomic(model: Model) -> bool {
    !matches!(model, Model::RcScNonAtomic | Model::RcPcNonAtomic | Model::ScForDrfOrRc)
}

/// Whether reads of a thread's own writes are part of the model's order. If they are not, a thread may see its writes
/// early.
pub(super) fn own_writes_count(model: Model) -> bool {
    match model {
        Model::Sc | Model::ScForDrf | Model::ScForHrfDirect | Model::ScForHrfIndirect => true,
        Model::RcScNonAtomic | Model::RcPcNonAtomic | Model::ScForDrfOrRc => true,
        Model::Tso | Model::RcSc | Model::RcPc | Model::PerLocation | Model::Ptx => false,
    }
}
