//! Argon2id with a bound on how many hashes run at once and how many calls may wait: during a flood of guesses callers
//! receive "try again", and the rest of the service stays fast. Passwords from known devices have reserved capacity,
//! which anonymous callers cannot use (docs/decisions/0071).

mod queue;

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{
        PasswordHasher, PasswordVerifier,
        phc::{PasswordHash, Salt},
    },
};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use porteiro_protocol::{entropy::Entropy, id::AccountId};

use self::queue::{Lane, Place, Reserved};

/// The easier a secret is to guess, the more one guess must cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// A password: 19 MiB, two passes (OWASP's minimum, NIST SP 800-63B-4 §3.1.1.2).
    Password,
    /// A code that is valid for minutes and allows a few attempts (ASVS 6.5.2).
    Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    #[error("too many are waiting")]
    Busy,
    #[error("hashing failed")]
    Failed,
}

/// Waiting calls per core; further ones are refused.
const QUEUE_PER_CORE: usize = 4;

/// Waiting calls in the reserved capacity. Each is of another account and takes one hash: the last waits only seconds.
const KNOWN_QUEUE: usize = 32;

/// The device on which a password was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// An unknown device.
    Anywhere,
    /// A device on which this account signed in before; the password is this account's.
    OnKnownDevice(AccountId),
}

#[derive(Debug)]
pub struct Hasher {
    passwords: Lane,
    known: Reserved,
    codes: Lane,
    /// The hash that an unknown person's password is compared with, at the cost of a real one.
    dummy: String,
    dummy_code: String,
}

impl Hasher {
    pub fn new(entropy: &dyn Entropy) -> Result<Self, HashError> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let (dummy, dummy_code) = (dummy(Cost::Password, entropy)?, dummy(Cost::Code, entropy)?);
        Ok(Self {
            passwords: Lane::new(cores, cores * QUEUE_PER_CORE),
            // In addition to the cores: an idle reserve takes nothing from others.
            known: Reserved::new((cores / 4).max(1), KNOWN_QUEUE),
            // A code costs a hundredth of a password.
            codes: Lane::new(cores, cores * QUEUE_PER_CORE * 100),
            dummy,
            dummy_code,
        })
    }

    pub async fn hash(
        &self,
        typed: Typed,
        secret: Vec<u8>,
        entropy: &dyn Entropy,
    ) -> Result<String, HashError> {
        let (salt, secret) = (entropy.bytes(), zeroize::Zeroizing::new(secret));
        off_thread(self.place(typed).await, move || hash_now(Cost::Password, &secret, &salt)).await?
    }

    /// The same for a code, in the queue for codes.
    pub async fn hash_code(&self, secret: Vec<u8>, entropy: &dyn Entropy) -> Result<String, HashError> {
        let (salt, secret) = (entropy.bytes(), zeroize::Zeroizing::new(secret));
        off_thread(self.codes.place().await, move || hash_now(Cost::Code, &secret, &salt)).await?
    }

    /// Compares with the stored hash, or with the dummy if there is none: the work is the same.
    pub async fn verify(
        &self,
        typed: Typed,
        stored: Option<String>,
        secret: Vec<u8>,
    ) -> Result<bool, HashError> {
        compare(self.place(typed).await, stored, &self.dummy, secret).await
    }

    /// The same for a code, in the queue for codes.
    pub async fn verify_code(&self, stored: Option<String>, secret: Vec<u8>) -> Result<bool, HashError> {
        compare(self.codes.place().await, stored, &self.dummy_code, secret).await
    }

    /// A known device uses a free place of the common queue first, then the reserve; if that is full, it waits in the
    /// common queue.
    async fn place(&self, typed: Typed) -> Result<Place, HashError> {
        let Typed::OnKnownDevice(account) = typed else { return self.passwords.place().await };
        if let Some(place) = self.passwords.place_now() {
            return Ok(place);
        }
        match self.known.place(account).await {
            Err(HashError::Busy) => self.passwords.place().await,
            place @ (Ok(_) | Err(HashError::Failed)) => place,
        }
    }

    /// Whether a stored hash has the present parameters.
    pub fn is_current(stored: &str) -> bool {
        let expected = params(Cost::Password);
        PasswordHash::new(stored).ok().and_then(|hash| Params::try_from(&hash).ok()).is_some_and(|params| {
            Ok((params.m_cost(), params.t_cost(), params.p_cost()))
                == expected
                    .as_ref()
                    .map(|wanted| (wanted.m_cost(), wanted.t_cost(), wanted.p_cost()))
                    .map_err(|_| ())
        })
    }
}

async fn compare(
    place: Result<Place, HashError>,
    stored: Option<String>,
    dummy: &str,
    secret: Vec<u8>,
) -> Result<bool, HashError> {
    let known = stored.is_some();
    let stored = stored.unwrap_or_else(|| dummy.to_owned());
    let secret = zeroize::Zeroizing::new(secret);
    let matches = off_thread(place, move || verify_now(&stored, &secret)).await?;
    Ok(matches && known)
}

async fn off_thread<T: Send + 'static>(
    place: Result<Place, HashError>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HashError> {
    if place.as_ref().is_err_and(|error| *error == HashError::Busy) {
        metrics::counter!("porteiro_hashing_refused_total").increment(1);
    }
    let place = place?;
    let work = move || {
        let _place = place;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| HashError::Failed)
}

fn params(cost: Cost) -> Result<Params, HashError> {
    match cost {
        Cost::Password => Params::new(19 * 1024, 2, 1, None),
        Cost::Code => Params::new(256, 1, 1, None),
    }
    .map_err(|_| HashError::Failed)
}

/// A hash without a known secret: random bytes in place of Argon2's output. Comparing with it takes as long as with a
/// real one, and creating it takes no time at start.
fn dummy(cost: Cost, entropy: &dyn Entropy) -> Result<String, HashError> {
    let params = params(cost)?;
    let (output, salt) = (entropy.bytes::<32>(), entropy.bytes::<16>());
    let (salt, output) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(output));
    let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
    Ok(format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${output}"))
}

fn hash_now(cost: Cost, secret: &[u8], salt: &[u8; 16]) -> Result<String, HashError> {
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params(cost)?);
    let salt = Salt::new(salt).map_err(|_| HashError::Failed)?;
    argon.hash_password_with_salt(secret, &salt).map(|hash| hash.to_string()).map_err(|_| HashError::Failed)
}

fn verify_now(stored: &str, secret: &[u8]) -> bool {
    let Ok(hash) = PasswordHash::new(stored) else { return false };
    Argon2::default().verify_password(secret, &hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting;

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.iter_mut().zip(0_u8..).for_each(|(byte, number)| *byte = number);
        }
    }

    #[test]
    fn a_dummy_is_a_hash_with_todays_parameters_that_nothing_matches() {
        let made = dummy(Cost::Password, &Counting).unwrap();
        let real = hash_now(Cost::Password, b"secret", &[7; 16]).unwrap();
        assert!(Hasher::is_current(&made) && Hasher::is_current(&real));
        assert_eq!(made.len(), real.len());
        assert!(PasswordHash::new(&made).is_ok());
        assert!(verify_now(&real, b"secret") && !verify_now(&made, b"secret"));
    }
}
