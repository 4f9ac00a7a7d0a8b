//! Describes the registered types of authorization details (draft-ietf-oauth-rar-metadata-remediation), so that a client can
//! write details that it has never seen.

use std::collections::BTreeMap;

use porteiro_protocol::authorization_details::{DetailType, Display};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::apis::Api;

/// One type. All members but `schema` are Porteiro's own.
#[derive(Debug, Serialize)]
pub(super) struct Described<'a> {
    schema: Value,
    /// What a person reads, with the names of members in braces.
    display: &'a Display,
    /// Whether approving it needs two factors, proved within minutes.
    irreversible: bool,
    /// The APIs that understand it, as values of `resource`.
    resources: Vec<&'a str>,
}

/// Every type by its name. Where APIs define one name differently, the schema of any of them will do.
pub(super) fn all(apis: &[Api]) -> BTreeMap<&str, Described<'_>> {
    let mut found: BTreeMap<&str, Vec<(&Api, &DetailType)>> = BTreeMap::new();
    for (api, kind) in apis.iter().flat_map(|api| api.details.iter().map(move |kind| (api, kind))) {
        found.entry(&kind.name).or_default().push((api, kind));
    }
    found.into_iter().filter_map(|(name, kinds)| Some((name, describe(&kinds)?))).collect()
}

fn describe<'a>(kinds: &[(&'a Api, &'a DetailType)]) -> Option<Described<'a>> {
    let mut schemas: Vec<Value> = Vec::new();
    for (_, kind) in kinds {
        let schema = kind.published_schema();
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
    }
    let schema = if schemas.len() > 1 { json!({"anyOf": schemas}) } else { schemas.pop()? };
    Some(Described {
        schema,
        display: &kinds.first()?.1.display,
        irreversible: kinds.iter().any(|(_, kind)| kind.irreversible),
        resources: kinds.iter().map(|(api, _)| api.identifier.as_str()).collect(),
    })
}
