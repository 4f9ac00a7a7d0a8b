//! Rate limits by caller and organization (docs/decisions/0043), reported in the headers of
//! draft-ietf-httpapi-ratelimit-headers.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};

use super::contract::{Whom, With};
use crate::{
    App,
    http::{Problem, ProblemCode},
    limits::{self, Bucket, Left, Limited, Rule},
    members,
    permissions::OWNER,
    store::StoreError,
};

const WINDOW_SECONDS: u32 = 60;

/// The callers that share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    /// One key, or one person with one client; all first-party clients together.
    Caller,
    /// One person, with all keys and clients.
    Person,
    Organization,
}

impl Share {
    /// The name in the headers.
    const fn name(self) -> &'static str {
        match self {
            Self::Caller => "default",
            Self::Person => "person",
            Self::Organization => "organization",
        }
    }
}

/// The remaining calls, as response headers report them.
#[derive(Debug)]
pub(super) struct Told {
    policy: String,
    left: String,
}

impl Told {
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in [("ratelimit-policy", &self.policy), ("ratelimit", &self.left)] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
}

/// Why a call is refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// No calls are left for `wait` seconds.
    Limited {
        told: Told,
        wait: u32,
    },
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (told, wait) = match self {
            Self::Limited { told, wait } => (told, wait),
            Self::Store(error) => return Problem::from(error).into_response(),
        };
        let problem = Problem::new(ProblemCode::SlowDown, "too many requests per minute").after(wait);
        let mut response = problem.into_response();
        told.write(response.headers_mut());
        response
    }
}

/// Takes one call from the buckets. A call by the platform does not use the organization's own bucket.
pub(super) async fn take(app: &App, whom: &Whom, writes: bool) -> Result<Told, Refused> {
    let named = named(app, whom, writes);
    let buckets: Vec<Bucket> = named.iter().map(|(_, bucket)| bucket.clone()).collect();
    let left = limits::take_together(&app.store, &buckets).await?;
    let told = told(&named, &left);
    let refused = || named.iter().zip(&left).filter(|(_, left)| !left.taken);
    let waits = refused().map(|((_, bucket), left)| Limited::new(bucket, left.seconds).seconds);
    let Some(wait) = waits.max() else { return Ok(told) };
    let empty: Vec<Share> = refused().map(|((share, _), _)| *share).collect();
    if may_pass(whom, &empty) && is_owner(app, whom).await? {
        return Ok(told);
    }
    // A refused call takes nothing from shared buckets.
    let taken = buckets.iter().zip(&left).filter(|(_, left)| left.taken);
    limits::refund(&app.store, &taken.map(|(bucket, _)| bucket.clone()).collect::<Vec<_>>()).await?;
    metrics::counter!("porteiro_api_limited_total").increment(1);
    Err(Refused::Limited { told, wait })
}

/// The buckets a call takes from.
fn named(app: &App, whom: &Whom, writes: bool) -> Vec<(Share, Bucket)> {
    let settings = &app.checked.settings;
    let (caller, person, organization, count) = if writes {
        let count = settings.api_writes_per_minute;
        (limits::API_WRITES, limits::API_PERSON_WRITES, limits::API_ORGANIZATION_WRITES, count)
    } else {
        let count = settings.api_reads_per_minute;
        (limits::API_READS, limits::API_PERSON_READS, limits::API_ORGANIZATION_READS, count)
    };
    let bucket = |share: Share, rule: Rule, times: u32, whom: &[u8]| {
        let rule = rule.with_per_minute(count.saturating_mul(times));
        (share, Bucket { key: app.secrets.limit_key(rule.name, whom), rule })
    };
    // A third-party client cannot use up the calls that the person needs.
    let key = match whom.member.as_ref().map(|member| &member.with) {
        Some(With::Client(client)) => format!("{}|{client}", whom.key),
        Some(With::House | With::Key) | None => whom.key.clone(),
    };
    let mut named = vec![bucket(Share::Caller, caller, 1, key.as_bytes())];
    if let Some(member) = &whom.member {
        named.push(bucket(Share::Person, person, limits::PERSON_SHARE, member.id.uuid().as_bytes()));
    }
    if let Some(id) = whom.organization {
        let times = limits::ORGANIZATION_SHARE;
        named.push(bucket(Share::Organization, organization, times, id.uuid().as_bytes()));
    }
    named
}

/// Whether an owner may call although these buckets are empty. Buckets shared with other members never stop an owner,
/// or the members could keep the owner from disabling them. At a first-party client, the bucket that the owner's keys
/// and other clients use does not stop an owner either. The caller's own bucket does.
fn may_pass(whom: &Whom, empty: &[Share]) -> bool {
    let Some(member) = &whom.member else { return false };
    empty.iter().all(|share| match (share, &member.with) {
        (Share::Organization, With::House | With::Client(_) | With::Key) | (Share::Person, With::House) => {
            true
        }
        (Share::Person, With::Client(_) | With::Key) | (Share::Caller, _) => false,
    })
}

/// Read only if a bucket is empty: the usual call needs no further statement.
async fn is_owner(app: &App, whom: &Whom) -> Result<bool, StoreError> {
    let (Some(member), Some(organization)) = (&whom.member, whom.organization) else { return Ok(false) };
    let found = members::find(&app.store, organization, members::Whom::Id(member.id)).await?;
    Ok(found.is_some_and(|member| member.held().is_ok() && member.roles.iter().any(|role| role == OWNER)))
}

fn told(named: &[(Share, Bucket)], left: &[Left]) -> Told {
    let mut policy = Vec::new();
    let mut state = Vec::new();
    for ((share, Bucket { rule, .. }), left) in named.iter().zip(left) {
        let name = share.name();
        let seconds = left.seconds.max(0.0);
        let remaining = (f64::from(rule.burst) - seconds / rule.interval_seconds).floor().max(0.0);
        policy.push(format!("\"{name}\";q={};w={WINDOW_SECONDS}", rule.burst));
        state.push(format!("\"{name}\";r={remaining:.0};t={:.0}", seconds.ceil()));
    }
    Told { policy: policy.join(", "), left: state.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::{
        super::contract::AsMember,
        Share::{Caller, Organization, Person},
        *,
    };

    #[test]
    fn an_owner_on_a_page_of_the_house_is_stopped_only_by_what_is_theirs_alone() {
        let whom = |with: With| Whom {
            key: "member:1".into(),
            organization: None,
            member: Some(AsMember { id: uuid::Uuid::nil().into(), with }),
        };
        for (with, empty, passes) in [
            (With::House, vec![Organization], true),
            (With::House, vec![Person, Organization], true),
            (With::House, vec![Caller], false),
            (With::Key, vec![Organization], true),
            (With::Key, vec![Person], false),
            (With::Client("c".into()), vec![Organization], true),
            (With::Client("c".into()), vec![Person, Organization], false),
        ] {
            assert_eq!(may_pass(&whom(with.clone()), &empty), passes, "{with:?} {empty:?}");
        }
        assert!(!may_pass(&Whom { member: None, ..whom(With::Key) }, &[Organization]));
    }
}
