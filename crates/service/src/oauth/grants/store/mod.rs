//! The rows of grants: written, moved, read; ended in [`ending`].

mod acting;
mod asserted;
mod asserting;
mod batches;
mod ending;
mod lineage;
mod living;
mod membership;
mod reuse;

use std::sync::LazyLock;

use porteiro_protocol::{
    authority::Authority,
    id::{AccountId, OrganizationId},
    scope::Scope,
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

pub use acting::{NewActing, find_acting, insert_acting, revoke_acting};
pub use asserted::{Asserted, NewAsserted, insert_asserted, revoke_asserted};
pub use asserting::{Assertable, find_assertable};
pub use batches::{Begun, Step, are_many, finish_ending, lock_ending, reach, step, store_notified};
pub use ending::{Ending, EndingId, Owner, Revoked, begin_ending, revoke_one};
pub use lineage::{NewDerived, Place, deriving_statement, insert_derived, redelegable};
pub use living::ALIVE;
pub(crate) use living::{
    ancestors_live, delegation_lives, directory_vouches, given_to, meant, not_ended, not_ended_there,
};
pub use membership::{entrance, find_member, is_confined, list_of_membership, look_again, refusable};
pub use reuse::end_superseded;

use super::{
    super::{acting::Acting, clients::Client},
    GrantId, Live, NewGrant, Outcome, Presentation, Terms,
};
use crate::store::{Decode, Reader, RowError, Store, StoreError, Tx};

pub async fn insert(tx: &Tx, new: &NewGrant<'_>) -> Result<(), StoreError> {
    let terms =
        serde_json::to_value(new.terms).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    tx.execute(
        "INSERT INTO oauth_grant (grant_id, account_id, client_id, current_hash, expires_at, bound_key, ends_at,
                idle_seconds, session_id, offline, code_challenge, redirect_uri, scope, audience, terms,
                organization_id, membership_id, authority_version, definition, created_at)
         VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), $6,
                 least(now() + make_interval(secs => $7), CASE WHEN NOT $10 THEN (
                     SELECT created_at + interval '30 days' FROM session WHERE session_id = $9 AND account_id = $2)
                 END), $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, clock_timestamp())",
        &[
            &new.id.uuid(),
            &new.account.uuid(),
            &new.client_id,
            &new.code_hash.as_slice(),
            &new.code_seconds,
            &new.bound_key.as_ref().map(<[u8; 32]>::as_slice),
            &f64::from(new.life.total_seconds),
            &new.life.idle_seconds,
            &new.session.uuid(),
            &new.offline,
            &new.code_challenge.as_slice(),
            &new.redirect_uri,
            &new.authority.scope().to_string(),
            &new.authority.audience(),
            &terms,
            &new.acting.map(|(acting, _)| acting.organization.uuid()),
            &new.acting.map(|(acting, _)| acting.membership.uuid()),
            &new.acting.map(|(_, version)| version),
            &new.definition,
        ],
    )
    .await
    .map(|_| ())
}

