//! Calls refused for lack of authority, and their records.

use porteiro_protocol::{api_key::ApiKey, id::OrganizationId, permission::Permission};

use super::{super::standing, turned::Turned};
use crate::{
    App, api_keys,
    audit_trail::{Actor, ActorKind},
    http::{Problem, ProblemCode, RequestContext},
    members::Member,
    oauth::access_token,
    refusals::{self, Holder, Refusal, Rule},
};

/// The permission a call required, and the client, if one is known.
pub(super) struct Asking<'a> {
    pub app: &'a App,
    pub context: &'a RequestContext,
    pub asked: &'a Permission,
    pub client_id: Option<&'a str>,
}

impl Asking<'_> {
    /// Records the refusal and returns a 403 with its reference.
    pub(super) async fn forbidden(
        &self,
        rule: Rule,
        organization: Option<OrganizationId>,
        subject: Actor,
        holder: Holder,
    ) -> Turned {
        let asked = self.asked;
        let would_pass = if rule == Rule::ReadOnlyForActing {
            "the same request by the member".to_owned()
        } else if rule == Rule::DirectoryAlone {
            standing::OF_OWN_ACCOUNT.to_owned()
        } else if rule == Rule::OtherPlace {
            format!("a credential of this organization or of the platform that carries {asked}")
        } else {
            format!("{asked}, carried by the credential and held by its owner")
        };
        self.record(Refusal {
            organization,
            client_id: self.client_id.map(str::to_owned),
            subject: Some(subject),
            rule,
            asked: vec![asked.to_string()],
            holder,
            would_pass,
        })
        .await
    }

    /// Refuses a member, in its own organization or with its token elsewhere.
    pub(super) async fn member(&self, rule: Rule, member: &Member, subject: Actor) -> Turned {
        let organization = member.organization.id;
        self.forbidden(rule, Some(organization), subject, Holder::Member(organization, member.id)).await
    }

    /// Refuses a key that carries more than its owner holds.
    pub(super) async fn exceeds(&self, key: &ApiKey, organization: OrganizationId) -> Turned {
        let found = match api_keys::find(&self.app.store, key.id(), &key.hash()).await {
            Ok(Some(found)) => found,
            Ok(None) => return access_token::invalid_token().into(),
            Err(error) => return error.into(),
        };
        let owner = found.membership;
        self.record(Refusal {
            organization: Some(organization),
            client_id: None,
            subject: Some(Actor { kind: ActorKind::ApiKey, id: found.id, act: None }),
            rule: Rule::KeyExceedsOwner,
            asked: found.permissions.iter().map(ToString::to_string).collect(),
            holder: owner.map_or(Holder::Nobody, |owner| Holder::Member(organization, owner)),
            would_pass:
                "an owner who holds all permissions of the key again, or a new key with fewer permissions"
                    .into(),
        })
        .await
    }

    async fn record(&self, refusal: Refusal) -> Turned {
        let detail = if refusal.rule == Rule::ReadOnlyForActing {
            "impersonation gives read-only access".to_owned()
        } else if refusal.rule == Rule::DirectoryAlone {
            standing::DIRECTORY_ALONE.to_owned()
        } else {
            format!("the permission {} is required", self.asked)
        };
        let reference = refusals::record(self.app, self.context, &refusal).await;
        Problem::new(ProblemCode::Forbidden, detail).with_reference(reference).into()
    }
}
