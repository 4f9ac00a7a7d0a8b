//! Every setting, documented where it is defined. `docs/settings.md`, `porteiro config schema` and the
//! environment names all come from this one structure; a setting is flat and spelt the same everywhere.

mod check;
pub mod colour;
mod described;
mod sensitive;
mod sms;
mod smtp;

use std::{net::SocketAddr, path::PathBuf};

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Checked, Finding, Mode};
pub use described::{Described, Kind, described, schema};
pub use sensitive::Sensitive;
pub use sms::{SmsProviderName, SmsSettings};
pub use smtp::SmtpAddress;

/// Settings of the service. File (TOML), then environment (`PORTEIRO_` + upper-case name), then flags.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own with a name of its own")]
pub struct Settings {
    /// Where PostgreSQL is: `postgres://user:password@host:5432/database`. Through PgBouncer, 1.21 or later
    /// in transaction mode with `max_prepared_statements` set. A connection that leaves this machine is
    /// encrypted and the server's certificate checked, unless `sslmode=disable` says otherwise.
    #[schemars(with = "String")]
    pub database_url: Sensitive,

    /// A PEM file of certificate authorities to trust for PostgreSQL, beside the system's own.
    pub database_ca_file: Option<PathBuf>,

    /// How many PostgreSQL connections one node keeps. One is enough to be correct; about four per
    /// database core is fastest.
    #[schemars(range(min = 1, max = 1000))]
    pub database_pool_size: usize,

    /// Whether codes and refresh tokens that wait for the database at the same moment share one statement. Nobody waits
    /// longer for it; off only to compare.
    pub group_statements: bool,

    /// The address people and programs use, and the issuer in every token: scheme, host and, where needed,
    /// port; nothing behind it. https in production.
    pub base_url: String,

    /// Where this node listens for requests. Plain HTTP unless `tls_certificate_file` is set: then keep it
    /// behind a proxy that ends TLS.
    #[schemars(with = "String")]
    pub listen: SocketAddr,

    /// A PEM certificate chain; with `tls_key_file`, `listen` speaks TLS itself.
    pub tls_certificate_file: Option<PathBuf>,

    /// The PEM private key of `tls_certificate_file`.
    pub tls_key_file: Option<PathBuf>,

    /// A second TLS listener that asks clients for a certificate and does without one (RFC 8705). Needs
    /// `tls_certificate_file`.
    #[schemars(with = "Option<String>")]
    pub mtls_listen: Option<SocketAddr>,

    /// A PEM file of the certificate authorities that sign clients' certificates directly. With it clients may
    /// authenticate by a certificate's subject (`tls_client_auth`).
    pub mtls_ca_file: Option<PathBuf>,

    /// The address under which certificates are asked for, where it is not `base_url`: scheme, host and port of
    /// `mtls_listen` or of the proxy before it. Announced as `mtls_endpoint_aliases` (RFC 8705 §5).
    pub mtls_base_url: Option<String>,

    /// The request header in which a proxy from `trusted_proxies` hands on the client certificate it
    /// verified, as URL-encoded PEM (nginx: `$ssl_client_escaped_cert`). From anyone else the header is
    /// dropped.
    pub client_certificate_header: Option<String>,

    /// Networks whose `X-Forwarded-For` is believed, in CIDR form. None by default: then the peer's own
    /// address counts.
    #[schemars(with = "Vec<String>")]
    pub trusted_proxies: Vec<IpNet>,

    /// Where Prometheus may fetch `/metrics`. No listener without it; never the public address.
    #[schemars(with = "Option<String>")]
    pub metrics_listen: Option<SocketAddr>,

    /// The file that holds the master key: 32 random bytes as 64 hexadecimal digits, readable by this
    /// service only. Signing keys and TOTP secrets are encrypted with it, and people are found and sessions checked
    /// with it: never replace it under a database that has accounts. `porteiro keys generate --create-master-key`
    /// makes one.
    pub master_key_file: Option<PathBuf>,

    /// The mail server: `smtp://user:password@host:587` (STARTTLS required) or `smtps://…:465` (TLS from
    /// the start). Nothing is ever sent or logged in over plain text.
    #[schemars(with = "Option<String>")]
    pub smtp_url: Option<Sensitive>,

    /// A PEM file of certificate authorities to trust for the mail server, beside the system's own.
    pub smtp_ca_file: Option<PathBuf>,

    /// The sender of every mail.
    pub mail_from: String,

    /// The name people know this service by, in mails and text messages.
    pub service_name: String,

