-- What strangers write leaves by itself: pushed requests within minutes, self-registered clients that are not used.

-- Until when the row is needed: its own expiry, or the end of the flow that was opened with it.
ALTER TABLE pushed_request ADD COLUMN kept_until timestamptz NOT NULL DEFAULT now() + interval '1 hour';
CREATE INDEX pushed_request_kept_until ON pushed_request (kept_until);

-- The network that registered the client, as a keyed hash; null for clients that an administrator made.
ALTER TABLE client ADD COLUMN registered_from bytea;
UPDATE client SET registered_from = '' WHERE registration_hash IS NOT NULL;
-- Nothing wrote this column before: an existing client counts as used today, so that none expires by the upgrade.
UPDATE client SET last_used_at = now() WHERE last_used_at IS NULL;
CREATE INDEX client_unused ON client (registered_from)
    WHERE registered_from IS NOT NULL AND trust = 'unverified' AND last_used_at IS NULL;
