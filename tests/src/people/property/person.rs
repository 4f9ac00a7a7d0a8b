//! A person and what they hold.

use porteiro_protocol::{
    assurance::{Method, Proof},
    id::{AccountId, CredentialId, Id},
    time::OffsetDateTime,
};
use porteiro_service::credentials::CredentialKind;

use super::random::Random;

pub const KINDS: [CredentialKind; 6] = [
    CredentialKind::Passkey,
    CredentialKind::Password,
    CredentialKind::Totp,
    CredentialKind::RecoveryCodes,
    CredentialKind::Phone,
    CredentialKind::Email,
];

pub struct Held {
    pub kind: CredentialKind,
    pub id: CredentialId,
    /// Whether it can still prove something, or is worn out.
    pub good: bool,
    /// A phone whose owner signs in with it.
    pub signs_in: bool,
}

impl Held {
    pub fn any(kind: CredentialKind, random: &Random) -> Self {
        let signs_in = kind == CredentialKind::Phone && random.percent(50);
        Self { kind, id: Id::random(&random.0), good: true, signs_in }
    }

    pub fn proved(&self, proof: &Proof) -> bool {
        proof.credential == Some(self.id.uuid())
    }

    pub fn proof(&self, at: OffsetDateTime) -> Proof {
        let method = self.kind.method();
        Proof { method, credential: Some(self.id.uuid()), at, user_verified: method == Method::Passkey }
    }
}

pub struct Person {
    pub id: AccountId,
    pub active: bool,
    pub credentials: Vec<Held>,
    pub hold_until: Option<OffsetDateTime>,
}

impl Person {
    pub fn any(random: &Random) -> Self {
        let mut person =
            Self { id: Id::random(&random.0), active: true, credentials: Vec::new(), hold_until: None };
        person.bind(CredentialKind::Email, random);
        for kind in KINDS.iter().take(5).filter(|_| random.percent(35)) {
            person.bind(*kind, random);
            person.credentials.last_mut().unwrap().good = !random.percent(10);
        }
        person
    }

    pub fn working(&self, kind: CredentialKind) -> Option<&Held> {
        self.credentials.iter().find(|held| held.kind == kind && held.good)
    }

    /// The phone that gets a code: as a first step one to sign in with; afterwards a second factor, if there is one.
    pub fn texted(&self, first_step: bool) -> Option<&Held> {
        let phones =
            || self.credentials.iter().filter(|held| held.kind == CredentialKind::Phone && held.good);
        let second = phones().find(|held| !held.signs_in).filter(|_| !first_step);
        second.or_else(|| phones().find(|held| held.signs_in))
    }

    /// Binds one, in place of the old one where there can be only one; says which that was.
    pub fn bind(&mut self, kind: CredentialKind, random: &Random) -> Option<CredentialId> {
        let old = self.credentials.iter().find(|held| held.kind == kind && kind.info().single);
        let old = old.map(|held| held.id);
        self.credentials.retain(|held| Some(held.id) != old);
        self.credentials.push(Held::any(kind, random));
        old
    }
}
