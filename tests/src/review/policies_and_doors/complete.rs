//! Whatever is added to the service has a row here, or says why it needs none.

use std::collections::BTreeSet;

use porteiro_service::{
    http::Access,
    oauth::grant_types::GRANT_TYPES,
    organizations::{Agents, Discovery, Policy},
};

use super::{
    TESTED,
    changes::Change::{self, *},
    doors::Door,
};

/// Members of an organization's policy.
const POLICY: &[(&str, Change)] = &[
    ("min_level", MinLevel),
    ("max_age", MaxAge),
    ("third_party_clients", ThirdPartyClients),
    ("agents", AgentsFrozen),
    ("require_connection", RequireConnection),
    ("break_glass", RequireConnection),
];

/// Members by which nobody gains or loses anything: where people are led who are not known yet.
const LEADS: &[&str] = &["discovery"];

/// Changes an organization or the platform can make: by the row that makes it, or why nobody who has something can lose
/// it thereby.
const CHANGES: &[(&str, Result<Change, &str>)] = &[
    ("PUT /v1/organizations/{organization}/policy", Ok(MinLevel)),
    ("PUT /v1/organizations/{organization}/client-policies/{client_id}", Ok(ClientBlocked)),
    ("DELETE /v1/organizations/{organization}/client-policies/{client_id}", Ok(ClientBlocked)),
    ("POST /v1/organizations/{organization}/suspend", Ok(OrganizationSuspended)),
    ("POST /v1/organizations/{organization}/resume", Ok(OrganizationSuspended)),
    ("PATCH /v1/organizations/{organization}", Err("a name, a slug, a language")),
    ("POST /v1/organizations/{organization}/members", Err("gives")),
    ("PATCH /v1/organizations/{organization}/members/{member}", Ok(MemberRoles)),
    ("DELETE /v1/organizations/{organization}/members/{member}", Ok(MemberRemoved)),
    ("POST /v1/organizations/{organization}/members/{member}/disable", Ok(MemberDisabled)),
    ("POST /v1/organizations/{organization}/members/{member}/enable", Ok(MemberDisabled)),
    ("DELETE /v1/organizations/{organization}/members/{member}/grants", Ok(GrantsEnded)),
    ("DELETE /v1/organizations/{organization}/members/{member}/grants/{client_id}", Ok(GrantsEnded)),
    (
        "DELETE /v1/organizations/{organization}/members/{member}/directory-identities/{identity}",
        Err("ends what the directory vouched for; tests/src/people/directories"),
    ),
    ("POST /v1/organizations/{organization}/members/{member}/impersonations", Err("gives")),
    (
        "POST /v1/organizations/{organization}/members/{member}/impersonations/{impersonation}/tokens",
        Err("gives"),
    ),
    (
        "DELETE /v1/organizations/{organization}/members/{member}/impersonations/{impersonation}",
        Err("tests/src/organizations/impersonation"),
    ),
    ("POST /v1/organizations/{organization}/roles", Err("gives nothing until somebody has it")),
    ("PATCH /v1/organizations/{organization}/roles/{role}", Ok(RoleNarrowed)),
    ("DELETE /v1/organizations/{organization}/roles/{role}", Err("refused while somebody has it")),
    (
        "PATCH /v1/organizations/{organization}/groups/{group}",
        Err("its members have other roles, as by MemberRoles; tests/src/scim/mapping.rs"),
    ),
    ("POST /v1/organizations/{organization}/api-keys", Err("gives")),
    ("DELETE /v1/organizations/{organization}/api-keys/{id}", Ok(KeyRevoked)),
    ("POST /v1/organizations/{organization}/invitations", Err("gives")),
    ("DELETE /v1/organizations/{organization}/invitations/{id}", Err("nobody has anything by it yet")),
    ("PATCH /v1/organizations/{organization}/branding", Err("looks")),
    ("PUT /v1/organizations/{organization}/branding/logo", Err("looks")),
    ("DELETE /v1/organizations/{organization}/branding/logo", Err("looks")),
    ("POST /v1/platform/organizations", Err("gives")),
    ("POST /v1/platform/clients", Err("gives")),
    ("PATCH /v1/platform/clients/{client_id}", Ok(TrustLowered)),
    (
        "POST /v1/platform/clients/{client_id}/rotate-secret",
        Err("what was given stays; tests/src/organizations/platform_clients.rs"),
    ),
    ("POST /v1/platform/clients/{client_id}/disable", Ok(ClientDisabled)),
    ("POST /v1/platform/clients/{client_id}/enable", Ok(ClientDisabled)),
    ("PATCH /v1/platform/clients/{client_id}/branding", Err("looks")),
    ("PUT /v1/platform/clients/{client_id}/branding/logo", Err("looks")),
    ("DELETE /v1/platform/clients/{client_id}/branding/logo", Err("looks")),
    ("POST /v1/organizations/{organization}/delegations", Err("gives")),
    (
        "DELETE /v1/organizations/{organization}/delegations/{id}",
        Err("ends what was exchanged by it and nothing else; tests/src/agents"),
    ),
    ("POST /v1/organizations/{organization}/authorization-servers", Err("gives")),
    (
        "DELETE /v1/organizations/{organization}/authorization-servers/{id}",
        Err("assertions live minutes and are used up elsewhere; tests/src/agents/id_jag"),
    ),
    ("POST /v1/organizations/{organization}/assertion-issuers", Err("gives")),
    (
        "DELETE /v1/organizations/{organization}/assertion-issuers/{id}",
        Err("ends what was redeemed by it and nothing else; tests/src/agents/id_jag"),
    ),
    ("POST /v1/organizations/{organization}/external-identities", Err("gives")),
    (
        "DELETE /v1/organizations/{organization}/external-identities/{id}",
        Err("ends what was redeemed by it and nothing else; tests/src/agents/id_jag"),
    ),
    ("POST /v1/organizations/{organization}/connections", Err("gives")),
    (
        "PUT /v1/organizations/{organization}/connections/{connection}",
        Err("ends what a directory vouched for; tests/src/people/directories"),
    ),
    (
        "DELETE /v1/organizations/{organization}/connections/{connection}",
        Err("refused once a member signed in by it"),
    ),
    ("POST /v1/organizations/{organization}/connections/{connection}/test", Err("changes nothing")),
    ("POST /v1/organizations/{organization}/domains", Err("gives nothing before it is verified")),
    ("POST /v1/organizations/{organization}/domains/{id}/verify", Err("gives")),
    (
        "DELETE /v1/organizations/{organization}/domains/{id}",
        Err("stops new members by it, and memberships stay; tests/src/organizations/domains"),
    ),
    ("POST /v1/platform/connections", Err("gives")),
    (
        "PUT /v1/platform/connections/{connection}",
        Err("what was given stays; tests/src/people/federation/managing.rs"),
    ),
    ("POST /v1/platform/connections/{connection}/test", Err("changes nothing")),
    ("POST /v1/platform/apis", Ok(ApiNarrowed)),
    ("PUT /v1/platform/apis/{api}", Ok(ApiNarrowed)),
    ("DELETE /v1/platform/apis/{api}", Ok(ApiRemoved)),
    ("POST /v1/platform/accounts/{account}/disable", Ok(AccountDisabled)),
    ("POST /v1/platform/accounts/{account}/enable", Ok(AccountDisabled)),
    ("POST /v1/platform/accounts/{account}/end-sessions", Ok(SessionsEnded)),
    (
        "POST /v1/platform/accounts/{account}/start-recovery",
        Err("ends nothing before its owner finishes it; tests/src/people/lifecycle/recovery.rs"),
    ),
    ("POST /v1/platform/api-keys", Err("gives")),
    (
        "DELETE /v1/platform/api-keys/{id}",
        Err("a platform key is in no organization; tests/src/organizations/api_keys"),
    ),
];

