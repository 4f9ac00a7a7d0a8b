//! The parsed address of the mail server.

use url::Url;

/// A parsed `smtp_url`. Contains a password, so it is not printed.
pub struct SmtpAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) encrypted_from_start: bool,
    pub(crate) login: Option<(String, String)>,
}

impl std::fmt::Debug for SmtpAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<smtp {}:{}>", self.host, self.port)
    }
}

impl SmtpAddress {
    /// # Errors
    /// What is wrong, without quoting the address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("is not a URL ({error})"))?;
        let (encrypted_from_start, default_port) = match url.scheme() {
            "smtp" => (false, 587),
            "smtps" => (true, 465),
            _ => return Err("must begin with smtp:// (STARTTLS) or smtps:// (implicit TLS)".into()),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("has no host")?;
        let decode = |part: &str| {
            let bytes = url::form_urlencoded::parse(format!("x={}", part.replace('+', "%2B")).as_bytes())
                .next()
                .map(|(_, value)| value.into_owned());
            bytes.unwrap_or_default()
        };
        let login = (!url.username().is_empty())
            .then(|| (decode(url.username()), decode(url.password().unwrap_or_default())));
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(default_port),
            encrypted_from_start,
            login,
        })
    }
}
