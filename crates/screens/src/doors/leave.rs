//! Returns the person to the client.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde_json::Value;

use crate::{
    Screens,
    language::Language,
    page::{self, Policy, Shell},
};

/// What follows a finished flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Redirect {
        uri: String,
    },
    FormPost {
        action: String,
        fields: Vec<(String, String)>,
    },
    /// Back to the device, which polls for the result.
    Device(Outcome),
    /// Signed in to an organization, without a client.
    Organization {
        name: String,
        /// Only its directory vouches for the person, who has no account page here.
        confined: bool,
    },
    /// The organization is not available to the person.
    NoOrganization,
    /// Signed in, without a client.
    Nowhere,
}

/// The decision about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Approved,
    Refused,
    /// The code had expired.
    Expired,
}

impl Next {
    pub fn parse(next: &Value) -> Option<Self> {
        match next["type"].as_str()? {
            "redirect" => Some(Self::Redirect { uri: next["uri"].as_str()?.to_owned() }),
            "form_post" => {
                let fields = next["fields"].as_object()?.iter();
                let fields =
                    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
                Some(Self::FormPost { action: next["action"].as_str()?.to_owned(), fields: fields.collect() })
            }
            "device" => Some(Self::Device(match (next["outcome"].as_str()?, next["error"].as_str()) {
                ("approved", _) => Outcome::Approved,
                (_, Some("expired_token")) => Outcome::Expired,
                (_, _) => Outcome::Refused,
            })),
            "organization" => Some(match next["organization"]["name"].as_str() {
                Some(name) => {
                    Self::Organization { name: name.to_owned(), confined: next["confined"] == true }
                }
                None => Self::NoOrganization,
            }),
            _ => Some(Self::Nowhere),
        }
    }
}

#[derive(Template)]
#[template(path = "continuing.html")]
struct Continuing<'a> {
    s: &'a Shell,
    to: &'a str,
    uri: &'a str,
    fields: &'a [(String, String)],
    post: bool,
}

#[derive(Template)]
#[template(path = "device_done.html")]
struct DeviceDone<'a> {
    s: &'a Shell,
    outcome: Outcome,
}

#[derive(Template)]
#[template(path = "organization_done.html")]
struct OrganizationDone<'a> {
    s: &'a Shell,
}

/// After a form, a page that continues by itself: `form-action` would apply our policy to the client's own redirects.
/// Without a form, a plain redirect.
pub fn leave(
    screens: &Screens,
    language: Language,
    next: &Next,
    client: Option<&str>,
    after_form: bool,
) -> Response {
    let shell = Shell::new(screens, language, "/ui/account");
    // After an app's own scheme, the host can be chosen as freely as the scheme: it identifies no owner.
    let shown = |uri: &str| {
        let web = url::Url::parse(uri).ok().filter(|uri| matches!(uri.scheme(), "https" | "http"));
        let host = web.and_then(|uri| uri.host_str().map(ToOwned::to_owned));
        client.map(ToOwned::to_owned).or(host).unwrap_or_else(|| shell.t("an-app"))
    };
    match next {
        Next::Nowhere | Next::NoOrganization => page::see_other("/ui/account"),
        Next::Organization { confined: false, .. } => page::see_other("/ui/account/organizations"),
        Next::Organization { name, confined: true } => {
            let title = shell.t1("organization-done-title", "organization", name);
            let shell = shell.titled(title);
            page::send(screens, &shell, Policy::Flow, StatusCode::OK, &OrganizationDone { s: &shell })
        }
        Next::Device(outcome) => {
            let title = shell.t(match outcome {
                Outcome::Approved => "device-done-title",
                Outcome::Refused => "device-refused-title",
                Outcome::Expired => "device-expired-title",
            });
            let shell = shell.titled(title);
            let page = DeviceDone { s: &shell, outcome: *outcome };
            page::send(screens, &shell, Policy::Flow, StatusCode::OK, &page)
        }
        Next::Redirect { uri } if !after_form => page::see_other(uri),
        Next::Redirect { uri } => {
            let to = shown(uri);
            let shell = shell.titled(screens.catalogues.words(language).t1("continuing-title", "app", &to));
            let page = Continuing { s: &shell, to: &to, uri, fields: &[], post: false };
            page::send(screens, &shell, Policy::Flow, StatusCode::OK, &page)
        }
        Next::FormPost { action, fields } => {
            let to = shown(action);
            let shell = shell.titled(screens.catalogues.words(language).t1("continuing-title", "app", &to));
            let page = Continuing { s: &shell, to: &to, uri: action, fields, post: true };
            page::send(screens, &shell, Policy::Posting, StatusCode::OK, &page)
        }
    }
}
