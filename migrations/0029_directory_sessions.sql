-- Which sessions rest on which ones of a directory, so that the directory can end them.

CREATE TABLE directory_session (
    organization_id uuid NOT NULL,
    -- SHA-256 of the directory's `sid`.
    sid_hash bytea NOT NULL,
    session_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    account_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, sid_hash, session_id)
);
CREATE INDEX directory_session_of ON directory_session (account_id);
CREATE INDEX directory_session_by_age ON directory_session (created_at);
COMMENT ON TABLE directory_session IS 'shard: organization_id. Sessions of an organization''s directory on which sessions here rest.';
