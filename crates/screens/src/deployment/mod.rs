//! What the screens are told about the installation: its name, its address, its colours. Nothing that opens a door.

use std::sync::Arc;

use porteiro_protocol::entropy::Entropy;
use porteiro_service::settings::{Registration, Settings};

#[derive(Clone)]
pub struct Deployment {
    pub issuer: String,
    pub name: String,
    /// Whether "create an account" leads anywhere.
    pub registration: bool,
    pub logo: Option<Logo>,
    /// Six hexadecimal digits with `#`, for light and for dark.
    pub accent: Option<String>,
    pub accent_dark: Option<String>,
    /// For the nonce of a page.
    pub entropy: Arc<dyn Entropy>,
}

#[derive(Debug, Clone)]
pub struct Logo {
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<deployment {}>", self.issuer)
    }
}

impl Deployment {
    pub fn of(settings: &Settings, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            issuer: settings.base_url.trim_end_matches('/').to_owned(),
            name: settings.service_name.clone(),
            registration: match settings.registration {
                Registration::Open => true,
                Registration::Closed | Registration::Invited => false,
            },
            logo: None,
            accent: None,
            accent_dark: None,
            entropy,
        }
    }

    /// As rules that stand behind the stylesheet's own.
    pub fn colours(&self) -> String {
        let rule = |colour: &Option<String>| {
            colour.as_ref().map(|colour| format!(":root{{--accent:{colour}}}")).unwrap_or_default()
        };
        let dark = rule(&self.accent_dark);
        let dark =
            if dark.is_empty() { dark } else { format!("@media (prefers-color-scheme:dark){{{dark}}}") };
        format!("{}{dark}", rule(&self.accent))
    }
}
