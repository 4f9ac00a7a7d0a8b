//! The differences between kinds of credential.

use porteiro_protocol::assurance::{Factor, Method};

use super::{Action, Credential, CredentialKind, KINDS, NewCredential, Run};
use crate::mail::templates::Change;

#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
/// Everything that the engine, the limits, the notices and the documents need to know about a kind.
pub struct KindInfo {
    pub kind: CredentialKind,
    /// The method of a proof with it, which decides its strength and factor.
    pub method: Method,
    /// Its actions and their handlers.
    pub actions: &'static [(Action, Run)],
    /// The mails that notify the owner that it was added or removed.
    pub added: Change,
    pub removed: Change,
    /// Consecutive failures after which it must be enrolled again (NIST SP 800-63B-4 §3.2.2 allows at most 100).
    pub max_failures: Option<i32>,
    /// Whether an account has at most one.
    pub single: bool,
    /// What the deployment must be able to send for a proof.
    pub needs: Needs,
    /// The actions that prove it, when the account is known.
    pub prove: &'static [Action],
    /// The same for a code that is sent.
    pub sent: Option<Sent>,
    /// The actions that sign in with it when the account is not known.
    pub sign_in: &'static [Action],
    /// The actions that bind it.
    pub enrol: &'static [Action],
    /// The names of its challenges.
    pub challenges: &'static [&'static str],
    /// Whether it backs a recovery: more than access to a mailbox or knowledge of a password.
    pub is_strong: bool,
    /// Whether it is required at every sign-in once enrolled (decision record 0085).
    pub is_second_factor: bool,
    /// Whether it can sign in alone.
    pub can_sign_in_alone: bool,
    /// Whether a new or recovered account enrols it first.
    pub is_offered_first: bool,
    /// Whether it can be enrolled within a flow to reach a level.
    pub raises_level: bool,
    /// Whether enrolling it proves it, and whether that verified the user.
    pub proved_by_binding: fn(&NewCredential) -> Option<bool>,
    /// The identifier by which it leads to the account: the kind and the value that are hashed.
    pub identifier: fn(&Credential) -> Option<(&'static str, String)>,
}

impl std::fmt::Debug for KindInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.as_str())
    }
}

/// What a deployment may be unable to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Mail,
    Sms,
}

/// A code that is sent and typed.
#[derive(Debug)]
pub struct Sent {
    /// The name of its challenge.
    pub module: &'static str,
    pub send: Action,
    pub answers: &'static [Action],
}

impl KindInfo {
    /// A kind without any capability.
    pub(super) const fn new(
        kind: CredentialKind,
        method: Method,
        [added, removed]: [Change; 2],
        actions: &'static [(Action, Run)],
    ) -> Self {
        Self {
            kind,
            method,
            actions,
            added,
            removed,
            max_failures: None,
            single: false,
            needs: Needs::Nothing,
            prove: &[],
            sent: None,
            sign_in: &[],
            enrol: &[],
            challenges: &[],
            is_strong: false,
            is_second_factor: false,
            can_sign_in_alone: false,
            is_offered_first: false,
            raises_level: false,
            proved_by_binding: |_| None,
            identifier: |_| None,
        }
    }

    /// Whether a recovery after a hold removes it: second factors that were not proved. A credential that signs in
    /// alone is kept: no sign-in requires it, and its owner may not be the person who recovered.
    pub const fn is_lost_by_waiting(&self) -> bool {
        self.is_strong && !self.can_sign_in_alone
    }
}

impl CredentialKind {
    pub const fn method(self) -> Method {
        self.info().method
    }
}

/// The stored names of the kinds of a factor.
pub fn names_of(factor: Factor) -> Vec<&'static str> {
    let kinds = KINDS.iter().filter(|info| info.method.factor() == factor);
    kinds.map(|info| info.kind.as_str()).collect()
}

/// Whether a proof of this method is of a strong kind.
pub fn is_strong(method: Method) -> bool {
    KINDS.iter().any(|info| info.method == method && info.is_strong)
}
