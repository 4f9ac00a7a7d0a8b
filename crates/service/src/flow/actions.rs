//! Every action there is: its address, the fields it takes, what it belongs to. The representation, the router and the
//! documentation read this table.

/// One input of an action, as a form would draw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Field {
    pub name: &'static str,
    pub r#type: &'static str,
    pub autocomplete: &'static str,
    pub required: bool,
}

const fn field(name: &'static str, r#type: &'static str, autocomplete: &'static str) -> Field {
    Field { name, r#type, autocomplete, required: true }
}

const IDENTIFIER: Field = field("identifier", "email", "username webauthn");
const CODE: Field = field("code", "one_time_code", "one-time-code");
/// Asked for where the account has a password and the flow changes it.
const CURRENT_PASSWORD: Field =
    Field { name: "current_password", r#type: "password", autocomplete: "current-password", required: false };
const CREDENTIAL: Field = field("credential", "public_key_credential", "");

macro_rules! actions {
    ($($variant:ident = $path:literal, [$($field:expr),*];)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action { $($variant),+ }

        impl Action {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// `module/verb`, as in the address of the step.
            pub const fn path(self) -> &'static str {
                match self { $(Self::$variant => $path),+ }
            }

            pub const fn fields(self) -> &'static [Field] {
                match self { $(Self::$variant => const { &[$($field),*] }),+ }
            }

            pub fn parse(path: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|action| action.path() == path)
            }
        }
    };
}

actions! {
    PasskeyBegin = "passkey/begin", [];
    PasskeyFinish = "passkey/finish", [CREDENTIAL];
    PasswordCheck = "password/check", [IDENTIFIER, field("password", "password", "current-password")];
    EmailSend = "email_code/send", [IDENTIFIER];
    EmailCheck = "email_code/check", [CODE];
    EmailRedeem = "email_link/redeem", [field("token", "hidden", "")];
    SmsSend = "sms_code/send", [];
    SmsCheck = "sms_code/check", [CODE];
    TotpCheck = "totp/check", [CODE];
    RecoveryCodeCheck = "recovery_code/check", [field("code", "text", "off")];
    Back = "flow/back", [];
    Profile = "profile/set", [field("display_name", "text", "name")];
    EnrolSkip = "enrol/skip", [];
    PasskeyEnrolBegin = "passkey/enrol_begin", [];
    PasskeyEnrolFinish = "passkey/enrol_finish", [CREDENTIAL];
    PasswordSet = "password/set", [CURRENT_PASSWORD, field("new_password", "password", "new-password")];
    TotpEnrolBegin = "totp/enrol_begin", [];
    TotpEnrolFinish = "totp/enrol_finish", [CODE];
    RecoveryCodesGenerate = "recovery_code/generate", [];
    EmailAdd = "email/add", [field("address", "email", "email")];
    EmailVerify = "email/verify", [CODE];
    PhoneAdd = "phone/add", [field("number", "tel", "tel")];
    PhoneVerify = "phone/verify", [CODE];
    RecoveryHold = "recovery/hold", [];
    AccountConfirm = "account/confirm", [];
    AccountSwitch = "account/switch", [];
    OrganizationChoose = "organization/choose", [field("organization", "text", "off")];
    DeviceLook = "device/look", [field("user_code", "text", "off")];
    ConsentAllow = "consent/allow", [];
    ConsentDeny = "consent/deny", [];
}
