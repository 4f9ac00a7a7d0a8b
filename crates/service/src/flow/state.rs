//! The state of a flow, stored in its database row; the browser has only the key to it.

use std::borrow::Cow;

use porteiro_protocol::{
    assurance::{Level, Proof},
    id::{AccountId, SessionId},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::credentials::Pending;

use super::{discovery::Remembered, purpose::Continuation};
use crate::{
    credentials::CredentialKind,
    directories::{Claim, Vouched},
    store::text_enum,
};

/// What a flow is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    SignIn,
    Register,
    Recover,
    Reauthenticate,
    Enrol,
    /// A person with an account decides about a request of this purpose.
    Purpose(Cow<'static, str>),
}

impl Kind {
    pub fn as_str(&self) -> &str {
        match self {
            Self::SignIn => "sign_in",
            Self::Register => "register",
            Self::Recover => "recover",
            Self::Reauthenticate => "reauthenticate",
            Self::Enrol => "enrol",
            Self::Purpose(name) => name,
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Any other name is a purpose; the register decides whether it exists.
impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let own = [Self::SignIn, Self::Register, Self::Recover, Self::Reauthenticate, Self::Enrol];
        let known = own.into_iter().find(|kind| kind.as_str() == name);
        Ok(known.unwrap_or_else(|| Self::Purpose(name.into())))
    }
}

text_enum! {
    /// What the engine asks for now. Derived after every step; never chosen by a client.
    Stage { Authenticate = "authenticate", Challenge = "challenge", Raise = "raise", Enrol = "enrol",
            Profile = "profile", Confirm = "confirm", Device = "device", Organization = "organization", Claim = "claim", Consent = "consent", Complete = "complete", Denied = "denied", Cancelled = "cancelled" }
}
text_enum! {
    /// Who carries the flow: a browser with its cookie, or an app with a token that changes at every step.
    Transport { Browser = "browser", Api = "api" }
}
text_enum! {
    /// Why a flow ended without success.
    Refusal { NoAccount = "no_account", AccountUnavailable = "account_unavailable",
              UnmetRequirements = "unmet_authentication_requirements", RecoveryHeld = "recovery_held",
              SessionEnded = "session_ended", RequestRefused = "request_refused", Denied = "denied" }
}

/// The person that the flow is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// No account has been named.
    None,
    /// An address was typed; not even the code knows whether it has an account.
    Shadow,
    /// The account was proved, or is that of the session.
    Account(AccountId),
}

/// What the flow must reach before it completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub level: Level,
    /// A recent proof, at the best level the account can reach.
    pub fresh: bool,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct State {
    pub kind: Kind,
    pub transport: Transport,
    pub locale: String,
    /// Two words shown on the screen and in the mail, so that people can match them.
    pub phrase: String,
    pub subject: Subject,
    /// The address or number typed last; not proved.
    pub typed: Option<String>,
    /// A mailbox that was proved in this flow.
    pub proved_address: Option<String>,
    pub proofs: Vec<Proof>,
    pub need: Need,
    /// The session in which this flow was opened; its token is replaced at completion.
    pub session: Option<SessionId>,
    /// SHA-256 of the session's token at that time: a flow ends with the token that opened it.
    #[serde(default)]
    pub session_token: Option<Vec<u8>>,
    /// The session was idle: it reaches a lower level until something is proved.
    #[serde(default)]
    pub session_lapsed: bool,
    /// The number of proofs taken from the session.
    #[serde(default)]
    pub inherited: usize,
    pub pending: Option<Pending>,
    /// The kind that an enrolment flow binds.
    pub wants: Option<CredentialKind>,
    /// Kinds bound in this flow.
    pub enrolled: Vec<CredentialKind>,
    pub offer_dismissed: bool,
    /// Mails and messages sent in this flow.
    pub sends: u8,
    pub refusal: Option<Refusal>,
    pub cancelled: bool,
    /// The hash of the presented bootstrap key: the account becomes the first administrator.
    pub bootstrap: Option<String>,
    /// The identifier key of the mailbox that the presented invitation was sent to: it may register.
    #[serde(default)]
    pub invited: Option<Vec<u8>>,
    pub notices: Vec<Notice>,
    /// A member for whom a directory of the organization vouches. This is not the account of the flow: it counts only in
    /// that organization (docs/decisions/0097).
    #[serde(default)]
    pub vouched: Option<Vouched>,
    /// An identity of a directory that nobody has yet.
    #[serde(default)]
    pub claim: Option<Claim>,
    /// The connection that the browser remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Remembered>,
    /// What a link contained, such as a device's code: only for the person to compare.
    #[serde(default, rename = "user_code")]
    pub brought: Option<String>,
    /// What the flow continues to.
    #[serde(default)]
    pub continuation: Option<Box<Continuation>>,
}

text_enum! {
    /// Notices for a person who has proved the account.
    Notice { AlreadyHaveAccount = "already_have_account", RecoveryHoldStarted = "recovery_hold_started",
             RecoveryHoldPending = "recovery_hold_pending" }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} flow>", self.kind.as_str())
    }
}

