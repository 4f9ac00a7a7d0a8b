//! Authentication assurance levels of NIST SP 800-63B-4, computed from a set of proofs.
//!
//! A session stores its proofs; the level is computed from them each time, so it only falls as they age (§2.2.3) and
//! only rises with a new proof.

use serde::{Deserialize, Serialize};

use crate::{
    id::OrganizationId,
    time::{Duration, OffsetDateTime},
};

/// `acr` of an AAL1 authentication.
pub const ACR_AAL1: &str = "http://idmanagement.gov/ns/assurance/aal/1";
/// `acr` of an AAL2 authentication.
pub const ACR_AAL2: &str = "http://idmanagement.gov/ns/assurance/aal/2";
/// OpenID Connect Core §2: the authentication reaches no level.
pub const ACR_NONE: &str = "0";

/// Ordered: a greater level satisfies a lesser one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    None,
    Aal1,
    Aal2,
}

impl Level {
    pub const ALL: [Self; 3] = [Self::None, Self::Aal1, Self::Aal2];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
        }
    }

    /// The value of the `acr` claim.
    #[must_use]
    pub const fn acr(self) -> &'static str {
        match self {
            Self::None => ACR_NONE,
            Self::Aal1 => ACR_AAL1,
            Self::Aal2 => ACR_AAL2,
        }
    }

    /// Reads a requested `acr`: the published values and their short aliases.
    #[must_use]
    pub fn parse_acr(text: &str) -> Option<Self> {
        match text {
            ACR_NONE => Some(Self::None),
            ACR_AAL1 | "aal1" => Some(Self::Aal1),
            ACR_AAL2 | "aal2" => Some(Self::Aal2),
            _ => None,
        }
    }
}

/// The method of a proof.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    Passkey,
    Password,
    Totp,
    RecoveryCode,
    SmsCode,
    Email,
    /// Another server authenticated the person (OpenID Connect Core).
    Federated,
}

/// What kind of thing was proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    Knowledge,
    Possession,
    /// One authenticator that needs two factors.
    Multi,
    /// Not a factor for NIST: e-mail shall not be an out-of-band authenticator (§3.1.3.1).
    Mailbox,
    /// The word of another server, which may have authenticated the person long ago: AAL1, never half of a pair, and
    /// never fresh (docs/decisions/0097).
    Assertion,
}

impl Method {
    pub const ALL: [Self; 7] = [
        Self::Passkey,
        Self::Password,
        Self::Totp,
        Self::RecoveryCode,
        Self::SmsCode,
        Self::Email,
        Self::Federated,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passkey => "passkey",
            Self::Password => "password",
            Self::Totp => "totp",
            Self::RecoveryCode => "recovery_code",
            Self::SmsCode => "sms_code",
            Self::Email => "email",
            Self::Federated => "federated",
        }
    }

    /// The strongest factor of this method; [`Proof::factor`] is the factor of one proof.
    #[must_use]
    pub const fn factor(self) -> Factor {
        match self {
            Self::Passkey => Factor::Multi,
            Self::Password => Factor::Knowledge,
            Self::Totp | Self::RecoveryCode | Self::SmsCode => Factor::Possession,
            Self::Email => Factor::Mailbox,
            Self::Federated => Factor::Assertion,
        }
    }

    /// RFC 8176 §2, and `email` and `fed`, which have no registered value.
    #[must_use]
    pub const fn amr(self) -> &'static [&'static str] {
        match self {
            // `swk` even for a key in hardware: without attestation the server cannot know.
            Self::Passkey => &["swk", "user"],
            Self::Password => &["pwd"],
            Self::Totp | Self::RecoveryCode => &["otp"],
            Self::SmsCode => &["sms"],
            Self::Email => &["otp", "email"],
            Self::Federated => &["fed"],
        }
    }
}

/// One thing a person proved, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub method: Method,
    /// The credential that was used, if there is one.
    pub credential: Option<uuid::Uuid>,
    /// Stored in whole seconds: rounding down only makes a proof look older.
    #[serde(with = "time::serde::timestamp")]
    pub at: OffsetDateTime,
    /// The authenticator checked a PIN or biometric (WebAuthn §6.1, UV). Always false except for passkeys.
    pub user_verified: bool,
}

impl Proof {
    /// §3.1.6, §3.1.7: a key used without an activation factor is a single-factor authenticator.
    #[must_use]
    pub const fn factor(&self) -> Factor {
        match self.method.factor() {
            Factor::Multi if self.user_verified => Factor::Multi,
            Factor::Multi | Factor::Possession => Factor::Possession,
            Factor::Knowledge => Factor::Knowledge,
            Factor::Mailbox => Factor::Mailbox,
            Factor::Assertion => Factor::Assertion,
        }
    }

    /// Never negative: another node's clock may be ahead, and that must not make a proof fresher.
    fn age(&self, now: OffsetDateTime) -> Duration {
        (now - self.at).max(Duration::ZERO)
    }
}

/// A proof by the directory of one organization.
///
/// It is worth something in that organization alone: its administrators can have the directory say anything about
/// anyone. Everything that decides about an account takes [`Proof`]s; only [`DirectoryProof::within`] gives one, and it
/// asks for which organization. It is stored in a form that does not read as a [`Proof`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryProof {
    organization: OrganizationId,
    proof: Proof,
    /// The epoch of the connection by which it was made. It ends when the connection is disabled.
    #[serde(default)]
    epoch: i64,
    /// The session there, by which the directory may end it (Back-Channel Logout 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sid: Option<String>,
}

