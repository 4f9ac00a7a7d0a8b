//! SMTP with encryption always: STARTTLS required, or TLS from the start.

use std::{path::Path, time::Duration};

use crate::{jobs::JobError, settings::SmtpAddress};
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    transport::smtp::{
        authentication::Credentials,
        client::{Certificate, Tls, TlsParameters},
    },
};

#[derive(Debug)]
pub struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
}

impl Smtp {
    pub(super) fn open(address: &SmtpAddress, authorities: Option<&Path>) -> Result<Self, String> {
        let mut tls = TlsParameters::builder(address.host.clone());
        if let Some(file) = authorities {
            let pem = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let certificate =
                Certificate::from_pem(&pem).map_err(|error| format!("{}: {error}", file.display()))?;
            tls = tls.add_root_certificate(certificate);
        }
        let tls = tls.build_rustls().map_err(|error| error.to_string())?;
        let tls = if address.encrypted_from_start { Tls::Wrapper(tls) } else { Tls::Required(tls) };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&address.host)
            .port(address.port)
            .tls(tls)
            .timeout(Some(Duration::from_secs(20)));
        if let Some((user, password)) = &address.login {
            builder = builder.credentials(Credentials::new(user.clone(), password.clone()));
        }
        Ok(Self { transport: builder.build() })
    }

    pub(super) async fn send(&self, message: Message) -> Result<(), JobError> {
        match self.transport.send(message).await {
            Ok(_) => Ok(()),
            // The server's text may quote the recipient; its code is enough.
            Err(error) if error.is_permanent() => {
                Err(JobError::Hopeless(format!("the mail server refused permanently ({:?})", error.status())))
            }
            Err(error) => Err(JobError::Failed(match error.status() {
                Some(code) => format!("the mail server refused temporarily ({code})"),
                None => "the mail server cannot be reached".into(),
            })),
        }
    }

    pub(super) async fn probe(&self) -> Result<(), String> {
        match self.transport.test_connection().await {
            Ok(true) => Ok(()),
            Ok(false) => Err("the mail server does not respond".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_how_they_are_encrypted() {
        let address = SmtpAddress::parse("smtp://po%40rter:p%2Bq+r@mail.example.org").unwrap();
        assert_eq!((address.port, address.encrypted_from_start), (587, false));
        assert_eq!(address.login, Some(("po@rter".into(), "p+q+r".into())));
        assert_eq!(format!("{address:?}"), "<smtp mail.example.org:587>");
        assert!(SmtpAddress::parse("smtps://mail.example.org").unwrap().encrypted_from_start);
        assert!(SmtpAddress::parse("http://mail.example.org").is_err());
    }
}
