//! What a kind of credential is given and what it may answer. Modules read and verify; only the flow engine writes.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::{Method, Proof},
    id::{AccountId, ChallengeId, CredentialId, FlowId, Id},
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
    /// To change how the account is entered.
    Enrol,
    /// To prove again who they are, or to decide something as who they are.
    Confirm,
}

/// An account that will exist when the flow completes, and not before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    pub account_id: AccountId,
    pub user_handle: Vec<u8>,
    pub display_name: Option<String>,
    pub platform_administrator: bool,
    /// Bound in this flow, written at completion.
    pub credentials: Vec<NewCredential>,
}

/// One call, with everything a module may look at.
#[derive(Debug)]
pub struct Step<'a> {
    pub app: &'a Arc<App>,
    pub flow_id: FlowId,
    pub occasion: Occasion,
    pub locale: &'a str,
    /// Two words shown on the screen and in the mail, so that people can match them.
    pub phrase: &'a str,
    /// What was proved so far.
    pub proofs: &'a [Proof],
    /// A mailbox the flow's owner can read.
    pub proved_address: Option<&'a str>,
    /// The account the flow is about, once somebody proved to be it.
    pub account: Option<&'a Account>,
    pub pending: Option<&'a Pending>,
    /// A bootstrap key was presented: whoever registers becomes the first administrator.
    pub bootstraps: bool,
    /// The identifier key of the mailbox that an invitation went to.
    pub invited: Option<&'a [u8]>,
    pub credentials: &'a [Credential],
    pub challenges: &'a [Challenge],
    /// Mails and messages sent in this flow.
    pub sends: u8,
    /// Whether text messages can be sent.
    pub sends_sms: bool,
    /// On whose device a password was typed, if it was.
    pub typed: Typed,
    pub now: OffsetDateTime,
}

/// What makes a proof good only once; checked in the transaction that uses it.
#[derive(Debug)]
pub enum Once {
    Challenge(ChallengeId),
    /// A counter that must be greater than any before.
    Counter {
        credential: CredentialId,
        counter: i64,
    },
    RecoveryCode {
        credential: CredentialId,
        selector: String,
    },
    /// Good as often as it is right, such as a password.
    Repeatable(CredentialId),
}

/// What a step with a credential leads to.
pub enum Effect {
    Prove {
        account: AccountId,
        proof: Proof,
        once: Vec<Once>,
        stored: Option<(CredentialId, Value)>,
    },
    /// Somebody can read a mailbox; whether it has an account is looked up by the engine.
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

/// Why a step did not lead anywhere.
#[derive(Debug)]
pub enum Stopped {
    /// What was presented did not satisfy; one answer for every cause. The reason is for the log alone.
    Refused {
        method: Method,
        credential: Option<(AccountId, CredentialId, CredentialKind)>,
        reason: &'static str,
    },
    /// The passkey is not one of ours; the client may tell its provider.
    UnknownPasskey {
        credential_id: String,
    },
    /// A field that never depends on account data.
    Invalid {
        field: &'static str,
        detail: String,
    },
    /// A new password that will not do.
    Password(Unfit),
    /// The machine is busy hashing.
    Busy,
    /// The last one went out a moment ago.
    Early {
        seconds: u32,
    },
    Store(StoreError),
    Internal(String),
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

    /// Whether another code may go out: so long after the last one, and so many in a flow.
    pub fn sends_apart(&self, module: &str, apart: Duration, most: u8) -> Result<(), Stopped> {
        let age = self.challenge(module).map(|challenge| self.now - challenge.created_at);
        let wait = apart - age.unwrap_or(apart);
        if self.sends < most && wait <= Duration::ZERO {
            return Ok(());
        }
        // A flow that has sent all it may is to be opened anew; the buckets see to the rest.
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

/// A field that must be there.
pub fn text<'v>(input: &'v Value, field: &'static str) -> Result<&'v str, Stopped> {
    input[field]
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Stopped::Invalid { field, detail: "is required".into() })
}

pub const fn refused(method: Method, reason: &'static str) -> Stopped {
    Stopped::Refused { method, credential: None, reason }
}

/// Refused, and counted against the credential.
pub const fn failed(method: Method, credential: &Credential, reason: &'static str) -> Stopped {
    Stopped::Refused {
        method,
        credential: Some((credential.account_id, credential.id, credential.kind)),
        reason,
    }
}
