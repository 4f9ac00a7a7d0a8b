//! Everything stored about a person, as one JSON document that is read while it is sent: it needs the memory of one
//! page, and a slow reader holds no database connection.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use porteiro_protocol::id::{AccountId, SessionId};
use serde_json::json;
use time::format_description::well_known::Rfc3339;

use super::store::{self, PAGE, Shown, sources, sources::Source};
use crate::{
    App,
    sessions::{self, SignedIn},
    store::StoreError,
};

/// Why an export ends before it is complete. The response is aborted, and what arrived is not a JSON document.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the session ended during the export")]
    SessionEnded,
}

type Reading = Pin<Box<dyn Future<Output = Result<Vec<Shown>, Stopped>> + Send>>;

/// A running export.
pub struct Export {
    app: Arc<App>,
    account: AccountId,
    session: SessionId,
    sources: Vec<&'static Source>,
    /// The source that is being read.
    at: usize,
    /// Whether a row of it was written.
    begun: bool,
    reading: Option<Reading>,
    /// The text before the next row.
    before: String,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<export of {}>", self.account)
    }
}

pub fn begin(app: &Arc<App>, me: &SignedIn) -> Export {
    let sources: Vec<&'static Source> = sources::all().filter(|source| source.is_shown()).collect();
    let at = me.now.format(&Rfc3339).unwrap_or_default();
    let head = json!({"format": FORMAT, "issuer": app.issuer(), "exported_at": at}).to_string();
    let mut export = Export {
        app: Arc::clone(app),
        account: me.account_id,
        session: me.session_id,
        sources,
        at: 0,
        begun: false,
        reading: None,
        before: format!("{},\"data\":{{", head.trim_end_matches('}')),
    };
    export.open();
    export
}

/// The name of this form of document.
const FORMAT: &str = "porteiro-account-1";

impl Export {
    /// Begins the list of the present source, or ends the document.
    fn open(&mut self) {
        match self.sources.get(self.at) {
            Some(source) => {
                self.before.push_str(if self.at == 0 { "\"" } else { ",\"" });
                self.before.push_str(source.table);
                self.before.push_str("\":[");
                self.begun = false;
                self.reading = Some(self.read(source, None));
            }
            None => self.before.push_str("}}\n"),
        }
    }

    /// The next page, if the session is still open: an export ends with it.
    fn read(&self, source: &'static Source, after: Option<String>) -> Reading {
        let (app, account, session) = (Arc::clone(&self.app), self.account, self.session);
        Box::pin(async move {
            if !sessions::is_open(&app.store, session, account).await? {
                return Err(Stopped::SessionEnded);
            }
            Ok(store::page(&app.store, source, account, after.as_deref()).await?)
        })
    }

    /// Writes a page and decides what is read next.
    fn take(&mut self, page: &[Shown]) -> Bytes {
        let mut text = std::mem::take(&mut self.before);
        for shown in page {
            if self.begun {
                text.push(',');
            }
            self.begun = true;
            text.push('\n');
            text.push_str(&shown.row.to_string());
        }
        let last = page.last().filter(|_| page.len() == PAGE);
        if let (Some(last), Some(source)) = (last, self.sources.get(self.at)) {
            self.reading = Some(self.read(source, Some(last.key.clone())));
        } else {
            self.before.push(']');
            self.at += 1;
            self.open();
        }
        if self.reading.is_none() {
            text.push_str(&std::mem::take(&mut self.before));
        }
        text.into()
    }
}

impl Body for Export {
    type Data = Bytes;
    type Error = Stopped;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Stopped>>> {
        let Some(reading) = self.reading.as_mut() else { return Poll::Ready(None) };
        let page = ready!(reading.as_mut().poll(context));
        self.reading = None;
        Poll::Ready(Some(page.map(|page| Frame::data(self.take(&page)))))
    }
}
