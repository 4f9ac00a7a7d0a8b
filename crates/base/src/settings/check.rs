//! What must hold before the service starts, decided from the settings alone.

use url::Url;

use super::{Registration, Settings};

/// Production is the default; `--dev` relaxes only what is listed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Production,
    Development,
}

/// One mistake, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub setting: &'static str,
    pub advice: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.setting, self.advice)
    }
}

/// Settings without mistakes.
#[derive(Debug, Clone)]
pub struct Checked {
    pub settings: Settings,
    pub mode: Mode,
    /// The base address without a trailing slash: byte for byte the issuer everywhere.
    pub issuer: String,
}

impl Settings {
    /// Adds the defaults of `--dev`.
    #[must_use]
    pub fn for_mode(mut self, mode: Mode) -> Self {
        if mode == Mode::Development {
            if self.base_url.is_empty() {
                // A node that listens on all addresses is reached at the loopback address here.
                let mut address = self.listen;
                if address.ip().is_unspecified() {
                    address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
                }
                self.base_url = format!("http://{address}");
            }
            self.registration = Registration::Open;
            self.migrate_on_start = true;
        }
        self
    }

    /// # Errors
    /// All mistakes, not just the first.
    pub fn check(self, mode: Mode) -> Result<Checked, Vec<Finding>> {
        let mut findings = Vec::new();
        let mut find = |setting, advice: String| findings.push(Finding { setting, advice });

        if self.database_url.is_empty() {
            find(
                "database_url",
                "is not set; set it to the address of PostgreSQL: postgres://user@host/database".into(),
            );
        } else if let Err(error) = self.database_url.expose().parse::<tokio_postgres::Config>() {
            find("database_url", format!("is not a PostgreSQL address ({error})"));
        }
        if let Err(advice) = base_url(&self.base_url, mode) {
            find("base_url", advice);
        }
        if self.tls_certificate_file.is_some() != self.tls_key_file.is_some() {
            find("tls_certificate_file", "must be set together with tls_key_file".into());
        }
        if self.mtls_listen.is_some() && self.tls_certificate_file.is_none() {
            find("mtls_listen", "requires tls_certificate_file and tls_key_file".into());
        }
        if self.client_certificate_header.is_some() && self.trusted_proxies.is_empty() {
            find("client_certificate_header", "is trusted only from trusted_proxies, which is empty".into());
        }
        for (setting, is_set) in
            [("mtls_ca_file", self.mtls_ca_file.is_some()), ("mtls_base_url", self.mtls_base_url.is_some())]
        {
            if is_set && !self.takes_client_certificates() {
                find(
                    setting,
                    "requires mtls_listen or client_certificate_header to receive certificates".into(),
                );
            }
        }
        if let Some(Err(advice)) = self.mtls_base_url.as_deref().map(|url| base_url(url, mode)) {
            find("mtls_base_url", advice);
        }
        if let Some(url) = self.interaction_url.as_deref()
            && !is_page(url, mode)
        {
            find("interaction_url", "must be the https URL of a page, without a fragment".into());
        }
        for (setting, path, example) in [
            ("device_page_path", &self.device_page_path, "/device"),
            ("federation_page_path", &self.federation_page_path, "/ui/federation"),
        ] {
            if path.as_deref().is_some_and(|path| !path.starts_with('/') || path.contains(['?', '#', ' '])) {
                find(setting, format!("must be a path such as {example}"));
            }
        }
        for (setting, colour, dark) in
            [("brand_color", &self.brand_color, false), ("brand_color_dark", &self.brand_color_dark, true)]
        {
            if let Some(advice) = colour.as_deref().and_then(|colour| super::colour::refusal(colour, dark)) {
                find(setting, advice);
            }
        }
        if !self.outbound_client_hosts.is_empty() && mode == Mode::Production {
            find(
                "outbound_client_hosts",
                "is for --dev only: in production no client may make this service connect to its own network"
                    .into(),
            );
        }
        if self.key_refresh_seconds >= self.key_publish_lead_seconds {
            find(
                "key_refresh_seconds",
                "must be shorter than key_publish_lead_seconds, or a node could sign with a key that another node does not publish yet"
                    .into(),
            );
        }
        if let Some(smtp) = &self.smtp_url
            && let Err(advice) = super::SmtpAddress::parse(smtp.expose())
        {
            find("smtp_url", advice);
        }
        if self.mail_from.parse::<lettre::message::Mailbox>().is_err() {
            find("mail_from", "is not a mail address; write it as: Name <name@example.org>".into());
        }
        if self.mail_from.is_empty() && self.smtp_url.is_some() {
            find("mail_from", "is required with smtp_url".into());
        }

        if self.sms_countries.iter().any(|code| !super::sms::is_calling_code(code)) {
            find("sms_countries", "contains a value that is not a calling code such as +55".into());
        }
        if self.sms_countries.is_empty()
            && self.sms_provider != super::SmsProviderName::None
            && mode == Mode::Production
        {
            find(
                "sms_countries",
                "is required with sms_provider: list calling codes such as +55, or +1 to +9 for all countries"
                    .into(),
            );
        }
        if self.sms_budget_per_day < 4 {
            find(
                "sms_budget_per_day",
                "must be at least 4; to send no text messages, leave out sms_provider".into(),
            );
        }
        if self.sms_sign_in && self.sms_provider == super::SmsProviderName::None && mode == Mode::Production {
            find("sms_sign_in", "needs sms_provider, which sends the codes".into());
        }

        if self.approval_webhook_url.is_some() != self.approval_webhook_secret.is_some() {
            find("approval_webhook_url", "must be set together with approval_webhook_secret".into());
        }

        if findings.is_empty() {
            let issuer = self.base_url.trim_end_matches('/').to_owned();
            Ok(Checked { settings: self, mode, issuer })
        } else {
            Err(findings)
        }
    }
}

