//! Rules between members.

use super::{ClientMetadata, DeliveryMode, MetadataError, invalid};
use crate::{assurance::Level, error::ErrorCode};

/// Fills in defaults that depend on other members, and refuses contradictions (RFC 7591 §2.1).
pub(super) fn settle(metadata: &mut ClientMetadata) -> Result<(), MetadataError> {
    if metadata.has_grant("authorization_code") {
        if metadata.redirect_uris.is_empty() {
            return Err(MetadataError {
                code: ErrorCode::InvalidRedirectUri,
                detail: "redirect_uris is required for the authorization_code grant".into(),
            });
        }
        if metadata.response_types.is_empty() {
            metadata.response_types.push("code".to_owned());
        }
    } else if !metadata.response_types.is_empty() {
        return Err(invalid("response_types requires the authorization_code grant"));
    }
    // OAuth 2.1 §4.2.
    if metadata.is_public() && metadata.has_grant("client_credentials") {
        return Err(invalid("a client that does not authenticate cannot have the client_credentials grant"));
    }
    backchannel(metadata)?;
    keys(metadata)?;
    levels(metadata)?;
    certificate(metadata)
}

/// CIBA Core §4: a client that is notified says where.
fn backchannel(metadata: &ClientMetadata) -> Result<(), MetadataError> {
    let pinged = metadata.backchannel_token_delivery_mode == Some(DeliveryMode::Ping);
    if pinged != metadata.backchannel_client_notification_endpoint.is_some() {
        return Err(invalid("backchannel_client_notification_endpoint is required for ping, and only there"));
    }
    Ok(())
}

/// Default levels are requirements: with no known value, every request of the client would be refused.
fn levels(metadata: &ClientMetadata) -> Result<(), MetadataError> {
    let values = &metadata.default_acr_values;
    if !values.is_empty() && !values.iter().any(|value| Level::parse_acr(value).is_some()) {
        return Err(invalid("default_acr_values must contain one of the values in acr_values_supported"));
    }
    Ok(())
}

/// RFC 7591 §2: by value or by reference, never both.
fn keys(metadata: &ClientMetadata) -> Result<(), MetadataError> {
    let needed_by = match metadata.token_endpoint_auth_method.as_str() {
        "private_key_jwt" => Some("private_key_jwt"),
        "self_signed_tls_client_auth" => Some("self_signed_tls_client_auth"),
        _ if metadata.require_signed_request_object == Some(true) => Some("require_signed_request_object"),
        _ if metadata.backchannel_authentication_request_signing_alg.is_some() => {
            Some("backchannel_authentication_request_signing_alg")
        }
        _ => None,
    };
    match (metadata.jwks.is_some(), metadata.jwks_uri.is_some(), needed_by) {
        (true, true, _) => Err(invalid("jwks and jwks_uri are mutually exclusive")),
        (false, false, Some(what)) => Err(invalid(format!("{what} requires jwks or jwks_uri"))),
        (true, false, _) | (false, true, _) | (false, false, None) => Ok(()),
    }
}

/// RFC 8705 §2.1.2: exactly one member names the subject.
fn certificate(metadata: &ClientMetadata) -> Result<(), MetadataError> {
    let named = [
        &metadata.tls_client_auth_subject_dn,
        &metadata.tls_client_auth_san_dns,
        &metadata.tls_client_auth_san_uri,
        &metadata.tls_client_auth_san_ip,
        &metadata.tls_client_auth_san_email,
    ]
    .into_iter()
    .flatten()
    .count();
    if named > 1 || (named == 0 && metadata.token_endpoint_auth_method == "tls_client_auth") {
        return Err(invalid("tls_client_auth requires exactly one of the tls_client_auth_ members"));
    }
    Ok(())
}
