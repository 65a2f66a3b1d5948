//! The names that a protocol of one's own needs, for one import: `use chorus_protocol::prelude::*`.

pub use crate::address::{AgentId, LineAddr, Role};
pub use crate::controller::{Controller, Input, Outbox, Outcome, StepResult, Vocabulary};
pub use crate::derived::{Changes, Derived};
pub use crate::message::{Channel, Message, MessageSpec, MsgKind, Size, TrafficClass};
pub use crate::parameter::ParameterSpec;
pub use crate::registry::{Build, BuildConfig, Declaration, FaultSpec, Protocol};
pub use crate::rows::appended;
pub use crate::save::{self, Restore, Save};
pub use crate::seed::{Seed, seeded, seeded_behind, seeded_by_level, specs};
pub use crate::sharers::Sharers;
