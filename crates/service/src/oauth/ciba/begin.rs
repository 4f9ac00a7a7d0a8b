//! The authentication request.

use std::sync::Arc;

use porteiro_protocol::{client_metadata::DeliveryMode, error::ErrorCode, form::Parameters};

use super::{
    super::{clients::Client, grant_types::CIBA},
    decide::{self, Request, invalid},
    hint, object,
};
use crate::{
    App,
    approvals::{self, Question, Wanted},
    http::{OAuthError, RequestContext},
};

/// Asks the person, if the client may.
pub async fn begin(
    app: &Arc<App>,
    context: &RequestContext,
    client: &Client,
    form: &Parameters,
) -> Result<Question, OAuthError> {
    if !client.may_use_grant(CIBA) || client.is_public() || !client.is_verified() {
        let text =
            "this is for confidential clients that an administrator has verified and given the grant type";
        return Err(OAuthError::new(ErrorCode::UnauthorizedClient, text));
    }
    let request = read(app, client, form).await?;
    let token = notification_token(client, &request)?;
    let meant = hint::find(app, &request).await?;
    let wanted = Wanted {
        client,
        account: meant.account,
        member: meant.member.as_ref(),
        resource: request.resource.as_deref(),
        scope: &request.scope,
        details: &request.details,
        binding_message: request.binding_message.as_deref(),
        level: request.level,
        seconds: request.seconds,
        notification_token: token,
    };
    approvals::ask(app, context, &wanted).await
}

async fn read(app: &App, client: &Client, form: &Parameters) -> Result<Request, OAuthError> {
    let values = match form.get("request") {
        Some(object) if decide::is_alone(form) => object::open(app, client, object).await?,
        Some(_) => return Err(invalid("send all parameters in request, and none beside it")),
        None if object::is_required(client) => return Err(invalid("the client must sign its requests")),
        None => decide::of_form(form),
    };
    decide::read(&values, &client.metadata.default_acr_values)
}

/// CIBA Core §7.1: required of clients that are pinged.
fn notification_token<'a>(client: &Client, request: &'a Request) -> Result<Option<&'a str>, OAuthError> {
    match client.metadata.backchannel_token_delivery_mode {
        None | Some(DeliveryMode::Poll) => Ok(None),
        Some(DeliveryMode::Ping) => {
            let token = request.notification_token.as_deref();
            let fits = token.is_some_and(decide::is_notification_token);
            let text = "client_notification_token must be a bearer token of at most 1024 characters";
            if fits { Ok(token) } else { Err(invalid(text)) }
        }
    }
}