/// The statement of redemption, rotation and reuse. Everything is decided inside one UPDATE of one row: the second of
/// two concurrent statements waits for the row and sees the winner's version. The log entry is made from what the
/// UPDATE returned, never from the statement's snapshot.
///
/// A superseded code or token ends the grant whatever else is wrong with the request, the organization or the scope:
/// only a code must come with its verifier, so that a thief of the code alone cannot end a grant
/// (docs/decisions/0073).
///
/// A scope is granted by its own name, or by a wildcard after a recheck: its API may not have the scope at all.
///
/// The row moves only while client and APIs are defined as at the last check, so that no error is found after it
/// moved (docs/decisions/0075). A grant in an organization moves only while that is enabled and has the roles at
/// which the scope was held; otherwise nothing changes and the caller rechecks. The required age of proofs is
/// compared here, the level at the recheck (docs/decisions/0074). Disabling a membership revokes its grants, so the
/// membership is not read.
fn presenting(presented: &str) -> String {
    let logged = reuse::logged();
    let not_ended = not_ended!();
    format!(
        "WITH moved AS (
             UPDATE oauth_grant g SET
                 generation = g.generation + (g.current_hash = p.hash)::int,
                 current_hash = CASE WHEN g.current_hash = p.hash THEN p.next_hash ELSE g.current_hash END,
                 rotated_at = CASE WHEN g.current_hash = p.hash THEN now() ELSE g.rotated_at END,
                 expires_at = CASE WHEN g.current_hash = p.hash
                     THEN least(g.ends_at, now() + make_interval(secs => g.idle_seconds)) ELSE g.expires_at END,
                 bound_key = CASE WHEN g.current_hash = p.hash AND p.binds
                     THEN coalesce(g.bound_key, p.bound_key) ELSE g.bound_key END,
                 authority_version = CASE WHEN g.current_hash = p.hash AND p.whole
                     THEN p.checked ELSE g.authority_version END,
                 definition = CASE WHEN g.current_hash = p.hash AND (p.whole OR NOT p.looked)
                     THEN p.definition ELSE g.definition END,
                 revoked_at = CASE WHEN g.current_hash <> p.hash THEN now() END,
                 revoke_reason = CASE WHEN g.current_hash <> p.hash THEN 'reuse' END,
                 reuse_generation = CASE WHEN g.current_hash <> p.hash THEN p.generation END
             FROM {presented}
             WHERE g.grant_id = p.grant_id AND g.account_id = p.account_id AND g.client_id = p.client_id
               AND g.revoked_at IS NULL AND g.expires_at > now() AND {not_ended}
               AND (p.generation > 0 OR g.code_challenge = p.challenge)
               AND (g.current_hash <> p.hash OR (
                   (p.redirect_uri IS NULL OR g.redirect_uri = p.redirect_uri)
                   AND (g.bound_key IS NULL OR g.bound_key = p.bound_key)
                   AND (p.scope IS NULL OR NOT EXISTS (
                       SELECT 1 FROM unnest(string_to_array(p.scope, ' ')) AS asked (ways)
                       WHERE NOT (string_to_array(asked.ways, '\"'))[1:1 + p.looked::int] && string_to_array(g.scope, ' ')))
                   AND (p.audience IS NULL OR g.audience = p.audience)
                   AND (p.looked OR coalesce(g.definition, p.definition) = p.definition)
                   AND (g.organization_id IS NULL OR EXISTS (
                       SELECT 1 FROM organization o
                       WHERE o.organization_id = g.organization_id AND o.status = 'enabled'
                         AND (o.policy->>'max_age' IS NULL OR extract(epoch FROM now())
                              <= (g.terms->>'auth_time')::int8 + (o.policy->>'max_age')::int8)
                         AND CASE WHEN p.checked IS NULL THEN o.authority_version = g.authority_version
                                  ELSE o.authority_version = p.checked AND g.authority_version = p.seen END))))
             RETURNING g.grant_id, g.account_id, g.client_id, g.revoked_at IS NULL AS moved, g.generation,
                       p.generation AS presented, g.session_id, g.scope, g.audience, g.terms, g.created_at,
                       g.organization_id, g.membership_id, g.authority_version,
                       (SELECT m.primary_role FROM membership m WHERE m.organization_id = g.organization_id
                          AND m.membership_id = g.membership_id) AS role,
                       p.entry_id, p.request_id, p.personal
         ), {logged}
         SELECT grant_id, account_id, moved, session_id, scope, audience, terms, created_at, organization_id,
                membership_id, authority_version, role FROM moved"
    )
}

static ONE: LazyLock<String> = LazyLock::new(|| {
    presenting(
        "(SELECT $1::uuid AS grant_id, $2::uuid AS account_id, $3::text AS client_id, $4::bytea AS hash,
                 $5::int AS generation, $6::bytea AS next_hash, $7::bytea AS bound_key, $8::bytea AS challenge,
                 $9::text AS redirect_uri, $10::text AS scope, $11::text AS audience, $12::uuid AS entry_id,
                 $13::uuid AS request_id, $14::jsonb AS personal, $15::bool AS binds, $16::int8 AS seen,
                 $17::int8 AS checked, $18::bool AS whole, $19::int8 AS definition, $20::bool AS looked) p",
    )
});

/// The statement itself, for benchmarks.
pub fn statement() -> &'static str {
    &ONE
}

