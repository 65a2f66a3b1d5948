//! Operators: the small mistakes that a machine can make in one cell of a transition table.
//!
//! An operator changes the effect of a step that its controller takes: what is sent, what the controller remembers, or
//! what the core is told. Inputs that the controller refuses stay refused.

use std::fmt;

use chorus_protocol::message::MsgKind;
use chorus_protocol::registry::Protocol;

/// One field of a message or request that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alteration {
    /// It goes to the next agent of the same role.
    Destination,
    /// It comes from the next agent of the same role.
    Sender,
    /// It serves the next cache of the same role.
    Origin,
    /// It serves the next wavefront slot.
    Wave,
    /// It serves the operation whose number differs in the last bit.
    Operation,
    /// It has the narrowest scope.
    Scope,
    /// It is not ordered.
    Weak,
    /// One more share has to come back.
    MoreCredit,
    /// One share less has to come back.
    LessCredit,
    /// The timestamp is one later.
    LateStamp,
    /// The timestamp is one earlier.
    EarlyStamp,
    /// The last word of the mask is missing.
    FewerWords,
    /// The first word outside the mask is added.
    MoreWords,
    /// The only word of the mask is the next one instead.
    OtherWord,
    /// The data are those of the line before the step.
    OldData,
    /// The data are zero.
    NoData,
    /// It is a message of another kind.
    Kind(MsgKind),
}

/// Alterations of messages that are sent, apart from their kind.
pub const SENT: [Alteration; 14] = [
    Alteration::Destination,
    Alteration::Origin,
    Alteration::Wave,
    Alteration::Operation,
    Alteration::Scope,
    Alteration::MoreCredit,
    Alteration::LessCredit,
    Alteration::LateStamp,
    Alteration::EarlyStamp,
    Alteration::FewerWords,
    Alteration::MoreWords,
    Alteration::OtherWord,
    Alteration::OldData,
    Alteration::NoData,
];

/// Alterations of inputs that only the state of the controller may follow, apart from their kind.
pub const REMEMBERED: [Alteration; 7] = [
    Alteration::Sender,
    Alteration::Origin,
    Alteration::Wave,
    Alteration::FewerWords,
    Alteration::NoData,
    Alteration::LateStamp,
    Alteration::EarlyStamp,
];

/// Alterations of inputs that the whole step may follow, apart from their kind.
pub const TAKEN: [Alteration; 2] = [Alteration::Scope, Alteration::Weak];

impl Alteration {
    /// The name within the name of an operator, and the mistake in words.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Alteration::Destination => ("redirect", "goes to the wrong agent"),
            Alteration::Sender => ("wrong-sender", "comes from another agent"),
            Alteration::Origin => ("wrong-origin", "serves another cache"),
            Alteration::Wave => ("wrong-wave", "serves another wavefront"),
            Alteration::Operation => ("wrong-operation", "serves another operation"),
            Alteration::Scope => ("narrow-scope", "has the narrowest scope"),
            Alteration::Weak => ("weak", "is not ordered"),
            Alteration::MoreCredit => ("more-credit", "asks for one share more"),
            Alteration::LessCredit => ("less-credit", "asks for one share less"),
            Alteration::LateStamp => ("late-stamp", "has a timestamp one too late"),
            Alteration::EarlyStamp => ("early-stamp", "has a timestamp one too early"),
            Alteration::FewerWords => ("fewer-words", "names one word less"),
            Alteration::MoreWords => ("more-words", "names one word more"),
            Alteration::OtherWord => ("other-word", "names another word"),
            Alteration::OldData => ("old-data", "carries the data from before the step"),
            Alteration::NoData => ("no-data", "carries zeros"),
            Alteration::Kind(_) => ("wrong-message", "is a message of another kind"),
        }
    }

    /// Every alteration without a kind, for names.
    fn named(name: &str) -> Option<Alteration> {
        let all = SENT.into_iter().chain(REMEMBERED).chain(TAKEN);
        all.into_iter().find(|alteration| alteration.words().0 == name)
    }
}

