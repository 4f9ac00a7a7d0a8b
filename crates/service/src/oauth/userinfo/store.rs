use porteiro_protocol::id::AccountId;
use serde_json::{Value, json};

use super::super::grants::{GrantId, not_ended};
use crate::store::{Decode, Store, StoreError};

/// The stored claims of a person.
#[derive(Debug)]
pub(super) struct Person {
    name: String,
    locale: Option<String>,
    updated_at: Option<i64>,
    email: Option<String>,
    phone: Option<String>,
}

impl Person {
    /// Addresses are verified before they are stored, so every stored address is verified.
    pub(super) fn claim(&self, name: &str) -> Option<Value> {
        match name {
            "name" => Some(json!(self.name)),
            "locale" => self.locale.as_ref().map(|it| json!(it)),
            "updated_at" => self.updated_at.map(|it| json!(it)),
            "email" => self.email.as_ref().map(|it| json!(it)),
            "email_verified" => self.email.as_ref().map(|_| json!(true)),
            "phone_number" => self.phone.as_ref().map(|it| json!(it)),
            "phone_number_verified" => self.phone.as_ref().map(|_| json!(true)),
            _ => None,
        }
    }
}

/// Only while the grant and the account are valid: one statement. Where only a directory of the organization vouched for
/// the person, also in a grant that this one was derived from, it is about the member and says nothing of the account.
pub(super) async fn find(
    store: &Store,
    grant: GrantId,
    account: AccountId,
) -> Result<Option<Person>, StoreError> {
    let rows = store
        .read(
            "userinfo.find",
            concat!(
                "SELECT coalesce(m.display_name, a.display_name) AS display_name,
                    CASE WHEN NOT confined THEN a.locale END AS locale,
                    CASE WHEN NOT confined THEN extract(epoch FROM a.created_at)::bigint END AS updated_at,
                    (SELECT body->>'address' FROM credential c WHERE c.account_id = a.account_id AND NOT confined
                       AND c.kind = 'email' ORDER BY c.created_at, c.credential_id LIMIT 1) AS email,
                    (SELECT body->>'number' FROM credential c WHERE c.account_id = a.account_id AND NOT confined
                       AND c.kind = 'phone' ORDER BY c.created_at, c.credential_id LIMIT 1) AS phone
             FROM oauth_grant g JOIN account a USING (account_id)
             CROSS JOIN LATERAL (SELECT g.terms ? 'confined' OR g.ancestors IS NOT NULL AND EXISTS (
                 SELECT 1 FROM oauth_grant p WHERE p.grant_id = ANY(g.ancestors) AND p.account_id = g.account_id
                   AND p.terms ? 'confined') AS confined) of_directory
             LEFT JOIN membership m ON confined AND m.organization_id = g.organization_id
               AND m.membership_id = g.membership_id
             WHERE g.grant_id = $1 AND g.account_id = $2 AND g.generation > 0 AND g.revoked_at IS NULL
               AND g.expires_at > now() AND a.state = 'active' AND ",
                not_ended!()
            ),
            &[&grant.uuid(), &account.uuid()],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let person = Decode::new("account", account, row);
    Ok(Some(Person {
        name: person.get("display_name")?,
        locale: person.get("locale")?,
        updated_at: person.get("updated_at")?,
        email: person.get("email")?,
        phone: person.get("phone")?,
    }))
}
