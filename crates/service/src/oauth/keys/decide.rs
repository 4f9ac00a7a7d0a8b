//! Rotation rules of a ring, given its keys and their ages by the database's clock.

use porteiro_protocol::jose::Algorithm;

use super::store::{KeyRecord, KeyState, Origin};
use crate::settings::Settings;

/// Whether the waiting times apply, or an operator overrides them because a key leaked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    WhenDue,
    Now,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RotationRefused {
    #[error("the ring has no active and next key; run: porteiro keys generate")]
    Incomplete,
    #[error(
        "the next key has been published for {published_seconds} s and key_publish_lead_seconds is \
         {lead_seconds}; wait, or use --now if the active key leaked"
    )]
    TooEarly { published_seconds: i64, lead_seconds: u32 },
    #[error("another node rotated the keys at the same time; check with: porteiro keys list")]
    Overtaken,
    #[error(
        "only a retiring key whose last token has expired can be retired; rotate first, wait key_verify_seconds, or use --now if it leaked"
    )]
    NotRetirable,
}

/// A rotation that is allowed: which key replaces which.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub active: String,
    pub next: String,
    pub origin: Origin,
}

pub fn rotation(ring: &[KeyRecord], settings: &Settings, how: Rotation) -> Result<Step, RotationRefused> {
    let find = |state| ring.iter().find(|key| key.state == state);
    let (Some(active), Some(next)) = (find(KeyState::Active), find(KeyState::Next)) else {
        return Err(RotationRefused::Incomplete);
    };
    let lead_seconds = settings.key_publish_lead_seconds;
    match how {
        Rotation::WhenDue if next.age_seconds < i64::from(lead_seconds) => {
            Err(RotationRefused::TooEarly { published_seconds: next.age_seconds, lead_seconds })
        }
        Rotation::WhenDue | Rotation::Now => Ok(Step {
            active: active.public.kid.clone(),
            next: next.public.kid.clone(),
            origin: active.origin,
        }),
    }
}

pub fn is_due_for_rotation(key: &KeyRecord, settings: &Settings) -> bool {
    key.state == KeyState::Active && key.in_state_seconds >= i64::from(settings.key_rotation_seconds)
}

pub fn is_due_for_retirement(key: &KeyRecord, settings: &Settings) -> bool {
    key.state == KeyState::Retiring && key.in_state_seconds >= i64::from(settings.key_verify_seconds)
}

/// Why production refuses to start (docs/decisions/0005).
pub fn unfit_for_production(keys: &[KeyRecord]) -> Option<String> {
    let live = || keys.iter().filter(|key| key.state != KeyState::Retired);
    if let Some(key) = live().find(|key| key.origin == Origin::Dev) {
        return Some(format!(
            "signing key {} was created by --dev; run: porteiro keys generate --replace-dev-keys",
            key.public.kid
        ));
    }
    if let Some(key) = live().find(|key| key.public.rsa_bits().is_some_and(|bits| bits < 2048)) {
        return Some(format!(
            "signing key {} is an RSA key under 2048 bits; replace it: porteiro keys rotate --algorithm {} --now, \
             then porteiro keys retire {} --now",
            key.public.kid, key.algorithm, key.public.kid
        ));
    }
    let missing = Algorithm::ALL
        .iter()
        .find(|algorithm| !live().any(|key| key.algorithm == **algorithm && key.state == KeyState::Active))?;
    Some(format!("there is no production {missing} signing key; run: porteiro keys generate"))
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::jose::{SigningKey, generate_pkcs8};

    use super::*;

    fn key(state: KeyState, age_seconds: i64) -> KeyRecord {
        let pkcs8 = generate_pkcs8(Algorithm::EdDsa).unwrap();
        KeyRecord {
            algorithm: Algorithm::EdDsa,
            state,
            origin: Origin::Production,
            public: SigningKey::from_pkcs8(Algorithm::EdDsa, &pkcs8).unwrap().public().clone(),
            sealed: None,
            age_seconds,
            in_state_seconds: age_seconds,
        }
    }

    #[test]
    fn a_key_signs_only_after_it_was_published_long_enough_unless_the_old_one_leaked() {
        let settings = Settings::default();
        let lead = i64::from(settings.key_publish_lead_seconds);
        let ring = [key(KeyState::Active, lead * 9), key(KeyState::Next, lead - 1)];
        assert!(matches!(
            rotation(&ring, &settings, Rotation::WhenDue),
            Err(RotationRefused::TooEarly { .. })
        ));
        assert!(rotation(&ring, &settings, Rotation::Now).is_ok());
        let ring = [key(KeyState::Active, lead * 9), key(KeyState::Next, lead)];
        assert_eq!(rotation(&ring, &settings, Rotation::WhenDue).unwrap().next, ring[1].public.kid);
        assert_eq!(rotation(&ring[..1], &settings, Rotation::Now), Err(RotationRefused::Incomplete));
    }
}
