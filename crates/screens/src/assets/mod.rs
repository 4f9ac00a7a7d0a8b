//! One stylesheet, one script, one mark and perhaps a logo; their names change with their contents.

use std::sync::Arc;

use aws_lc_rs::digest;
use axum::{
    extract::{Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{Screens, deployment::Deployment, doors};

const STYLE: &str = include_str!("../../assets/screens.css");
const SCRIPT: &str = include_str!("../../assets/screens.js");
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
            mark: asset("mark.svg", "image/svg+xml", MARK.into()),
            logo: deployment.logo.as_ref().map(|logo| asset("logo", logo.kind, logo.bytes.clone())),
        }
    }

    fn find(&self, path: &str) -> Option<&Asset> {
        let all = [Some(&self.style), Some(&self.script), Some(&self.mark), self.logo.as_ref()];
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