/// Endpoints at which clients and tokens are asked for or about: by the door, or why none is there.
const ENDPOINTS: &[(&str, Result<Door, &str>)] = &[
    ("POST /connect/token", Ok(Door::Refresh)),
    ("POST /connect/introspect", Ok(Door::IntrospectAccess)),
    ("POST /connect/revoke", Err("ends")),
    ("POST /connect/par", Err("asks; the answer is Authorize")),
    ("POST /connect/device", Err("asks; the answer is Authorize")),
    ("POST /connect/ciba", Err("asks; the answer is Exchange")),
    ("POST /connect/challenge", Err("Authorize, for an app of the house")),
    ("GET /connect/userinfo", Ok(Door::Userinfo)),
    ("POST /connect/userinfo", Ok(Door::Userinfo)),
];

/// What the token endpoint gives, by the door that asks for it.
const GIVEN: &[(&str, Door)] = &[
    ("authorization_code", Door::Redeem),
    ("refresh_token", Door::Refresh),
    ("client_credentials", Door::ClientCredentials),
    // The same statement and the same checks as a code (docs/decisions/0064).
    ("urn:ietf:params:oauth:grant-type:device_code", Door::Redeem),
    ("urn:ietf:params:oauth:grant-type:token-exchange", Door::Exchange),
    // The same grants and the same checks; what ends before it is redeemed: tests/src/agents/approvals.rs.
    ("urn:openid:params:grant-type:ciba", Door::Exchange),
    // Tokens without a refresh token, as those of an exchange; what ends them: tests/src/agents/id_jag.
    ("urn:ietf:params:oauth:grant-type:jwt-bearer", Door::Exchange),
];

