//! One stylesheet, one script, one mark and perhaps a logo; their names change with their contents. The page of approvals has
//! a script more, and the service worker, whose name stays.

use std::sync::Arc;

use aws_lc_rs::digest;
use axum::{
    extract::{Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use crate::{Screens, deployment::Deployment, doors, language::Language};

const STYLE: &str = include_str!("../../assets/screens.css");
const SCRIPT: &str = include_str!("../../assets/screens.js");
const PUSH: &str = include_str!("../../assets/push.js");
const WORKER: &str = include_str!("../../assets/worker.js");
const MARK: &str = include_str!("../../assets/mark.svg");

#[derive(Debug)]
pub struct Asset {
    pub path: String,
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub struct Assets {
    pub style: Asset,
    pub script: Asset,
    pub push: Asset,
    pub mark: Asset,
    pub logo: Option<Asset>,
}

impl Assets {
    pub fn of(deployment: &Deployment) -> Self {
        // The colours come last: they override the ones above.
        let style = format!("{STYLE}{}", deployment.colours());
        Self {
            style: asset("screens.css", "text/css; charset=utf-8", style.into_bytes()),
            script: asset("screens.js", "text/javascript; charset=utf-8", SCRIPT.into()),
            push: asset("push.js", "text/javascript; charset=utf-8", PUSH.into()),
            mark: asset("mark.svg", "image/svg+xml", MARK.into()),
            logo: deployment.logo.as_ref().map(|logo| asset("logo", logo.kind, logo.bytes.clone())),
        }
    }

    fn find(&self, path: &str) -> Option<&Asset> {
        let all =
            [Some(&self.style), Some(&self.script), Some(&self.push), Some(&self.mark), self.logo.as_ref()];
        all.into_iter().flatten().find(|asset| asset.path == path)
    }
}

fn asset(name: &str, kind: &'static str, bytes: Vec<u8>) -> Asset {
    let hash = digest::digest(&digest::SHA256, &bytes);
    let version = URL_SAFE_NO_PAD.encode(&hash.as_ref()[..9]);
    Asset { path: format!("/ui/assets/{version}/{name}"), kind, bytes }
}

pub async fn serve(
    State(screens): State<Arc<Screens>>,
    Path((_, _)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Some(asset) = screens.assets.find(request.uri().path()) else {
        return doors::pass(State(screens), request).await;
    };
    let mut response = asset.bytes.clone().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    );
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// The service worker (docs/decisions/0115). Browsers ask for it again by the same name.
pub async fn worker(State(screens): State<Arc<Screens>>) -> Response {
    let said = |language: &Language| {
        let words = screens.catalogues.words(*language);
        (language.tag().to_owned(), json!({"title": words.t("push-said"), "body": words.t("push-said-more")}))
    };
    let words: Map<String, Value> = Language::ALL.iter().map(said).collect();
    let mut response = format!("const words = {}\n{WORKER}", Value::Object(words)).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-type", "text/javascript; charset=utf-8"),
        ("cache-control", "no-cache"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
