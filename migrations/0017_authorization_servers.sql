-- For which servers an organization lets clients have assertions about its members (ID-JAG).

CREATE TABLE resource_authorization_server (
    organization_id uuid NOT NULL,
    server_id uuid NOT NULL,
    -- Of the other server: the audience of the assertions.
    issuer text NOT NULL,
    -- Our client, and the id that it has there.
    client_id text NOT NULL,
    remote_client_id text NOT NULL,
    -- What an assertion may carry, separated by spaces.
    scope text NOT NULL,
    resources text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, server_id),
    UNIQUE (organization_id, issuer, client_id)
);
COMMENT ON TABLE resource_authorization_server IS 'shard: organization_id. Other authorization servers for which a client may get identity assertions. Rows do not change.';