/// Which doors a kind of access is. Another kind does not compile without a line here.
const fn doors(access: Access) -> &'static [Door] {
    match access {
        // Nobody's authority is used.
        Access::Public(_) | Access::RegistrationToken => &[],
        // Listed in ENDPOINTS.
        Access::Client | Access::Token(_) => &[Door::Refresh, Door::IntrospectAccess, Door::Userinfo],
        Access::FlowOwner => &[Door::Authorize],
        Access::Session => &[Door::Session],
        // The organization's key or client; what a directory changes: tests/src/scim/leaver.rs.
        Access::Provisioning(_) => &[Door::OrganizationKey, Door::ClientCredentials],
        Access::Organization(_) | Access::Platform(_) => {
            &[Door::Session, Door::ManageByToken, Door::PersonalKey, Door::OrganizationKey]
        }
    }
}

fn named(route: &porteiro_service::http::Route) -> String {
    format!("{} {}", route.method, route.path)
}

#[test]
fn every_member_of_the_policy_has_a_row() {
    let policy = Policy {
        agents: Agents::Frozen,
        require_connection: "00000000-0000-4000-8000-000000000001".parse().ok(),
        break_glass: "00000000-0000-4000-8000-000000000001".parse().ok(),
        discovery: Discovery::Public,
        ..Policy::default()
    };
    let policy = serde_json::to_value(policy).unwrap();
    let members: BTreeSet<&str> = policy.as_object().unwrap().keys().map(String::as_str).collect();
    let rows = POLICY.iter().map(|(name, _)| name).chain(LEADS).copied();
    assert_eq!(members, rows.collect());
    assert!(POLICY.iter().all(|(_, change)| TESTED.contains(change)));
}

#[test]
fn every_change_an_organization_or_the_platform_makes_has_a_row_or_a_reason() {
    let routes = porteiro_service::table();
    let makes = |access: &Access| match access {
        Access::Organization(_) | Access::Platform(_) => true,
        Access::Public(_)
        | Access::FlowOwner
        | Access::Client
        | Access::RegistrationToken
        | Access::Token(_)
        | Access::Session
        | Access::Provisioning(_) => false,
    };
    let changing = routes.iter().filter(|route| makes(&route.access) && route.method != http::Method::GET);
    let names: BTreeSet<String> = changing.map(named).collect();
    assert_eq!(names, CHANGES.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (name, row) in CHANGES {
        assert!(row.map_or_else(|why| !why.is_empty(), |change| TESTED.contains(&change)), "{name}");
    }
}

#[test]
fn every_door_of_the_service_is_looked_at() {
    let routes = porteiro_service::table();
    for route in &routes {
        assert!(doors(route.access).iter().all(|door| Door::ALL.contains(door)), "{}", named(route));
    }
    let asked = routes.iter().filter(|route| matches!(route.access, Access::Client | Access::Token(_)));
    let names: BTreeSet<String> = asked.map(named).collect();
    assert_eq!(names, ENDPOINTS.iter().map(|(name, _)| (*name).to_owned()).collect());
    let given: BTreeSet<&str> = GRANT_TYPES.iter().map(|grant| grant.name).collect();
    assert_eq!(given, GIVEN.iter().map(|(name, _)| *name).collect());
}
