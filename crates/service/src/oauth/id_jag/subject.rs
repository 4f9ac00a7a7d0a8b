//! Whom the subject token stands for, by which grant.

use porteiro_protocol::id::{AccountId, MembershipId};
use serde_json::Value;

use super::{
    super::{
        authorization::{Hint, read_hint},
        clients::Client,
        grants::{self, Assertable, Live},
        redeem::replay,
        token_request::TokenRequest,
    },
    decide::{Asked, SubjectToken},
    invalid, refused,
};
use crate::{
    App,
    http::OAuthError,
    limits::{self, Bucket, EXCHANGE_SUBJECT},
    members::{self, Member, Whom},
    refusals::Rule,
    secrets::HandleKind,
};

/// A member, and the grant that is behind the subject token.
#[derive(Debug)]
pub struct Subject {
    pub live: Live,
    pub member: Member,
    /// As it was presented.
    hash: Option<[u8; 32]>,
}

impl Subject {
    /// The same grant, to be read again.
    pub fn again<'a>(&self, client: &'a Client) -> Assertable<'a> {
        Assertable {
            account: self.live.account,
            client_id: &client.id,
            membership: self.hash.is_none().then_some(self.member.id),
            grant: Some(self.live.id),
            hash: self.hash,
        }
    }
}

/// RFC 8693 §2.2.2: one answer for a token that is not good for an exchange.
pub fn unfit() -> OAuthError {
    invalid(
        "subject_token is unknown, expired, revoked, of another client, or not of a member of an organization",
    )
}

/// The subject, if its grant lives.
pub async fn find(request: TokenRequest<'_>, asked: &Asked<'_>) -> Result<Subject, OAuthError> {
    let app = request.app;
    let (live, hash) = match asked.subject {
        SubjectToken::Id(token) => (by_id_token(request, token).await?, None),
        SubjectToken::Refresh(token) => {
            let (live, hash) = by_refresh_token(request, token).await?;
            (live, Some(hash))
        }
    };
    // Without it there was no identity to assert.
    let acting = live.acting.as_ref().filter(|_| live.authority.scope().contains("openid"));
    let acting = acting.ok_or_else(unfit)?;
    let member = members::find(&app.store, acting.organization, Whom::Id(acting.membership)).await?;
    let member = member.filter(|member| member.held().is_ok()).ok_or_else(unfit)?;
    let subject = Subject { live, member, hash };
    if subject.live.terms.actor.as_ref().is_some_and(|chain| chain.impersonator().is_some()) {
        return Err(refused::by_rule(request, &subject, Rule::ExchangeOfActing, &[]).await);
    }
    Ok(subject)
}

/// One row for each exchange is written later.
async fn limit(app: &App, account: AccountId, client: &Client) -> Result<(), OAuthError> {
    let key = [account.to_string().as_bytes(), client.id.as_bytes()].join(&0);
    let key = app.secrets.limit_key(EXCHANGE_SUBJECT.name, &key);
    let limited = limits::take(&app.store, &[Bucket { rule: EXCHANGE_SUBJECT, key }]).await?;
    limited.map_or(Ok(()), |limited| Err(limited.into()))
}

/// An ID token names no grant. Its `sid`, `auth_time` and `nonce` are those of one grant of this session.
async fn by_id_token(request: TokenRequest<'_>, token: &str) -> Result<Live, OAuthError> {
    let TokenRequest { app, client, .. } = request;
    let claims = match read_hint(app, token) {
        Hint::Own(claims) => claims,
        Hint::Outdated | Hint::Foreign => return Err(unfit()),
    };
    let expires = claims["exp"].as_i64().unwrap_or_default();
    if claims["aud"] != client.id.as_str() || expires <= app.clock.now().unix_timestamp() {
        return Err(unfit());
    }
    let subject: Option<MembershipId> = claims["sub"].as_str().and_then(|text| text.parse().ok());
    let subject = subject.ok_or_else(unfit)?;
    let (_, account) = members::place_of(&app.store, subject).await?.ok_or_else(unfit)?;
    limit(app, account, client).await?;
    let membership = Some(subject);
    let which = Assertable { account, client_id: &client.id, membership, grant: None, hash: None };
    let found = grants::find_assertable(&app.store, &which).await?;
    found.into_iter().find(|live| is_of(app, client, live, &claims)).ok_or_else(unfit)
}

fn is_of(app: &App, client: &Client, live: &Live, claims: &Value) -> bool {
    claims["sid"] == app.secrets.sid(live.session, &client.id, live.subject())
        && claims["auth_time"].as_i64().unwrap_or_default() == live.terms.auth_time
        && claims["nonce"].as_str() == live.terms.nonce.as_deref()
}

/// As in a refresh, a superseded token ends its grant (docs/decisions/0073). A current one stays as it is.
async fn by_refresh_token(request: TokenRequest<'_>, token: &str) -> Result<(Live, [u8; 32]), OAuthError> {
    let TokenRequest { app, context, client, .. } = request;
    let handle = app.secrets.handles.open(HandleKind::Refresh, token).ok_or_else(unfit)?;
    let account: AccountId = handle.route.owner.into();
    limit(app, account, client).await?;
    let which = Assertable {
        account,
        client_id: &client.id,
        membership: None,
        grant: Some(handle.route.row.into()),
        hash: Some(handle.hash),
    };
    if let Some(live) = grants::find_assertable(&app.store, &which).await?.pop() {
        return Ok((live, handle.hash));
    }
    replay::end_superseded(app, context, client, &handle, None).await?;
    Err(unfit())
}