/// A mistake in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// Nothing is changed. The baseline with which other mutants are compared.
    Identity,
    /// A message is not sent.
    Drop(u8),
    /// A message is sent twice.
    Duplicate(u8),
    /// A message is sent with something wrong in it.
    Send(u8, Alteration),
    /// Everything is sent, but the controller stays as it was.
    KeepState,
    /// Everything is sent, but the controller remembers another input.
    Remember(Alteration),
    /// The controller takes another input for the one that came.
    Take(Alteration),
    /// The input is consumed without effect.
    Ignore,
    /// The input is taken twice, if it can be.
    Repeat,
    /// The input is never taken.
    Stall,
    /// No operation of the core ends.
    NeverComplete,
    /// Operations of the core end twice.
    CompleteTwice,
    /// The operation ends at once, and not when it should.
    CompleteEarly,
    /// Operations of the core get the line from before the step.
    OldValue,
    /// Operations of the core get zeros.
    NoValue,
}

/// The operators that need neither a message nor an alteration.
pub const PLAIN: [Operator; 9] = [
    Operator::KeepState,
    Operator::Ignore,
    Operator::Repeat,
    Operator::Stall,
    Operator::NeverComplete,
    Operator::CompleteTwice,
    Operator::CompleteEarly,
    Operator::OldValue,
    Operator::NoValue,
];

impl Operator {
    /// The name without the number and kind of a message: what `--operator` takes.
    pub fn name(self) -> String {
        match self {
            Operator::Identity => "identity".to_owned(),
            Operator::Drop(_) => "drop".to_owned(),
            Operator::Duplicate(_) => "duplicate".to_owned(),
            Operator::Send(_, alteration) => alteration.words().0.to_owned(),
            Operator::KeepState => "keep-state".to_owned(),
            Operator::Remember(alteration) => format!("remember-{}", alteration.words().0),
            Operator::Take(alteration) => format!("take-{}", alteration.words().0),
            Operator::Ignore => "ignore".to_owned(),
            Operator::Repeat => "repeat".to_owned(),
            Operator::Stall => "stall".to_owned(),
            Operator::NeverComplete => "never-complete".to_owned(),
            Operator::CompleteTwice => "complete-twice".to_owned(),
            Operator::CompleteEarly => "complete-early".to_owned(),
            Operator::OldValue => "old-value".to_owned(),
            Operator::NoValue => "no-value".to_owned(),
        }
    }

    /// The names that `--operator` takes, in the order in which mutants are listed.
    pub fn names() -> Vec<String> {
        let kind = Alteration::Kind(MsgKind(0));
        let sent = SENT.into_iter().chain([kind]).map(|alteration| Operator::Send(0, alteration));
        let remembered = REMEMBERED.into_iter().chain([kind]).map(Operator::Remember);
        let taken = TAKEN.into_iter().chain([kind]).map(Operator::Take);
        let messages = [Operator::Drop(0), Operator::Duplicate(0)].into_iter().chain(sent);
        messages.chain(remembered).chain(taken).chain(PLAIN).map(Operator::name).collect()
    }

    /// The number of the message and the alteration, where there are any.
    fn parts(self) -> (Option<u8>, Option<Alteration>) {
        match self {
            Operator::Drop(index) | Operator::Duplicate(index) => (Some(index), None),
            Operator::Send(index, alteration) => (Some(index), Some(alteration)),
            Operator::Remember(alteration) | Operator::Take(alteration) => (None, Some(alteration)),
            Operator::Identity
            | Operator::KeepState
            | Operator::Ignore
            | Operator::Repeat
            | Operator::Stall
            | Operator::NeverComplete
            | Operator::CompleteTwice
            | Operator::CompleteEarly
            | Operator::OldValue
            | Operator::NoValue => (None, None),
        }
    }

