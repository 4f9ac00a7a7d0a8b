use porteiro_protocol::{
    client_metadata::ClientMetadata,
    permission::{Held, Permission},
    scope::Scope,
    time::OffsetDateTime,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::oauth::clients::{LastUse, OrganizationMode, Profile};

const ISSUER: &str = "https://id.example";
const RESOURCES: [&str; 4] = [ISSUER, "https://a.example", "https://b.example", "https://c.example"];
const NAMES: [&str; 7] =
    ["openid", "account", "members:read", "platform.log:read", "invoices:read", "invoices:*", "plain"];

fn client(trust: Trust, registered: Option<Scope>) -> Client {
    Client {
        id: "client".into(),
        trust,
        profile: Profile::Default,
        metadata: ClientMetadata { scope: registered, ..ClientMetadata::default() },
        secret_hash: None,
        created_at: OffsetDateTime::UNIX_EPOCH,
        changed_at: OffsetDateTime::UNIX_EPOCH,
        grants_from: OffsetDateTime::UNIX_EPOCH,
        last_use: LastUse::default(),
        organization_mode: OrganizationMode::Optional,
        organization: None,
    }
}

fn scope() -> impl Strategy<Value = Scope> {
    prop::collection::vec(prop::sample::select(NAMES.to_vec()), 0..4)
        .prop_map(|names| names.join(" ").parse().unwrap())
}

fn trust() -> impl Strategy<Value = Trust> {
    prop::sample::select(vec![Trust::Unverified, Trust::Verified, Trust::FirstParty])
}

/// Two registered APIs; the third resource is unknown.
fn apis() -> impl Strategy<Value = Vec<Api>> {
    let names = prop::collection::vec((prop::sample::select(NAMES[4..].to_vec()), any::<bool>()), 0..4);
    let api = |identifier: &'static str| {
        (names.clone(), any::<bool>()).prop_map(move |(names, organizational)| {
            let scopes: Vec<Value> = names
                .iter()
                .map(|(name, open)| {
                    let description = json!({"en": "", "pt": ""});
                    json!({"name": name, "open_to_unverified": open, "description": description})
                })
                .collect();
            let api = json!({"identifier": identifier, "name": "", "scopes": scopes,
                "organizational": organizational});
            serde_json::from_value::<Api>(api).unwrap()
        })
    };
    // The last one could only be stored by mistake.
    (api(RESOURCES[1]), api(RESOURCES[2]), api(ISSUER)).prop_map(|(a, b, own)| vec![a, b, own])
}

fn held() -> impl Strategy<Value = Held> {
    scope().prop_map(|scope| Held::of(scope.iter().filter_map(|name| Permission::parse(name).ok())))
}

fn asked<'a>(resource: Option<&'a str>, scope: &'a Scope) -> Asked<'a> {
    Asked { resource, scope: AskedScope::Read(scope), details: &[], organization: None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_answer_is_exactly_what_was_asked_and_within_what_is_held(
        trust in trust(), registered in prop::option::of(scope()), held in held(), who in 0..3u8,
        resource in prop::option::of(prop::sample::select(RESOURCES.to_vec())), wanted in scope(), apis in apis(),
    ) {
        let client = client(trust, registered.clone());
        let requester = match who {
            0 => Requester::Client(&client),
            1 => Requester::ClientItself(&client),
            _ => Requester::Key(&held),
        };
        let Ok(Requested { api, authority }) =
            requested_authority(requester, asked(resource, &wanted), &apis, ISSUER) else { return Ok(()) };
        prop_assert_eq!(authority.scope(), &wanted);
        prop_assert_eq!(authority.audience(), api.map_or(ISSUER, |api| &api.identifier));
        prop_assert!(resource.is_none_or(|resource| resource == authority.audience()));
        prop_assert!(api.is_none_or(|api| api.identifier != ISSUER));
        for name in wanted.iter() {
            let known = api.and_then(|api| api.scope(name));
            match who {
                0 => prop_assert!(known.is_some() || scopes::is_standard(name) || permissions::find(name).is_some()),
                1 => prop_assert!(known.is_some()),
                _ => prop_assert!(known.is_some() && held.covers(&Permission::parse(name).unwrap())),
            }
            if who < 2 && trust == Trust::Unverified {
                prop_assert!(scopes::is_open(name) || known.is_some_and(|known| known.open_to_unverified));
            }
        }
        if let Some(registered) = registered && (who == 1 || who == 0 && trust != Trust::Unverified) {
            prop_assert!(registered.covers_all(&wanted));
        }
        if who == 0 {
            prop_assert!(still_allowed(&client, api, &authority).is_ok());
        }
    }

    #[test]
    fn whoever_may_ask_may_ask_for_less(
        trust in trust(), registered in prop::option::of(scope()), held in held(), who in 0..3u8,
        resource in prop::sample::select(RESOURCES.to_vec()), wanted in scope(), apis in apis(), fewer in 1..4usize,
    ) {
        let client = client(trust, registered);
        let requester = match who {
            0 => Requester::Client(&client),
            1 => Requester::ClientItself(&client),
            _ => Requester::Key(&held),
        };
        let less: Scope = wanted.iter().take(fewer).collect::<Vec<_>>().join(" ").parse().unwrap();
        let may = |scope| requested_authority(requester, asked(Some(resource), scope), &apis, ISSUER).is_ok();
        prop_assert!(!may(&wanted) || may(&less));
    }

    #[test]
    fn a_default_is_nothing_the_client_could_not_have_named(
        trust in trust(), registered in prop::option::of(scope()), apis in apis(),
        resource in prop::option::of(prop::sample::select(RESOURCES.to_vec())),
    ) {
        let client = client(trust, registered);
        let silent = Asked { resource, scope: AskedScope::Registered, details: &[], organization: None };
        if let Ok(given) = requested_authority(Requester::Client(&client), silent, &apis, ISSUER) {
            let audience = Some(given.authority.audience());
            let named = requested_authority(
                Requester::Client(&client), asked(audience, given.authority.scope()), &apis, ISSUER,
            );
            prop_assert_eq!(named.unwrap().authority, given.authority);
        }
    }
}
