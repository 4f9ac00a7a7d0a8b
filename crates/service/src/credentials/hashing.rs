//! Argon2id with a bound on how many run at once and how many may wait: a flood of guesses is answered with "try again"
//! and the rest of the service stays fast (fault F12).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{
        PasswordHasher, PasswordVerifier,
        phc::{PasswordHash, Salt},
    },
};
use porteiro_protocol::entropy::Entropy;
use tokio::sync::Semaphore;

/// How hard a secret is to guess decides what one guess must cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A password: 19 MiB, two passes (OWASP's minimum, NIST SP 800-63B-4 §3.1.1.2).
    Password,
    /// A code that lives minutes and allows a handful of tries (ASVS 6.5.2).
    Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    #[error("too many are waiting")]
    Busy,
    #[error("hashing failed")]
    Failed,
}

/// Waiters per core before a caller is turned away.
const QUEUE_PER_CORE: usize = 4;

/// A queue of its own: a flood of passwords must not keep people from answering with a code.
#[derive(Debug)]
struct Lane {
    running: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    queue: usize,
}

#[derive(Debug)]
pub struct Hasher {
    passwords: Lane,
    codes: Lane,
    /// What an unknown person's password is compared with, at the same cost as a real one.
    dummy: String,
    dummy_code: String,
}

/// Leaves the queue however the wait ends.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Hasher {
    pub fn new(entropy: &dyn Entropy) -> Result<Self, HashError> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let dummy = hash_now(Cost::Password, &entropy.bytes::<32>(), &entropy.bytes::<16>())?;
        let dummy_code = hash_now(Cost::Code, &entropy.bytes::<32>(), &entropy.bytes::<16>())?;
        let lane = |queue| Lane {
            running: Arc::new(Semaphore::new(cores)),
            waiting: Arc::new(AtomicUsize::new(0)),
            queue,
        };
        // A code costs a hundredth of a password.
        Ok(Self {
            passwords: lane(cores * QUEUE_PER_CORE),
            codes: lane(cores * QUEUE_PER_CORE * 100),
            dummy,
            dummy_code,
        })
    }

    pub async fn hash(
        &self,
        cost: Cost,
        secret: Vec<u8>,
        entropy: &dyn Entropy,
    ) -> Result<String, HashError> {
        let salt: [u8; 16] = entropy.bytes();
        let secret = zeroize::Zeroizing::new(secret);
        self.lane(cost).off_thread(move || hash_now(cost, &secret, &salt)).await?
    }

    const fn lane(&self, cost: Cost) -> &Lane {
        match cost {
            Cost::Password => &self.passwords,
            Cost::Code => &self.codes,
        }
    }

    /// Compares with a stored hash, or with the dummy where there is none: the same work either way.
    pub async fn verify(&self, stored: Option<String>, secret: Vec<u8>) -> Result<bool, HashError> {
        self.compare(Cost::Password, stored, secret).await
    }

    /// The same for a code, in the codes' own queue.
    pub async fn verify_code(&self, stored: Option<String>, secret: Vec<u8>) -> Result<bool, HashError> {
        self.compare(Cost::Code, stored, secret).await
    }

    async fn compare(&self, cost: Cost, stored: Option<String>, secret: Vec<u8>) -> Result<bool, HashError> {
        let known = stored.is_some();
        let dummy = match cost {
            Cost::Password => &self.dummy,
            Cost::Code => &self.dummy_code,
        };
        let stored = stored.unwrap_or_else(|| dummy.clone());
        let secret = zeroize::Zeroizing::new(secret);
        let matches = self.lane(cost).off_thread(move || verify_now(&stored, &secret)).await?;
        Ok(matches && known)
    }

    /// Whether a stored hash was made with today's parameters.
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

impl Lane {
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HashError> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            metrics::counter!("porteiro_hashing_refused_total").increment(1);
            return Err(HashError::Busy);
        }
        let waiting = Waiting(Arc::clone(&self.waiting));
        let permit = Arc::clone(&self.running).acquire_owned().await.map_err(|_| HashError::Failed)?;
        drop(waiting);
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
        .map_err(|_| HashError::Failed)
    }
}

fn params(cost: Cost) -> Result<Params, HashError> {
    match cost {
        Cost::Password => Params::new(19 * 1024, 2, 1, None),
        Cost::Code => Params::new(256, 1, 1, None),
    }
    .map_err(|_| HashError::Failed)
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