    /// The page under `base_url` that a mailed link opens, such as `/ui/link`: it takes what stands behind the `#` and
    /// posts it to the flow. The hosted screens bring one; without either, mails carry the code alone.
    pub email_link_path: Option<String>,

    /// The page under `base_url` that the link of an invitation opens; it posts what stands behind the `#`. The hosted
    /// screens bring one; without either, the mail carries the invitation itself.
    pub invitation_link_path: Option<String>,

    /// The page under `base_url` where people type the code a device shows them, such as `/device`: it walks them through
    /// a flow of the kind `confirm_device`. The hosted screens bring one; without either, the device grant is not served.
    pub device_page_path: Option<String>,

    /// Hosts of yours that may be on a private network, as `host:port`: text message provider, webhooks. Addresses
    /// that strangers name never reach them.
    pub outbound_private_hosts: Vec<String>,

    /// With `--dev` only: hosts that clients may name in their registration although they are private, as `host:port`,
    /// over https: keys, request objects, back-channel logout. For trying a client on the same machine.
    pub outbound_client_hosts: Vec<String>,

    /// A PEM file of certificate authorities to trust for `outbound_private_hosts` and `outbound_client_hosts`, beside
    /// the system's own.
    pub outbound_ca_file: Option<PathBuf>,

    /// Whether the hosted screens are served. Every flow works without them.
    pub screens: bool,

    /// A picture for the hosted screens instead of ours: PNG, WebP or SVG, at most 64 KiB. The name beside it is
    /// `service_name`.
    pub brand_logo_file: Option<PathBuf>,

    /// The colour of buttons and links on light screens, such as `#1c5d57`. One that could not be read is refused.
    pub brand_color: Option<String>,

    /// The same on dark screens, such as `#86cfc3`.
    pub brand_color_dark: Option<String>,

    /// A page of yours, on the same site, that walks people through flows where the hosted screens are off: a browser
    /// that comes to sign in is sent there with `flow=…`. Without it such requests are answered with
    /// `interaction_required`.
    pub interaction_url: Option<String>,

    /// Who may create an account for themselves.
    pub registration: Registration,

    /// How many clients may register themselves from one address in an hour, and five times as many in a day. `0`: clients
    /// are made by administrators only.
    pub client_registrations_per_hour: u32,

    /// Whether anybody who is signed in may make an organization, and becomes its owner. Otherwise the platform does.
    pub organizations_by_people: bool,

    /// How many times in a minute one caller of the management API may read; five times as many for a whole
    /// organization.
    #[schemars(range(min = 1))]
    pub api_reads_per_minute: u32,

    /// The same for everything that changes something.
    #[schemars(range(min = 1))]
    pub api_writes_per_minute: u32,

    /// Whether apps may drive flows by a token of their own instead of a browser's cookie. Off until an app can prove
    /// to be yours.
    pub api_flows: bool,

    /// No earlier than this many milliseconds after it arrived is a password attempt answered: known and unknown
    /// people at the same moment.
    pub password_floor_ms: u32,

    /// The same for asking for a code by mail or text message.
    pub send_floor_ms: u32,

    /// The domain passkeys are bound to; the host of `base_url` unless set. Chosen once: changing it orphans every
    /// passkey.
    pub passkey_domain: Option<String>,

    /// Further web origins whose pages may use the passkeys (WebAuthn related origins), such as
    /// `https://example.net`.
    pub passkey_origins: Vec<String>,

    /// Whether new passwords are looked up in the public collection of breached ones. Five characters of a hash leave
    /// this machine, never the password.
    pub breached_password_check: bool,

    /// Where that collection answers range queries (`/range/` and five characters are appended).
    pub breached_password_url: String,

    /// Who sends text messages.
    pub sms_provider: SmsProviderName,

    /// The provider's address: for `twilio` its base, for `webhook` the whole address.
    pub sms_url: Option<String>,

    /// The provider's account name (`twilio`: the account SID).
    pub sms_account: Option<String>,

    /// The provider's token.
    #[schemars(with = "Option<String>")]
    pub sms_secret: Option<Sensitive>,

    /// The number or name messages come from.
    pub sms_from: Option<String>,

    /// Calling codes of the countries messages may go to, such as `+55` or `+351`; a longer one, such as `+1242`, is a part
    /// of a numbering plan. Each message costs money, in some countries a lot. Needed beside `sms_provider` in production.
    pub sms_countries: Vec<String>,

    /// How many text messages leave in a day at most, by everybody together. Half of them are kept for numbers that
    /// were verified before.
    pub sms_budget_per_day: u32,