impl DirectoryProof {
    #[must_use]
    pub const fn new(organization: OrganizationId, proof: Proof, epoch: i64, sid: Option<String>) -> Self {
        Self { organization, proof, epoch, sid }
    }

    #[must_use]
    pub fn sid(&self) -> Option<&str> {
        self.sid.as_deref()
    }

    #[must_use]
    pub const fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The proof, in the organization whose directory made it.
    #[must_use]
    pub fn within(&self, organization: OrganizationId) -> Option<&Proof> {
        (self.organization == organization).then_some(&self.proof)
    }
}

/// How long AAL2 lasts (§2.2.3). AAL1 lasts as long as the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decay {
    pub aal2_lifetime: Duration,
    pub aal2_idle: Duration,
}

impl Default for Decay {
    fn default() -> Self {
        Self { aal2_lifetime: Duration::hours(24), aal2_idle: Duration::hours(1) }
    }
}

impl Decay {
    fn counts_for_aal2(&self, proof: &Proof, now: OffsetDateTime) -> bool {
        proof.age(now) <= self.aal2_lifetime
    }
}

/// The level at the time of the proofs, without decay.
#[must_use]
pub fn event_level(proofs: &[Proof]) -> Level {
    level_of(proofs, |_| true)
}

/// The level now. Never above [`event_level`].
#[must_use]
pub fn effective_level(
    proofs: &[Proof],
    last_used: OffsetDateTime,
    now: OffsetDateTime,
    decay: &Decay,
) -> Level {
    let idle = now - last_used > decay.aal2_idle;
    level_of(proofs, |proof| !idle && decay.counts_for_aal2(proof, now))
}

/// The time of the oldest proof in the freshest set that reaches `level`; `None` when no set does.
///
/// A new TOTP with a stale password does not reach AAL2. Any proof reaches [`Level::None`].
#[must_use]
pub fn auth_time(
    proofs: &[Proof],
    level: Level,
    now: OffsetDateTime,
    decay: &Decay,
) -> Option<OffsetDateTime> {
    match level {
        Level::None => proofs.iter().map(|proof| proof.at).max(),
        Level::Aal1 => {
            proofs.iter().filter(|proof| proof.factor() != Factor::Mailbox).map(|proof| proof.at).max()
        }
        Level::Aal2 => {
            let newest = |factor| {
                proofs
                    .iter()
                    .filter(|proof| proof.factor() == factor && decay.counts_for_aal2(proof, now))
                    .map(|proof| proof.at)
                    .max()
            };
            let pair =
                newest(Factor::Knowledge).zip(newest(Factor::Possession)).map(|(one, two)| one.min(two));
            newest(Factor::Multi).max(pair)
        }
    }
}

/// RFC 8176: the methods of the sign-in, sorted and without duplicates. `mfa` is present exactly at AAL2.
#[must_use]
pub fn amr(proofs: &[Proof]) -> Vec<&'static str> {
    let mut values: Vec<_> = proofs.iter().flat_map(|proof| proof.method.amr()).copied().collect();
    if event_level(proofs) == Level::Aal2 {
        values.push("mfa");
    }
    values.sort_unstable();
    values.dedup();
    values
}

/// Whether to offer `candidate` when the session's level is below `wanted`.
///
/// True when a fresh proof of it leads towards `wanted`, also as one half of a pair: after a day, password and TOTP
/// must both be repeated, and neither alone raises the level. Idleness is not an argument: when the proofs would
/// suffice in a session that is not idle, the session is taken as idle, and one factor renews it.
#[must_use]
pub fn helps(proofs: &[Proof], wanted: Level, candidate: Method, now: OffsetDateTime, decay: &Decay) -> bool {
    let factor = candidate.factor();
    match wanted {
        Level::None => false,
        Level::Aal1 => factor != Factor::Mailbox && event_level(proofs) < Level::Aal1,
        Level::Aal2 => match factor {
            Factor::Multi => true,
            Factor::Mailbox | Factor::Assertion => false,
            Factor::Knowledge | Factor::Possession => {
                effective_level(proofs, now, now, decay) == Level::Aal2
                    || !proofs
                        .iter()
                        .any(|proof| proof.factor() == factor && decay.counts_for_aal2(proof, now))
            }
        },
    }
}

/// Whether the person proved one of their own authenticators less than `within` ago.
#[must_use]
pub fn is_fresh(proofs: &[Proof], within: Duration, now: OffsetDateTime) -> bool {
    let own = |proof: &&Proof| match proof.factor() {
        Factor::Knowledge | Factor::Possession | Factor::Multi => true,
        Factor::Mailbox | Factor::Assertion => false,
    };
    proofs.iter().filter(own).any(|proof| proof.age(now) < within)
}

/// §2.2.1: AAL2 is one multi-factor authenticator, or a password and something the person has. Two things the person
/// has are one factor, so SMS too needs a password.
fn level_of(proofs: &[Proof], counts_for_aal2: impl Fn(&Proof) -> bool) -> Level {
    let (mut knowledge, mut possession, mut multi, mut any) = (false, false, false, false);
    for proof in proofs {
        let counts = counts_for_aal2(proof);
        match proof.factor() {
            Factor::Knowledge => knowledge |= counts,
            Factor::Possession => possession |= counts,
            Factor::Multi => multi |= counts,
            Factor::Assertion => {}
            Factor::Mailbox => continue,
        }
        any = true;
    }
    if multi || (knowledge && possession) {
        Level::Aal2
    } else if any {
        Level::Aal1
    } else {
        Level::None
    }
}

#[cfg(test)]
mod tests;
