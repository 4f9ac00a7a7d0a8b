//! A web application whose people sign in with Porteiro, with the crate `openidconnect`. Copy what you need.
//!
//! `APP_URL` is its own address, `ISSUER` Porteiro's; `CLIENT_ID` and `CLIENT_SECRET` are what `porteiro clients create
//! client.json` printed. Sessions are kept in memory here: an application of yours has a place for them.

mod web;

use std::error::Error;

use openidconnect::{
    AccessToken, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndSessionUrl, EndpointMaybeSet,
    EndpointNotSet, EndpointSet, IssuerUrl, LogoutRequest, Nonce, OAuth2TokenResponse, PkceCodeChallenge,
    PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout, RedirectUrl, RefreshToken, Scope,
    SubjectIdentifier, TokenResponse,
    core::{CoreAuthenticationFlow, CoreClient, CoreIdToken, CoreUserInfoClaims},
    url::Url,
};
use sha2::{Digest, Sha256};
use web::{Answer, page, redirect, text};

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;
type Outcome = Result<Answer, Box<dyn Error>>;

pub struct App {
    address: String,
    issuer: String,
    http: ureq::Agent,
    client: Client,
    end_session: EndSessionUrl,
}

/// What is known of a browser.
#[derive(Default)]
pub enum Session {
    #[default]
    Nobody,
    Leaving {
        verifier: PkceCodeVerifier,
        state: CsrfToken,
        nonce: Nonce,
    },
    Somebody {
        subject: SubjectIdentifier,
        id_token: CoreIdToken,
        access: AccessToken,
        refresh: RefreshToken,
    },
}

impl App {
    fn discover() -> Result<Self, Box<dyn Error>> {
        let from = |name| std::env::var(name).map_err(|_| format!("{name} is not set"));
        let (address, issuer) = (from("APP_URL")?, from("ISSUER")?);
        // Redirects are not followed: a token endpoint has no business sending us elsewhere.
        let http = ureq::AgentBuilder::new().redirects(0).build();
        let metadata = ProviderMetadataWithLogout::discover(&IssuerUrl::new(issuer.clone())?, &http)?;
        let end_session = metadata.additional_metadata().end_session_endpoint.clone();
        let secret = ClientSecret::new(from("CLIENT_SECRET")?);
        let client =
            CoreClient::from_provider_metadata(metadata, ClientId::new(from("CLIENT_ID")?), Some(secret))
                .set_redirect_uri(RedirectUrl::new(format!("{address}/callback"))?);
        Ok(Self {
            address,
            issuer,
            http,
            client,
            end_session: end_session.ok_or("there is no way to sign out")?,
        })
    }

    pub fn answer(&self, asked: &Url, session: &mut Session) -> Outcome {
        match asked.path() {
            "/" => Ok(page("<a href=\"/private\">Sign in</a>")),
            "/private" => self.private(session),
            "/callback" => self.callback(asked, session),
            "/refresh" => self.refresh(session),
            "/logout" => self.logout(session),
            "/bye" => Ok(page("Signed out. <a href=\"/\">Home</a>")),
            _ => Ok(Answer { status: 404, location: None, body: "Not here".into() }),
        }
    }

    fn private(&self, session: &mut Session) -> Outcome {
        let Session::Somebody { subject, access, .. } = session else { return Ok(self.login(session)) };
        let about: CoreUserInfoClaims =
            self.client.user_info(access.clone(), Some(subject.clone()))?.request(&self.http)?;
        let name = about.name().and_then(|name| name.get(None)).map_or("", |name| name.as_str());
        let email = about.email().map_or("", |email| email.as_str());
        let token: String =
            Sha256::digest(access.secret()).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Ok(page(&format!(
            r#"<p id="name">{}</p><p id="email">{}</p><p id="sub">{}</p><p id="token">{token}</p>
            <a href="/refresh">Refresh</a> <a href="/logout">Sign out</a>"#,
            text(name),
            text(email),
            text(subject.as_str()),
        )))
    }

    fn login(&self, session: &mut Session) -> Answer {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let (address, state, nonce) = self
            .client
            .authorize_url(flow, CsrfToken::new_random, Nonce::new_random)
            .add_scopes(["profile", "email"].map(|name| Scope::new(name.to_owned())))
            .set_pkce_challenge(challenge)
            .url();
        *session = Session::Leaving { verifier, state, nonce };
        redirect(address.as_str())
    }

    fn callback(&self, asked: &Url, session: &mut Session) -> Outcome {
        let Session::Leaving { verifier, state, nonce } = std::mem::take(session) else {
            return Err("nobody was sent away".into());
        };
        let given = |name: &str| {
            asked.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        // The library checks the ID token; whether this is the answer to our question, and whose, is ours (RFC 9207).
        if given("state").as_ref() != Some(state.secret()) || given("iss").as_ref() != Some(&self.issuer) {
            return Err("this is not the answer to our question".into());
        }
        let code = given("code").ok_or_else(|| given("error").unwrap_or_default())?;
        let tokens = self
            .client
            .exchange_code(AuthorizationCode::new(code))?
            .set_pkce_verifier(verifier)
            .request(&self.http)?;
        let id_token = tokens.id_token().ok_or("there is no ID token")?;
        let claims = id_token.claims(&self.client.id_token_verifier(), &nonce)?;
        *session = Session::Somebody {
            subject: claims.subject().clone(),
            id_token: id_token.clone(),
            access: tokens.access_token().clone(),
            refresh: tokens.refresh_token().ok_or("there is no refresh token")?.clone(),
        };
        Ok(redirect("/private"))
    }

    /// Every refresh token is good once. Keep the new one, and never send one twice.
    fn refresh(&self, session: &mut Session) -> Outcome {
        let Session::Somebody { access, refresh, .. } = session else { return Ok(redirect("/")) };
        let tokens = self.client.exchange_refresh_token(refresh)?.request(&self.http)?;
        *access = tokens.access_token().clone();
        *refresh = tokens.refresh_token().ok_or("there is no refresh token")?.clone();
        Ok(redirect("/private"))
    }

    fn logout(&self, session: &mut Session) -> Outcome {
        let Session::Somebody { id_token, .. } = std::mem::take(session) else { return Ok(redirect("/bye")) };
        let address = LogoutRequest::from(self.end_session.clone())
            .set_id_token_hint(&id_token)
            .set_post_logout_redirect_uri(PostLogoutRedirectUrl::new(format!("{}/bye", self.address))?)
            .http_get_url();
        Ok(redirect(address.as_str()))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let app = App::discover()?;
    let address = Url::parse(&app.address)?;
    web::serve(&address, |asked, session| app.answer(asked, session))
}