impl State {
    pub fn new(kind: Kind, transport: Transport, locale: &str, phrase: String) -> Self {
        Self {
            kind,
            transport,
            locale: locale.to_owned(),
            phrase,
            subject: Subject::None,
            typed: None,
            proved_address: None,
            proofs: Vec::new(),
            need: Need { level: Level::None, fresh: false },
            session: None,
            session_token: None,
            session_lapsed: false,
            inherited: 0,
            pending: None,
            wants: None,
            enrolled: Vec::new(),
            offer_dismissed: false,
            sends: 0,
            refusal: None,
            cancelled: false,
            bootstrap: None,
            invited: None,
            notices: Vec::new(),
            vouched: None,
            claim: None,
            remembered: None,
            brought: None,
            continuation: None,
        }
    }

    /// Whether anything was proved in this flow itself.
    pub const fn has_new_proofs(&self) -> bool {
        self.proofs.len() > self.inherited
    }

    /// Takes over the account and proofs of a valid session.
    pub fn inherit(&mut self, signed_in: crate::sessions::SignedIn) {
        self.subject = Subject::Account(signed_in.account_id);
        self.session = Some(signed_in.session_id);
        self.session_token = Some(signed_in.token_hash.to_vec());
        self.session_lapsed = signed_in.lapsed;
        self.inherited = signed_in.proofs.len();
        self.proofs = signed_in.proofs;
    }

    /// Stores the digest of what the person is shown: the consent is for exactly that.
    pub fn store_shown_digest(&mut self, stage: Stage, facts: &super::decide::Facts) {
        if let (Some(continued), Some(standing)) = (&mut self.continuation, &facts.standing)
            && stage == Stage::Consent
        {
            continued.shown.clone_from(&standing.digest);
        }
    }

    /// The person is not the account of the session, which has no part in this flow any more.
    pub fn forget_session(&mut self) {
        match self.kind {
            // The person has to name the request again, with the right account.
            Kind::Purpose(_) => self.continuation = None,
            Kind::SignIn | Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Enrol => {
                self.kind = Kind::SignIn;
            }
        }
        self.subject = Subject::None;
        self.session = None;
        self.session_token = None;
        self.session_lapsed = false;
        self.proved_address = None;
        self.inherited = 0;
        self.proofs.clear();
        self.need.fresh = false;
        self.offer_dismissed = false;
        self.vouched = None;
        self.claim = None;
        if let Some(continued) = &mut self.continuation {
            continued.confirmed = true;
            continued.organization = None;
            continued.shown = None;
            continued.consented = None;
        }
    }

    pub fn account(&self) -> Option<AccountId> {
        match self.subject {
            Subject::Account(id) => Some(id),
            Subject::None | Subject::Shadow => None,
        }
    }

    /// The account whose rows the flow changes: its own, or that of the member for whom a directory vouches. Only to lock
    /// it.
    pub fn concerned(&self) -> Option<AccountId> {
        self.account().or_else(|| self.vouched.as_ref().map(|vouched| vouched.account))
    }
}
