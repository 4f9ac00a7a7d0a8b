use porteiro_protocol::{
    certificate::Subject,
    client_metadata::{ClientMetadata, MetadataError},
    error::ErrorCode,
};

/// The certificate subject of a client of `tls_client_auth` (RFC 8705 §2.1.2): exactly one member names it.
pub fn subject(metadata: &ClientMetadata) -> Option<Subject> {
    let mut named = [
        ("tls_client_auth_subject_dn", &metadata.tls_client_auth_subject_dn),
        ("tls_client_auth_san_dns", &metadata.tls_client_auth_san_dns),
        ("tls_client_auth_san_uri", &metadata.tls_client_auth_san_uri),
        ("tls_client_auth_san_ip", &metadata.tls_client_auth_san_ip),
        ("tls_client_auth_san_email", &metadata.tls_client_auth_san_email),
    ]
    .into_iter()
    .filter_map(|(member, value)| Some((member, value.as_deref()?)));
    match (named.next(), named.next()) {
        (Some((member, value)), None) => Subject::from_metadata(member, value),
        (None, _) | (Some(_), Some(_)) => None,
    }
}

/// A subject that no certificate can have is refused at registration, not at its first use.
pub(super) fn check(metadata: &ClientMetadata) -> Result<(), MetadataError> {
    match subject(metadata) {
        Some(subject) if !subject.is_well_formed() => Err(MetadataError {
            code: ErrorCode::InvalidClientMetadata,
            detail: "the tls_client_auth_ member is not the name of a certificate".into(),
        }),
        Some(_) | None => Ok(()),
    }
}
