//! A snapshot of all APIs, with a version that changes with any definition.

use std::ops::Deref;

use porteiro_protocol::{assurance::Level, metadata::is_same_resource, time::OffsetDateTime};

use super::Api;
use crate::{oauth::clients::Client, secrets::sha256};

/// Every API, in the order of their identifiers.
#[derive(Debug)]
pub struct Apis {
    list: Vec<Api>,
    /// Differs for another set of APIs and after any change.
    version: i64,
}

impl Deref for Apis {
    type Target = [Api];
    fn deref(&self) -> &[Api] {
        &self.list
    }
}

impl Apis {
    pub fn new(dated: Vec<(Api, OffsetDateTime)>) -> Self {
        let mut said = Vec::new();
        for (api, changed_at) in &dated {
            said.extend_from_slice(&changed_at.unix_timestamp_nanos().to_be_bytes());
            said.extend_from_slice(api.identifier.as_bytes());
            said.push(0);
        }
        let list = dated.into_iter().map(|(api, _)| api).collect();
        Self { list, version: first_eight(sha256(&said)) }
    }

    /// Of these APIs, as they are defined.
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// The audience that a `resource` parameter stands for; the parameter itself where it names no API.
    pub fn audience<'a>(&'a self, resource: &'a str, issuer: &'a str) -> &'a str {
        if is_same_resource(resource, issuer) {
            return issuer;
        }
        named(&self.list, resource).map_or(resource, |api| &api.identifier)
    }

    pub fn find(&self, audience: &str) -> Option<&Api> {
        self.list.iter().find(|api| api.identifier == audience)
    }

    /// Identifies the current definitions of this client and these APIs, and the deployment's minimum level. A grant that
    /// was checked under one definition is checked again under another (`oauth_grant.definition`, docs/decisions/0075).
    pub fn definition(&self, client: &Client, minimum: Level) -> i64 {
        let micros = client.changed_at.unix_timestamp_nanos() / 1_000;
        self.version ^ i64::try_from(micros).unwrap_or_default() ^ marked(minimum)
    }
}

/// The API that a `resource` parameter names: by its identifier before any of its URLs.
pub fn named<'a>(apis: &'a [Api], resource: &str) -> Option<&'a Api> {
    let by_identifier = apis.iter().find(|api| is_same_resource(&api.identifier, resource));
    by_identifier.or_else(|| apis.iter().find(|api| api.is_named_by(resource)))
}

/// Differs for each level.
fn marked(minimum: Level) -> i64 {
    match minimum {
        Level::None => 0,
        Level::Aal1 | Level::Aal2 => first_eight(sha256(minimum.as_str().as_bytes())),
    }
}

fn first_eight(hash: [u8; 32]) -> i64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    i64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::time::Duration;
    use serde_json::json;

    use super::*;

    fn api(identifier: &str) -> Api {
        serde_json::from_value(json!({"identifier": identifier, "name": "An API", "scopes": []})).unwrap()
    }

    #[test]
    fn another_date_another_name_or_one_less_is_another_version() {
        let (then, later) =
            (OffsetDateTime::UNIX_EPOCH, OffsetDateTime::UNIX_EPOCH + Duration::microseconds(1));
        let version = |dated: &[(&str, OffsetDateTime)]| {
            Apis::new(dated.iter().map(|(name, at)| (api(name), *at)).collect()).version
        };
        let known = version(&[("a", then), ("b", then)]);
        assert_eq!(known, version(&[("a", then), ("b", then)]));
        for other in
            [version(&[("a", then), ("b", later)]), version(&[("a", then)]), version(&[("ab", then)])]
        {
            assert_ne!(known, other);
        }
    }
}
