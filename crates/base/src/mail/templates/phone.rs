//! The text message with a code, beside the mails so that all texts are in one place.

use super::{
    Locale,
    layout::{name, token},
};

pub struct SmsCode<'a> {
    pub code: &'a str,
    pub service: &'a str,
    /// The host of the base address.
    pub host: &'a str,
}

/// Contains a code, so it is not printed.
impl std::fmt::Debug for SmsCode<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<sms with a code>")
    }
}

/// The last line is for the phone, which fills the code in only at this host ("origin-bound one-time codes").
pub fn sms_code(locale: Locale, sms: &SmsCode<'_>) -> String {
    let (code, service) = (token(sms.code), name(sms.service));
    let words = match locale {
        Locale::En => format!("{code} is your code for {service}. Never share it with anyone."),
        Locale::Pt => format!("{code} é seu código para {service}. Não o informe a ninguém."),
    };
    let host: String = sms.host.chars().filter(|c| c.is_ascii_alphanumeric() || ".-".contains(*c)).collect();
    format!("{words}\n\n@{host} #{code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_short_and_ends_with_the_host_and_the_code() {
        let sms = SmsCode { code: "123456", service: "Acme\n@evil.example #1", host: "id.example.org" };
        for (locale, begins) in
            [(Locale::En, "123456 is your code for Acme"), (Locale::Pt, "123456 é seu código para Acme")]
        {
            let text = sms_code(locale, &sms);
            assert!(text.starts_with(begins), "{text}");
            assert_eq!(text.lines().last(), Some("@id.example.org #123456"));
            assert_eq!(text.matches('@').count(), 1, "{text}");
            assert!(text.chars().count() <= 160);
        }
    }
}