static GROUP: LazyLock<String> = LazyLock::new(|| {
    presenting(
        "unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::int[], $6::bytea[], $7::bytea[], $8::bytea[],
                $9::text[], $10::text[], $11::text[], $12::uuid[], $13::uuid[], $14::jsonb[], $15::bool[], $16::int8[],
                $17::int8[], $18::bool[], $19::int8[], $20::bool[])
             AS p (grant_id, account_id, client_id, hash, generation, next_hash, bound_key, challenge,
                   redirect_uri, scope, audience, entry_id, request_id, personal, binds, seen, checked, whole,
                   definition, looked)",
    )
});

/// The row after the statement; `None` where it was refused.
pub(super) async fn present(store: &Store, p: &Presentation) -> Result<Option<Row>, StoreError> {
    let rows = store
        .write(
            "grants.present",
            &ONE,
            &[
                &p.grant,
                &p.account,
                &p.client_id,
                &p.hash.as_slice(),
                &p.generation,
                &p.next_hash.as_slice(),
                &bytes(p.key.as_ref()),
                &bytes(p.challenge.as_ref()),
                &p.redirect_uri,
                &p.scope,
                &p.audience,
                &p.log.id,
                &p.log.request,
                &p.log.personal,
                &p.binds,
                &seen(p),
                &checked(p),
                &p.rechecked.is_some_and(|it| it.whole),
                &p.definition,
                &p.rechecked.is_some(),
            ],
        )
        .await?;
    Ok(rows.into_iter().next())
}

/// Presents several at once, each of another grant. Those without a row were refused.
pub(super) async fn present_group(
    store: &Store,
    group: &[Presentation],
) -> Result<Vec<(Uuid, Row)>, StoreError> {
    let rows = store
        .write(
            "grants.present_group",
            &GROUP,
            &[
                &each(group, |p| p.grant),
                &each(group, |p| p.account),
                &each(group, |p| p.client_id.as_str()),
                &each(group, |p| p.hash.as_slice()),
                &each(group, |p| p.generation),
                &each(group, |p| p.next_hash.as_slice()),
                &each(group, |p| bytes(p.key.as_ref())),
                &each(group, |p| bytes(p.challenge.as_ref())),
                &each(group, |p| p.redirect_uri.as_deref()),
                &each(group, |p| p.scope.as_deref()),
                &each(group, |p| p.audience.as_deref()),
                &each(group, |p| p.log.id),
                &each(group, |p| p.log.request),
                &each(group, |p| &p.log.personal),
                &each(group, |p| p.binds),
                &each(group, seen),
                &each(group, checked),
                &each(group, |p| p.rechecked.is_some_and(|it| it.whole)),
                &each(group, |p| p.definition),
                &each(group, |p| p.rechecked.is_some()),
            ],
        )
        .await?;
    let keyed = |row| {
        let (_, grant) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", &row)?;
        Ok((grant, row))
    };
    rows.into_iter().map(keyed).collect()
}

fn each<'a, T>(group: &'a [Presentation], of: impl Fn(&'a Presentation) -> T) -> Vec<T> {
    group.iter().map(of).collect()
}

fn seen(p: &Presentation) -> Option<i64> {
    p.rechecked.and_then(|it| it.roles).map(|roles| roles.seen)
}

fn checked(p: &Presentation) -> Option<i64> {
    p.rechecked.and_then(|it| it.roles).map(|roles| roles.current)
}

fn bytes(hash: Option<&[u8; 32]>) -> Option<&[u8]> {
    hash.map(<[u8; 32]>::as_slice)
}

pub(super) fn outcome(row: Option<&Row>) -> Result<Outcome, StoreError> {
    let Some(row) = row else { return Ok(Outcome::Refused) };
    let (grant, _) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", row)?;
    if !grant.get::<bool>("moved")? {
        return Ok(Outcome::Reused);
    }
    Ok(Outcome::Moved(Box::new(live(row)?)))
}

fn live(row: &Row) -> Result<Live, RowError> {
    let (grant, id) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", row)?;
    let terms: Terms = grant.json("terms")?;
    let scope: Scope = grant.parsed("scope")?;
    let organization: Option<Uuid> = grant.get("organization_id")?;
    let acting = match (organization, grant.get::<Option<Uuid>>("membership_id")?, grant.get("role")?) {
        (Some(organization), Some(membership), Some(role)) => {
            Some(Acting { organization: organization.into(), membership: membership.into(), role })
        }
        (None, None, _) => None,
        (_, _, _) => return Err(grant.wrong("membership_id", "an organization without its member")),
    };
    let authority = Authority::granted(scope, grant.get("audience")?, terms.details.clone());
    Ok(Live {
        id: id.into(),
        account: grant.get::<Uuid>("account_id")?.into(),
        session: grant.get::<Uuid>("session_id")?.into(),
        authority: match &acting {
            Some(acting) => authority.acting_for(acting.organization),
            None => authority,
        },
        acting,
        authority_version: grant.get("authority_version")?,
        terms,
        created_at: grant.get("created_at")?,
    })
}

