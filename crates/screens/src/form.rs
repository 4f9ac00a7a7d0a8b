//! A form that a browser sends.

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use porteiro_service::http::{ProblemCode, arrive};

/// All our forms are smaller.
const LARGEST: usize = 64 * 1024;

#[derive(Default, Clone)]
pub struct Form(Vec<(String, String)>);

/// Contains passwords, so it is not printed.
impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<form>")
    }
}

impl Form {
    pub fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    pub async fn read(body: Body) -> Result<Self, StatusCode> {
        Ok(Self::parse(&Self::bytes(body).await?))
    }

    /// The body as sent, within the service's limits of size and time.
    pub async fn bytes(body: Body) -> Result<Bytes, StatusCode> {
        arrive(body, LARGEST).await.map_err(ProblemCode::status)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
