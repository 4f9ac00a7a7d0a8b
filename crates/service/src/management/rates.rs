//! How much one caller, and one organization, may ask (`flows.md` 4.6), told in the headers of draft-ietf-httpapi-ratelimit-headers.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};

use super::contract::Whom;
use crate::{
    App,
    http::{Problem, ProblemCode},
    limits::{self, Bucket, Left, Limited, Rule},
    store::StoreError,
};

const WINDOW_SECONDS: u32 = 60;

/// What is left to a caller, as the answer tells it.
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

/// Takes one call. Somebody of the platform who acts in an organization does not use up what is its own.
pub(super) async fn take(app: &App, whom: &Whom, writes: bool) -> Result<Result<Told, Response>, StoreError> {
    let settings = &app.checked.settings;
    let (caller, organization, count) = if writes {
        (limits::API_WRITES, limits::API_ORGANIZATION_WRITES, settings.api_writes_per_minute)
    } else {
        (limits::API_READS, limits::API_ORGANIZATION_READS, settings.api_reads_per_minute)
    };
    let bucket = |rule: Rule, whom: &[u8]| Bucket { key: app.secrets.limit_key(rule.name, whom), rule };
    let mut named = vec![("default", bucket(caller.with_per_minute(count), whom.key.as_bytes()))];
    if let Some(id) = whom.organization {
        let rule = organization.with_per_minute(count.saturating_mul(5));
        named.push(("organization", bucket(rule, id.uuid().as_bytes())));
    }
    let buckets: Vec<Bucket> = named.iter().map(|(_, bucket)| bucket.clone()).collect();
    let left = limits::take_together(&app.store, &buckets).await?;
    let told = told(&named, &left);
    let empty = buckets.iter().zip(&left).filter(|(_, left)| !left.taken);
    let waits = empty.map(|(bucket, left)| Limited::new(bucket, left.seconds).seconds);
    let Some(wait) = waits.max() else { return Ok(Ok(told)) };
    metrics::counter!("porteiro_api_limited_total").increment(1);
    let problem = Problem::new(ProblemCode::SlowDown, "too many calls in a minute").after(wait);
    let mut refused = problem.into_response();
    told.write(refused.headers_mut());
    Ok(Err(refused))
}

fn told(named: &[(&str, Bucket)], left: &[Left]) -> Told {
    let mut policy = Vec::new();
    let mut state = Vec::new();
    for ((name, Bucket { rule, .. }), left) in named.iter().zip(left) {
        let seconds = left.seconds.max(0.0);
        let remaining = (f64::from(rule.burst) - seconds / rule.interval_seconds).floor().max(0.0);
        policy.push(format!("\"{name}\";q={};w={WINDOW_SECONDS}", rule.burst));
        state.push(format!("\"{name}\";r={remaining:.0};t={:.0}", seconds.ceil()));
    }
    Told { policy: policy.join(", "), left: state.join(", ") }
}
