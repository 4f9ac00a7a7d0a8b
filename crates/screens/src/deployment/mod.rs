//! What the screens know about the installation: its name, address and colours. No credentials.

use std::{path::Path, sync::Arc};

use porteiro_protocol::entropy::Entropy;
use porteiro_service::{
    http::Surroundings,
    settings::{Registration, Settings, SmsProviderName},
};

#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Clone)]
pub struct Deployment {
    pub issuer: String,
    pub name: String,
    /// Whether people may register.
    pub registration: bool,
    /// Whether codes can be sent to phones.
    pub texts: bool,
    /// Whether a text message can be the first step of a sign-in.
    pub text_sign_in: bool,
    pub logo: Option<Logo>,
    /// `#` and six hexadecimal digits, for light and for dark.
    pub accent: Option<String>,
    pub accent_dark: Option<String>,
    /// Whether the pseudo-languages can be chosen: with `--dev` only.
    pub pseudo_languages: bool,
    /// Log line, metrics, timeout and panic handler, as for every other route; `None`: pages are without them.
    pub surroundings: Option<Surroundings>,
    /// For the nonce of a page.
    pub entropy: Arc<dyn Entropy>,
}

#[derive(Debug, Clone)]
pub struct Logo {
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

/// The largest size of a logo, in bytes.
const LARGEST_LOGO: usize = 64 * 1024;

impl Logo {
    fn read(file: &Path) -> Result<Self, String> {
        let refuse = |why: &str| format!("brand_logo_file: {} {why}", file.display());
        let bytes = std::fs::read(file).map_err(|error| refuse(&format!("cannot be read ({error})")))?;
        if bytes.len() > LARGEST_LOGO {
            return Err(refuse("is larger than 64 KiB; make it smaller"));
        }
        let kind = match bytes.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => "image/png",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
            // Shown only as a picture, with a content security policy of its own: scripts in it do not run.
            _ if bytes.trim_ascii_start().starts_with(b"<svg") || bytes.starts_with(b"<?xml") => {
                "image/svg+xml"
            }
            _ => return Err(refuse("is not a PNG, WebP or SVG picture")),
        };
        Ok(Self { kind, bytes })
    }
}

impl std::fmt::Debug for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<deployment {}>", self.issuer)
    }
}

impl Deployment {
    /// Reads the logo; the error says what is wrong with it.
    pub fn of(settings: &Settings, entropy: Arc<dyn Entropy>) -> Result<Self, String> {
        Ok(Self {
            issuer: settings.base_url.trim_end_matches('/').to_owned(),
            name: settings.service_name.clone(),
            registration: match settings.registration {
                Registration::Open => true,
                Registration::Closed | Registration::Invited => false,
            },
            texts: settings.sms_provider != SmsProviderName::None,
            text_sign_in: settings.sms_sign_in,
            logo: settings.brand_logo_file.as_deref().map(Logo::read).transpose()?,
            accent: settings.brand_color.clone(),
            accent_dark: settings.brand_color_dark.clone(),
            pseudo_languages: false,
            surroundings: None,
            entropy,
        })
    }

    /// CSS rules that follow the stylesheet's own.
    pub fn colours(&self) -> String {
        let rule = |scheme: &str, colour: &Option<String>| {
            let rule = colour.as_ref().map(|colour| {
                format!("@media (prefers-color-scheme:{scheme}){{:root{{--accent:{colour}}}}}")
            });
            rule.unwrap_or_default()
        };
        format!("{}{}", rule("light", &self.accent), rule("dark", &self.accent_dark))
    }
}
