use porteiro_protocol::{
    id::{MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use uuid::Uuid;

use super::{Explanation, HeldBy, Refusal, RefusalId, Rule};
use crate::{
    audit_trail::Actor,
    permissions::BUILT_IN,
    store::{Decode, Reader, StoreError, Tx},
};

/// A refusal, as its readers see it.
#[derive(Debug, Clone)]
pub struct Found {
    pub id: RefusalId,
    pub organization: Option<OrganizationId>,
    pub client_id: Option<String>,
    pub subject: Option<Actor>,
    pub rule: Rule,
    pub asked: Vec<String>,
    pub held: Vec<HeldBy>,
    pub would_pass: String,
    pub request_id: Uuid,
    pub at: OffsetDateTime,
}

pub(super) async fn insert(
    tx: &Tx,
    id: RefusalId,
    refusal: &Refusal,
    explanation: &Explanation,
    request_id: Uuid,
) -> Result<(), StoreError> {
    let inconsistent = |error: serde_json::Error| StoreError::Inconsistent(error.to_string());
    let explanation = serde_json::to_value(explanation).map_err(inconsistent)?;
    let subject = refusal.subject.as_ref().map(serde_json::to_string).transpose().map_err(inconsistent)?;
    tx.execute(
        "INSERT INTO refusal (refusal_id, organization_id, client_id, subject, rule, explanation, request_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            &id.uuid(),
            &refusal.organization.map(porteiro_protocol::id::Id::uuid),
            &refusal.client_id,
            &subject,
            &refusal.rule.as_str(),
            &explanation,
            &request_id,
        ],
    )
    .await
    .map(|_| ())
}

/// The member's present permissions, by role.
pub(super) async fn held_by(
    reader: &impl Reader,
    organization: OrganizationId,
    membership: MembershipId,
) -> Result<Vec<HeldBy>, StoreError> {
    let rows = reader
        .rows(
            "refusals.held_by",
            "SELECT mr.role_key, coalesce(r.permissions, '{}') AS permissions
             FROM membership_role mr LEFT JOIN role r USING (organization_id, role_key)
             WHERE mr.organization_id = $1 AND mr.membership_id = $2 ORDER BY mr.role_key",
            &[&organization.uuid(), &membership.uuid()],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (role, by) = Decode::keyed::<String>("membership_role", "role_key", row)?;
            let built_in = BUILT_IN.iter().find(|role| role.key == by);
            let permissions = match built_in.map(|role| role.permissions) {
                None => role.get("permissions")?,
                Some(None) => vec!["everything".to_owned()],
                Some(Some(names)) => names.iter().map(ToString::to_string).collect(),
            };
            Ok(HeldBy { by, permissions })
        })
        .collect()
}

/// A refusal that can still be read; `organization`: only one of this organization.
pub(super) async fn find(
    reader: &impl Reader,
    id: RefusalId,
    organization: Option<OrganizationId>,
    days: i32,
) -> Result<Option<Found>, StoreError> {
    let rows = reader
        .rows(
            "refusals.find",
            "SELECT refusal_id, organization_id, client_id, subject, rule, explanation, request_id, at FROM refusal
             WHERE refusal_id = $1 AND ($2::uuid IS NULL OR organization_id = $2)
               AND at > now() - make_interval(days => $3)",
            &[&id.uuid(), &organization.map(porteiro_protocol::id::Id::uuid), &days],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let row = Decode::new("refusal", id, row);
    let explanation: Explanation = row.json("explanation")?;
    let subject: Option<String> = row.get("subject")?;
    let subject = subject
        .map(|text| serde_json::from_str(&text).map_err(|error| row.wrong("subject", error)))
        .transpose()?;
    Ok(Some(Found {
        id,
        organization: row.get::<Option<Uuid>>("organization_id")?.map(Into::into),
        client_id: row.get("client_id")?,
        subject,
        rule: row.parsed("rule")?,
        asked: explanation.asked,
        held: explanation.held,
        would_pass: explanation.would_pass,
        request_id: row.get("request_id")?,
        at: row.get("at")?,
    }))
}
