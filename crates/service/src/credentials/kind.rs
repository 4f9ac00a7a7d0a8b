//! What differs from one kind of credential to another.

use porteiro_protocol::assurance::{Factor, Method};

use super::{Action, Credential, CredentialKind, KINDS, NewCredential, Run};
use crate::mail::templates::Change;

#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
/// Everything that the engine, the limits, the notices and the documents need to know of a kind.
pub struct KindInfo {
    pub kind: CredentialKind,
    /// What a verification of it proves: its strength and its factor.
    pub method: Method,
    /// Every action it has, and what looks at it.
    pub actions: &'static [(Action, Run)],
    /// The mails that tell the owner it was added or removed.
    pub added: Change,
    pub removed: Change,
    /// Failures in a row after which it must be bound again (NIST SP 800-63B-4 §3.2.2 allows 100 at most).
    pub max_failures: Option<i32>,
    /// Whether the account keeps at most one.
    pub single: bool,
    /// What the deployment must be able to send for it to prove anything.
    pub needs: Needs,
    /// The actions that prove it, for somebody who is known.
    pub prove: &'static [Action],
    /// The same for a code that was sent.
    pub sent: Option<Sent>,
    /// The actions by which somebody who is not known signs in with it at once.
    pub sign_in: &'static [Action],
    /// The actions that bind it.
    pub enrol: &'static [Action],
    /// Names under which it keeps challenges.
    pub challenges: &'static [&'static str],
    /// Whether it backs a recovery: more than what can be read in a mailbox or typed by whoever learnt it.
    pub is_strong: bool,
    /// Whether a person binds it in order to be asked for it at every sign-in (decision record 0085).
    pub is_second_factor: bool,
    /// Whether the account can be entered by it alone.
    pub is_way_in: bool,
    /// Whether it is what a new or recovered account is given first.
    pub comes_first: bool,
    /// Whether somebody who lacks a level can be led to bind it while they wait.
    pub raises_level: bool,
    /// Whether binding it proves it, and whether that verified the user.
    pub proved_by_binding: fn(&NewCredential) -> Option<bool>,
    /// What the account is found by because of it: the kind and the value that are hashed.
    pub identifier: fn(&Credential) -> Option<(&'static str, String)>,
}

impl std::fmt::Debug for KindInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.as_str())
    }
}

/// What a deployment may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Mail,
    Sms,
}

/// A code that goes out and comes back.
#[derive(Debug)]
pub struct Sent {
    /// The name of its challenge.
    pub module: &'static str,
    pub send: Action,
    pub answers: &'static [Action],
}

impl KindInfo {
    /// A kind that can do nothing yet.
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
            is_way_in: false,
            comes_first: false,
            raises_level: false,
            proved_by_binding: |_| None,
            identifier: |_| None,
        }
    }

    /// What an account gives up in a recovery by waiting: the second factors nobody could show. What is a way in by itself
    /// stays: nobody is asked for it, and its owner may be somebody else than who waited.
    pub const fn is_lost_by_waiting(&self) -> bool {
        self.is_strong && !self.is_way_in
    }
}

impl CredentialKind {
    pub const fn method(self) -> Method {
        self.info().method
    }
}

/// The names of the kinds of a factor, as they are stored.
pub fn names_of(factor: Factor) -> Vec<&'static str> {
    let kinds = KINDS.iter().filter(|info| info.method.factor() == factor);
    kinds.map(|info| info.kind.as_str()).collect()
}

/// Whether a proof of this method is of a strong kind.
pub fn is_strong(method: Method) -> bool {
    KINDS.iter().any(|info| info.method == method && info.is_strong)
}
