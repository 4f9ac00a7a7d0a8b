//! The input of a credential's handlers, and their possible effects. Modules read and verify; only the flow engine
//! writes.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::{Method, Proof},
    id::{AccountId, ChallengeId, ConnectionId, CredentialId, FlowId, Id, OrganizationId},
    time::{Duration, OffsetDateTime},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Challenge, Credential, CredentialKind, CredentialState, NewChallenge, NewCredential, hashing::Typed,
    password::Unfit,
};
use crate::{
    App,
    accounts::{Account, IdentifierKind},
    connections::Recency,
    mail::Mail,
    sms::Sms,
    store::StoreError,
};

/// What a person proves or binds a credential for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    SignIn,
    Register,
    Recover,
    /// To change the account's credentials.
    Enrol,
    /// To prove again who they are, or to decide about a request.
    Confirm,
}

/// An account that will be created when the flow completes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    pub account_id: AccountId,
    pub user_handle: Vec<u8>,
    pub display_name: Option<String>,
    pub platform_administrator: bool,
    /// Enrolled in this flow, stored at completion.
    pub credentials: Vec<NewCredential>,
}

/// One call, with everything a module may read.
#[derive(Debug)]
pub struct Step<'a> {
    pub app: &'a Arc<App>,
    pub flow_id: FlowId,
    pub occasion: Occasion,
    pub locale: &'a str,
    /// Two words shown on the screen and in the mail, so that people can match them.
    pub phrase: &'a str,
    /// The proofs so far.
    pub proofs: &'a [Proof],
    /// A mailbox that was proved in this flow.
    pub proved_address: Option<&'a str>,
    /// The account of the flow, once it is proved.
    pub account: Option<&'a Account>,
    pub pending: Option<&'a Pending>,
    /// A bootstrap key was presented: the new account becomes the first administrator.
    pub bootstraps: bool,
    /// The identifier key of the mailbox that an invitation was sent to.
    pub invited: Option<&'a [u8]>,
    pub credentials: &'a [Credential],
    pub challenges: &'a [Challenge],
    /// The domain of the typed address leads to connections of an organization, which only its mailbox may learn.
    pub has_directory: bool,
    /// How recently another provider must have authenticated the person.
    pub recency: Recency,
    /// Mails and messages sent in this flow.
    pub sends: u8,
    /// Whether text messages can be sent.
    pub sends_sms: bool,
    /// The device on which a password was typed, if it was.
    pub typed: Typed,
    pub now: OffsetDateTime,
}

/// What makes a proof usable only once; checked in the transaction that uses it.
#[derive(Debug)]
pub enum Once {
    Challenge(ChallengeId),
    /// A counter that must be greater than all before.
    Counter {
        credential: CredentialId,
        counter: i64,
    },
    RecoveryCode {
        credential: CredentialId,
        selector: String,
    },
    /// Reusable, such as a password.
    Repeatable(CredentialId),
}

/// The effect of a step with a credential.
pub enum Effect {
    Prove {
        account: AccountId,
        proof: Proof,
        once: Vec<Once>,
        stored: Option<(CredentialId, Value)>,
    },
    /// A mailbox was proved; the engine looks up its account.
    ProveMailbox {
        address: String,
        challenge: ChallengeId,
    },
    Challenge {
        new: NewChallenge,
        letter: Option<Letter>,
        typed: Option<String>,
        show: Value,
    },
    Bind {
        new: NewCredential,
        identifier: Option<([u8; 32], IdentifierKind)>,
        challenge: Option<ChallengeId>,
        recovery_codes: Vec<(String, String)>,
        show: Value,
    },
}

impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<effect>")
    }
}

#[derive(Debug)]
pub enum Letter {
    Mail(Mail),
    Sms(Sms),
}

/// Why a step had no effect.
#[derive(Debug)]
pub enum Stopped {
    /// The proof failed; one answer for every cause. The reason is only for the log.
    Refused {
        method: Method,
        credential: Option<(AccountId, CredentialId, CredentialKind)>,
        reason: &'static str,
    },
    /// The passkey is unknown; the client may signal that to its provider.
    UnknownPasskey {
        credential_id: String,
    },
    /// An invalid field; never depends on account data.
    Invalid {
        field: &'static str,
        detail: String,
    },
    /// The directory of an organization vouched for a person whom the organization does not admit, or gave an ID token
    /// that is not accepted.
    Rejected {
        by: Box<Rejected>,
        /// For the organization's administrators.
        reason: String,
        /// For the log.
        logged: &'static str,
    },
    /// A new password that is not accepted.
    Password(Unfit),
    /// The hashing queue is full.
    Busy,
    /// The last message was sent a moment ago.
    Early {
        seconds: u32,
    },
    Store(StoreError),
    Internal(String),
}

/// Whom a directory vouched for.
#[derive(Debug, Clone)]
pub struct Rejected {
    pub organization: OrganizationId,
    pub connection: ConnectionId,
    /// As far as the ID token is believed.
    pub subject: Option<String>,
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<crate::secrets::MasterKeyError> for Stopped {
    fn from(error: crate::secrets::MasterKeyError) -> Self {
        Self::Internal(error.to_string())
    }
}

impl Step<'_> {
    pub fn challenge(&self, module: &str) -> Option<&Challenge> {
        self.challenges.iter().rev().find(|challenge| challenge.module == module)
    }

    /// Whether another code may be sent: after this interval, and at most so many in a flow.
    pub fn sends_apart(&self, module: &str, apart: Duration, most: u8) -> Result<(), Stopped> {
        let age = self.challenge(module).map(|challenge| self.now - challenge.created_at);
        let wait = apart - age.unwrap_or(apart);
        if self.sends < most && wait <= Duration::ZERO {
            return Ok(());
        }
        // A flow that has sent all it may has to be opened anew; the buckets limit that.
        let seconds = u32::try_from(wait.whole_seconds()).unwrap_or_default();
        Err(Stopped::Early { seconds: seconds.saturating_add(1) })
    }

    /// The account's usable credentials of a kind.
    pub fn of_kind(&self, kind: CredentialKind) -> impl Iterator<Item = &Credential> {
        self.credentials
            .iter()
            .filter(move |credential| credential.kind == kind && credential.state == CredentialState::Active)
    }

    pub fn new_challenge_id(&self) -> ChallengeId {
        Id::random(&*self.app.entropy)
    }

    pub fn new_credential_id(&self) -> CredentialId {
        Id::random(&*self.app.entropy)
    }

    pub fn proof(&self, method: Method, credential: CredentialId, user_verified: bool) -> Proof {
        Proof { method, credential: Some(credential.uuid()), at: self.now, user_verified }
    }

    pub fn text<'v>(&self, input: &'v Value, field: &'static str) -> Result<&'v str, Stopped> {
        text(input, field)
    }
}

/// A required field.
pub fn text<'v>(input: &'v Value, field: &'static str) -> Result<&'v str, Stopped> {
    input[field]
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Stopped::Invalid { field, detail: "is required".into() })
}

pub const fn refused(method: Method, reason: &'static str) -> Stopped {
    Stopped::Refused { method, credential: None, reason }
}

/// Refuses, and counts a failure of the credential.
pub const fn failed(method: Method, credential: &Credential, reason: &'static str) -> Stopped {
    Stopped::Refused {
        method,
        credential: Some((credential.account_id, credential.id, credential.kind)),
        reason,
    }
}