/// An address to which people can be sent. Plain http only if everything is on this machine.
fn is_page(text: &str, mode: Mode) -> bool {
    let scheme = |url: &Url| match mode {
        Mode::Production => url.scheme() == "https",
        Mode::Development => matches!(url.scheme(), "https" | "http"),
    };
    Url::parse(text).is_ok_and(|url| scheme(&url) && url.has_host() && url.fragment().is_none())
}

/// An origin without a path: paths in an issuer make the well-known addresses ambiguous (RFC 8414 §3.1 inserts, OpenID
/// Discovery §4 appends), so they are not allowed (docs/decisions/0004).
fn base_url(text: &str, mode: Mode) -> Result<(), String> {
    if text.is_empty() {
        return Err("is not set; set it to the public address, such as https://id.example.org".into());
    }
    let url = Url::parse(text).map_err(|error| format!("is not a URL ({error})"))?;
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => return Err("has no host".into()),
    };
    match (url.scheme(), mode) {
        ("https", _) => {}
        ("http", Mode::Development) if loopback => {}
        ("http", Mode::Development) => {
            return Err("may use http only with --dev and a loopback host".into());
        }
        _ => return Err("must begin with https:// in production; a proxy may terminate TLS".into()),
    }
    let extra = url.path() != "/"
        || url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some();
    if extra {
        return Err("must have only a scheme, a host and a port".into());
    }
    if url.as_str().trim_end_matches('/') != text.trim_end_matches('/') {
        return Err(format!("is not in normalized form; write {}", url.as_str().trim_end_matches('/')));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_address_is_an_origin_and_https_in_production() {
        for (text, production, development) in [
            ("https://id.example.org", true, true),
            ("https://id.example.org/", true, true),
            ("https://id.example.org:8443", true, true),
            ("http://127.0.0.1:8080", false, true),
            ("http://[::1]:8080", false, true),
            ("http://localhost", false, true),
            ("http://id.example.org", false, false),
            ("http://localhost.example.org", false, false),
            ("https://id.example.org/auth", false, false),
            ("https://id.example.org?x", false, false),
            ("https://user@id.example.org", false, false),
            ("https://ID.example.org", false, false),
            ("https://id.example.org:443", false, false),
            ("ftp://id.example.org", false, false),
            ("id.example.org", false, false),
            ("", false, false),
        ] {
            assert_eq!(base_url(text, Mode::Production).is_ok(), production, "{text}");
            assert_eq!(base_url(text, Mode::Development).is_ok(), development, "{text}");
        }
    }

    #[test]
    fn text_messages_need_a_list_of_countries_and_a_budget() {
        let whole = Settings {
            database_url: super::super::Sensitive::new("postgres://x@localhost/x"),
            base_url: "https://id.example.org".into(),
            sms_provider: super::super::SmsProviderName::Webhook,
            sms_countries: vec!["+55".into(), "+1242".into()],
            ..Settings::default()
        };
        assert!(whole.clone().check(Mode::Production).is_ok());
        let named = |settings: Settings| settings.check(Mode::Production).unwrap_err()[0].setting;
        for countries in [vec![], vec!["55".into()], vec!["+".into()], vec!["+5x".into()], vec!["BR".into()]]
        {
            assert_eq!(named(Settings { sms_countries: countries, ..whole.clone() }), "sms_countries");
        }
        assert_eq!(named(Settings { sms_budget_per_day: 3, ..whole.clone() }), "sms_budget_per_day");
        assert!(Settings { sms_sign_in: true, ..whole.clone() }.check(Mode::Production).is_ok());
        let nobody_sends =
            Settings { sms_sign_in: true, sms_provider: super::super::SmsProviderName::None, ..whole };
        assert_eq!(named(nobody_sends), "sms_sign_in");
    }

    #[test]
    fn private_hosts_of_clients_are_for_development() {
        let settings = Settings {
            database_url: super::super::Sensitive::new("postgres://x@localhost/x"),
            base_url: "https://id.example.org".into(),
            outbound_client_hosts: vec!["localhost:8443".into()],
            ..Settings::default()
        };
        assert!(settings.clone().check(Mode::Development).is_ok());
        let found = settings.check(Mode::Production).unwrap_err();
        assert_eq!(found.iter().map(|found| found.setting).collect::<Vec<_>>(), ["outbound_client_hosts"]);
    }
}
