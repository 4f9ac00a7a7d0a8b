-- Devices that ask to be let in (RFC 8628).

CREATE TABLE device_request (
    -- A keyed hash of the user code. The person types it; the device has it sealed in its device code.
    request_id uuid PRIMARY KEY,
    client_id text NOT NULL,
    secret_hash bytea NOT NULL,
    request jsonb NOT NULL,
    -- Network address and user agent of the device, for the person to see.
    asked_from jsonb NOT NULL,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'denied')),
    -- Who looked it up: nobody else may decide it.
    account_id uuid,
    grant_id uuid,
    -- How long the device must wait between two polls; longer each time it does not.
    interval_seconds integer NOT NULL DEFAULT 5,
    polled_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    CHECK ((state = 'approved') = (grant_id IS NOT NULL)),
    CHECK (state = 'pending' OR account_id IS NOT NULL)
);
CREATE INDEX device_request_by_expiry ON device_request (expires_at);
COMMENT ON TABLE device_request IS 'shard: request_id. Devices that wait for a person; minutes each.';