    /// The whole name: `drop.0`, `wrong-message.1=INV_ACK`, `keep-state`.
    pub fn id(self, protocol: &dyn Protocol) -> String {
        let (index, alteration) = self.parts();
        let index = index.map_or(String::new(), |index| format!(".{index}"));
        let kind = match alteration {
            Some(Alteration::Kind(kind)) => format!("={}", kind_id(protocol, kind)),
            Some(_) | None => String::new(),
        };
        format!("{}{index}{kind}", self.name())
    }

    /// The operator of a whole name.
    pub fn parse(protocol: &dyn Protocol, id: &str) -> Option<Operator> {
        let (head, kind) = id.split_once('=').map_or((id, None), |(head, kind)| (head, Some(kind)));
        let (name, index) = head.split_once('.').map_or((head, None), |(name, index)| (name, Some(index)));
        let index: Option<u8> = index.map(str::parse).transpose().ok()?;
        let kinds = || (0..protocol.messages().len()).map(|kind| MsgKind(kind as u8));
        let kind = match kind {
            Some(wanted) => Some(Alteration::Kind(kinds().find(|&kind| kind_id(protocol, kind) == wanted)?)),
            None => None,
        };
        let alteration = |name: &str| match name {
            "wrong-message" => kind,
            other => Alteration::named(other),
        };
        let operator = match (name, index) {
            ("identity", None) => Operator::Identity,
            ("drop", Some(index)) => Operator::Drop(index),
            ("duplicate", Some(index)) => Operator::Duplicate(index),
            (name, Some(index)) => Operator::Send(index, alteration(name)?),
            (name, None) => match (name.strip_prefix("remember-"), name.strip_prefix("take-")) {
                (Some(rest), _) => Operator::Remember(alteration(rest)?),
                (None, Some(rest)) => Operator::Take(alteration(rest)?),
                (None, None) => PLAIN.into_iter().find(|operator| operator.name() == name)?,
            },
        };
        (operator.id(protocol) == id).then_some(operator)
    }

    /// The mistake in one clause.
    pub fn sentence(self, protocol: &dyn Protocol) -> String {
        let sent = |index: u8| match index {
            0 => "the first message".to_owned(),
            1 => "the second message".to_owned(),
            2 => "the third message".to_owned(),
            later => format!("message {}", later + 1),
        };
        let what = |alteration: Alteration| match alteration {
            Alteration::Kind(kind) => format!("is {}", protocol.messages()[usize::from(kind.0)].name),
            other => other.words().1.to_owned(),
        };
        match self {
            Operator::Identity => "nothing is changed".to_owned(),
            Operator::Drop(index) => format!("{} is not sent", sent(index)),
            Operator::Duplicate(index) => format!("{} is sent twice", sent(index)),
            Operator::Send(index, alteration) => format!("{} {}", sent(index), what(alteration)),
            Operator::KeepState => "everything is sent, but the state stays".to_owned(),
            Operator::Remember(alteration) => format!("the state is as if the input {}", what(alteration)),
            Operator::Take(alteration) => format!("the input is taken as if it {}", what(alteration)),
            Operator::Ignore => "the input is consumed without effect".to_owned(),
            Operator::Repeat => "the input is taken twice".to_owned(),
            Operator::Stall => "the input is never taken".to_owned(),
            Operator::NeverComplete => "no operation of the core ends".to_owned(),
            Operator::CompleteTwice => "operations of the core end twice".to_owned(),
            Operator::CompleteEarly => "the operation ends at once, not when it should".to_owned(),
            Operator::OldValue => "the core gets the line from before the step".to_owned(),
            Operator::NoValue => "the core gets zeros".to_owned(),
        }
    }
}

/// The name of a kind of message. Where several have one name, it is followed by the row of the message table.
fn kind_id(protocol: &dyn Protocol, kind: MsgKind) -> String {
    let name = protocol.messages()[usize::from(kind.0)].name;
    let is_unique = protocol.messages().iter().filter(|spec| spec.name == name).count() == 1;
    if is_unique { name.to_owned() } else { format!("{name}#{}", kind.0) }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