/// A grant whose code or token is current and valid, whatever was requested: used to explain a refusal, and to
/// compare a narrower request.
pub async fn diagnose(
    store: &Store,
    grant: Uuid,
    account: Uuid,
    client_id: &str,
    hash: &[u8; 32],
) -> Result<Option<Live>, StoreError> {
    let rows = store
        .read(
            "grants.diagnose",
            concat!(
                "SELECT g.grant_id, g.account_id, g.session_id, g.scope, g.audience, g.terms, g.created_at,
                    g.organization_id, g.membership_id, g.authority_version, m.primary_role AS role
             FROM oauth_grant g LEFT JOIN membership m
               ON m.organization_id = g.organization_id AND m.membership_id = g.membership_id
             WHERE grant_id = $1 AND g.account_id = $2 AND g.client_id = $3 AND g.current_hash = $4
               AND g.revoked_at IS NULL AND g.expires_at > now() AND ",
                not_ended!(),
                " AND ",
                not_ended_there!()
            ),
            &[&grant, &account, &client_id, &hash.as_slice()],
        )
        .await?;
    Ok(rows.first().map(live).transpose()?)
}

/// Whether tokens of a grant are valid: the grant, its account and its client.
pub async fn is_alive(
    reader: &impl Reader,
    grant: GrantId,
    account: AccountId,
    client: &Client,
) -> Result<bool, StoreError> {
    let rows = reader
        .rows("grants.is_alive", ALIVE, &[&grant.uuid(), &account.uuid(), &client.id, &client.grants_from])
        .await?;
    match rows.first() {
        None => Ok(false),
        Some(row) if row.get("derived") => lineage::ancestors_live(reader, grant, account).await,
        Some(_) => Ok(true),
    }
}

/// A valid grant as its owner sees it.
#[derive(Debug)]
pub struct Held {
    pub client_id: String,
    /// The organization; `None`: the account itself.
    pub organization: Option<OrganizationId>,
    pub audience: String,
    pub scope: String,
    pub details: Vec<serde_json::Value>,
    pub offline: bool,
    pub created_at: OffsetDateTime,
    pub used_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
}

/// What clients hold for the person. Not the tokens of approvals: each is for one action, and is seen as an approval.
pub async fn list(reader: &impl Reader, account: AccountId) -> Result<Vec<Held>, StoreError> {
    let rows = reader
        .rows(
            "grants.list",
            concat!(
                "SELECT grant_id, client_id, organization_id, audience, scope, terms, offline, created_at, rotated_at,
                    expires_at
             FROM oauth_grant g
             WHERE account_id = $1 AND (generation > 0 OR terms ? 'device') AND revoked_at IS NULL
               AND expires_at > now() AND NOT terms ? 'approval' AND ",
                not_ended!(),
                " AND ",
                not_ended_there!(),
                " AND ",
                ancestors_live!(),
                " ORDER BY (g.ancestors IS NOT NULL), grant_id DESC LIMIT 500"
            ),
            &[&account.uuid()],
        )
        .await?;
    rows.iter().map(|row| held(row).map_err(Into::into)).collect()
}

fn held(row: &Row) -> Result<Held, RowError> {
    let (grant, _) = Decode::keyed::<Uuid>("oauth_grant", "grant_id", row)?;
    let terms: Terms = grant.json("terms")?;
    Ok(Held {
        client_id: grant.get("client_id")?,
        organization: grant.get::<Option<Uuid>>("organization_id")?.map(Into::into),
        audience: grant.get("audience")?,
        scope: grant.get("scope")?,
        details: terms.details,
        offline: grant.get("offline")?,
        created_at: grant.get("created_at")?,
        used_at: grant.get("rotated_at")?,
        expires_at: grant.get("expires_at")?,
    })
}
