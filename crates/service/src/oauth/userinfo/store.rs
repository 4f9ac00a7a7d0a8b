use porteiro_protocol::id::AccountId;
use serde_json::{Value, json};

use super::super::grants::{GrantId, not_ended};
use crate::store::{Decode, Store, StoreError};

/// The stored claims of a person.
#[derive(Debug)]
pub(super) struct Person {
    name: String,
    locale: String,
    updated_at: i64,
    email: Option<String>,
    phone: Option<String>,
}

impl Person {
    /// Addresses are verified before they are stored, so every stored address is verified.
    pub(super) fn claim(&self, name: &str) -> Option<Value> {
        match name {
            "name" => Some(json!(self.name)),
            "locale" => Some(json!(self.locale)),
            "updated_at" => Some(json!(self.updated_at)),
            "email" => self.email.as_ref().map(|it| json!(it)),
            "email_verified" => self.email.as_ref().map(|_| json!(true)),
            "phone_number" => self.phone.as_ref().map(|it| json!(it)),
            "phone_number_verified" => self.phone.as_ref().map(|_| json!(true)),
            _ => None,
        }
    }
}

/// Only while the grant and the account are valid: one statement.
pub(super) async fn find(
    store: &Store,
    grant: GrantId,
    account: AccountId,
) -> Result<Option<Person>, StoreError> {
    let rows = store
        .read(
            "userinfo.find",
            concat!(
                "SELECT a.display_name, a.locale, extract(epoch FROM a.created_at)::bigint AS updated_at,
                    (SELECT body->>'address' FROM credential c WHERE c.account_id = a.account_id
                       AND c.kind = 'email' ORDER BY c.created_at, c.credential_id LIMIT 1) AS email,
                    (SELECT body->>'number' FROM credential c WHERE c.account_id = a.account_id
                       AND c.kind = 'phone' ORDER BY c.created_at, c.credential_id LIMIT 1) AS phone
             FROM oauth_grant g JOIN account a USING (account_id)
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
