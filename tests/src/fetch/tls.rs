//! With TLS: the name decides, not the address.

use std::sync::{Arc, Mutex};

use porteiro_service::fetch::{
    Destination::{Operators, Strangers},
    FetchError, FetchPolicy,
};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio::{io::AsyncWriteExt, net::TcpListener};
use tokio_rustls::TlsAcceptor;

use super::{JSON, Liar, http, read_request};

/// What answers as `name`, and a file of who vouches for it.
pub fn certified(name: &str) -> (TlsAcceptor, tempfile::NamedTempFile) {
    let issued = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let authority = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(authority.path(), issued.cert.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), authority)
}

/// Serves `name` on this machine and writes down the names it is asked for.
async fn serve(name: &str) -> (u16, Arc<Mutex<Vec<String>>>, tempfile::NamedTempFile) {
    let (acceptor, authority) = certified(name);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let names = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&names);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            record.lock().unwrap().push(stream.get_ref().1.server_name().unwrap_or_default().to_owned());
            read_request(&mut stream).await;
            let _ = stream.write_all(http("200 OK", JSON, "{}").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, names, authority)
}

#[tokio::test]
async fn the_certificate_must_be_for_the_name_and_from_an_authority_we_know() {
    let (port, names, authority) = serve("sms.internal.example").await;
    let liar = Liar::new(&[&["127.0.0.1"]]);
    let policy = FetchPolicy {
        allowed_private_hosts: vec![
            format!("sms.internal.example:{port}"),
            format!("other.internal.example:{port}"),
        ],
        allowed_ports: vec![port],
        private_ca_file: Some(authority.path().into()),
        ..FetchPolicy::default()
    };
    let (right, other) =
        (format!("https://sms.internal.example:{port}/"), format!("https://other.internal.example:{port}/"));

    let fetcher = liar.fetcher(policy.clone());
    assert!(fetcher.get_json(Operators, &right, 100).await.is_ok());
    assert_eq!(*names.lock().unwrap(), ["sms.internal.example"], "asked for by its name");
    assert_eq!(fetcher.get_json(Operators, &other, 100).await, Err(FetchError), "a certificate for another");

    // Listed for operators, known by its authority, connected to a moment ago: still not for strangers.
    assert_eq!(fetcher.get_json(Strangers, &right, 100).await, Err(FetchError));

    let without = liar.fetcher(FetchPolicy { private_ca_file: None, ..policy });
    assert_eq!(without.get_json(Operators, &right, 100).await, Err(FetchError), "an authority nobody knows");
    assert_eq!(names.lock().unwrap().len(), 1);
}
