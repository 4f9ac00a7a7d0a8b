//! How the process ends: one line of advice, and an exit code for scripts (sysexits).

use std::process::ExitCode;

#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

/// `EX_CONFIG`: the service refuses to start until the operator changes something.
const REFUSAL: u8 = 78;
/// `EX_UNAVAILABLE`: a service it needs does not answer; trying again may help.
const UNAVAILABLE: u8 = 69;
const ERROR: u8 = 1;

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: ERROR, message: message.into() }
    }

    pub fn refusal(message: impl Into<String>) -> Self {
        Self { code: REFUSAL, message: message.into() }
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { code: UNAVAILABLE, message: message.into() }
    }

    pub fn report(self) -> ExitCode {
        crate::say::err(&format!("porteiro: {}", self.message.replace('\n', " ")));
        ExitCode::from(self.code)
    }
}

impl From<porteiro_service::store::StoreError> for Failure {
    fn from(error: porteiro_service::store::StoreError) -> Self {
        use porteiro_service::store::StoreError;
        match error {
            StoreError::Unavailable(_) | StoreError::Busy | StoreError::Unknown(_) => {
                Self::unavailable(format!("{error}; see: porteiro doctor"))
            }
            StoreError::Refused(_) | StoreError::Row(_) | StoreError::Inconsistent(_) => {
                Self::new(error.to_string())
            }
        }
    }
}

impl From<porteiro_service::oauth::keys::KeysError> for Failure {
    fn from(error: porteiro_service::oauth::keys::KeysError) -> Self {
        use porteiro_service::oauth::keys::KeysError;
        match error {
            KeysError::Store(error) => error.into(),
            KeysError::OtherMaster(_) | KeysError::UnusableNext(_) => Self::refusal(error.to_string()),
            KeysError::Key { .. } | KeysError::Refused(_) => Self::new(error.to_string()),
        }
    }
}
