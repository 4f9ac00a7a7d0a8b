//! The rows of people, organizations and grants, as SQL over the numbers of families.

use serde_json::json;

use crate::{
    families::{Numbering, account_sql, hash_sql, is_members_sql, is_public_sql},
    fill::{API, Caller, ORGANIZATION_API, ORGANIZATION_SCOPE, SCOPE},
};

/// Numbers of families in which one organization has its members: a quarter of them, a thousand people.
const ORGANIZATION_SPAN: u64 = 4_000;
/// What the members' role there is called.
const ROLE: &str = "accountant";

fn organization_sql(number: &str) -> String {
    named_sql("organization", &format!("({number} / {ORGANIZATION_SPAN})"))
}

fn membership_sql(number: &str) -> String {
    named_sql("membership", number)
}

fn named_sql(kind: &str, number: &str) -> String {
    format!("encode(substr(sha256('{kind}'::bytea || int8send({number})), 1, 16), 'hex')::uuid")
}

/// Grants, each of an expression over `i`.
pub struct Grants<'a> {
    pub id: String,
    pub hash: String,
    /// 0: a code is issued. 1: it was redeemed.
    pub generation: u8,
    pub challenge: String,
    /// The number of the family whose person and organization it has.
    pub person: String,
    pub confidential: &'a Caller,
    pub public: &'a Caller,
    /// The first and the last `i`.
    pub numbers: (u64, u64),
}

impl Grants<'_> {
    pub fn insert(&self) -> String {
        let Self { id, hash, generation, challenge, person, confidential, public, numbers } = self;
        let terms = json!({"level": "aal2", "auth_time": 1_790_000_000, "amr": ["pwd", "otp", "mfa"], "nonce": "n-0S6_WzA2Mj"});
        format!(
            "INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                 idle_seconds, session_id, offline, code_challenge, redirect_uri, scope, audience, terms,
                 organization_id, membership_id, authority_version)
             SELECT {id}, {account}, CASE WHEN {is_public} THEN '{public}' ELSE '{confidential}' END, {generation}, {hash},
                 now() + interval '20 days', now() + interval '25 days', 14 * 86400,
                 gen_random_uuid(), true, {challenge}, 'https://app.example.org/callback',
                 CASE WHEN {is_members} THEN '{ORGANIZATION_SCOPE}' ELSE '{SCOPE}' END,
                 CASE WHEN {is_members} THEN '{ORGANIZATION_API}' ELSE '{API}' END, '{terms}',
                 CASE WHEN {is_members} THEN {organization} END, CASE WHEN {is_members} THEN {membership} END,
                 CASE WHEN {is_members} THEN 1 END
             FROM generate_series({from}::bigint, {to}) i",
            account = account_sql(person),
            is_public = is_public_sql(person),
            is_members = is_members_sql(person),
            public = public.id,
            confidential = confidential.id,
            organization = organization_sql(person),
            membership = membership_sql(person),
            from = numbers.0,
            to = numbers.1,
        )
    }
}

/// The people of these families, and the memberships of those who have one.
pub fn people(from: u64, to: u64) -> String {
    let (account, is_members) = (account_sql("i"), is_members_sql("i"));
    let (organization, membership) = (organization_sql("i"), membership_sql("i"));
    format!(
        "INSERT INTO account (account_id, state, display_name, locale, user_handle)
         SELECT {account}, 'active', 'Person ' || i, 'en', int8send(i) FROM generate_series({from}::bigint, {to}) i;
         INSERT INTO membership (organization_id, membership_id, account_id, state, source, display_name, primary_role)
         SELECT {organization}, {membership}, {account}, 'active', 'invitation', 'Person ' || i, '{ROLE}'
         FROM generate_series({from}::bigint, {to}) i WHERE {is_members}"
    )
}

/// Organizations with a policy and a role of their own. Their members are there already; each has that role and a
/// built-in one.
pub fn organizations(families: u64) -> String {
    let id = named_sql("organization", "n");
    let policy = json!({"min_level": "aal2", "max_age": null, "third_party_clients": "verified"});
    let last = families.saturating_sub(1) / ORGANIZATION_SPAN;
    format!(
        "INSERT INTO organization (organization_id, slug, name, policy, locale)
         SELECT {id}, 'organization-' || n, 'Organization ' || n, '{policy}', 'en'
         FROM generate_series(0::bigint, {last}) n;
         INSERT INTO organization_slug (slug, organization_id) SELECT slug, organization_id FROM organization;
         INSERT INTO role (organization_id, role_key, name, permissions)
         SELECT organization_id, '{ROLE}', 'Accountant', ARRAY['{ORGANIZATION_SCOPE}'] FROM organization;
         INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT organization_id, role_key, created_at, membership_id
         FROM membership CROSS JOIN unnest(ARRAY['{ROLE}', 'member']) AS role_key"
    )
}

/// That every person who has no membership delegated the scope to the agent.
pub fn delegations(agent: &Caller, from: u64, to: u64) -> String {
    format!(
        "INSERT INTO delegation (owner_id, delegation_id, account_id, client_id, audience, scope, redelegable, source,
             expires_at)
         SELECT {account}, {id}, {account}, '{agent}', '{API}', '{SCOPE}', false, 'person', now() + interval '90 days'
         FROM generate_series({from}::bigint, {to}) i WHERE NOT {is_members}",
        account = account_sql("i"),
        id = delegation_sql("i"),
        agent = agent.id,
        is_members = is_members_sql("i"),
    )
}

pub fn delegation_sql(number: &str) -> String {
    named_sql("delegation", number)
}

/// What the agent asked for and nobody decides, for longer than any request may wait: the folder is used again.
pub fn approvals(numbering: &Numbering, agent: &Caller) -> String {
    let account = account_sql("i");
    let frozen = format!(
        r#"'{{"account":"' || {account} || '","client_id":"{}","organization":null,"membership":null,"audience":"{API}","scope":"{SCOPE}","details":[],"binding_message":null}}'"#,
        agent.id
    );
    format!(
        "INSERT INTO approval (account_id, approval_id, client_id, delegation_id, frozen, digest, number, numbers, level,
             irreversible, secret_hash, expires_at)
         SELECT {account}, {id}, '{agent}', {delegation}, f, sha256(convert_to(f, 'UTF8')), 11, '{{11,22,33}}', 'aal1',
             false, {hash}, now() + interval '90 days'
         FROM generate_series(0::bigint, {last}) i CROSS JOIN LATERAL (SELECT {frozen} AS f) frozen",
        id = numbering.grant_sql("i"),
        agent = agent.id,
        delegation = delegation_sql("i"),
        hash = hash_sql("i"),
        last = numbering.approvals() - 1,
    )
}