    /// Apply missing migrations when the server starts. Off in production: run `porteiro migrate` first,
    /// so that a roll-out can be looked at.
    pub migrate_on_start: bool,

    /// How long an active signing key signs before the next one takes over.
    #[schemars(range(min = 1))]
    pub key_rotation_seconds: u32,

    /// How long a new signing key is published before it signs. Longer than any client caches the key set.
    #[schemars(range(min = 1))]
    pub key_publish_lead_seconds: u32,

    /// How long a replaced signing key stays published. At least twice as long as any token lives.
    #[schemars(range(min = 1))]
    pub key_verify_seconds: u32,

    /// How often a node looks for changed signing keys.
    #[schemars(range(min = 1))]
    pub key_refresh_seconds: u32,

    /// The longest a request may take, from its headers to its answer.
    #[schemars(range(min = 1))]
    pub request_timeout_seconds: u32,

    /// How long open requests and jobs may finish after SIGTERM.
    pub drain_timeout_seconds: u32,

    /// The most connections one node holds open; further ones wait to be accepted.
    #[schemars(range(min = 1))]
    pub max_connections: usize,

    /// The most connections one node holds open from one IPv4 address or IPv6 /64; further ones are closed at once.
    /// Addresses in `trusted_proxies` are exempt: a proxy that is not listed there needs a larger number.
    #[schemars(range(min = 1))]
    pub max_connections_per_address: usize,

    /// `json` for machines, `text` for people.
    pub log_format: LogFormat,

    /// What is logged, as a filter: `info`, or `info,porteiro_service::jobs=debug`.
    pub log_filter: String,

    /// Where traces go: the base address of an OpenTelemetry collector that speaks OTLP over HTTP, such as
    /// `http://127.0.0.1:4318`. No traces without it.
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// Nobody; accounts are made by administrators.
    Closed,
    /// Who holds an invitation.
    Invited,
    /// Anybody.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Json,
    Text,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            database_url: Sensitive::default(),
            database_ca_file: None,
            database_pool_size: 16,
            group_statements: true,
            base_url: String::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tls_certificate_file: None,
            tls_key_file: None,
            mtls_listen: None,
            mtls_ca_file: None,
            mtls_base_url: None,
            client_certificate_header: None,
            trusted_proxies: Vec::new(),
            metrics_listen: None,
            master_key_file: None,
            smtp_url: None,
            smtp_ca_file: None,
            mail_from: "Porteiro <no-reply@localhost>".into(),
            service_name: "Porteiro".into(),
            email_link_path: None,
            invitation_link_path: None,
            device_page_path: None,
            outbound_private_hosts: Vec::new(),
            outbound_client_hosts: Vec::new(),
            outbound_ca_file: None,
            screens: true,
            brand_logo_file: None,
            brand_color: None,
            brand_color_dark: None,
            interaction_url: None,
            registration: Registration::Closed,
            client_registrations_per_hour: 10,
            organizations_by_people: false,
            api_reads_per_minute: 600,
            api_writes_per_minute: 120,
            api_flows: false,
            password_floor_ms: 350,
            send_floor_ms: 200,
            passkey_domain: None,
            passkey_origins: Vec::new(),
            breached_password_check: false,
            breached_password_url: "https://api.pwnedpasswords.com".into(),
            sms_provider: SmsProviderName::None,
            sms_url: None,
            sms_account: None,
            sms_secret: None,
            sms_from: None,
            sms_countries: Vec::new(),
            sms_budget_per_day: 1_000,
            migrate_on_start: false,
            key_rotation_seconds: 90 * 86_400,
            key_publish_lead_seconds: 86_400,
            key_verify_seconds: 3_600,
            key_refresh_seconds: 5,
            request_timeout_seconds: 15,
            drain_timeout_seconds: 20,
            max_connections: 10_000,
            max_connections_per_address: 500,
            log_format: LogFormat::Json,
            log_filter: "info".into(),
            otlp_endpoint: None,
        }
    }
}

impl Settings {
    /// Whether a client's certificate can reach us at all.
    pub const fn takes_client_certificates(&self) -> bool {
        self.mtls_listen.is_some() || self.client_certificate_header.is_some()
    }

    /// What the provider of text messages is made of.
    pub fn sms(&self) -> SmsSettings<'_> {
        SmsSettings {
            provider: self.sms_provider,
            url: self.sms_url.as_deref(),
            account: self.sms_account.as_deref(),
            secret: self.sms_secret.as_ref(),
            from: self.sms_from.as_deref(),
        }
    }
}
