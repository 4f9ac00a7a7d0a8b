//! Phase 2: the rules of each parameter.

use serde_json::Value;
use url::Url;

use super::{AuthorizationRequest, ClaimsRequest, RawRequest, Refused, ResponseMode};
use crate::{
    authorization_details, error::ErrorCode, pkce::CodeChallenge, plain_text::is_plain,
    redirect_uri::is_uri_text, scope::Scope,
};

const MAX_ACR_VALUES: usize = 16;
const MAX_LOCALES: usize = 16;
/// Parameters that are JSON and may contain its white space.
const JSON: [&str; 2] = ["authorization_details", "claims"];

/// Only the code flow; there is no setting for implicit or hybrid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseType {
    Code,
}

/// OpenID Connect Core §3.1.2.1; `create` is OpenID Initiating User Registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    None,
    Login,
    Consent,
    SelectAccount,
    Create,
}

impl Prompt {
    pub const ALL: &'static [Self] =
        &[Self::None, Self::Login, Self::Consent, Self::SelectAccount, Self::Create];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Login => "login",
            Self::Consent => "consent",
            Self::SelectAccount => "select_account",
            Self::Create => "create",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|prompt| prompt.as_str() == text)
    }
}

impl RawRequest {
    /// Phase 2.
    ///
    /// # Errors
    /// When a parameter breaks its rules; the client may receive the error.
    pub fn check(&self) -> Result<AuthorizationRequest, Refused> {
        // The caller has resolved `source` first; ignoring `request` here would answer another request.
        if self.get("request").is_some() {
            return Err(Refused::new(ErrorCode::RequestNotSupported, "request is not supported"));
        }
        if self.get("request_uri").is_some() {
            return Err(Refused::new(ErrorCode::RequestUriNotSupported, "request_uri is not supported"));
        }
        if self.values.iter().any(|(name, value)| !JSON.contains(&name.as_str()) && !is_plain(value)) {
            return Err(Refused::invalid("a parameter contains a control character"));
        }
        let own = |name: &str| self.get(name).map(str::to_owned);
        Ok(AuthorizationRequest {
            client_id: own("client_id").ok_or_else(|| Refused::invalid("client_id is missing"))?,
            redirect_uri: own("redirect_uri"),
            response_type: response_type(self.get("response_type"))?,
            response_mode: self.get("response_mode").map(response_mode).transpose()?,
            scope: Scope::parse(self.get("scope").unwrap_or_default())
                .map_err(|error| Refused::new(ErrorCode::InvalidScope, error.to_string()))?,
            state: own("state"),
            nonce: own("nonce"),
            code_challenge: CodeChallenge::parse(
                self.get("code_challenge"),
                self.get("code_challenge_method"),
            )
            .map_err(|error| Refused::invalid(error.to_string()))?,
            prompt: prompts(self.get("prompt").unwrap_or_default())?,
            max_age: self.get("max_age").map(max_age).transpose()?,
            acr_values: acr_values(self.get("acr_values").unwrap_or_default())?,
            claims: self.get("claims").map(ClaimsRequest::parse).transpose()?,
            ui_locales: locales(self.get("ui_locales").unwrap_or_default()),
            login_hint: own("login_hint"),
            id_token_hint: own("id_token_hint"),
            resource: self.get("resource").map(resource).transpose()?,
            authorization_details: self.get("authorization_details").map(details).transpose()?,
            organization: own("organization"),
            dpop_jkt: self.get("dpop_jkt").map(thumbprint).transpose()?,
        })
    }
}

fn response_type(text: Option<&str>) -> Result<ResponseType, Refused> {
    match text {
        None => Err(Refused::invalid("response_type is missing: send code")),
        Some("code") => Ok(ResponseType::Code),
        Some(_) => Err(Refused::new(ErrorCode::UnsupportedResponseType, "response_type must be code")),
    }
}

fn response_mode(text: &str) -> Result<ResponseMode, Refused> {
    ResponseMode::parse(text).ok_or_else(|| {
        Refused::invalid("response_mode must be query, form_post, query.jwt, form_post.jwt or jwt")
    })
}

fn prompts(text: &str) -> Result<Vec<Prompt>, Refused> {
    let mut prompts = Vec::new();
    for word in words(text) {
        let prompt = Prompt::parse(word).ok_or_else(|| {
            Refused::invalid("prompt must be none, login, consent, select_account or create")
        })?;
        if !prompts.contains(&prompt) {
            prompts.push(prompt);
        }
    }
    if prompts.contains(&Prompt::None) && prompts.len() > 1 {
        return Err(Refused::invalid("prompt none must not be combined with other values"));
    }
    Ok(prompts)
}

fn max_age(text: &str) -> Result<u64, Refused> {
    text.parse()
        .ok()
        .filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| Refused::invalid("max_age must be a whole number of seconds"))
}

/// These values are a requirement (docs/decisions/0026), so none is dropped silently.
fn acr_values(text: &str) -> Result<Vec<String>, Refused> {
    let values: Vec<String> = words(text).map(str::to_owned).collect();
    if values.len() > MAX_ACR_VALUES {
        return Err(Refused::invalid("acr_values must have at most 16 values"));
    }
    Ok(values)
}

fn locales(text: &str) -> Vec<String> {
    let tag = |word: &&str| {
        word.len() <= 35 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    words(text).filter(tag).take(MAX_LOCALES).map(str::to_owned).collect()
}

/// RFC 8707 §2: an absolute URI without fragment.
fn resource(text: &str) -> Result<String, Refused> {
    if is_uri_text(text.as_bytes()) && Url::parse(text).is_ok() {
        Ok(text.to_owned())
    } else {
        Err(Refused::new(ErrorCode::InvalidTarget, "resource must be an absolute URI without fragment"))
    }
}

/// RFC 9396 §2 and §5. The content of each detail is validated by its type.
fn details(text: &str) -> Result<Value, Refused> {
    let refused = |description: String| Refused::new(ErrorCode::InvalidAuthorizationDetails, description);
    let details = authorization_details::read(text).map_err(|error| refused(error.to_string()))?;
    if details.is_empty() {
        return Err(refused("authorization_details must not be empty".to_owned()));
    }
    Ok(Value::Array(details))
}

/// RFC 9449 §10: a SHA-256 thumbprint in base64url.
fn thumbprint(text: &str) -> Result<String, Refused> {
    if text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        Ok(text.to_owned())
    } else {
        Err(Refused::invalid("dpop_jkt must be a SHA-256 JWK thumbprint in base64url: 43 characters"))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|word| !word.is_empty())
}
