//! The data of a flow's page.

use super::{representation::Flow, ways::Way};
use crate::{account::Page, form::Form};

/// What the person typed or chose on the previous page; the screens store nothing between requests.
#[derive(Debug, Default, Clone)]
pub struct Typed {
    pub way: Option<Way>,
    pub identifier: String,
    pub back: &'static str,
    /// The client's name as the previous page showed it: a finished flow does not contain it.
    pub app: String,
    /// A refused value that is shown again.
    pub kept: String,
    /// A passkey that is unknown here, for the browser to remove.
    pub unknown: Option<String>,
    /// An authenticator app is being set up.
    pub app_code: bool,
}

impl Typed {
    pub fn of(form: &Form) -> Self {
        let text = |name: &str| form.get(name).unwrap_or_default().trim().to_owned();
        let kept =
            ["display_name", "address", "number", "user_code"].into_iter().find_map(|name| form.get(name));
        Self {
            way: None,
            identifier: text("identifier"),
            back: page_name(form.get("back")),
            app: text("app"),
            kept: kept.unwrap_or_default().trim().to_owned(),
            unknown: None,
            app_code: form.get("action") == Some("totp/enrol_finish"),
        }
    }
}

impl Typed {
    pub fn app(&self) -> Option<&str> {
        Some(self.app.as_str()).filter(|app| !app.is_empty())
    }
}

/// The account page to return to: one of ours by name, never an address.
pub fn page_name(name: Option<&str>) -> &'static str {
    name.and_then(Page::parse).map(Page::name).unwrap_or_default()
}

/// `v` in templates.
#[derive(Debug)]
pub struct View {
    pub flow: Flow,
    pub typed: Typed,
    pub way: Option<Way>,
    /// Other methods beside the one shown.
    pub others: Vec<Way>,
    pub qr: Option<String>,
    pub registration: bool,
    /// Whether a number can be added to sign in with.
    pub text_sign_in: bool,
}

impl View {
    pub fn id(&self) -> &str {
        &self.flow.id
    }

    /// The address field: what was typed, otherwise the client's `login_hint`.
    pub fn identifier(&self) -> &str {
        if self.typed.identifier.is_empty() {
            self.flow.request.as_ref().and_then(|asked| asked.login_hint.as_deref()).unwrap_or_default()
        } else {
            &self.typed.identifier
        }
    }

    /// What the person typed, otherwise the code from the link.
    pub fn user_code(&self) -> &str {
        if self.typed.kept.is_empty() {
            self.flow.user_code.as_deref().unwrap_or_default()
        } else {
            &self.typed.kept
        }
    }

    /// Whether a credential must be enrolled because more is required than the account can prove.
    pub fn is_demanded(&self) -> bool {
        self.flow.is_demanded()
    }

    pub fn is(&self, kind: &str) -> bool {
        self.flow.kind == kind
    }

    pub fn offers(&self, action: &str) -> bool {
        self.flow.offers(action)
    }

    pub fn person(&self) -> &str {
        let account = self.flow.account.as_ref();
        account.and_then(|account| account.display_name.as_deref()).unwrap_or_default()
    }

    pub fn masked(&self) -> &str {
        let account = self.flow.account.as_ref();
        account.and_then(|account| account.masked_address.as_deref()).unwrap_or_default()
    }
}
